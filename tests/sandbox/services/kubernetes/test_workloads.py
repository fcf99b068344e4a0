"""Deployments, StatefulSets, DaemonSets, and their pods."""

from __future__ import annotations

from typing import Any

from k8s_calls import APPS, CORE, K8s, asking, conditions, deployment, phases

DEPLOYMENTS, PODS = f"{APPS}/namespaces/default/deployments", f"{CORE}/namespaces/default/pods"


def test_a_deployment_is_available_after_its_pods_began(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment(replicas=2))
    first = k8s.get(f"{DEPLOYMENTS}/web")
    assert (first["status"]["replicas"], first["status"]["unavailableReplicas"]) == (2, 2)
    assert conditions(first) == {"Progressing": "ReplicaSetUpdated"}
    assert first["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    k8s.after(11)
    found = k8s.get(f"{DEPLOYMENTS}/web")
    counts = {key: value for key, value in found["status"].items() if key != "conditions"}
    assert counts == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }
    assert conditions(found) == {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
    assert phases(k8s) == ["Running*", "Running*"]
    (sets,) = k8s.get(f"{APPS}/namespaces/default/replicasets")["items"]
    pod = k8s.get(PODS)["items"][0]
    assert pod["metadata"]["name"].startswith(f"{sets['metadata']['name']}-")
    assert pod["metadata"]["ownerReferences"][0]["name"] == sets["metadata"]["name"]
    assert pod["spec"]["nodeName"].startswith("gke-c-default-pool-")
    quiet = k8s.get(f"{DEPLOYMENTS}/web")["metadata"]["resourceVersion"]
    k8s.after(3600)
    assert k8s.get(f"{DEPLOYMENTS}/web")["metadata"]["resourceVersion"] == quiet


def test_a_rollout_keeps_pods_available(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment(replicas=4))
    k8s.after(11)
    changed = deployment(replicas=4)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:1.28"
    k8s.apply(f"{DEPLOYMENTS}/web", changed, force="true")
    during = k8s.get(f"{DEPLOYMENTS}/web")["status"]
    assert (during["replicas"], during["updatedReplicas"], during["availableReplicas"]) == (5, 2, 3)
    k8s.after(60)
    after = k8s.get(f"{DEPLOYMENTS}/web")
    assert (after["status"]["updatedReplicas"], after["status"]["replicas"], after["status"]["availableReplicas"]) == (4, 4, 4)
    assert after["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert {pod["spec"]["containers"][0]["image"] for pod in k8s.get(PODS)["items"]} == {"nginx:1.28"}
    sizes = sorted(one["spec"]["replicas"] for one in k8s.get(f"{APPS}/namespaces/default/replicasets")["items"])
    assert sizes == [0, 4]


def test_what_no_node_holds_is_said_and_misses_its_deadline(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, asking(deployment(progressDeadlineSeconds=100), gpu=8))
    (pod,) = k8s.get(PODS)["items"]
    (why,) = pod["status"]["conditions"]
    assert (pod["status"]["phase"], why["reason"]) == ("Pending", "Unschedulable")
    assert why["message"].startswith("0/1 nodes are available: asks for 8 nvidia.com/gpu")
    k8s.after(101)
    found = next(one for one in k8s.get(f"{DEPLOYMENTS}/web")["status"]["conditions"] if one["type"] == "Progressing")
    assert (found["status"], found["reason"]) == ("False", "ProgressDeadlineExceeded")


def test_recreate_and_scale_and_delete(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment(replicas=2, strategy={"type": "Recreate"}))
    k8s.after(11)
    k8s.patch(f"{DEPLOYMENTS}/web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    assert k8s.get(f"{DEPLOYMENTS}/web")["status"].get("updatedReplicas", 0) == 0
    k8s.after(20)
    assert k8s.get(f"{DEPLOYMENTS}/web")["status"]["updatedReplicas"] == 2
    k8s.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 1}})
    k8s.after(5)
    assert phases(k8s) == ["Running*"]
    k8s.ask("DELETE", f"{DEPLOYMENTS}/web")
    assert k8s.get(PODS)["items"][0]["metadata"]["deletionGracePeriodSeconds"] == 30
    k8s.after(5)
    assert k8s.get(PODS)["items"] == []
    assert k8s.get(f"{APPS}/namespaces/default/replicasets")["items"] == []


