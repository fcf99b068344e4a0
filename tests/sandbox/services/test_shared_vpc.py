"""Shared VPC in the sandbox: a project is attached to a host project, and grants on a subnet of it are kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "compute.googleapis.com"
Ask = Callable[..., Answer]


@pytest.fixture(autouse=True)
def net(cloud: Cloud) -> None:
    """The host project."""
    cloud.projects.make("shop-net")


def attach(ask: Ask, verb: str = "enableXpnResource", host: str = "shop-net", project: str = "shop-prod") -> Answer:
    return ask("POST", HOST, f"compute/v1/projects/{host}/{verb}", {"xpnResource": {"id": project, "type": "PROJECT"}})


def test_a_project_has_one_host(ask: Ask, cloud: Cloud) -> None:
    whose = "compute/v1/projects/{project}/getXpnHost"
    assert "name" not in ask("GET", HOST, whose).body
    assert (attach(ask).status, ask("GET", HOST, whose).body["name"]) == (200, "shop-net")
    cloud.projects.make("shop-other")
    assert attach(ask, host="shop-other").status == 400
    assert attach(ask, "disableXpnResource").status == 200
    assert "name" not in ask("GET", HOST, whose).body


@pytest.mark.parametrize("project", ["shop-none", "shop-net", ""])
def test_fails_on_what_cannot_be_attached(project: str, ask: Ask) -> None:
    assert attach(ask, project=project).status == 400


def test_grants_on_a_subnet(ask: Ask) -> None:
    """They are kept, and read with their etag."""
    base = "compute/v1/projects/shop-net"
    assert ask("POST", HOST, f"{base}/global/networks", {"name": "net", "autoCreateSubnetworks": False}).status == 200
    subnet = {"name": "ml", "ipCidrRange": "10.0.0.0/20", "network": "projects/shop-net/global/networks/net"}
    assert ask("POST", HOST, f"{base}/regions/us-east5/subnetworks", subnet).status == 200
    one = f"{base}/regions/us-east5/subnetworks/ml"
    before = ask("GET", HOST, f"{one}/getIamPolicy").body
    bindings = [{"role": "roles/compute.networkUser", "members": ["user:you@shop.example"]}]
    assert ask("POST", HOST, f"{one}/setIamPolicy", {"policy": {"etag": before["etag"], "bindings": bindings}}).status == 200
    assert ask("GET", HOST, f"{one}/getIamPolicy").body["bindings"] == bindings
    asked = {"permissions": ["compute.subnetworks.use"]}
    assert ask("POST", HOST, f"{one}/testIamPermissions", asked).body["permissions"] == asked["permissions"]
