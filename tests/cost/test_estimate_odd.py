"""Whatever an input is, an estimate answers: with a price, or with a line that says what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from costing import assuming, declared, estimated

from infra.cost.estimate import LINES, estimate
from infra.declared import UNKNOWN, Declared, Secret

REGION = "us-central1"
ZONE = "us-central1-a"
DISK = {"type": "hyperdisk-extreme", "size": 100, "provisionedIops": 5000, "provisionedThroughput": 200}
CONFIG = {
    "machineType": "n1-standard-4",
    "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
    "bootDisk": {"diskType": "pd-balanced", "sizeGb": 100},
    "localSsdCount": 1,
    "spot": True,
    "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
}
CONTAINERS = [{"resources": {"limits": {"cpu": "1", "memory": "512Mi"}, "cpuIdle": True}}]
CLUSTER = declared(
    "gcp:container/cluster:Cluster",
    "cluster",
    {
        "name": "gke",
        "location": REGION,
        "nodeLocations": [ZONE],
        "nodePools": [{"name": "a", "nodeCount": 1, "nodeConfig": CONFIG}],
        "privateClusterConfig": {"enablePrivateNodes": False},
        "clusterAutoscaling": {"enabled": False},
        "enterpriseConfig": {"desiredTier": "STANDARD"},
    },
)
TEMPLATE = declared(
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "template",
    {
        "name": "template",
        "machineType": "n1-standard-4",
        "disks": [{"boot": True, "diskType": "pd-balanced", "diskSizeGb": 100}, {"type": "SCRATCH", "diskSizeGb": 375}],
        "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
        "scheduling": {"provisioningModel": "SPOT", "maxRunDuration": {"seconds": 3600}},
        "networkInterfaces": [{"accessConfigs": [{}]}],
    },
)
GROUP = declared(
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "group",
    {"name": "group", "zone": ZONE, "versions": [{"instanceTemplate": "template"}], "targetSize": 2},
)
POD = {
    "nodeSelector": {"cloud.google.com/compute-class": "answers"},
    "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
}
TEMPLATE_OF_PODS = {"template": {"spec": POD}}
SMALL = {"template": {"spec": {"containers": [{}]}}}
KIND = {
    "Pod": ("core/v1", {"containers": [{}]}),
    "Deployment": ("apps/v1", {"replicas": 2} | TEMPLATE_OF_PODS),
    "DaemonSet": ("apps/v1", SMALL),
    "ReplicaSet": ("apps/v1", {"replicas": 2} | SMALL),
    "StatefulSet": (
        "apps/v1",
        {"replicas": 2, "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1Gi"}}}}]} | SMALL,
    ),
    "Job": ("batch/v1", {"parallelism": 2} | SMALL),
    "CronJob": ("batch/v1", {"jobTemplate": {"spec": SMALL}}),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", {"replicatedJobs": [{"replicas": 2, "template": {"spec": SMALL}}]}),
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": SMALL["template"]}},
    ),
    **{
        kind: (
            "ray.io/v1",
            {
                key: {
                    "headGroupSpec": SMALL,
                    "workerGroupSpecs": [{"minReplicas": 0, "maxReplicas": 2, "numOfHosts": 2} | SMALL],
                }
            }
            if key
            else {"headGroupSpec": SMALL, "workerGroupSpecs": [{"replicas": 1} | SMALL]},
        )
        for kind, key in {"RayCluster": "", "RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}.items()
    },
    "Service": ("core/v1", {"type": "LoadBalancer"}),
    "Ingress": ("networking.k8s.io/v1", {"ingressClassName": "gce"}),
    "Gateway": (
        "gateway.networking.k8s.io/v1",
        {"gatewayClassName": "gke-l7-regional-external-managed", "listeners": [{"port": 80}]},
    ),
    "PersistentVolumeClaim": ("core/v1", {"storageClassName": "premium-rwo", "resources": {"requests": {"storage": "10Gi"}}}),
    "ComputeClass": (
        "cloud.google.com/v1",
        {
            "nodePoolConfig": {"ipType": "private"},
            "priorities": [
                {
                    "machineType": "n1-standard-4",
                    "gpu": {"type": "nvidia-tesla-t4", "count": 1},
                    "spot": True,
                    "location": {"zones": [ZONE]},
                    "storage": {"bootDiskType": "pd-balanced", "bootDiskSize": 100, "localSSDCount": 1},
                },
                {
                    "machineType": "n1-standard-4",
                    "gpu": {"type": "nvidia-tesla-t4", "count": 1},
                    "reservations": {"affinity": "Specific", "specific": [{"name": "r", "zones": [ZONE]}]},
                },
            ],
        },
    ),
}
IN_CLUSTER = [
    Declared(f"kubernetes:{api}:{kind}", f"in-{kind}", {"metadata": {"name": "answers", "annotations": {"a": "b"}}, "spec": spec})
    for kind, (api, spec) in KIND.items()
]
LIMIT = declared(
    "kubernetes:autoscaling.x-k8s.io/v1beta1:CapacityQuota",
    "limit",
    {"spec": {"selector": {"matchLabels": {"cloud.google.com/compute-class": "answers"}}, "limits": {"resources": {"nodes": 2}}}},
)
SCALER = declared(
    "kubernetes:autoscaling/v2:HorizontalPodAutoscaler",
    "copies",
    {
        "metadata": {"name": "answers"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "answers"}, "minReplicas": 1, "maxReplicas": 3},
    },
)
CLASS_OF = declared(
    "kubernetes:storage.k8s.io/v1:StorageClass",
    "made-of",
    {"metadata": {"name": "premium-rwo"}, "provisioner": "pd.csi.storage.gke.io", "parameters": {"type": "pd-ssd"}},
)
SECRET = declared(
    "gcp:secretmanager/secret:Secret",
    "secret",
    {"name": "secret", "replication": {"userManaged": {"replicas": [{"location": REGION}]}}},
)
RICH = [
    CLUSTER,
    TEMPLATE,
    GROUP,
    SECRET,
    declared(
        "gcp:container/nodePool:NodePool",
        "pool",
        {"cluster": "gke", "autoscaling": {"minNodeCount": 0, "maxNodeCount": 2, "totalMaxNodeCount": 0}, "nodeConfig": CONFIG}
        | {"queuedProvisioning": {"enabled": False}, "networkConfig": {"enablePrivateNodes": True}, "nodeLocations": [ZONE]},
    ),
    declared(
        "gcp:compute/instance:Instance",
        "machine",
        {
            "zone": ZONE,
            "machineType": "n1-standard-4",
            "desiredStatus": "RUNNING",
            "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
            "scheduling": {"provisioningModel": "SPOT", "preemptible": True, "maxRunDuration": {"seconds": 3600}},
            "reservationAffinity": {"type": "NO_RESERVATION"},
            "bootDisk": {"initializeParams": DISK},
            "attachedDisks": [{"source": "other"}],
            "scratchDisks": [{"size": 375}],
            "networkInterfaces": [{"accessConfigs": [{}], "ipv6AccessConfigs": []}],
        },
    ),
    declared("gcp:tpu/v2Vm:V2Vm", "node", {"zone": ZONE, "acceleratorType": "v5litepod-4", "schedulingConfig": {"spot": True}}),
    declared("gcp:compute/autoscaler:Autoscaler", "scaler", {"target": "group", "autoscalingPolicy": {"minReplicas": 1, "maxReplicas": 3}}),
    declared(
        "gcp:compute/resizeRequest:ResizeRequest",
        "request",
        {"instanceGroupManager": "group", "resizeBy": 2, "requestedRunDuration": {"seconds": "3600"}},
    ),
    declared("gcp:compute/disk:Disk", "disk", {"zone": ZONE} | DISK),
    declared("gcp:compute/regionDisk:RegionDisk", "disk2", {"region": REGION, "type": "pd-ssd", "size": 10}),
    declared("gcp:compute/routerNat:RouterNat", "nat", {"region": REGION}),
    declared("gcp:compute/address:Address", "address", {"region": REGION, "addressType": "EXTERNAL"}),
    declared(
        "gcp:compute/forwardingRule:ForwardingRule", "rule", {"region": REGION, "loadBalancingScheme": "EXTERNAL_MANAGED", "target": "x"}
    ),
    declared("gcp:compute/securityPolicy:SecurityPolicy", "armor", {"rules": [{"priority": 1}]}),
    declared(
        "accelform:tpu:QueuedResource",
        "queued",
        {"zone": "us-east5-a", "tier": "spot", "multislice": {"node": {"acceleratorType": "v6e-8"}, "nodeCount": 2}},
    ),
    declared(
        "accelform:vertex:DeployedModels",
        "served",
        {
            "location": REGION,
            "deployedModels": {
                "champion": {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
                | {"minReplicas": 1, "maxReplicas": 3, "spot": False, "reservation": {"affinity": "NO_RESERVATION"}},
            },
        },
    ),
    declared("gcp:vertex/aiEndpoint:AiEndpoint", "endpoint", {"location": REGION, "privateServiceConnectConfig": None}),
    declared(
        "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment",
        "garden",
        {
            "location": REGION,
            "deployConfig": {
                "dedicatedResources": {
                    "machineSpec": {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
                    | {"reservationAffinity": {"reservationAffinityType": "NO_RESERVATION"}},
                    "minReplicaCount": 1,
                    "maxReplicaCount": 2,
                    "spot": False,
                }
            },
        },
    ),
    declared(
        "gcp:cloudrunv2/service:Service",
        "run",
        {
            "location": REGION,
            "scaling": {"scalingMode": "AUTOMATIC", "manualInstanceCount": 1, "minInstanceCount": 0},
            "template": {"containers": CONTAINERS, "scaling": {"minInstanceCount": 1, "maxInstanceCount": 3}},
        },
    ),
    declared("gcp:cloudrunv2/job:Job", "job", {"location": REGION, "template": {"taskCount": 2, "template": {"containers": CONTAINERS}}}),
    declared("gcp:cloudscheduler/job:Job", "schedule", {"region": REGION}),
    declared("gcp:storage/bucket:Bucket", "bucket", {"location": REGION, "storageClass": "NEARLINE", "autoclass": {"enabled": False}}),
    declared("gcp:artifactregistry/repository:Repository", "images", {"location": REGION}),
    declared(
        "gcp:filestore/instance:Instance",
        "files",
        {"location": ZONE, "zone": ZONE, "tier": "BASIC_HDD", "fileShares": {"capacityGb": 1024}},
    ),
    declared("gcp:secretmanager/secretVersion:SecretVersion", "version", {"secret": "secret"}),
    declared(
        "gcp:kms/cryptoKey:CryptoKey",
        "key",
        {"rotationPeriod": "7776000s", "versionTemplate": {"protectionLevel": "HSM", "algorithm": "EC_SIGN_P256_SHA256"}},
    ),
    declared("gcp:bigquery/dataset:Dataset", "dataset", {"name": "set", "location": "US"}),
    declared("gcp:bigquery/table:Table", "table", {"datasetId": "set"}),
    declared("gcp:pubsub/topic:Topic", "topic", {"messageRetentionDuration": "86400s"}),
    declared("gcp:pubsub/subscription:Subscription", "subscription", {"retainAckedMessages": True, "bigqueryConfig": {"table": "x"}}),
    declared("gcp:logging/projectBucketConfig:ProjectBucketConfig", "logs", {"retentionDays": 30}),
    *IN_CLUSTER,
    LIMIT,
    SCALER,
    CLASS_OF,
]
ODD: list[Any] = [
    UNKNOWN,
    Secret("x"),
    Secret(UNKNOWN),
    None,
    "",
    "ü -1",
    -1,
    1.5,
    True,
    [],
    {},
    [UNKNOWN],
    [None],
    10**400,
    float("nan"),
    float("inf"),
]
USAGE = assuming({"bucket": {"gib": 5, "retrieved_gib": 1}, "job": {"hours_month": 1}, "table": {"gib": 1}, "subscription": {"gib": 1}})


BESIDE = {
    "cluster": ("pool", "nat"),
    "pool": ("cluster", "nat"),
    "template": ("group", "scaler"),
    "group": ("template", "scaler", "nat"),
    "scaler": ("group", "template"),
    "request": ("group", "template"),
    "machine": ("disk", "nat"),
    "secret": ("version",),
    "version": ("secret",),
    "in-ComputeClass": ("limit",),
    "limit": ("in-ComputeClass",),
    "copies": ("in-ComputeClass", "in-Deployment"),
    "in-JobSet": ("in-ComputeClass",),
    "in-RayCluster": ("in-ComputeClass",),
    "made-of": ("in-PersistentVolumeClaim",),
    "dataset": ("table",),
    "table": ("dataset",),
}
"""What refers to what: the others would be estimated again and again for nothing."""


def changed(value: Any, odd: Any) -> Iterator[Any]:
    """The value with one of its parts, at any depth, replaced."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield value | {key: odd}
            yield from (value | {key: other} for other in changed(inner, odd))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield [*value[:index], odd, *value[index + 1 :]]
            yield from ([*value[:index], other, *value[index + 1 :]] for other in changed(inner, odd))


