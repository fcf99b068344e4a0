"""Networks, subnetworks, firewalls, routers, addresses."""

from __future__ import annotations

from typing import Any

import pytest

LINK = "https://www.googleapis.com/compute/v1/projects/shop-prod/"
CUSTOM = {"name": "net", "autoCreateSubnetworks": False}


def test_project_has_default_network_in_auto_mode(compute: Any) -> None:
    """A project finds its network `default`, with one subnetwork a region."""
    found = compute.get("global/networks/default")
    subnetwork = compute.get("regions/us-central1/subnetworks/default")

    assert found["autoCreateSubnetworks"] is True
    assert LINK + "regions/us-central1/subnetworks/default" in found["subnetworks"]
    assert (subnetwork["ipCidrRange"], subnetwork["gatewayAddress"]) == ("10.128.0.0/20", "10.128.0.1")


def test_default_network_is_deleted_for_good(compute: Any) -> None:
    """Once deleted, it does not come back, and its subnetworks are gone."""
    compute.get("regions/us-central1/subnetworks/default")
    compute.do("DELETE", "global/networks/default")

    assert compute.ask("GET", "global/networks/default").status == 404
    assert "items" not in compute.get("regions/us-central1/subnetworks")


def test_network_fills_in_what_google_does(compute: Any) -> None:
    """Source: recorded traffic of Compute Engine."""
    found = compute.make("global/networks", CUSTOM)

    assert found["routingConfig"] == {"routingMode": "REGIONAL", "bgpBestPathSelectionMode": "LEGACY"}
    assert found["networkFirewallPolicyEnforcementOrder"] == "AFTER_CLASSIC_FIREWALL"
    assert found["kind"] == "compute#network"
    assert found["selfLink"] == LINK + "global/networks/net"
    assert found["selfLinkWithId"] == LINK + "global/networks/" + found["id"]
    assert "subnetworks" not in found


def test_network_has_a_route_to_the_internet(compute: Any) -> None:
    """Source: recorded traffic. It goes with its network."""
    link = compute.make("global/networks", CUSTOM)["selfLink"]
    asked = 'network eq ".*\\bnet\\b.*"'

    route = compute.get("global/routes", filter=asked)["items"][0]

    assert (route["network"], route["destRange"], route["priority"]) == (link, "0.0.0.0/0", 1000)
    compute.do("DELETE", "global/networks/net")
    assert "items" not in compute.get("global/routes", filter=asked)


def test_network_of_auto_mode_becomes_custom(compute: Any) -> None:
    """Its subnetworks stay."""
    compute.make("global/networks", {"name": "net"})

    compute.do("POST", "global/networks/net/switchToCustomMode")

    found = compute.get("global/networks/net")
    assert found["autoCreateSubnetworks"] is False
    assert compute.get("regions/asia-east1/subnetworks/net")["ipCidrRange"] == "10.140.0.0/20"


def test_missing_network_is_said_in_googles_words(compute: Any) -> None:
    said = "The resource 'projects/shop-prod/global/networks/gone' was not found"

    assert compute.refused("GET", "global/networks/gone") == (404, said, "notFound")


def test_second_of_a_name_is_refused(compute: Any) -> None:
    compute.make("global/networks", CUSTOM)
    said = "The resource 'projects/shop-prod/global/networks/net' already exists"

    assert compute.refused("POST", "global/networks", CUSTOM) == (409, said, "alreadyExists")


@pytest.mark.parametrize("name", ["", "Net", "net-", "a" * 64])
def test_name_is_held_against_googles_pattern(compute: Any, name: str) -> None:
    status, said, reason = compute.refused("POST", "global/networks", {"name": name})

    assert (status, reason) == (400, "invalid")
    assert said.startswith(f"Invalid value for field 'resource.name': '{name}'. Must be a match of regex")


def test_network_in_use_fails_in_its_operation(network: Any) -> None:
    """Google answers the delete, and fails its operation. Source: recorded traffic."""
    operation = network.do("DELETE", "global/networks/net")

    said = "The network resource 'projects/shop-prod/global/networks/net' is already being used by"
    error = operation["error"]["errors"][0]
    assert error["code"] == "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"
    assert error["message"] == f"{said} 'projects/shop-prod/regions/us-east5/subnetworks/sub'"
    assert (operation["httpErrorStatusCode"], operation["httpErrorMessage"]) == (400, "BAD REQUEST")
    assert network.get("global/networks/net")["name"] == "net"


def test_subnetwork_fills_in_what_google_does(network: Any) -> None:
    """Source: recorded traffic of Compute Engine."""
    found = network.get("regions/us-east5/subnetworks/sub")

    expected = {
        "gatewayAddress": "10.0.0.1",
        "network": LINK + "global/networks/net",
        "region": LINK + "regions/us-east5",
        "privateIpGoogleAccess": False,
        "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
        "purpose": "PRIVATE",
        "stackType": "IPV4_ONLY",
        "enableFlowLogs": False,
        "logConfig": {"enable": False},
    }
    assert expected == {key: found[key] for key in expected}
    assert network.get("global/networks/net")["subnetworks"] == [found["selfLink"]]


