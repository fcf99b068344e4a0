"""`cost-allocation`: the bill of a cluster can be split by namespace and label."""

from __future__ import annotations

from collections.abc import Iterator

from infra.declared import Declared
from infra.policy.rule import Broken, Rule

CLUSTER = "gcp:container/cluster:Cluster"
KEY = "costManagementConfig.enabled"


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Clusters without cost allocation, or that cannot be shown to have it. What others own is theirs to decide."""
    if resource.type == CLUSTER and not resource.existing and resource.get(KEY) is not True:
        yield Broken(KEY, "must be stated as true, and known at preview: else its bill has nodes, and no namespaces")


RULE = Rule(
    name="cost-allocation",
    description="The bill of every GKE cluster can be split by namespace and label.",
    remediation="set costManagementConfig: {enabled: true}; the bill of the days before stays as it is",
    severity="low",
    find=find,
)