def test_every_type_that_is_billed_is_among_them() -> None:
    """What is tried below is all that has a price, but for twins of another place."""
    twins = ("region", "Region", "global")
    missing = {kind for kind in LINES if not any(twin in kind for twin in twins)} - {one.type for one in RICH}
    assert missing == set()


@pytest.mark.parametrize("resource", RICH, ids=lambda one: one.name)
def test_no_input_however_odd_ends_an_estimate(resource: Declared) -> None:
    """Each part of each input, replaced by each odd value: an answer whose lines rise from low to high."""
    others = [one for one in RICH if one is not resource and one.name in BESIDE.get(resource.name, ())]
    for odd in ODD:
        for inputs in changed(dict(resource.inputs), odd):
            one = Declared(resource.type, resource.name, inputs, resource.urn)
            result = estimate([one, *others], USAGE, region=REGION, autopilot="Deployment" in resource.name)
            for line in result.lines:
                assert line.status != "unknown" or line.note
                if (month := line.usd_month) is not None:
                    assert 0 <= month[0] <= month[1] <= month[2], (line, inputs)


def test_the_rich_ones_have_prices() -> None:
    """What is tried is not unknown from the start."""
    assert {line.resource for line in estimated(*RICH, usage=USAGE, region=REGION).unknown} <= {"topic", "key", "machine", "disk"}
