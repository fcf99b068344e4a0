"""Kueue: who waits for whose quota."""

from __future__ import annotations

from typing import Any

import pytest
from k8s_calls import BATCH, CORE, K8s, asking, conditions, job

BASE = "apis/kueue.x-k8s.io/v1beta2"
JOBS, LOCALS = f"{BATCH}/namespaces/default/jobs", f"{BASE}/namespaces/default/localqueues"


def queue(name: str = "gpus", gpus: Any = 2, flavors: tuple[str, ...] = ("l4",), **more: Any) -> dict[str, Any]:
    offered = [{"name": flavor, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]} for flavor in flavors]
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": offered}]
    return {"metadata": {"name": name}, "spec": {"namespaceSelector": {}, "resourceGroups": groups} | more}


def wants(name: str, gpus: int, **spec: Any) -> dict[str, Any]:
    body = asking(job(name, **spec), gpu=gpus)
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    return body


@pytest.fixture
def kueue(k8s: K8s) -> K8s:
    """With a queue of 2 GPUs, of nodes that are labelled."""
    k8s.release("kueue")
    flavor = {"metadata": {"name": "l4"}, "spec": {"nodeLabels": {"gpu": "l4"}, "tolerations": [{"key": "team", "operator": "Exists"}]}}
    k8s.make(f"{BASE}/resourceflavors", flavor)
    k8s.make(f"{BASE}/clusterqueues", queue())
    k8s.make(LOCALS, {"metadata": {"name": "team"}, "spec": {"clusterQueue": "gpus"}})
    return k8s


def suspended(k8s: K8s) -> dict[str, bool]:
    return {one["metadata"]["name"]: one["spec"]["suspend"] for one in k8s.get(JOBS)["items"]}


def why(k8s: K8s, name: str) -> str:
    """What the workload of a job says of its quota."""
    for one in k8s.get(f"{BASE}/namespaces/default/workloads")["items"]:
        if one["metadata"]["name"].startswith(f"job-{name}-"):
            return str(next(item for item in one["status"]["conditions"] if item["type"] == "QuotaReserved")["message"])
    raise AssertionError(name)


def test_who_has_no_room_waits_until_another_has_ended(kueue: K8s) -> None:
    made = kueue.make(
        JOBS,
        wants("a", 2)
        | {"metadata": {"name": "a", "labels": {"kueue.x-k8s.io/queue-name": "team"}, "annotations": {"sandbox.accelform/seconds": "50"}}},
    )
    assert made["spec"]["suspend"] is True
    kueue.make(JOBS, wants("b", 1))
    assert suspended(kueue) == {"a": False, "b": True}
    spec = kueue.get(f"{JOBS}/a")["spec"]["template"]["spec"]
    assert (spec["nodeSelector"], {"key": "team", "operator": "Exists"} in spec["tolerations"]) == ({"gpu": "l4"}, True)
    assert why(kueue, "b").endswith("insufficient unused quota for nvidia.com/gpu in flavor l4")
    found = kueue.get(f"{BASE}/clusterqueues/gpus")["status"]
    assert (found["pendingWorkloads"], found["admittedWorkloads"]) == (1, 1)
    assert found["flavorsUsage"] == [{"name": "l4", "resources": [{"name": "nvidia.com/gpu", "total": "2"}]}]
    labels = {"gpu": "l4"}
    config = {
        "machineType": "g2-standard-24",
        "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "2"}],
        "labels": labels,
    }
    kueue.pool("l4", config=config, initialNodeCount=1)
    kueue.after(130)
    assert "Complete" in conditions(kueue.get(f"{JOBS}/a"))
    assert suspended(kueue) == {"a": False, "b": False}
    kueue.ask("DELETE", f"{JOBS}/b", propagationPolicy="Background")
    assert kueue.get(f"{BASE}/clusterqueues/gpus")["status"]["admittedWorkloads"] == 0


def test_the_more_important_goes_first_and_others_may_overtake_unless_it_is_strict(kueue: K8s) -> None:
    kueue.make("apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses", {"metadata": {"name": "high"}, "value": 10})
    kueue.patch(f"{BASE}/clusterqueues/gpus", {"spec": {"stopPolicy": "Hold", "queueingStrategy": "StrictFIFO"}})
    kueue.make(JOBS, wants("low", 1))
    high = wants("high", 3)
    high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    kueue.make(JOBS, high)
    assert why(kueue, "low") == "ClusterQueue gpus is inactive: Stopped"
    assert conditions(kueue.get(f"{BASE}/clusterqueues/gpus")) == {}
    kueue.patch(f"{BASE}/clusterqueues/gpus", {"spec": {"stopPolicy": "None"}})
    assert suspended(kueue) == {"high": True, "low": True}  # 3 fit never, and nobody overtakes
    kueue.patch(f"{BASE}/clusterqueues/gpus", {"spec": {"queueingStrategy": "BestEffortFIFO"}})
    assert suspended(kueue) == {"high": True, "low": False}


