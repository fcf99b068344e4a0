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

NO_FIELD = "Google's resource has no field for them"
NONE = {
    "accelform:billing:SpendCap": NO_FIELD,
    "accelform:tpu:QueuedResource": "a request has none; its nodes carry them",
    "accelform:vertex:DeployedModels": "a deployed model has none; whether a bill shows its endpoint's, no source says",
    "gcp:billing/budget:Budget": NO_FIELD,
    "gcp:cloudscheduler/job:Job": NO_FIELD,
    "gcp:cloudquota/sQuotaPreference:SQuotaPreference": NO_FIELD,
    "gcp:compute/firewall:Firewall": NO_FIELD,
    "gcp:compute/instanceGroupManager:InstanceGroupManager": "a group has none; its machines carry those of their template",
    "gcp:compute/network:Network": NO_FIELD,
    "gcp:compute/networkPeering:NetworkPeering": NO_FIELD,
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager": "a group has none; its machines carry those of their template",
    "gcp:compute/reservation:Reservation": NO_FIELD,
    "gcp:compute/resourcePolicy:ResourcePolicy": NO_FIELD,
    "gcp:compute/route:Route": NO_FIELD,
    "gcp:compute/router:Router": NO_FIELD,
    "gcp:compute/routerNat:RouterNat": NO_FIELD,
    "gcp:compute/subnetwork:Subnetwork": NO_FIELD,
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": NO_FIELD,
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": NO_FIELD,
    "gcp:kms/keyRing:KeyRing": "a ring has none; its keys carry them",
    "gcp:logging/metric:Metric": NO_FIELD,
    "gcp:logging/projectBucketConfig:ProjectBucketConfig": NO_FIELD,
    "gcp:logging/projectSink:ProjectSink": NO_FIELD,
    "gcp:monitoring/dashboard:Dashboard": "the provider takes a dashboard as JSON, and has no input for them",
    "gcp:projects/service:Service": NO_FIELD,
    "gcp:secretmanager/secretVersion:SecretVersion": "a version has none; its secret carries them",
    "gcp:serviceaccount/account:Account": NO_FIELD,
    "gcp:storage/bucketObject:BucketObject": "an object has metadata, which no bill shows; its bucket carries them",
}
"""
Types that carry none, and why. Sources: inputs of pulumi-gcp 10.2.0 and of the own provider, and Google's discovery documents, which tests
hold against this. A type that is not among them, and says no labels, is a finding.
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
