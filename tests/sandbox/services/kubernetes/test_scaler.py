"""The cluster autoscaler and compute classes: nodes for pods."""

from __future__ import annotations

from typing import Any

from k8s_calls import APPS, BATCH, CLUSTERS, CORE, K8s, asking, deployment, job, phases

from infra.sandbox.cloud import Cloud
from infra.sandbox.faults import Fault

DEPLOYMENTS, CLASSES = f"{APPS}/namespaces/default/deployments", "apis/cloud.google.com/v1/computeclasses"
L4 = {"machineType": "g2-standard-4", "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]}
SCALED = {"enabled": True, "totalMaxNodeCount": 3}
CLASS = {"cloud.google.com/compute-class": "gpus"}


def nodes(k8s: K8s) -> dict[str, int]:
    """Pool -> nodes that are there."""
    found: dict[str, int] = {}
    for node in k8s.get(f"{CORE}/nodes")["items"]:
        pool = node["metadata"]["labels"]["cloud.google.com/gke-nodepool"]
        found[pool] = found.get(pool, 0) + 1
    return found


def sizes(k8s: K8s) -> dict[str, int]:
    """Pool -> machines."""
    found: dict[str, int] = {}
    for name, _ in k8s.cloud.store.of_kind("compute.googleapis.com", "instances"):
        body = k8s.cloud.store.get("compute.googleapis.com", name) or {}
        pool = body["labels"]["goog-k8s-node-pool-name"]
        found[pool] = found.get(pool, 0) + 1
    return found


def test_nodes_come_for_pods_from_none_and_go_when_nobody_needs_them(k8s: K8s) -> None:
    k8s.pool("l4", config=L4, autoscaling=SCALED, initialNodeCount=0)
    k8s.make(DEPLOYMENTS, asking(deployment(replicas=2), gpu=1))
    assert sizes(k8s) == {"default-pool": 1, "l4": 2}
    assert phases(k8s) == ["Pending", "Pending"]
    k8s.after(59)
    assert nodes(k8s) == {"default-pool": 1}
    k8s.after(12)
    assert nodes(k8s) == {"default-pool": 1, "l4": 2}
    assert phases(k8s) == ["Running*", "Running*"]
    k8s.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 9}})
    k8s.after(80)
    assert (nodes(k8s)["l4"], phases(k8s).count("Running*")) == (3, 3)
    k8s.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 1}})
    k8s.after(590)
    assert nodes(k8s)["l4"] == 3
    k8s.after(20)
    assert nodes(k8s)["l4"] == 1
    assert phases(k8s) == ["Running*"]
    k8s.ask("DELETE", f"{DEPLOYMENTS}/web")
    k8s.after(700)
    assert nodes(k8s) == {"default-pool": 1}


def test_a_zone_without_capacity_is_left_for_another_and_tried_again(k8s: K8s) -> None:
    k8s.pool("l4", config=L4, locations=["us-central1-a", "us-central1-b"], autoscaling=SCALED, initialNodeCount=0)
    k8s.cloud.faults.add(Fault(do="stockout", zone="us-central1-a"))
    k8s.make(DEPLOYMENTS, asking(deployment(), gpu=1))
    k8s.after(71)
    (pod,) = k8s.get(f"{CORE}/namespaces/default/pods")["items"]
    node = k8s.get(f"{CORE}/nodes/{pod['spec']['nodeName']}")
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "us-central1-b"
    k8s.cloud.faults.add(Fault(do="stockout"))
    k8s.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 2}})
    k8s.after(200)
    assert phases(k8s).count("Pending") == 1
    k8s.cloud.faults.clear()
    k8s.after(400)
    assert phases(k8s) == ["Running*", "Running*"]


