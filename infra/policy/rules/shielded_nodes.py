"""`shielded-nodes`: a node boots what Google signed, and can prove it."""

from __future__ import annotations

from collections.abc import Iterator

from infra.declared import Declared
from infra.policy.rule import Broken, Rule

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
SHIELDED = "nodeConfig.shieldedInstanceConfig"


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Clusters that give up shielded nodes, and pools without secure boot or a look at what booted."""
    if resource.existing:
        return
    if resource.type == CLUSTER and resource.get("enableShieldedNodes") not in (None, True):
        yield Broken("enableShieldedNodes", "must not be given up: a node could join that nobody made")
    if resource.type == POOL:
        for key in ("enableSecureBoot", "enableIntegrityMonitoring"):
            if resource.get(f"{SHIELDED}.{key}") is not True:
                yield Broken(f"{SHIELDED}.{key}", "must be stated as true, and known at preview")


RULE = Rule(
    name="shielded-nodes",
    description="Every node of GKE boots signed software only, and what it booted is measured.",
    remediation="set shieldedInstanceConfig: {enableSecureBoot: true, enableIntegrityMonitoring: true}; GKE's drivers are signed",
    severity="medium",
    find=find,
)