@pytest.mark.parametrize("form", ["global/networks/net", "projects/shop-prod/global/networks/net", LINK + "global/networks/net", "net"])
def test_network_is_named_in_any_form(compute: Any, form: str) -> None:
    """Every form of a reference comes back as a full address."""
    compute.make("global/networks", CUSTOM)

    found = compute.make("global/firewalls", {"name": "ssh", "network": form, "allowed": [{"IPProtocol": "tcp"}]})

    assert found["network"] == LINK + "global/networks/net"


def test_subnetworks_of_a_network_do_not_overlap(network: Any) -> None:
    body = {"name": "other", "network": "global/networks/net", "ipCidrRange": "10.0.8.0/24"}

    status, said, reason = network.refused("POST", "regions/us-west1/subnetworks", body)

    assert (status, reason) == (400, "invalid")
    assert said.endswith("Invalid IPCidrRange: 10.0.8.0/24 conflicts with existing subnetwork 'sub' in region 'us-east5'.")


def test_subnetwork_of_no_network_is_refused(compute: Any) -> None:
    body = {"name": "sub", "network": "global/networks/gone", "ipCidrRange": "10.0.0.0/20"}

    said = "The resource 'projects/shop-prod/global/networks/gone' was not found"
    assert compute.refused("POST", "regions/us-east5/subnetworks", body) == (404, said, "notFound")


def test_subnetwork_in_no_region_is_refused(compute: Any) -> None:
    said = "The resource 'projects/shop-prod/regions/mars-east1' was not found"

    assert compute.refused("POST", "regions/mars-east1/subnetworks", {"name": "sub"}) == (404, said, "notFound")


def test_subnetwork_changes_what_may_change(network: Any) -> None:
    """Private access by its verb; the range only grows; the network never changes."""
    where = "regions/us-east5/subnetworks/sub"
    before = network.get(where)["fingerprint"]

    network.do("POST", f"{where}/setPrivateIpGoogleAccess", {"privateIpGoogleAccess": True})
    network.do("POST", f"{where}/expandIpCidrRange", {"ipCidrRange": "10.0.0.0/16"})

    found = network.get(where)
    assert (found["privateIpGoogleAccess"], found["ipCidrRange"]) == (True, "10.0.0.0/16")
    assert found["fingerprint"] != before
    assert network.refused("POST", f"{where}/expandIpCidrRange", {"ipCidrRange": "10.0.0.0/24"})[0] == 400
    assert network.refused("PATCH", where, {"network": "global/networks/default"})[0] == 400


def test_subnetwork_of_auto_mode_cannot_be_deleted(compute: Any) -> None:
    status, said, _ = compute.refused("DELETE", "regions/us-central1/subnetworks/default")

    assert (status, said) == (400, "Cannot delete auto subnetwork from an auto subnet mode network.")


def test_firewall_fills_in_and_patches(network: Any) -> None:
    """A rule without sources is open to all, as Google's is; a patch keeps what it does not name."""
    body = {"name": "ssh", "network": "global/networks/net", "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]}
    found = network.make("global/firewalls", body)

    assert (found["direction"], found["priority"], found["disabled"]) == ("INGRESS", 1000, False)
    assert (found["sourceRanges"], found["logConfig"]) == (["0.0.0.0/0"], {"enable": False})
    operation = network.do(
        "PATCH", "global/firewalls/ssh", {"network": "global/networks/net", "sourceRanges": ["10.0.0.0/8"], "denied": []}
    )
    after = network.get("global/firewalls/ssh")
    assert operation["operationType"] == "compute.firewalls.patch"
    assert after["sourceRanges"] == ["10.0.0.0/8"]
    assert after["allowed"] == body["allowed"]
    assert "denied" not in after


def test_nat_comes_and_goes_with_a_patch_of_its_router(network: Any) -> None:
    where = "regions/us-east5/routers/edge"
    router = network.make("regions/us-east5/routers", {"name": "edge", "network": "global/networks/net"})
    assert router["encryptedInterconnectRouter"] is False

    network.do("PATCH", where, {"nats": [{"name": "nat", "natIpAllocateOption": "AUTO_ONLY"}]})
    assert network.get(where)["nats"][0]["type"] == "PUBLIC"
    network.do("PATCH", where, {"nats": []})
    assert "nats" not in network.get(where)


def test_address_is_chosen_and_reserved(network: Any) -> None:
    """An internal one is of its subnetwork's range."""
    outside = network.make("regions/us-east5/addresses", {"name": "out"})
    inside = network.make("regions/us-east5/addresses", {"name": "in", "addressType": "INTERNAL", "subnetwork": "sub"})

    assert (outside["addressType"], outside["networkTier"], outside["status"]) == ("EXTERNAL", "PREMIUM", "RESERVED")
    assert inside["address"] == "10.0.0.2"


def test_peering_is_active_when_both_sides_have_it(network: Any) -> None:
    network.make("global/networks", {"name": "peer", "autoCreateSubnetworks": False})

    for one, other in (("net", "peer"), ("peer", "net")):
        peering = {"name": "p", "network": f"global/networks/{other}", "exchangeSubnetRoutes": True}
        network.do("POST", f"global/networks/{one}/addPeering", {"networkPeering": peering})

    assert [network.get(f"global/networks/{name}")["peerings"][0]["state"] for name in ("net", "peer")] == ["ACTIVE", "ACTIVE"]