def test_a_slice_comes_as_a_whole(k8s: K8s) -> None:
    config = {"machineType": "ct5lp-hightpu-4t"}
    scaling = {"enabled": True, "maxNodeCount": 4}
    placement = {"type": "COMPACT", "tpuTopology": "4x4"}
    k8s.pool("slice", config=config, autoscaling=scaling, placementPolicy=placement, initialNodeCount=0)
    select = {"cloud.google.com/gke-tpu-topology": "4x4", "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice"}
    k8s.make(DEPLOYMENTS, asking(deployment(replicas=1), tpu=4, select=select))
    assert sizes(k8s)["slice"] == 4
    k8s.after(80)
    assert phases(k8s) == ["Running*"]
    k8s.after(1200)
    assert sizes(k8s)["slice"] == 4  # a slice whose one node is used stays
    k8s.ask("DELETE", f"{DEPLOYMENTS}/web")
    k8s.after(700)
    assert "slice" not in sizes(k8s)


def test_pods_on_a_node_that_goes_are_made_anew(k8s: K8s) -> None:
    k8s.pool("l4", config=L4, autoscaling=SCALED, initialNodeCount=0)
    k8s.make(DEPLOYMENTS, asking(deployment(), gpu=1))
    k8s.after(80)
    (old,) = k8s.get(f"{CORE}/namespaces/default/pods")["items"]
    k8s.operation(k8s.google("DELETE", f"{CLUSTERS}/c/nodePools/l4"))
    (new,) = k8s.get(f"{CORE}/namespaces/default/pods")["items"]
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["status"]["phase"] == "Pending"


def test_a_job_goes_on_where_its_spot_node_is_taken_away(k8s: K8s) -> None:
    k8s.pool("l4", config=L4 | {"spot": True}, autoscaling=SCALED, initialNodeCount=0)
    body = asking(job(), gpu=1)
    body["metadata"]["annotations"] = {"sandbox.accelform/seconds": "600"}
    k8s.make(f"{BATCH}/namespaces/default/jobs", body)
    k8s.after(80)
    assert phases(k8s) == ["Running*"]
    k8s.cloud.faults.add(Fault(do="preempt", path="instances/gke-c-l4-", times=1))
    k8s.after(5)
    pods = k8s.get(f"{CORE}/namespaces/default/pods")["items"]
    assert sorted(pod["status"]["phase"] for pod in pods) == ["Failed", "Pending"]
    lost = next(pod for pod in pods if pod["status"]["phase"] == "Failed")
    assert "DisruptionTarget" in {one["type"] for one in lost["status"]["conditions"]}
    k8s.after(900)
    found = k8s.get(f"{BATCH}/namespaces/default/jobs/train")["status"]
    assert (found["succeeded"], found["failed"]) == (1, 1)


def compute_class(*priorities: Any, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cloud.google.com/v1",
        "kind": "ComputeClass",
        "metadata": {"name": "gpus"},
        "spec": {"priorities": list(priorities), "nodePoolAutoCreation": {"enabled": True}} | more,
    }


def pools(k8s: K8s) -> list[dict[str, Any]]:
    return [pool for pool in k8s.google("GET", f"{CLUSTERS}/c/nodePools").body["nodePools"] if pool["name"] != "default-pool"]


SPOT = {"machineType": "g2-standard-4", "spot": True}
DEMAND = {"gpu": {"type": "nvidia-l4", "count": 1}}


def test_a_class_makes_a_pool_of_its_first_priority_and_takes_it_away(k8s: K8s) -> None:
    k8s.make(CLASSES, compute_class(SPOT, DEMAND))
    k8s.make(DEPLOYMENTS, asking(deployment(replicas=2), gpu=1, select=CLASS))
    (pool,) = pools(k8s)
    assert pool["name"].startswith("nap-g2-standard-4-")
    config = pool["config"]
    assert (config["spot"], config["labels"]) == (True, CLASS)
    assert {"key": "cloud.google.com/compute-class", "value": "gpus", "effect": "NO_SCHEDULE"} in config["taints"]
    k8s.after(80)
    assert phases(k8s) == ["Running*", "Running*"]
    assert {"key": "cloud.google.com/compute-class", "operator": "Equal", "value": "gpus", "effect": "NoSchedule"} in k8s.get(
        f"{CORE}/namespaces/default/pods"
    )["items"][0]["spec"]["tolerations"]
    k8s.ask("DELETE", f"{DEPLOYMENTS}/web")
    k8s.after(700)
    assert pools(k8s) == []


