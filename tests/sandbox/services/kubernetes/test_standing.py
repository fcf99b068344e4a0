"""What stands in clusters, in short."""

from __future__ import annotations

from k8s_calls import APPS, BATCH, K8s, asking, deployment, job

from infra.sandbox.services.kubernetes import standing

BASE = "apis/kueue.x-k8s.io/v1beta2"
JOBS = f"{BATCH}/namespaces/default/jobs"


def test_says_where_pods_are_and_why_others_wait(k8s: K8s) -> None:
    """A pod has a node, or the scheduler's words; a job without quota has the queue's, and no pod."""
    k8s.release("kueue")
    k8s.make(f"{BASE}/resourceflavors", {"metadata": {"name": "l4"}, "spec": {}})
    covered = {"coveredResources": ["nvidia.com/gpu"]}
    offered = {"flavors": [{"name": "l4", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 0}]}]}
    k8s.make(
        f"{BASE}/clusterqueues", {"metadata": {"name": "gpus"}, "spec": {"namespaceSelector": {}, "resourceGroups": [covered | offered]}}
    )
    k8s.make(f"{BASE}/namespaces/default/localqueues", {"metadata": {"name": "team"}, "spec": {"clusterQueue": "gpus"}})
    waits = asking(job("waits"), gpu=1)
    waits["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    k8s.make(JOBS, waits)
    k8s.make(f"{APPS}/namespaces/default/deployments", deployment("runs"))
    k8s.make(JOBS, asking(job("large"), gpu=1))
    k8s.after(60)

    (cluster,) = standing.clusters(k8s.cloud)
    assert (cluster["name"], cluster["api"], cluster["nodes"]) == ("projects/shop-prod/locations/us-central1/clusters/c", k8s.host, 1)
    large, runs = sorted(cluster["pods"], key=lambda pod: str(pod["name"]))
    assert (runs["phase"], bool(runs["node"]), runs["waits"]) == ("Running", True, "")
    assert (large["phase"], large["node"]) == ("Pending", "")
    assert "nvidia.com/gpu" in large["waits"]
    (queued,) = cluster["queued"]
    assert queued["name"].startswith("job-waits-")
    assert "nvidia.com/gpu" in queued["waits"]


def test_a_sandbox_without_clusters_has_none(k8s: K8s) -> None:
    k8s.operation(k8s.google("DELETE", "v1beta1/projects/shop-prod/locations/us-central1/clusters/c"))
    assert standing.clusters(k8s.cloud) == []
