"""What stands in the sandbox's clusters, in short: for people, who have no `kubectl` that knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.sandbox.service import Body
from infra.sandbox.services.container import parts
from infra.sandbox.services.kubernetes import kinds, nodes
from infra.sandbox.services.kubernetes.objects import Cluster

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

POD, WORKLOAD = kinds.named("", "Pod"), kinds.named("kueue.x-k8s.io", "Workload")


def clusters(cloud: Cloud) -> list[Body]:
    """Each cluster: where its API answers, how many nodes it has, its pods, and the jobs that wait in its queues."""
    found = []
    for name, body in cloud.store.of_kind(parts.HOST, "clusters"):
        cluster = Cluster(cloud, name)
        found.append(
            {
                "name": name,
                "api": body.get("controlPlaneEndpointsConfig", {}).get("dnsEndpointConfig", {}).get("endpoint", ""),
                "nodes": len(nodes.all(cluster)),
                "pods": [_pod(pod) for pod in cluster.all(POD)],
                "queued": [_named(job) | {"waits": said} for job in cluster.all(WORKLOAD) if (said := _said(job, "QuotaReserved"))],
            }
        )
    return found


def _pod(pod: Body) -> Body:
    where = {"phase": pod["status"]["phase"], "node": pod["spec"].get("nodeName", "")}
    return _named(pod) | where | {"waits": _said(pod, "PodScheduled")}


def _named(body: Body) -> Body:
    return {"namespace": body["metadata"]["namespace"], "name": body["metadata"]["name"]}


def _said(body: Body, condition: str) -> str:
    """Why a condition does not hold; empty where it does, or where nobody said anything of it."""
    every: list[Any] = body.get("status", {}).get("conditions", [])
    return next((str(one.get("message", "")) for one in every if one["type"] == condition and one["status"] == "False"), "")
