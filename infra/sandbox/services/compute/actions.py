"""Verbs that Compute Engine has for many resources: labels, lists over all places, deletes of what is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.catalog import places
from infra.sandbox import lists, operations, verbs
from infra.sandbox.refused import rpc_error
from infra.sandbox.service import Body, Call, Service
from infra.sandbox.services.compute import automatic, fingerprints, links, zones
from infra.sandbox.services.compute.resources import HEALTH, in_use, user_of
from infra.sandbox.verbs import opened

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

LABELS = "Labels fingerprint either invalid or resource labels have changed"
"""Source: Google's answer in public issue threads."""
LONG = {"instanceTemplates", "regionNetworkEndpointGroups", "nodeTemplates", "externalVpnGateways", "targetGrpcProxies"}
LONG_DELETE = {"regionNetworkEndpointGroups", "nodeTemplates"}
LONG_PATCH = {"firewalls", "networks", "sslPolicies"}
PREEMPTED = "compute.instances.preempted"
OWN = {
    "setTarget": "SetTarget",
    "preempted": PREEMPTED,
    "targetTcpProxies.setBackendService": "TargetTcpProxySetBackendService",
    "reservations.update": "compute.allocations.update",
    "futureReservations.update": "update",
    "networkEdgeSecurityServices.insert": "createNetworkEdgeSecurityService",
    "networkEdgeSecurityServices.patch": "updateNetworkEdgeSecurityService",
    "networkEdgeSecurityServices.delete": "deleteNetworkEdgeSecurityService",
}
"""`operationType` where it is not the method's verb. Source: recorded traffic."""


def operation_type(method: str, verb: str) -> str:
    """What an operation is called. *verb* is the method's, unless a handler said a word of its own."""
    _, resource, own = method.split(".")
    if verb not in ("create", "patch", "update", "delete"):
        own = verb
    if f"{resource}.{own}" in OWN or own in OWN:
        return OWN.get(f"{resource}.{own}") or OWN[own]
    if resource in {"insert": LONG, "delete": LONG_DELETE, "patch": LONG_PATCH}.get(own, ()):
        return f"compute.{resource}.{own}"
    return own


class Operations(operations.ComputeOperations):
    """Old health checks are health checks in operations that are done; what Google does by itself has a name of its own. Recorded."""

    def name(self, call: Call, verb: str) -> str:
        name = super().name(call, verb)
        return name.replace("/operation-", "/systemevent-") if verb == "preempted" else name

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        answer = super().shown(cloud, service, operation)
        if answer["operationType"] == PREEMPTED:
            answer |= {"user": "system@google.com", "statusMessage": "Instance was preempted."}
        return answer if not operation["done"] else answer | {"targetLink": HEALTH.sub("/healthChecks/", answer["targetLink"])}


def act(call: Call, body: Body, *, seconds: float = 5, sets: Body | None = None, during: Body | None = None, verb: str = "") -> Any:
    """Keeps what a verb of a resource's own changed: `call.target` is *body* from now on, with *sets* at the operation's end."""
    call.cloud.store.put(links.HOST, call.target, {**body, **(during or {})})
    return operations.start(call, verb or call.method.verb, body, seconds, sets=sets or {})


def set_labels(call: Call) -> Any:
    """Replaces the labels; the answer's operation is done. Source: recorded traffic."""
    body = opened(call)
    fingerprints.check(call, call.body.get("labelFingerprint", ""), body.get("labelFingerprint", ""), LABELS)
    body["labels"] = call.body.get("labels", {})
    body["labelFingerprint"] = fingerprints.of(body["labels"])
    return act(call, body, seconds=0)


def list_(call: Call) -> Any:
    """By name. Source: the document's description of `orderBy`."""
    return lists.listed(call, sorted(call.cloud.store.items(links.HOST, call.inside)))


def listed(call: Call, bodies: list[Body], count: int) -> Body:
    """The shape of every list. Source: recorded traffic."""
    return _head(call) | ({lists.plural(call): bodies} if bodies else {})


def _head(call: Call) -> Body:
    known = call.method.document.schemas[call.method.response]["properties"]
    kind = {"kind": known["kind"]["default"]} if "kind" in known else {}
    return kind | {"id": call.inside, "selfLink": f"https://www.googleapis.com/compute/{call.version}/{call.inside}"}


def aggregated_list(call: Call) -> Any:
    """What a project has of a kind, place by place; a place without says so. Source: recorded traffic."""
    word = call.collection.rpartition("/")[2]
    if word == "subnetworks":
        for region in automatic.regions():
            automatic.subnetworks(call, f"{call.owner}/regions/{region}/{word}/")
    scopes = [*(f"regions/{region}" for region in places.regions()), *(f"zones/{zone}" for zone in zones.names())]
    found: dict[str, list[Body]] = {scope: zones.of_catalogue(call, word, links.last(scope)) for scope in ["global", *scopes]}
    for _, name, body in call.cloud.store.every(links.HOST, f"{call.owner}/"):
        words = name.split("/")
        scope = "global" if words[2] == "global" else "/".join(words[2:4])
        if words[-2] == word and scope in found:
            call.target = name
            found[scope].append(verbs.answered(call, body))
    wanted = {scope: lists.filtered(call, bodies) for scope, bodies in found.items()}
    return _head(call) | {"items": {scope: {word: items} if items else _nothing_in(scope) for scope, items in wanted.items()}}


def _nothing_in(scope: str) -> Body:
    return {
        "warning": {
            "code": "NO_RESULTS_ON_PAGE",
            "message": f"No results for the scope '{scope}'.",
            "data": [{"key": "scope", "value": scope}],
        }
    }


def delete_network(call: Call) -> Any:
    """A network that is in use is refused by its operation, not by the answer. Source: recorded traffic of Google."""
    body = opened(call)
    if body.get("autoCreateSubnetworks"):
        for region in automatic.regions():
            _remove_if_unused(call, f"projects/{call.project}/regions/{region}/subnetworks/{links.last(call.owner)}")
    route = automatic.route_of(call.target)
    user = user_of(call, call.target, but=route)
    if not user:
        call.cloud.remove(links.HOST, route)
        return operations.start(call, "delete", None, 10, empty=True)
    error = rpc_error("INVALID_ARGUMENT", in_use("network", call.target, user), compute_code="RESOURCE_IN_USE_BY_ANOTHER_RESOURCE")
    return operations.start(call, "delete", None, 10, empty=True, error=error)


def _remove_if_unused(call: Call, name: str) -> None:
    if call.cloud.store.get(links.HOST, name) is not None and not user_of(call, name):
        call.cloud.remove(links.HOST, name)
