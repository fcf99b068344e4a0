"""A subnet of a Shared VPC: what it lacks is told, with what its owner types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, SharedSubnet, inspect

NUMBER = "123456789012"
HOST = "/compute/v1/projects/shop-net"
SUBNET = f"{HOST}/regions/us-east5/subnetworks/ml"
NETWORK = "https://www.googleapis.com/compute/v1/projects/shop-net/global/networks/net"
RUNNER = "try-runner-night@tw-shop-ml.iam.gserviceaccount.com"
USES = "roles/compute.networkUser"
GKE = f"serviceAccount:service-{NUMBER}@container-engine-robot.iam.gserviceaccount.com"
TPU = f"serviceAccount:service-{NUMBER}@gcp-sa-tpu.iam.gserviceaccount.com"
APIS = f"serviceAccount:{NUMBER}@cloudservices.gserviceaccount.com"
ON_HOST = {"roles/container.hostServiceAgentUser": [GKE], "roles/compute.securityAdmin": [GKE], "roles/tpu.xpnAgent": [TPU]}
ROUTER = {"name": "r", "network": NETWORK, "nats": [{"name": "n", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}]}
RULE = {"name": "ssh", "network": NETWORK, "sourceRanges": ["35.235.240.0/20"], "allowed": [{"IPProtocol": "tcp", "ports": ["20-30"]}]}
Ask = Callable[..., dict[str, list[Found]]]


def policy(roles: dict[str, list[str]]) -> dict[str, Any]:
    return {"bindings": [{"role": role, "members": members} for role, members in roles.items()]}


@pytest.fixture
def there(answers: dict[str, Any]) -> dict[str, Any]:
    """A subnet that has all that is needed."""
    return answers | {
        SUBNET: {
            "name": "ml",
            "network": NETWORK,
            "ipCidrRange": "10.0.0.0/20",
            "privateIpGoogleAccess": True,
            "secondaryIpRanges": [{"rangeName": "pods"}, {"rangeName": "services"}],
        },
        f"{SUBNET}/testIamPermissions": lambda body: {"permissions": body["permissions"]},
        f"{SUBNET}/getIamPolicy": policy({USES: [APIS, GKE, f"serviceAccount:{RUNNER}"]}),
        f"{HOST}/regions/us-east5/routers": {"items": [ROUTER]},
        f"{HOST}/global/firewalls": {"items": [RULE]},
        "/compute/v1/projects/tw-shop-ml/getXpnHost": {"name": "shop-net"},
        "cloudresourcemanager/v3/projects/shop-net:getIamPolicy": lambda body: policy(ON_HOST),
    }


@pytest.fixture
def ask(there: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> Ask:
    """What is found of the subnet, by part, where some answers are others."""

    def asked(host: str = "shop-net", changed: dict[str, Any] | None = None, **said: Any) -> dict[str, list[Found]]:
        shared = SharedSubnet(
            f"projects/{host}/regions/us-east5/subnetworks/ml",
            accounts=(RUNNER,),
            ranges={"main": ("pods", "services")},
            clusters=("main",),
            groups=("train",),
            nodes=("old",),
        )
        answers = {key.replace("shop-net", host): value for key, value in (there | (changed or {})).items()}
        found: dict[str, list[Found]] = {}
        for one in inspect(replace(needs, shared=replace(shared, **said)), connect=cloud.transport(answers)):
            if one.check.startswith("shared VPC"):
                found.setdefault(one.check.removeprefix("shared VPC").removeprefix(": "), []).append(one)
        return found

    return asked


def bad(found: dict[str, list[Found]]) -> list[Found]:
    return [one for several in found.values() for one in several if one.level != "ok"]


def test_a_subnet_that_has_all_is_fine(ask: Ask) -> None:
    found = ask()
    assert bad(found) == []
    assert list(found) == ["subnet", "way out", "ssh", "host project", "you", "grants"]


def test_an_own_projects_subnet_asks_for_no_grants(ask: Ask) -> None:
    """Roles of the project reach it, and GKE makes ranges in it."""
    found = ask("tw-shop-ml", ranges={})
    assert (bad(found), list(found)) == ([], ["subnet", "way out", "ssh"])


def test_what_the_subnet_lacks(ask: Ask) -> None:
    lacking = {SUBNET: {"network": NETWORK, "secondaryIpRanges": [{"rangeName": "services"}]}}
    access, ranges = bad(ask(changed=lacking))
    update = "gcloud compute networks subnets update ml --project=shop-net --region=us-east5"
    assert (access.level, access.fix) == ("failed", f"{update} --enable-private-ip-google-access")
    assert (ranges.level, ranges.fix) == ("failed", f"{update} --add-secondary-ranges=pods=RANGE")
    [unnamed] = bad(ask(ranges={}))
    assert (unnamed.level, "secondary_ranges; the subnet has: pods, services" in unnamed.fix) == ("failed", True)


@pytest.mark.parametrize(
    ("routers", "fix"),
    [
        ({}, "gcloud compute routers create ml-router --project=shop-net --region=us-east5 --network=net && gcloud"),
        ({"items": [ROUTER | {"nats": []}]}, "gcloud compute routers nats create ml-nat --router=r --project=shop-net --region=us-east5"),
        ({"items": [ROUTER | {"network": "global/networks/other"}]}, "gcloud compute routers create ml-router"),
        (
            {"items": [ROUTER | {"nats": [{"sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS", "subnetworks": [{"name": "x/y"}]}]}]},
            "gcloud compute routers nats create",
        ),
    ],
)
def test_a_way_out(routers: dict[str, Any], fix: str, ask: Ask) -> None:
    [found] = bad(ask(changed={f"{HOST}/regions/us-east5/routers": routers}))
    assert (found.check, found.level) == ("shared VPC: way out", "failed")
    assert found.fix.startswith(fix)
    assert found.fix.endswith("--nat-custom-subnet-ip-ranges=ml --auto-allocate-nat-external-ips")
    listed = ROUTER | {"nats": [{"sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS", "subnetworks": [{"name": f"{SUBNET}"}]}]}
    assert bad(ask(changed={f"{HOST}/regions/us-east5/routers": {"items": [listed]}})) == []


@pytest.mark.parametrize(
    "rule",
    [{"disabled": True}, {"direction": "EGRESS"}, {"allowed": [{"IPProtocol": "tcp", "ports": ["443"]}]}, {"sourceRanges": ["10.0.0.0/8"]}],
)
def test_ssh(rule: dict[str, Any], ask: Ask) -> None:
    [found] = bad(ask(changed={f"{HOST}/global/firewalls": {"items": [RULE | rule]}}))
    assert (found.check, found.level) == ("shared VPC: ssh", "warning")
    assert found.fix.endswith("--source-ranges=35.235.240.0/20 --allow=tcp:22")


def test_the_project_must_be_a_service_project(ask: Ask) -> None:
    [none] = bad(ask(changed={"/compute/v1/projects/tw-shop-ml/getXpnHost": {}}))
    assert none.fix.endswith("gcloud compute shared-vpc associated-projects add tw-shop-ml --host-project=shop-net")
    [other] = bad(ask(changed={"/compute/v1/projects/tw-shop-ml/getXpnHost": {"name": "shop-other"}}))
    assert (other.level, "service project of shop-other" in other.message) == ("failed", True)


def test_who_lacks_a_grant_is_told_with_the_command(ask: Ask) -> None:
    """On the subnet, or on all of the host project; a grant under a condition is none."""
    nothing = {f"{SUBNET}/getIamPolicy": {}, "cloudresourcemanager/v3/projects/shop-net:getIamPolicy": lambda body: {}}
    found = bad(ask(changed=nothing))
    on_subnet = "gcloud compute networks subnets add-iam-policy-binding ml --project=shop-net --region=us-east5 --member="
    on_host = "gcloud projects add-iam-policy-binding shop-net --member="
    assert [one.fix for one in found] == [
        f"{on_subnet}{APIS} --role={USES}",
        f"{on_subnet}{GKE} --role={USES}",
        f"{on_subnet}serviceAccount:{RUNNER} --role={USES}",
        f"{on_host}{GKE} --role=roles/container.hostServiceAgentUser",
        f"{on_host}{TPU} --role=roles/tpu.xpnAgent",
        f"{on_host}{GKE} --role=roles/compute.securityAdmin",
    ]
    assert [one.level for one in found] == ["failed"] * 5 + ["warning"]
    everywhere = lambda body: policy(ON_HOST | {USES: [APIS, GKE, f"serviceAccount:{RUNNER}"]})  # noqa: E731
    assert bad(ask(changed=nothing | {"cloudresourcemanager/v3/projects/shop-net:getIamPolicy": everywhere})) == []
    conditional = {"bindings": [{"role": USES, "members": [APIS, GKE, f"serviceAccount:{RUNNER}"], "condition": {"expression": "false"}}]}
    assert len(bad(ask(changed={f"{SUBNET}/getIamPolicy": conditional}))) == 3


def test_a_stack_that_grants_itself_must_be_allowed_to(ask: Ask) -> None:
    none = {f"{SUBNET}/testIamPermissions": lambda body: {}, f"{SUBNET}/getIamPolicy": {}}
    use, grant = bad(ask(changed=none, granted=True))
    assert use.fix.endswith(f"--member=user:YOUR_EMAIL --role={USES}")
    assert "remove `network.grants`" in grant.fix


def test_what_may_not_be_looked_at_is_unknown(ask: Ask, cloud: SimpleNamespace) -> None:
    """Each part by itself, with a role on the host project."""
    denied = cloud.error(403, "PERMISSION_DENIED", "no")
    found = bad(ask(changed={f"{HOST}/regions/us-east5/routers": denied, f"{SUBNET}/getIamPolicy": denied}))
    assert [(one.check, one.level) for one in found] == [("shared VPC: way out", "unknown"), ("shared VPC: grants", "unknown")]
    assert {one.fix for one in found} == {
        "gcloud projects add-iam-policy-binding shop-net --member=user:YOUR_EMAIL --role=roles/compute.networkViewer"
    }
    [whole] = bad(ask(changed={SUBNET: denied}))
    assert (whole.check, whole.level) == ("shared VPC", "unknown")
