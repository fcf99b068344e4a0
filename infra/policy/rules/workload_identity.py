"""`workload-identity`: a pod is somebody of its own, and never the node that it is on."""

from __future__ import annotations

from collections.abc import Iterator

from infra.declared import Declared
from infra.policy.rule import Broken, Rule

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
WORKLOAD_POOL = "workloadIdentityConfig.workloadPool"
MODE = "nodeConfig.workloadMetadataConfig.mode"


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Clusters without workload identity, but for Autopilot, which always has it; and pools whose pods see their node's account."""
    if resource.existing:
        return
    if resource.type == CLUSTER and resource.get("enableAutopilot") is not True and resource.get(WORKLOAD_POOL) in (None, ""):
        yield Broken(WORKLOAD_POOL, "is not stated: every pod could act as its node")
    if resource.type == POOL and resource.get(MODE) != "GKE_METADATA":
        yield Broken(MODE, "must be GKE_METADATA, and known at preview: else every pod gets its node's account")


RULE = Rule(
    name="workload-identity",
    description="Pods of GKE act as accounts of their own, and not as the nodes that they are on.",
    remediation="set workloadIdentityConfig {workloadPool: PROJECT.svc.id.goog}, and on pools workloadMetadataConfig {mode: GKE_METADATA}",
    severity="high",
    find=find,
)
