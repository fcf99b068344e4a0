"""
Services, Gateways, routes and Ingresses get addresses after a while, and say so. No traffic goes through them.

Sources: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/deploying-gateways; the conditions of Gateway API 1.2 in its reference;
read 2026-11. The seconds are ours.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.compute import links
from infra.sandbox.services.kubernetes import kinds
from infra.sandbox.services.kubernetes.objects import seconds
from infra.sandbox.services.kubernetes.view import View, is_true, with_condition

BALANCER_SECONDS, GATEWAY_SECONDS = 40.0, 120.0
SERVICE, INGRESS = kinds.named("", "Service"), kinds.named("networking.k8s.io", "Ingress")
GATEWAY, ROUTE = (kinds.named("gateway.networking.k8s.io", name) for name in ("Gateway", "HTTPRoute"))
GATEWAY_CLASS = kinds.named("gateway.networking.k8s.io", "GatewayClass")
INTERNAL = {"networking.gke.io/load-balancer-type": "internal", "cloud.google.com/load-balancer-type": "internal"}
"""Annotations of a service that is reached from the network only. Source: GKE's page on internal load balancing, read 2026-11."""
PUBLIC = ipaddress.IPv4Address("34.110.0.2")
CONTROLLER = "networking.gke.io/gateway"


def run(view: View) -> None:
    for body in view.all(SERVICE):
        balanced = body["spec"].get("type") == "LoadBalancer"
        if not balanced or not body.get("status"):
            body = view.status(SERVICE, body, {"loadBalancer": {}})
        if balanced:
            _balanced(view, SERVICE, body, BALANCER_SECONDS)
    for body in view.all(INGRESS):
        _balanced(view, INGRESS, body, GATEWAY_SECONDS)
    for body in view.all(GATEWAY):
        _gateway(view, body)
    for body in view.all(ROUTE):
        _route(view, body)


def _due(view: View, body: Body, lasts: float) -> bool:
    at = seconds(body["metadata"]["creationTimestamp"]) + lasts
    if at > view.now:
        view.later(at)
    return at <= view.now


def _balanced(view: View, kind: kinds.Kind, body: Body, lasts: float) -> None:
    if (
        "deletionTimestamp" in body["metadata"]
        or body.get("status", {}).get("loadBalancer", {}).get("ingress")
        or not _due(view, body, lasts)
    ):
        return
    marks = body["metadata"].get("annotations") or {}
    inside = (
        any(str(marks.get(key, "")).lower() == value for key, value in INTERNAL.items())
        or marks.get("kubernetes.io/ingress.class") == "gce-internal"
    )
    asked = body["spec"].get("loadBalancerIP")
    entry = {"ip": asked or _address(view, inside=inside)} | ({"ipMode": "VIP"} if kind is SERVICE else {})
    view.status(kind, body, {**body.get("status", {}), "loadBalancer": {"ingress": [entry]}})


def _address(view: View, *, inside: bool) -> str:
    count = view.cluster.cloud.store.next("kubernetes/balancers")
    if not inside:
        return str(PUBLIC + count)
    subnet = view.cluster.cloud.store.get(links.HOST, view.cluster.body["networkConfig"]["subnetwork"]) or {}
    block = ipaddress.ip_network(subnet.get("ipCidrRange", "10.128.0.0/20"))
    return str(block[block.num_addresses // 2 + count % (block.num_addresses // 4)])


def _gateway(view: View, body: Body) -> None:
    """Accepted and programmed; one of a class that there is not waits for ever."""
    status = dict(body.get("status", {}))
    generation = body["metadata"]["generation"]
    known = view.get(GATEWAY_CLASS, "", str(body["spec"].get("gatewayClassName"))) is not None
    done = known and (bool(status.get("addresses")) or _due(view, body, GATEWAY_SECONDS))
    if done and not status.get("addresses"):
        named = [one for one in body["spec"].get("addresses") or [] if one.get("type", "IPAddress") == "IPAddress" and one.get("value")]
        inside = "rilb" in str(body["spec"]["gatewayClassName"])
        status["addresses"] = named or [{"type": "IPAddress", "value": _address(view, inside=inside)}]
    for name in ("Accepted", "Programmed"):
        said = (done, name if done else "Pending", "" if done else "Waiting for controller")
        status["conditions"] = with_condition(view, status.get("conditions"), name, *said, observedGeneration=generation)
    if done:
        routes = [one for one in view.all(ROUTE) if any(_is_parent(one, parent, body) for parent in one["spec"].get("parentRefs") or [])]
        old = {one["name"]: one for one in status.get("listeners", [])}
        status["listeners"] = [
            {
                "name": listener["name"],
                "attachedRoutes": sum(_on(route, listener["name"], body) for route in routes),
                "supportedKinds": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}],
                "conditions": _listener(view, old.get(listener["name"], {}).get("conditions"), generation),
            }
            for listener in body["spec"].get("listeners") or []
        ]
    view.status(GATEWAY, body, status)


def _listener(view: View, conditions: Any, generation: int) -> list[Body]:
    for name in ("Accepted", "Programmed", "ResolvedRefs"):
        conditions = with_condition(view, conditions, name, True, name, observedGeneration=generation)
    return list(conditions)


def _is_parent(route: Body, parent: Body, gateway: Body) -> bool:
    meta = gateway["metadata"]
    namespace = parent.get("namespace") or route["metadata"]["namespace"]
    return (parent.get("kind", "Gateway"), parent.get("name"), namespace) == ("Gateway", meta["name"], meta["namespace"])


def _on(route: Body, listener: str, gateway: Body) -> bool:
    parents = route["spec"].get("parentRefs") or []
    return any(_is_parent(route, one, gateway) and one.get("sectionName") in (None, listener) for one in parents)


def _route(view: View, body: Body) -> None:
    """Of each Gateway that it names, and that is programmed: accepted, and whether its services are there."""
    meta, spec = body["metadata"], body["spec"]
    before = body.get("status", {}).get("parents", [])
    missing = [
        backend["name"]
        for rule in spec.get("rules") or []
        for backend in rule.get("backendRefs") or []
        if backend.get("kind", "Service") == "Service"
        and view.get(SERVICE, backend.get("namespace") or meta["namespace"], backend["name"]) is None
    ]
    found = []
    for parent in spec.get("parentRefs") or []:
        gateway = view.get(GATEWAY, parent.get("namespace") or meta["namespace"], str(parent.get("name")))
        if gateway is None or not is_true(gateway, "Programmed"):
            continue
        conditions = next((one["conditions"] for one in before if one["parentRef"] == parent), None)
        generation = meta["generation"]
        conditions = with_condition(view, conditions, "Accepted", True, "Accepted", observedGeneration=generation)
        said = (not missing, "BackendNotFound" if missing else "ResolvedRefs", f"Service {missing[0]} not found" if missing else "")
        conditions = with_condition(view, conditions, "ResolvedRefs", *said, observedGeneration=generation)
        found.append({"parentRef": parent, "controllerName": CONTROLLER, "conditions": conditions})
    view.status(ROUTE, body, {"parents": found})
