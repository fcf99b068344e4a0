"""An organisation's policy is found before it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate import policies
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed, SharedSubnet, inspect

Look = Callable[..., dict[str, Found]]
Under = Callable[..., Found | None]

IMAGES = "projects/ubuntu-os-accelerator-images"


def allow(*values: str) -> dict[str, Any]:
    return {"values": {"allowedValues": list(values)}}


def deny(*values: str) -> dict[str, Any]:
    return {"values": {"deniedValues": list(values)}}


ENFORCE = {"enforce": True}
DENY_ALL = {"denyAll": True}


@pytest.fixture
def under(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> Under:
    """What is found of a constraint that has these rules; None where it does not stand in the way."""

    def found(constraint: str, *rules: dict[str, Any], needs: CloudNeeds = needs) -> Found | None:
        answers[f"orgpolicy/v2/projects/{cloud.project}/policies/{constraint}:getEffectivePolicy"] = {"spec": {"rules": list(rules)}}
        return look(answers, needs).get(constraint)

    return found


@pytest.mark.parametrize(
    ("constraint", "rule", "said"),
    [
        ("gcp.resourceLocations", allow("in:europe-locations"), "us-east5 is refused (allowed: in:europe-locations)"),
        ("gcp.resourceLocations", allow("in:us-central1-locations", "us"), "us-east5 is refused (allowed: in:us-central1-locations, us)"),
        ("gcp.resourceLocations", deny("us-east5"), "us-east5 is refused (denied: us-east5)"),
        ("gcp.resourceLocations", deny("in:us-locations"), "us-east5 is refused (denied: in:us-locations)"),
        ("gcp.resourceLocations", DENY_ALL, "us-east5 is refused (all is denied)"),
        ("gcp.restrictServiceUsage", deny("compute.googleapis.com"), "these APIs are restricted: compute.googleapis.com"),
        ("gcp.restrictServiceUsage", allow("is:compute.googleapis.com"), "these APIs are restricted: storage.googleapis.com"),
        ("gcp.restrictNonCmekServices", deny("is:storage.googleapis.com"), "keys of your own are demanded of storage.googleapis.com"),
        ("compute.trustedImageProjects", allow("projects/ours"), "are not trusted"),
        ("compute.trustedImageProjects", deny(f"is:{IMAGES}"), "are not trusted"),
        ("compute.requireShieldedVm", ENFORCE, "Secure Boot is demanded"),
        ("iam.disableServiceAccountCreation", ENFORCE, "service accounts cannot be made"),
        ("iam.managed.disableServiceAccountCreation", ENFORCE, "service accounts cannot be made"),
    ],
)
def test_fails_on_a_policy_that_would_refuse(constraint: str, rule: dict[str, Any], said: str, under: Under) -> None:
    """What the policy says is told, with the command that shows it."""
    found = under(constraint, rule)
    assert found is not None
    assert found.level == "failed"
    assert said in found.message
    assert f"gcloud org-policies describe {constraint} --project=tw-shop-ml --effective" in found.fix


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        *(
            ("gcp.resourceLocations", allow(one))
            for one in ("us-east5", "in:us-east5-locations", "in:us-locations", "in:northamerica-locations")
        ),
        ("gcp.resourceLocations", allow("in:eu-locations", "in:us-locations")),
        ("gcp.resourceLocations", deny("in:europe-locations", "us")),
        ("gcp.restrictServiceUsage", allow("compute.googleapis.com", "storage.googleapis.com")),
        ("gcp.restrictNonCmekServices", deny("bigquery.googleapis.com")),
        ("compute.trustedImageProjects", allow(f"is:{IMAGES}")),
        ("compute.requireShieldedVm", {"enforce": False}),
        ("compute.restrictCloudNATUsage", allow("under:projects/tw-shop-ml")),
        ("iam.allowedPolicyMemberDomains", allow("C01abcdef")),
    ],
)
def test_a_policy_that_lets_the_stack_through_is_fine(constraint: str, rule: dict[str, Any], under: Under) -> None:
    """The value by name, with or without `is:`, or a group that holds it, is no finding."""
    assert under(constraint, rule) is None


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        ("gcp.resourceLocations", allow("in:low-carbon-locations")),
        ("gcp.resourceLocations", deny("in:low-carbon-locations")),
        ("gcp.resourceLocations", allow("us-east5-a")),
        ("compute.trustedImageProjects", allow("under:organizations/123")),
    ],
)
def test_what_only_google_knows_is_unknown(constraint: str, rule: dict[str, Any], under: Under) -> None:
    """A group whose members no table has, and a zone where the region is wanted, are not guessed."""
    found = under(constraint, rule)
    assert found is not None
    assert found.level == "unknown"


@pytest.mark.parametrize(
    ("constraint", "rule", "said"),
    [
        ("compute.requireVpcFlowLogs", allow("ESSENTIAL", "LIGHT"), "set `network.existing`"),
        ("compute.restrictCloudNATUsage", DENY_ALL, "set `network.existing`"),
        (
            "gcp.resourceLocations",
            allow("us-east5") | {"condition": {"expression": "resource.matchTag('1/env', 'prod')"}},
            "by resource tags",
        ),
    ],
)
def test_warns_of_what_depends_on_more_than_is_looked_at(constraint: str, rule: dict[str, Any], said: str, under: Under) -> None:
    """A stack with a network of others keeps rules for networks; tags are not looked at."""
    found = under(constraint, rule)
    assert found is not None
    assert found.level == "warning"
    assert said in found.message


def test_warns_of_callers_from_elsewhere(needs: CloudNeeds, under: Under) -> None:
    """Where only an organisation's own may be granted anything, an endpoint's other callers are refused."""
    endpoint = replace(needs, callers=("serviceAccount:storefront@tw-shop-web.iam.gserviceaccount.com",))
    found = under("iam.allowedPolicyMemberDomains", allow("C01abcdef"), needs=endpoint)
    assert found is not None
    assert (found.level, "(allowed: C01abcdef)" in found.message, "storefront@" in found.message) == ("warning", True, True)
    managed = {"enforce": True, "parameters": {"allowedPrincipalSets": ["//cloudresourcemanager.googleapis.com/organizations/1"]}}
    assert under("iam.managed.allowedPolicyMembers", managed, needs=endpoint) is not None
    assert under("iam.managed.allowedPolicyMembers", {"enforce": False}, needs=endpoint) is None
    assert under("iam.allowedPolicyMemberDomains", allow("C01abcdef")) is None  # all of its grants are to the project's own accounts


HOST = "projects/shop-net/regions/us-east5/subnetworks/ml"
SHARED = {"shared": SharedSubnet(HOST)}
GITHUB = "https://token.actions.githubusercontent.com"
OUT = {"balancers": ("EXTERNAL_MANAGED_HTTP_HTTPS",)}


@pytest.mark.parametrize(
    ("constraint", "rule", "said", "level", "part"),
    [
        ("iam.workloadIdentityPoolProviders", DENY_ALL, {"issuers": (GITHUB,)}, "failed", f"no pool may take tokens of {GITHUB}"),
        ("iam.workloadIdentityPoolProviders", allow("https://gitlab.example"), {"issuers": (GITHUB,)}, "failed", "the pipeline's do"),
        ("iam.workloadIdentityPoolProviders", allow(GITHUB), {"issuers": (GITHUB,)}, "", ""),
        ("iam.workloadIdentityPoolProviders", DENY_ALL, {}, "", ""),
        ("compute.restrictLoadBalancerCreationForTypes", allow("in:INTERNAL"), OUT, "failed", "routes make them"),
        ("compute.restrictLoadBalancerCreationForTypes", deny("EXTERNAL_MANAGED_HTTP_HTTPS"), OUT, "failed", "EXTERNAL_MANAGED"),
        ("compute.restrictLoadBalancerCreationForTypes", allow("in:EXTERNAL"), OUT, "", ""),
        ("compute.restrictLoadBalancerCreationForTypes", allow("EXTERNAL_HTTP_HTTPS"), OUT, "failed", "EXTERNAL_MANAGED"),
        ("compute.restrictLoadBalancerCreationForTypes", DENY_ALL, {}, "", ""),
        ("compute.restrictVpcPeering", DENY_ALL, {"peered": ("clusters.main.addons: filestore",)}, "failed", "filestore needs"),
        ("compute.restrictVpcPeering", allow("under:organizations/1"), {"peered": ("filestore",)}, "unknown", "is not known"),
        ("compute.restrictVpcPeering", DENY_ALL, {}, "", ""),
        ("compute.restrictSharedVpcSubnetworks", allow("under:projects/shop-other"), SHARED, "failed", f"{HOST} may not be used"),
        ("compute.restrictSharedVpcSubnetworks", deny(HOST), SHARED, "failed", f"{HOST} may not be used"),
        ("compute.restrictSharedVpcSubnetworks", allow("under:folders/1"), SHARED, "unknown", "is not known"),
        ("compute.restrictSharedVpcSubnetworks", allow("under:projects/shop-net"), SHARED, "", ""),
        ("compute.restrictSharedVpcSubnetworks", DENY_ALL, {}, "", ""),
        ("compute.restrictSharedVpcSubnetworks", DENY_ALL, {"shared": SharedSubnet(HOST.replace("shop-net", "tw-shop-ml"))}, "", ""),
        ("compute.restrictNonConfidentialComputing", deny("compute.googleapis.com"), {}, "failed", "Confidential VMs"),
        ("compute.restrictNonConfidentialComputing", deny("compute.googleapis.com"), {"tpus": ()}, "", ""),
        ("storage.retentionPolicySeconds", allow("86400"), {}, "failed", "(86400 seconds)"),
        ("compute.requireVpcFlowLogs", allow("LIGHT"), SHARED, "", ""),
        ("compute.restrictCloudNATUsage", DENY_ALL, SHARED, "", ""),
    ],
)
def test_of_what_the_stack_declares(
    constraint: str, rule: dict[str, Any], said: dict[str, Any], level: str, part: str, under: Under, needs: CloudNeeds
) -> None:
    """What the stack has none of is not refused."""
    found = under(constraint, rule, needs=replace(needs, **said))
    assert (found.level if found else "") == level
    assert part in (found.message if found else "")


def test_what_only_watches_so_far_is_a_warning(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """A dry run refuses nothing, and says what will be refused."""
    path = f"orgpolicy/v2/projects/{cloud.project}/policies/gcp.resourceLocations:getEffectivePolicy"
    answers[path] = {"spec": {"rules": [{"allowAll": True}]}, "dryRunSpec": {"rules": [allow("in:europe-locations")]}}
    found = look(answers)["gcp.resourceLocations"]
    assert (found.level, found.message.startswith("only watches so far (dry run)"), "us-east5 is refused" in found.message) == (
        "warning",
        True,
        True,
    )


def test_whoever_may_not_look_is_told_so_and_nothing_is_fine(answers: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> None:
    for constraint in policies.CONSTRAINTS:
        answers[f"orgpolicy/v2/projects/{cloud.project}/policies/{constraint}:getEffectivePolicy"] = cloud.error(
            403, "PERMISSION_DENIED", "no"
        )
    found = [one for one in inspect(needs, connect=cloud.transport(answers)) if one.check == "organisation policies"]
    assert [(one.level, "roles/orgpolicy.policyViewer" in one.fix) for one in found] == [("unknown", True)]


def test_what_every_stack_keeps_is_named(answers: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> None:
    """None of them is asked for."""
    assert not policies.KEPT.keys() & policies.CONSTRAINTS.keys()
    found = [one.message for one in inspect(needs, connect=cloud.transport(answers)) if one.check == "organisation policies"]
    assert all(constraint in found[-1] for constraint in policies.KEPT)


def test_a_constraint_that_google_does_not_know_is_its_own_finding(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """A constraint that is gone says nothing of the others."""
    gone = cloud.error(404, "NOT_FOUND", "no such constraint")
    answers[f"orgpolicy/v2/projects/{cloud.project}/policies/gcp.resourceLocations:getEffectivePolicy"] = gone
    found = look(answers)
    assert found["gcp.resourceLocations"].level == "unknown"
    others = len(policies.CONSTRAINTS) - 1
    assert found["organisation policies"].message == f"{others} of {others + 1} looked at do not stand in the way"


def test_an_api_that_is_off_is_asked_once(answers: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> None:
    """What refuses the first constraint would refuse all: it is one finding and one call."""
    off = cloud.error(403, "PERMISSION_DENIED", "off", "SERVICE_DISABLED", service="orgpolicy.googleapis.com")
    for constraint in policies.CONSTRAINTS:
        answers[f"orgpolicy/v2/projects/{cloud.project}/policies/{constraint}:getEffectivePolicy"] = off
    transport = cloud.transport(answers)
    found = [one for one in inspect(needs, connect=transport) if one.check == "organisation policies"]
    assert [one.fix for one in found] == [f"gcloud services enable orgpolicy.googleapis.com --project={cloud.project}"]
    assert len([path for _, path in transport.asked if path.startswith("orgpolicy")]) == 1


def test_nodes_of_gke_boot_what_gke_gives_them(under: Under, needs: CloudNeeds) -> None:
    """Neither the images of TPU machines nor those of machines with GPUs, and with Secure Boot."""
    gpus = GpuNeed("pool", "g2-standard-8", "nvidia-l4", 1, False, "us-east5-a", "spot", "pd-balanced", way="gke")
    nodes = replace(needs, tpus=(replace(needs.tpus[0], way="gke"),), gpus=(gpus,))
    assert under("compute.trustedImageProjects", allow("projects/ours"), needs=nodes) is None
    assert under("compute.requireShieldedVm", ENFORCE, needs=nodes) is None
    standing = replace(nodes, gpus=(replace(gpus, way="compute-engine"),))
    assert under("compute.trustedImageProjects", allow("projects/ours"), needs=standing) is not None