def test_a_queue_that_is_drained_takes_back_what_runs(kueue: K8s) -> None:
    kueue.make(JOBS, wants("a", 1))
    assert suspended(kueue) == {"a": False}
    kueue.patch(f"{LOCALS}/team", {"spec": {"stopPolicy": "HoldAndDrain"}})
    assert suspended(kueue) == {"a": True}
    assert "nodeSelector" not in kueue.get(f"{JOBS}/a")["spec"]["template"]["spec"]
    assert kueue.get(f"{CORE}/namespaces/default/pods")["items"] == []
    kueue.patch(f"{LOCALS}/team", {"spec": {"stopPolicy": "None"}})
    assert suspended(kueue) == {"a": False}


def test_unused_quota_of_a_cohort_is_borrowed(kueue: K8s) -> None:
    kueue.patch(f"{BASE}/clusterqueues/gpus", {"spec": {"cohortName": "all"}})
    kueue.make(f"{BASE}/clusterqueues", queue("other", 3, cohortName="all"))
    kueue.make(JOBS, wants("a", 5))
    kueue.make(JOBS, wants("b", 1))
    assert suspended(kueue) == {"a": False, "b": True}


def test_a_set_of_jobs_is_admitted_as_a_whole(kueue: K8s) -> None:
    kueue.release("jobset")
    one = {"name": "w", "replicas": 2, "template": {"spec": asking(job("x"), gpu=1)["spec"]}}
    path = "apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
    for name, replicas in (("big", 3), ("small", 2)):
        meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "team"}}
        kueue.make(path, {"metadata": meta, "spec": {"replicatedJobs": [one | {"replicas": replicas}]}})
    assert suspended(kueue) == {"big-w-0": True, "big-w-1": True, "big-w-2": True, "small-w-0": False, "small-w-1": False}
    assert kueue.get(f"{JOBS}/small-w-1")["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "l4"}
    assert conditions(kueue.get(f"{path}/big")) == {"Suspended": "SuspendedJobs"}


def test_the_next_flavor_is_taken(kueue: K8s) -> None:
    kueue.make(f"{BASE}/resourceflavors", {"metadata": {"name": "t4"}, "spec": {"nodeLabels": {"gpu": "t4"}}})
    kueue.ask("PUT", f"{BASE}/clusterqueues/gpus", queue(flavors=("l4", "t4")))
    kueue.make(JOBS, wants("a", 2))
    kueue.make(JOBS, wants("b", 1))
    assert kueue.get(f"{JOBS}/b")["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "t4"}
    pinned = wants("c", 1)
    pinned["spec"]["template"]["spec"]["nodeSelector"] = {"gpu": "h100"}
    kueue.make(JOBS, pinned)
    assert "flavor l4 doesn't match node affinity" in why(kueue, "c")


@pytest.mark.parametrize(
    ("path", "change", "words"),
    [
        (f"{BASE}/clusterqueues/gpus", {"spec": {"namespaceSelector": None}}, "Workload namespace doesn't match ClusterQueue selector"),
        (f"{BASE}/clusterqueues/gpus", {"spec": {"resourceGroups": []}}, "resource nvidia.com/gpu unavailable in ClusterQueue"),
    ],
)
def test_fails_to_admit_and_says_why(kueue: K8s, path: str, change: Any, words: str) -> None:
    kueue.patch(path, change)
    kueue.make(JOBS, wants("a", 1))
    assert why(kueue, "a").endswith(words)


def test_fails_to_admit_where_a_queue_or_a_flavor_is_missing(kueue: K8s) -> None:
    lost = wants("a", 1)
    lost["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "none"
    kueue.make(JOBS, lost)
    assert why(kueue, "a") == "LocalQueue none doesn't exist"
    kueue.ask("DELETE", f"{BASE}/resourceflavors/l4")
    kueue.make(JOBS, wants("b", 1))
    assert why(kueue, "b") == "ClusterQueue gpus is inactive: references missing ResourceFlavor(s): l4"
