"""Networks and what is in them: subnetworks, firewalls, routers, routes, addresses."""

from __future__ import annotations

import ipaddress
from typing import Any

from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import automatic, links
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.fingerprints import renewed
from infra.sandbox.services.compute.resources import in_use, kind, unused, wrong
from infra.sandbox.verbs import opened

EXTERNAL = ipaddress.IPv4Address("34.80.0.2")
"""External addresses of the sandbox count up from here."""
SHORTEST, LONGEST = 8, 30
"""Prefix lengths of a reserved range. Source: https://docs.cloud.google.com/vpc/docs/configure-private-services-access."""
RESERVED_RANGE = ipaddress.IPv4Address("10.64.0.0")
"""Ranges of a given size that nobody chose count up from here."""


def _network_defaults(call: Call, body: Body) -> None:
    if "IPv4Range" not in body:
        body.setdefault("autoCreateSubnetworks", True)
    routing = body.setdefault("routingConfig", {})
    routing.setdefault("routingMode", "REGIONAL")
    routing.setdefault("bgpBestPathSelectionMode", "LEGACY")
    body.setdefault("networkFirewallPolicyEnforcementOrder", "AFTER_CLASSIC_FIREWALL")
    if body.get("enableUlaInternalIpv6") and "internalIpv6Range" not in body:
        count = call.cloud.store.next("ula")
        body["internalIpv6Range"] = f"fd20:{count >> 4:x}:{(count & 15) << 12:x}:0:0:0:0:0/48"
    if body.get("enableUlaInternalIpv6") is False:
        del body["enableUlaInternalIpv6"]  # source: recorded traffic


def _fill_network(call: Call, body: Body) -> None:
    automatic.internet_route(call, call.target)


def _undo_network(call: Call, body: Body) -> None:
    call.cloud.remove(links.HOST, automatic.route_of(call.target))


def _show_network(call: Call, body: Body) -> Body:
    """With the subnetworks that it has by now."""
    found = []
    for _, name, other in call.cloud.store.every(links.HOST, f"projects/{_project(body)}/regions/"):
        if name.split("/")[4] == "subnetworks" and other.get("network") == body.get("selfLink"):
            found.append(links.LINK + name)
    if body.get("autoCreateSubnetworks"):
        project = _project(body)
        found += [f"{links.LINK}projects/{project}/regions/{region}/subnetworks/{body['name']}" for region in automatic.regions()]
    return body | ({"subnetworks": sorted(set(found))} if found else {})


def _project(body: Body) -> str:
    return links.name_of(body.get("selfLink", "")).split("/")[1] if body.get("selfLink") else ""


def _check_network(call: Call, body: Body, before: Body | None) -> None:
    if before is not None and before.get("autoCreateSubnetworks") != body.get("autoCreateSubnetworks"):
        raise wrong("autoCreateSubnetworks", body.get("autoCreateSubnetworks"), "Field cannot be changed by an update.")


def switch_to_custom(call: Call) -> Any:
    """Auto mode ends: the subnetworks stay, as its own."""
    body = opened(call)
    for region in automatic.regions():
        automatic.subnetworks(call, f"projects/{call.project}/regions/{region}/subnetworks/")
    return act(call, {**body, "autoCreateSubnetworks": False})


def add_peering(call: Call) -> Any:
    """A peering is ACTIVE when the other network has one back."""
    body = opened(call)
    peering = call.body.get("networkPeering") or {"name": call.body.get("name", ""), "network": call.body.get("peerNetwork", "")}
    peering = links.normalise(peering, call.project)
    peers = body.setdefault("peerings", [])
    if any(item["name"] == peering["name"] for item in peers):
        raise Refused(409, f"The resource '{call.target}' already has a peering '{peering['name']}'")
    other = links.stored(call, peering["network"])
    back = next((item for item in (other or {}).get("peerings", []) if item["network"] == body["selfLink"]), None)
    peers.append({**peering, "state": "ACTIVE" if back else "INACTIVE"})
    if other is not None and back is not None:
        back["state"] = "ACTIVE"
        call.cloud.store.put(links.HOST, links.name_of(other["selfLink"]), other)
    return act(call, body, verb="addPeering")


def remove_peering(call: Call) -> Any:
    body = opened(call)
    body["peerings"] = [item for item in body.get("peerings", []) if item["name"] != call.body.get("name")]
    return act(call, body, verb="removePeering")


