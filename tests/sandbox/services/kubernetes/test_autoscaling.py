"""The horizontal pod autoscaler, by loads that are declared."""

from __future__ import annotations

from typing import Any

import pytest
from k8s_calls import APPS, K8s, conditions, deployment

from infra.sandbox.server import Server

DEPLOYMENTS, HPAS = f"{APPS}/namespaces/default/deployments", "apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
NAME = "projects/shop-prod/locations/us-central1/clusters/c/namespaces/default/web"


def autoscaler(**spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5} | spec}


def replicas(k8s: K8s) -> int:
    return int(k8s.get(f"{DEPLOYMENTS}/web")["spec"]["replicas"])


def test_replicas_follow_the_load_within_the_limits(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment())
    made = k8s.make(HPAS, autoscaler())
    assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 80
    assert replicas(k8s) == 2
    assert conditions(k8s.get(f"{HPAS}/web")) == {"AbleToScale": "ReadyForNewScale"}
    loads = Server(k8s.cloud).loads
    assert loads("POST", {"autoscaler": NAME, "metrics": {"cpu": 310}})["autoscalers"] == {NAME: {"cpu": 310}}
    assert replicas(k8s) == 4
    loads("POST", {"autoscaler": NAME, "metrics": {"cpu": 9000}})
    assert replicas(k8s) == 5
    loads("POST", {"autoscaler": NAME, "metrics": {"cpu": 10}})
    k8s.after(299)
    assert replicas(k8s) == 5
    k8s.after(2)
    assert replicas(k8s) == 2
    found = k8s.get(f"{HPAS}/web")["status"]
    assert (found["desiredReplicas"], conditions({"status": found})["ScalingActive"]) == (2, "ValidMetricFound")
    assert "autoscalers" not in loads("DELETE", None)


def test_a_target_that_is_not_there_is_said(k8s: K8s) -> None:
    k8s.make(HPAS, autoscaler())
    (one,) = k8s.get(f"{HPAS}/web")["status"]["conditions"]
    assert (one["status"], one["reason"]) == ("False", "FailedGetScale")


@pytest.mark.parametrize(
    "sent",
    [
        {"autoscaler": "none", "metrics": {}},
        {"autoscaler": NAME, "metrics": {"cpu": -1}},
        {"autoscaler": NAME, "metrics": {"cpu": "x"}},
        {"autoscaler": NAME, "metrics": 3},
        {"autoscaler": NAME},
        {"autoscaler": NAME, "metrics": {}, "more": 1},
    ],
)
def test_fails_at_a_load_that_is_none(k8s: K8s, sent: Any) -> None:
    with pytest.raises(ValueError, match=r"autoscaler|metrics"):
        Server(k8s.cloud).loads("POST", sent)