def test_without_capacity_the_next_priority_is_taken(k8s: K8s) -> None:
    k8s.cloud.faults.add(Fault(do="stockout", provisioning="spot"))
    k8s.make(CLASSES, compute_class(SPOT, DEMAND))
    k8s.make(DEPLOYMENTS, asking(deployment(), gpu=1, select=CLASS))
    k8s.after(80)
    (pool,) = pools(k8s)
    assert "spot" not in pool["config"]
    assert phases(k8s) == ["Running*"]


def test_a_class_names_pools_that_stand(k8s: K8s) -> None:
    marks = {"labels": CLASS, "taints": [{"key": "cloud.google.com/compute-class", "value": "gpus", "effect": "NO_SCHEDULE"}]}
    k8s.pool("first", config=L4 | marks, autoscaling={"enabled": True, "totalMaxNodeCount": 1}, initialNodeCount=0)
    k8s.pool("second", config=L4 | marks, autoscaling=SCALED, initialNodeCount=0)
    k8s.make(CLASSES, compute_class({"nodepools": ["first"]}, {"nodepools": ["none", "second"]}, nodePoolAutoCreation={"enabled": False}))
    k8s.make(DEPLOYMENTS, asking(deployment(replicas=2), gpu=1, select=CLASS))
    k8s.after(80)
    assert nodes(k8s) == {"default-pool": 1, "first": 1, "second": 1}


def test_pods_of_no_class_get_none_of_its_nodes(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, asking(deployment(), gpu=1, select=CLASS))
    k8s.after(80)
    assert (phases(k8s), pools(k8s)) == (["Pending"], [])


def test_a_namespace_has_a_class_of_its_own(k8s: K8s) -> None:
    k8s.make(CLASSES, compute_class(DEMAND))
    k8s.make(f"{CORE}/namespaces", {"metadata": {"name": "team", "labels": {"cloud.google.com/default-compute-class": "gpus"}}})
    k8s.make(DEPLOYMENTS.replace("default", "team"), asking(deployment(), gpu=1))
    k8s.after(80)
    assert phases(k8s, "team") == ["Running*"]


def test_a_priority_that_holds_no_pod_makes_no_pool(k8s: K8s) -> None:
    k8s.make(CLASSES, compute_class(SPOT))
    k8s.make(DEPLOYMENTS, asking(deployment(), gpu=1, select=CLASS | {"team": "none"}))
    before = k8s.cloud.store.next("ids")
    k8s.after(80)
    assert (pools(k8s), k8s.cloud.store.next("ids") - before) == ([], 1)


def test_an_autopilot_cluster_makes_the_nodes_of_its_pods(cloud: Cloud) -> None:
    k8s = K8s(cloud, autopilot={"enabled": True}, nodePools=[], locations=["us-central1-a", "us-central1-b", "us-central1-c"])
    k8s.make(DEPLOYMENTS, asking(deployment("small"), cpu="500m"))
    select = {"cloud.google.com/gke-accelerator": "nvidia-l4", "cloud.google.com/gke-spot": "true"}
    k8s.make(DEPLOYMENTS, asking(deployment("big"), gpu=2, select=select))
    k8s.make(DEPLOYMENTS, asking(deployment("never"), gpu=8))
    k8s.after(80)
    assert phases(k8s) == ["Running*", "Pending", "Running*"]
    types = {node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in k8s.get(f"{CORE}/nodes")["items"]}
    assert types == {"e2-highcpu-2", "g2-standard-24"}


def test_a_declared_load_is_not_overruled_by_pods(k8s: K8s) -> None:
    k8s.pool("l4", config=L4, autoscaling=SCALED, initialNodeCount=0)
    from infra.sandbox.services.container import autoscaler

    autoscaler.declare(k8s.cloud, {"node_pool": "projects/shop-prod/locations/us-central1/clusters/c/nodePools/l4", "nodes": 1})
    k8s.make(DEPLOYMENTS, asking(deployment(replicas=3), gpu=1))
    k8s.after(80)
    assert sizes(k8s)["l4"] == 1
