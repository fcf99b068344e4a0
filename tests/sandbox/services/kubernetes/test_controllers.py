"""What runs by itself: when it does, and what stops it."""

from __future__ import annotations

import pytest
from k8s_calls import APPS, CORE, K8s, deployment, phases

from infra.sandbox.services.kubernetes import view
from infra.sandbox.services.kubernetes.objects import Cluster
from infra.sandbox.services.kubernetes.workloads import DEPLOYMENT

DEPLOYMENTS = f"{APPS}/namespaces/default/deployments"
NAME = "projects/shop-prod/locations/us-central1/clusters/c"


def test_time_passes_in_its_order_however_far_it_goes_at_once(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment())
    k8s.after(100_000)
    (pod,) = k8s.get(f"{CORE}/namespaces/default/pods")["items"]
    assert pod["status"]["startTime"] == "2026-11-30T12:05:10Z"


def test_an_object_that_no_controller_reads_stops_no_other_one(k8s: K8s) -> None:
    broken = {"metadata": {"name": "broken", "namespace": "default", "uid": "u", "generation": 1}, "spec": {"template": 3}}
    k8s.get("version")
    Cluster(k8s.cloud, NAME).keep(DEPLOYMENT, broken)
    with pytest.warns(RuntimeWarning, match=r"workloads\.deployments"):
        k8s.make(f"{CORE}/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "image": "m"}]}})
    with pytest.warns(RuntimeWarning, match=r"workloads\.deployments"):
        k8s.after(11)
    assert phases(k8s) == ["Running*"]


def test_a_cluster_has_as_many_pods_as_a_sandbox_bears(k8s: K8s, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "MOST", 5)
    k8s.make(DEPLOYMENTS, deployment(replicas=2_000_000_000))
    assert len(k8s.get(f"{CORE}/namespaces/default/pods")["items"]) == 5


def test_what_is_null_is_not_there(k8s: K8s) -> None:
    body = deployment()
    body["metadata"] |= {"creationTimestamp": None, "labels": None}
    body["spec"]["template"]["spec"]["containers"][0]["ports"] = None
    made = k8s.make(DEPLOYMENTS, body)
    assert "ports" not in made["spec"]["template"]["spec"]["containers"][0]
    answer = k8s.ask("POST", DEPLOYMENTS, {"metadata": {"name": "empty"}})
    fields = {one["field"] for one in answer.body["details"]["causes"]}
    assert (answer.status, {"spec.selector", "spec.template"} <= fields) == (422, True)