def _subnetwork_defaults(call: Call, body: Body) -> None:
    private_nat = body.get("purpose") == "PRIVATE_NAT"
    body.setdefault("purpose", "PRIVATE")
    if not private_nat:
        body.setdefault("stackType", "IPV4_ONLY")
    body.setdefault("privateIpGoogleAccess", False)
    body.setdefault("privateIpv6GoogleAccess", "DISABLE_GOOGLE_ACCESS")
    body.setdefault("allowSubnetCidrRoutesOverlap", False)
    flows = body.setdefault("logConfig", {}).setdefault("enable", body.get("enableFlowLogs", False))
    body["enableFlowLogs"] = flows
    body.setdefault("state", "READY")


def _fill_subnetwork(call: Call, body: Body) -> None:
    if "ipCidrRange" not in body and not body.get("reservedInternalRange"):
        raise wrong("ipCidrRange", "", "Must be a valid IPv4 CIDR address range.")
    body["network"] = links.place(call, "global/networks", body.get("network", ""))
    if body.get("ipCidrRange"):
        body["gatewayAddress"] = str(_range(body["ipCidrRange"], "ipCidrRange").network_address + 1)


def _check_subnetwork(call: Call, body: Body, before: Body | None) -> None:
    """Ranges of one network share no address."""
    if before is not None or "ipCidrRange" not in body:
        return
    mine = _ranges(body)
    for _, name, other in call.cloud.store.every(links.HOST, f"projects/{call.project}/regions/"):
        if name.split("/")[4] != "subnetworks" or other.get("network") != body["network"] or name == call.target:
            continue
        for taken in _ranges(other):
            for wanted in mine:
                if wanted.overlaps(taken):
                    said = f"Invalid IPCidrRange: {wanted} conflicts with existing subnetwork '{links.last(name)}' in region"
                    raise wrong("ipCidrRange", str(wanted), f"{said} '{name.split('/')[3]}'.")


def _ranges(body: Body) -> list[ipaddress.IPv4Network]:
    texts = [body.get("ipCidrRange", ""), *(item.get("ipCidrRange", "") for item in body.get("secondaryIpRanges", []))]
    return [_range(text, "ipCidrRange") for text in texts if text]


