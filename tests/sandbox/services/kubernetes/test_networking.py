"""Services, Gateways and routes get addresses after a while."""

from __future__ import annotations

from typing import Any

from k8s_calls import CORE, K8s, conditions

from infra.sandbox.cloud import Cloud

SERVICES = f"{CORE}/namespaces/default/services"
GATEWAYS, ROUTES = (f"apis/gateway.networking.k8s.io/v1/namespaces/default/{name}" for name in ("gateways", "httproutes"))


def test_a_balancer_gets_an_address_inside_or_outside(k8s: K8s) -> None:
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}}
    k8s.make(SERVICES, {"metadata": {"name": "a"}, "spec": spec})
    marks = {"networking.gke.io/load-balancer-type": "Internal"}
    k8s.make(SERVICES, {"metadata": {"name": "b", "annotations": marks}, "spec": spec})
    k8s.after(39)
    assert "ingress" not in k8s.get(f"{SERVICES}/a")["status"].get("loadBalancer", {})
    k8s.after(2)
    one, other = (k8s.get(f"{SERVICES}/{name}")["status"]["loadBalancer"]["ingress"][0]["ip"] for name in ("a", "b"))
    assert (one.split(".")[0], other.split(".")[0]) == ("34", "10")


def test_a_gateway_is_programmed_and_takes_its_routes(cloud: Cloud) -> None:
    k8s = K8s(cloud, networkConfig={"gatewayApiConfig": {"channel": "CHANNEL_STANDARD"}})
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    spec = {"gatewayClassName": "gke-l7-global-external-managed", "listeners": [listener]}
    k8s.make(GATEWAYS, {"metadata": {"name": "front"}, "spec": spec})
    k8s.make(GATEWAYS, {"metadata": {"name": "lost"}, "spec": spec | {"gatewayClassName": "none"}})
    rule = {"backendRefs": [{"name": "web", "port": 80}]}
    made = k8s.make(ROUTES, {"metadata": {"name": "web"}, "spec": {"parentRefs": [{"name": "front"}], "rules": [rule]}})
    assert made["spec"]["rules"][0]["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
    assert conditions(k8s.get(f"{GATEWAYS}/front")) == {}
    k8s.after(121)
    found = k8s.get(f"{GATEWAYS}/front")
    assert conditions(found) == {"Accepted": "Accepted", "Programmed": "Programmed"}
    assert found["status"]["addresses"][0]["value"].startswith("34.")
    assert found["status"]["listeners"][0]["attachedRoutes"] == 1
    assert conditions(k8s.get(f"{GATEWAYS}/lost")) == {}

    def parent() -> dict[str, Any]:
        (one,) = k8s.get(f"{ROUTES}/web")["status"]["parents"]
        return {item["type"]: item["reason"] for item in one["conditions"]}

    assert parent() == {"Accepted": "Accepted", "ResolvedRefs": "BackendNotFound"}
    k8s.make(SERVICES, {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    assert parent() == {"Accepted": "Accepted", "ResolvedRefs": "ResolvedRefs"}
