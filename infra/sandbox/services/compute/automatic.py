"""What Google makes by itself: a project's `default` network, and one subnetwork a region in every network of auto mode."""

from __future__ import annotations

from infra.sandbox.clock import pacific
from infra.sandbox.operations import number
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import fingerprints, links

SECOND = {
    "africa-south1": 218,
    "asia-east1": 140,
    "asia-east2": 170,
    "asia-northeast1": 146,
    "asia-northeast2": 174,
    "asia-northeast3": 178,
    "asia-south1": 160,
    "asia-south2": 190,
    "asia-southeast1": 148,
    "asia-southeast2": 184,
    "asia-southeast3": 228,
    "australia-southeast1": 152,
    "australia-southeast2": 192,
    "europe-central2": 186,
    "europe-north1": 166,
    "europe-north2": 226,
    "europe-southwest1": 204,
    "europe-west1": 132,
    "europe-west10": 214,
    "europe-west12": 210,
    "europe-west2": 154,
    "europe-west3": 156,
    "europe-west4": 164,
    "europe-west6": 172,
    "europe-west8": 198,
    "europe-west9": 200,
    "me-central1": 212,
    "me-west1": 208,
    "northamerica-northeast1": 162,
    "northamerica-northeast2": 188,
    "northamerica-south1": 224,
    "southamerica-east1": 158,
    "southamerica-west1": 194,
    "us-central1": 128,
    "us-east1": 142,
    "us-east4": 150,
    "us-east5": 202,
    "us-south1": 206,
    "us-west1": 138,
    "us-west2": 168,
    "us-west3": 180,
    "us-west4": 182,
}
"""Region -> second number of its range in a network of auto mode: `10.128.0.0/20` in us-central1. Other regions have none.
asia-southeast3 is not in that recording: it has the next range that is free.

Source: recorded traffic of Compute Engine, 2026-08; the same as https://docs.cloud.google.com/vpc/docs/subnets#ip-ranges."""
DESCRIPTION = "Default network for the project"


def regions() -> tuple[str, ...]:
    """Regions that an auto network has a subnetwork in."""
    return tuple(SECOND)


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
    internet_route(call, name)
    for made in (name, route_of(name)):
        call.cloud.mark_own(links.HOST, made)


def internet_route(call: Call, network: str) -> None:
    """Makes a new network's way out. Source: recorded traffic."""
    name = route_of(network)
    body: Body = {
        "kind": "compute#route",
        "id": number(f"{name}{call.cloud.store.next('ids')}"),
        "creationTimestamp": pacific(call.now),
        "name": links.last(name),
        "description": "Default route to the Internet.",
        "network": links.LINK + network,
        "destRange": "0.0.0.0/0",
        "priority": 1000,
        "nextHopGateway": f"{links.LINK}projects/{network.split('/')[1]}/global/gateways/default-internet-gateway",
        "selfLink": links.LINK + name,
    }
    call.cloud.store.put(links.HOST, name, body)


def route_of(network: str) -> str:
    """Name of a network's default route."""
    return f"projects/{network.split('/')[1]}/global/routes/default-route-{int(number(network)):016x}"


def subnetworks(call: Call, name: str) -> None:
    """Makes the auto networks' subnetworks of the region that *name* is in, if it is about subnetworks: nobody reads most of them."""
    words = name.split("/")
    if len(words) < 5 or words[4] != "subnetworks" or words[3] not in regions():
        return
    for network, body in call.cloud.store.items(links.HOST, f"projects/{words[1]}/global/networks"):
        target = f"projects/{words[1]}/regions/{words[3]}/subnetworks/{links.last(network)}"
        if body.get("autoCreateSubnetworks") and call.cloud.store.get(links.HOST, target) is None:
            call.cloud.store.put(links.HOST, target, _subnetwork(call, target, network))
            call.cloud.mark_own(links.HOST, target)


def _subnetwork(call: Call, name: str, network: str) -> Body:
    region = name.split("/")[3]
    address = f"10.{SECOND[region]}.0"
    body: Body = {
        "kind": "compute#subnetwork",
        "id": number(name),
        "creationTimestamp": pacific(call.now),
        "selfLink": links.LINK + name,
        "name": links.last(name),
        "network": links.LINK + network,
        "region": links.LINK + "/".join(name.split("/")[:4]),
        "ipCidrRange": f"{address}.0/20",
        "gatewayAddress": f"{address}.1",
        "privateIpGoogleAccess": False,
        "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
        "purpose": "PRIVATE",
        "stackType": "IPV4_ONLY",
        "state": "READY",
    }
    return body | {"fingerprint": fingerprints.of(body)}
