"""Network endpoint groups: addresses and ports that a backend sends to."""

from __future__ import annotations

from typing import Any

from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.resources import both, kind, unused
from infra.sandbox.verbs import opened


def _group_defaults(call: Call, body: Body) -> None:
    body.setdefault("size", 0)
    body.setdefault("networkEndpointType", "GCE_VM_IP_PORT")
    if body["networkEndpointType"] in ("GCE_VM_IP_PORT", "GCE_VM_IP"):
        body["network"] = links.place(call, "global/networks", body.get("network") or "default")
    if "subnetwork" in body:
        body["subnetwork"] = links.place(call, f"regions/{call.word('zones').rpartition('-')[0]}/subnetworks", body["subnetwork"])


def attach_endpoints(call: Call) -> Any:
    return _endpoints(call, lambda now, sent: now + [item for item in sent if item not in now])


def detach_endpoints(call: Call) -> Any:
    return _endpoints(call, lambda now, sent: [item for item in now if not any(_same(item, other) for other in sent)])


def _same(item: Body, other: Body) -> bool:
    return all(item.get(field) == value for field, value in other.items())


def _endpoints(call: Call, change: Any) -> Any:
    body = opened(call)
    name = f"{call.target}/endpoints/all"
    items = (call.cloud.store.get(links.HOST, name) or {}).get("items", [])
    items = change(items, call.body.get("networkEndpoints", []))
    call.cloud.store.put(links.HOST, name, {"items": items})
    return act(call, {**body, "size": len(items)})


def list_endpoints(call: Call) -> Any:
    items = (call.cloud.store.get(links.HOST, f"{call.owner}/endpoints/all") or {}).get("items", [])
    shown = [{"networkEndpoint": item} for item in items]
    return {"kind": "compute#networkEndpointGroupsListNetworkEndpoints", "id": call.owner} | ({"items": shown} if shown else {})


KINDS = (
    *both("networkEndpointGroups", "regionNetworkEndpointGroups", defaults=_group_defaults, release=unused("network_endpoint_group")),
    kind("globalNetworkEndpointGroups", defaults=_group_defaults, release=unused("network_endpoint_group")),
)
HANDLERS = {
    "networkEndpointGroups.attachNetworkEndpoints": attach_endpoints,
    "networkEndpointGroups.detachNetworkEndpoints": detach_endpoints,
    "networkEndpointGroups.listNetworkEndpoints": list_endpoints,
}