def test_a_pod_that_is_deleted_is_replaced(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment())
    (old,) = k8s.get(PODS)["items"]
    k8s.ask("DELETE", f"{PODS}/{old['metadata']['name']}", {"gracePeriodSeconds": 0})
    (new,) = k8s.get(PODS)["items"]
    assert new["metadata"]["uid"] != old["metadata"]["uid"]


def stateful(**spec: Any) -> dict[str, Any]:
    body = deployment("db", **spec)
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    return body | {"kind": "StatefulSet", "spec": {**body["spec"], "serviceName": "db", "volumeClaimTemplates": [claim]}}


def test_a_stateful_set_goes_one_by_one(k8s: K8s) -> None:
    sets = f"{APPS}/namespaces/default/statefulsets"
    k8s.make(sets, stateful(replicas=3))
    assert [pod["metadata"]["name"] for pod in k8s.get(PODS)["items"]] == ["db-0"]
    k8s.after(11)
    assert [pod["metadata"]["name"] for pod in k8s.get(PODS)["items"]] == ["db-0", "db-1"]
    k8s.after(30)
    found = k8s.get(f"{sets}/db")["status"]
    assert (found["readyReplicas"], found["currentRevision"]) == (3, found["updateRevision"])
    claims = [one["metadata"]["name"] for one in k8s.get(f"{CORE}/namespaces/default/persistentvolumeclaims")["items"]]
    assert claims == ["data-db-0", "data-db-1", "data-db-2"]
    k8s.patch(f"{sets}/db", {"spec": {"replicas": 1, "template": {"metadata": {"labels": {"v": "2"}}}}})
    k8s.after(60)
    (pod,) = k8s.get(PODS)["items"]
    assert (pod["metadata"]["name"], pod["metadata"]["labels"]["v"]) == ("db-0", "2")
    assert len(k8s.get(f"{CORE}/namespaces/default/persistentvolumeclaims")["items"]) == 3


def test_a_daemon_set_is_on_every_node_that_takes_it(k8s: K8s) -> None:
    k8s.pool(
        "tainted",
        config={"machineType": "e2-standard-4", "taints": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}]},
        initialNodeCount=2,
    )
    k8s.after(60)
    sets = f"{APPS}/namespaces/default/daemonsets"
    body = deployment("agent") | {"kind": "DaemonSet"}
    k8s.make(sets, body)
    k8s.after(11)
    found = k8s.get(f"{sets}/agent")["status"]
    assert (found["desiredNumberScheduled"], found["numberReady"], found["numberAvailable"]) == (1, 1, 1)
    body["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    k8s.apply(f"{sets}/agent", body, force="true")
    k8s.after(30)
    found = k8s.get(f"{sets}/agent")["status"]
    assert (found["desiredNumberScheduled"], found["numberReady"]) == (3, 3)
    assert len({pod["spec"]["nodeName"] for pod in k8s.get(PODS)["items"]}) == 3


def test_nodes_are_the_pools_machines(k8s: K8s) -> None:
    (node,) = k8s.get(f"{CORE}/nodes")["items"]
    assert node["metadata"]["labels"]["cloud.google.com/gke-nodepool"] == "default-pool"
    assert node["status"]["allocatable"]["cpu"] == "3920m"
    assert k8s.get(f"{CORE}/nodes/{node['metadata']['name']}")["kind"] == "Node"
    assert k8s.ask("GET", f"{CORE}/nodes/none").status == 404
    k8s.pool("usual", initialNodeCount=1)
    k8s.after(60)
    usual = k8s.get(f"{CORE}/nodes", labelSelector="cloud.google.com/gke-nodepool=usual")["items"]
    assert [node["status"]["allocatable"]["cpu"] for node in usual] == ["940m"]
