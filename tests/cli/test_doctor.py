"""`accelform doctor --sandbox`: the same look as at a real project."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httplib2
import pytest

from infra.findings import Found
from infra.operate import policies, shared_vpc
from infra.operate.doctor_cloud import CloudNeeds, SharedSubnet
from infra.operate.google import Google
from infra.sandbox.cloud import Cloud, Request

Accelform = Callable[..., Any]
ORGANISATION = ("orgpolicy.googleapis.com", "v2/projects/shop-ml/policies")
SUBNET = SharedSubnet("projects/shop-net/regions/us-east5/subnetworks/ml", clusters=("main",), ranges={"main": ("pods", "services")})
NEEDS = CloudNeeds("shop-ml", "us-east5", (), (), ("storage.googleapis.com",), own_clusters=True, shared=SUBNET)


class Inside:
    """A transport to a sandbox of this process."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def request(self, uri: str, method: str = "GET", body: Any = None, **ignored: Any) -> tuple[httplib2.Response, bytes]:
        url = urlsplit(uri)
        path = url.path.lstrip("/")
        answer = self._cloud.handle(
            Request(method, url.netloc.replace("www.", "compute."), path, dict(parse_qsl(url.query)), (body or "").encode())
        )
        return httplib2.Response({"status": answer.status, "content-type": "application/json"}), json.dumps(answer.body).encode()


@pytest.fixture
def cloud() -> Cloud:
    """A sandbox with a project, and one that has the network."""
    cloud = Cloud()
    for project in ("shop-ml", "shop-net"):
        cloud.projects.make(project)
    return cloud


@pytest.fixture
def google(cloud: Cloud) -> Google:
    return Google(lambda: Inside(cloud), "shop-ml")


def test_organisation_policies_of_the_sandbox(google: Google, cloud: Cloud) -> None:
    """None stands in the way until somebody sets one."""
    assert {one.level for one in policies.policies(google, NEEDS)} == {"ok"}
    body = {"name": "projects/shop-ml/policies/gcp.resourceLocations", "spec": {"rules": [{"values": {"deniedValues": ["us-east5"]}}]}}
    assert cloud.handle(Request("POST", *ORGANISATION, {}, json.dumps(body).encode())).status == 200
    [found] = [one for one in policies.policies(google, NEEDS) if one.level != "ok"]
    assert (found.check, found.level, found.message) == ("gcp.resourceLocations", "failed", "us-east5 is refused (denied: us-east5)")


def test_a_shared_vpc_of_the_sandbox(google: Google, cloud: Cloud) -> None:
    """What it says to type is what it lacks: once that is done, nothing is left but the way out and ssh."""

    def do(path: str, body: dict[str, Any], host: str = "compute.googleapis.com") -> None:
        answer = cloud.handle(Request("POST", host, path, {}, json.dumps(body).encode()))
        assert answer.status == 200, answer.body

    def levels() -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for one in shared_vpc.shared_vpc(google, NEEDS):
            found.setdefault(one.check.removeprefix("shared VPC: "), set()).add(one.level)
        return found

    base = "compute/v1/projects/shop-net"
    do(f"{base}/global/networks", {"name": "net", "autoCreateSubnetworks": False})
    ranges = [{"rangeName": name, "ipCidrRange": cidr} for name, cidr in (("pods", "10.64.0.0/14"), ("services", "10.68.0.0/20"))]
    subnet = {"name": "ml", "ipCidrRange": "10.0.0.0/20", "network": "projects/shop-net/global/networks/net", "secondaryIpRanges": ranges}
    do(f"{base}/regions/us-east5/subnetworks", subnet | {"privateIpGoogleAccess": True})
    before = levels()
    assert (before["subnet"], before["host project"], before["grants"]) == ({"ok"}, {"failed"}, {"failed", "warning"})

    do(f"{base}/enableXpnResource", {"xpnResource": {"id": "shop-ml", "type": "PROJECT"}})
    number = cloud.projects.number("shop-ml")
    gke = f"serviceAccount:service-{number}@container-engine-robot.iam.gserviceaccount.com"
    users = [f"serviceAccount:{number}@cloudservices.gserviceaccount.com", gke]
    do(
        f"{base}/regions/us-east5/subnetworks/ml/setIamPolicy",
        {"policy": {"bindings": [{"role": "roles/compute.networkUser", "members": users}]}},
    )
    roles = [{"role": role, "members": [gke]} for role in (shared_vpc.MANAGES, shared_vpc.RULES)]
    do("v3/projects/shop-net:setIamPolicy", {"policy": {"bindings": roles}}, "cloudresourcemanager.googleapis.com")
    assert levels() == {
        "subnet": {"ok"},
        "way out": {"failed"},
        "ssh": {"warning"},
        "host project": {"ok"},
        "you": {"ok"},
        "grants": {"ok"},
    }


def test_asks_the_running_sandbox(accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stack's project, and no credentials of this machine."""
    asked = []

    def inspect(needs: CloudNeeds, *, connect: Any, progress: Any) -> list[Found]:
        asked.append((needs.project, connect().base if connect else ""))
        return [Found("project", "ok", "there")]

    monkeypatch.setattr("infra.operate.doctor_cloud.inspect", inspect)
    monkeypatch.setattr("infra.sandbox.process.running", lambda folder: Running())
    monkeypatch.setattr("infra.operate.live.ToSandbox", Running)
    assert accelform("doctor", "us-east5", "--sandbox", "--json").data["findings"][-1]["message"] == "there"
    assert asked == [("tw-shop-dev", "http://127.0.0.1:9")]


class Running:
    """A sandbox that runs, and a transport to it."""

    def __init__(self, base: str = "http://127.0.0.1:9") -> None:
        self.base, self.pid = base, 1


def test_fails_where_no_sandbox_runs(accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to start one; and one of the two clouds is asked."""
    monkeypatch.setattr("infra.sandbox.process.running", lambda folder: None)
    ran = accelform("doctor", "us-east5", "--sandbox")
    assert ran.code == 5
    assert ran.err.endswith("fix: accelform sandbox start --project tw-shop-dev\n")
    assert "--sandbox: is said besides --cloud" in accelform("doctor", "us-east5", "--sandbox", "--cloud").err
