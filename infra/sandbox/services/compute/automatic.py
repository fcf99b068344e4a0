"""What Google makes by itself: a project's `default` network, and one subnetwork a region in every network of auto mode."""

from __future__ import annotations

import ipaddress

from infra.catalog import places
from infra.sandbox.clock import pacific
from infra.sandbox.operations import number
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import links

FIRST = ipaddress.IPv4Address("10.128.0.0")
"""Auto mode's ranges are /20 inside 10.128.0.0/9. Source: https://docs.cloud.google.com/vpc/docs/subnets#ip-ranges."""
DESCRIPTION = "Default network for the project"
NOT_AUTOMATIC = frozenset({"me-central2", "us-central2", "asia-southeast3"})
"""Regions that no auto network reaches. Source: recorded traffic of Compute Engine, 2026-08."""


def regions() -> tuple[str, ...]:
    """Regions that an auto network has a subnetwork in."""
    return tuple(region for region in places.regions() if region not in NOT_AUTOMATIC)


def default_network(call: Call) -> None:
    """Makes a project's `default` network at its first use of Compute Engine; once, so that it can be deleted for good."""
    key = f"compute/default/{call.project}"
    if not call.project or call.cloud.projects.get(call.project) is None or call.cloud.store.fact(key):
        return
    call.cloud.store.set_fact(key, True)
    name = f"projects/{call.project}/global/networks/default"
    body: Body = {
        "kind": "compute#network",
        "id": number(name),
        "creationTimestamp": pacific(call.now),
        "selfLink": links.LINK + name,
        "selfLinkWithId": f"{links.LINK}projects/{call.project}/global/networks/{number(name)}",
        "name": "default",
        "description": DESCRIPTION,
        "autoCreateSubnetworks": True,
        "routingConfig": {"routingMode": "REGIONAL", "bgpBestPathSelectionMode": "LEGACY"},
        "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
    }
    call.cloud.store.put(links.HOST, name, body)


def subnetworks(call: Call, name: str) -> None:
    """Makes the auto networks' subnetworks of the region that *name* is in, if it is about subnetworks: nobody reads most of them."""
    words = name.split("/")
    if len(words) < 5 or words[4] != "subnetworks" or words[3] not in regions():
        return
    for network, body in call.cloud.store.items(links.HOST, f"projects/{words[1]}/global/networks"):
        target = f"projects/{words[1]}/regions/{words[3]}/subnetworks/{links.last(network)}"
        if body.get("autoCreateSubnetworks") and call.cloud.store.get(links.HOST, target) is None:
            call.cloud.store.put(links.HOST, target, _subnetwork(call, target, network))


def _subnetwork(call: Call, name: str, network: str) -> Body:
    region = name.split("/")[3]
    address = FIRST + 4096 * regions().index(region)
    return {
        "kind": "compute#subnetwork",
        "id": number(name),
        "creationTimestamp": pacific(call.now),
        "selfLink": links.LINK + name,
        "name": links.last(name),
        "network": links.LINK + network,
        "region": links.LINK + "/".join(name.split("/")[:4]),
        "ipCidrRange": f"{address}/20",
        "gatewayAddress": str(address + 1),
        "fingerprint": "AAAAAAAAAAA=",
        "privateIpGoogleAccess": False,
        "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
        "purpose": "PRIVATE",
        "stackType": "IPV4_ONLY",
        "state": "READY",
    }
