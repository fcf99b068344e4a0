"""`labels`: whatever can carry labels says whose it is, so that a bill, a budget and a clean-up can ask."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.declared import Declared
from infra.labels import STACK_LABEL
from infra.policy.objects import is_object
from infra.policy.queued import with_queued
from infra.policy.rule import Broken, Rule

KEYS = ("managed-by", STACK_LABEL, "environment", "owner")

ELSEWHERE = {
    "gcp:container/cluster:Cluster": "resourceLabels",
    "gcp:container/nodePool:NodePool": "nodeConfig.resourceLabels",
    "gcp:monitoring/alertPolicy:AlertPolicy": "userLabels",
    "gcp:monitoring/customService:CustomService": "userLabels",
    "gcp:monitoring/genericService:GenericService": "userLabels",
    "gcp:monitoring/notificationChannel:NotificationChannel": "userLabels",
    "gcp:monitoring/slo:Slo": "userLabels",
    "gcp:monitoring/uptimeCheckConfig:UptimeCheckConfig": "userLabels",
}
"""Where labels are not under `labels`. A node pool's own labels are those of its nodes in Kubernetes, which no bill shows."""

NONE = frozenset(
    {
        "accelform:billing:SpendCap",
        "accelform:tpu:QueuedResource",  # its nodes do
        "accelform:vertex:DeployedModels",
        "gcp:billing/budget:Budget",
        "gcp:cloudscheduler/job:Job",
        "gcp:cloudquota/sQuotaPreference:SQuotaPreference",
        "gcp:compute/firewall:Firewall",
        "gcp:compute/instanceGroupManager:InstanceGroupManager",  # its machines carry those of their template
        "gcp:compute/network:Network",
        "gcp:compute/networkPeering:NetworkPeering",
        "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager",
        "gcp:compute/reservation:Reservation",
        "gcp:compute/resourcePolicy:ResourcePolicy",
        "gcp:compute/route:Route",
        "gcp:compute/router:Router",
        "gcp:compute/routerNat:RouterNat",
        "gcp:compute/subnetwork:Subnetwork",
        "gcp:iam/workloadIdentityPool:WorkloadIdentityPool",
        "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider",
        "gcp:kms/keyRing:KeyRing",
        "gcp:logging/metric:Metric",
        "gcp:logging/projectBucketConfig:ProjectBucketConfig",
        "gcp:logging/projectSink:ProjectSink",
        "gcp:monitoring/dashboard:Dashboard",
        "gcp:projects/service:Service",
        "gcp:secretmanager/secretVersion:SecretVersion",  # its secret does
        "gcp:serviceaccount/account:Account",
        "gcp:storage/bucketObject:BucketObject",
    }
)
"""
Types that carry none. Source: inputs of pulumi-gcp 10.2.0 and of the own provider, which a test holds against this. A type that is not
among them, and says no labels, is a finding.
"""
GRANT = re.compile(r"gcp:.*:\w*(?:IAM|Iam)\w*")
"""No grant carries labels, of whatever type."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Labels that are missing, empty or not known. Whether they name this stack is not seen here: the program writes them."""
    if resource.existing or resource.is_component or resource.type in NONE:
        return
    if is_object(resource):
        path = "metadata.labels"
    elif resource.type.startswith(("gcp:", "accelform:")) and not GRANT.fullmatch(resource.type):
        path = ELSEWHERE.get(resource.type, "labels")
    else:
        return
    for key in KEYS:
        value = resource.get(f"{path}.{key}")
        if not isinstance(value, str) or not value:
            yield Broken(f"{path}.{key}", "must be stated, and known at preview: else nobody sees whose it is, and no budget counts it")


RULE = Rule(
    name="labels",
    description="Everything that can carry labels has those of its stack, its environment and its owner.",
    remediation="give it the stack's labels: managed-by, accelform-stack, environment, owner",
    severity="low",
    find=with_queued(find),
)