def _range(text: str, field: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        raise wrong(field, text, "Must be a valid IPv4 CIDR address range.") from None


def _release_subnetwork(call: Call, body: Body) -> None:
    network = links.stored(call, body.get("network", ""))
    if network and network.get("autoCreateSubnetworks") and body["name"] == network["name"]:
        raise Refused(400, "Cannot delete auto subnetwork from an auto subnet mode network.", reason="invalidUsage")
    unused("subnetwork")(call, body)


def set_private_access(call: Call) -> Any:
    body = opened(call)
    body["privateIpGoogleAccess"] = call.body.get("privateIpGoogleAccess", False)
    return act(call, renewed(body))


def expand_range(call: Call) -> Any:
    """A range only grows."""
    body = opened(call)
    wider, before = _range(call.body.get("ipCidrRange", ""), "ipCidrRange"), _range(body["ipCidrRange"], "ipCidrRange")
    if not wider.supernet_of(before) or wider == before:
        raise wrong("ipCidrRange", wider, f"New range must be a superset of the range {before}.")
    return act(call, renewed({**body, "ipCidrRange": str(wider), "gatewayAddress": str(wider.network_address + 1)}))


def _firewall_defaults(call: Call, body: Body) -> None:
    body["network"] = links.place(call, "global/networks", body.get("network") or "default")  # default: the document's description
    body.setdefault("direction", "INGRESS")
    body.setdefault("priority", 1000)
    body.setdefault("disabled", False)
    body.setdefault("logConfig", {}).setdefault("enable", False)
    sources = ("sourceRanges", "sourceTags", "sourceServiceAccounts")
    if body["direction"] == "INGRESS" and not any(body.get(field) for field in sources):
        body["sourceRanges"] = ["0.0.0.0/0"]
    if body["direction"] == "EGRESS" and not body.get("destinationRanges"):
        body["destinationRanges"] = ["0.0.0.0/0"]


def _check_firewall(call: Call, body: Body, before: Body | None) -> None:
    if bool(body.get("allowed")) == bool(body.get("denied")):
        raise Refused(400, "Exactly one of 'allowed' and 'denied' must be specified.", reason="invalid")


def _router_defaults(call: Call, body: Body) -> None:
    body["network"] = links.place(call, "global/networks", body.get("network", ""))
    body.setdefault("encryptedInterconnectRouter", False)
    for nat in body.get("nats", []):
        nat.setdefault("type", "PUBLIC")
        nat.setdefault("enableEndpointIndependentMapping", False)
        nat.setdefault("endpointTypes", ["ENDPOINT_TYPE_VM"])
        if nat["type"] == "PUBLIC":
            nat.setdefault("autoNetworkTier", "PREMIUM")
        else:
            nat.setdefault("enableDynamicPortAllocation", True)  # source: recorded traffic of a private NAT
        nat["effectiveTcpTimeWaitTimeoutSec"] = nat.get("tcpTimeWaitTimeoutSec", 120)  # source: recorded traffic
    for interface in body.get("interfaces", []):
        interface.setdefault("ipVersion", "IPV4")  # source: recorded traffic
    names = [nat.get("name") for nat in body.get("nats", [])]
    if len(names) != len(set(names)):
        raise wrong("nats", names, "Names of NATs must be unique in a router.")


def _address_defaults(call: Call, body: Body) -> None:
    for field, collection in (("network", "global/networks"), ("subnetwork", f"regions/{call.word('regions')}/subnetworks")):
        if field in body:
            body[field] = links.place(call, collection, body[field])
    body.setdefault("addressType", "EXTERNAL")
    body.setdefault("description", "")
    body.setdefault("status", "RESERVED")
    if body["addressType"] == "EXTERNAL" or call.word("regions"):
        body.setdefault("networkTier", "PREMIUM")


def _fill_address(call: Call, body: Body) -> None:
    count = call.cloud.store.next("addresses")
    if body.get("addressType") == "INTERNAL" and body.get("prefixLength"):
        if not LONGEST >= body["prefixLength"] >= SHORTEST:
            raise wrong("prefixLength", body["prefixLength"], f"Must be between {SHORTEST} and {LONGEST}.")
        size = 1 << (32 - body["prefixLength"])
        body.setdefault("address", str(ipaddress.IPv4Address(int(RESERVED_RANGE) // size * size + (count % 64) * size)))
    elif body.get("addressType") == "INTERNAL":
        body.setdefault("purpose", "GCE_ENDPOINT")
        found = links.stored(call, body.get("subnetwork", ""))
        body.setdefault("address", free_address(call, found) if found else str(RESERVED_RANGE + count))
    else:
        body.setdefault("address", str(EXTERNAL + count))


def _show_address(call: Call, body: Body) -> Body:
    """An address is in use while a forwarding rule or a machine has it."""
    for _, name, other in call.cloud.store.every(links.HOST, f"projects/{_project(body)}/"):
        if name.split("/")[-2] == "forwardingRules" and other.get("IPAddress") == body.get("address"):
            return {**body, "status": "IN_USE", "users": [links.LINK + name]}
    return body


def free_address(call: Call, subnetwork: Body) -> str:
    """The next address of a subnetwork: the first two and the last two are Google's."""
    inside = ipaddress.IPv4Network(subnetwork["ipCidrRange"])
    count = call.cloud.store.next(f"addresses of {subnetwork['selfLink']}")
    return str(inside.network_address + 1 + (count - 1) % max(1, inside.num_addresses - 4) + 1)


def _release_address(call: Call, body: Body) -> None:
    shown = _show_address(call, body)
    if shown["status"] == "IN_USE":
        user = links.name_of(shown["users"][0])
        raise Refused(400, in_use("address", call.target, user), reason="resourceInUseByAnotherResource")


def _route_defaults(call: Call, body: Body) -> None:
    body["network"] = links.place(call, "global/networks", body.get("network", ""))
    body.setdefault("priority", 1000)  # "the default value is 1000": the document's description


KINDS = (
    kind(
        "networks",
        defaults=_network_defaults,
        fill=_fill_network,
        undone=_undo_network,
        show=_show_network,
        check=_check_network,
        seconds={"create": 20, "delete": 20},
    ),
    kind(
        "subnetworks",
        defaults=_subnetwork_defaults,
        fill=_fill_subnetwork,
        check=_check_subnetwork,
        release=_release_subnetwork,
        immutable=("network", "ipCidrRange"),
        seconds={"create": 20, "delete": 20},
    ),
    kind("firewalls", defaults=_firewall_defaults, check=_check_firewall, immutable=("network", "direction")),
    kind("routers", defaults=_router_defaults, release=unused("router"), immutable=("network",)),
    kind("addresses", defaults=_address_defaults, fill=_fill_address, show=_show_address, release=_release_address),
    kind("globalAddresses", defaults=_address_defaults, fill=_fill_address, show=_show_address, release=_release_address),
    kind("routes", defaults=_route_defaults),
)
HANDLERS = {
    "networks.addPeering": add_peering,
    "networks.removePeering": remove_peering,
    "networks.switchToCustomMode": switch_to_custom,
    "subnetworks.setPrivateIpGoogleAccess": set_private_access,
    "subnetworks.expandIpCidrRange": expand_range,
}
