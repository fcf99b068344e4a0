"""
What Google fills in. Source, unless a line says another: recorded traffic of v1beta1 from the real service, 2026-08.

What no source shows is absent.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from infra.sandbox.service import Body

SCOPES = [
    f"https://www.googleapis.com/auth/{scope}"
    for scope in (
        "devstorage.read_only",
        "logging.write",
        "monitoring",
        "service.management.readonly",
        "servicecontrol",
        "trace.append",
    )
]
MONITORED = [
    "SYSTEM_COMPONENTS",
    "STORAGE",
    "HPA",
    "POD",
    "DAEMONSET",
    "DEPLOYMENT",
    "STATEFULSET",
    "CADVISOR",
    "KUBELET",
    "DCGM",
    "JOBSET",
]
MACHINE = "e2-medium"
DEFAULT_POOL = "default-pool"
POOL_PODS, AUTOPILOT_PODS = "110", "32"
"""Pods of a node at most. Autopilot's: an answer of Google in pulumi-gcp issue 714."""
SERVICES = "34.118.224.0/20"
"""Addresses of services, where nobody says other ones: those are Google's own."""
PULLS = {2: 2, 4: 3}
"""vCPUs of a node -> images that it pulls at once. Of other sizes none is recorded."""
CLUSTER: Body = {
    "addonsConfig": {
        "dnsCacheConfig": {"enabled": True},
        "gcePersistentDiskCsiDriverConfig": {"enabled": True},
        "kubernetesDashboard": {"disabled": True},
        "networkPolicyConfig": {"disabled": True},
        "nodeReadinessConfig": {},
    },
    "autopilot": {},
    "autoscaling": {
        "autoscalingProfile": "BALANCED",
        "autoprovisioningNodePoolDefaults": {
            "imageType": "COS_CONTAINERD",
            "management": {"autoRepair": True, "autoUpgrade": True},
            "oauthScopes": SCOPES,
            "serviceAccount": "default",
        },
    },
    "binaryAuthorization": {},
    "clusterTelemetry": {"type": "ENABLED"},
    "controlPlaneEgress": {"mode": "VIA_CONTROL_PLANE"},
    "databaseEncryption": {"state": "DECRYPTED", "currentState": "CURRENT_STATE_DECRYPTED"},
    "defaultMaxPodsConstraint": {"maxPodsPerNode": POOL_PODS},
    "enterpriseConfig": {"clusterTier": "STANDARD"},
    "legacyAbac": {},
    "loggingConfig": {"componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]}},
    "loggingService": "logging.googleapis.com/kubernetes",
    "master": {},
    "monitoringConfig": {
        "advancedDatapathObservabilityConfig": {},
        "componentConfig": {"enableComponents": MONITORED},
        "managedPrometheusConfig": {"enabled": True},
    },
    "monitoringService": "monitoring.googleapis.com/kubernetes",
    "networkConfig": {"defaultSnatStatus": {}, "serviceExternalIpsConfig": {}},
    "nodePoolAutoConfig": {"nodeKubeletConfig": {"insecureKubeletReadonlyPortEnabled": False}},
    "nodePoolDefaults": {
        "nodeConfigDefaults": {
            "loggingConfig": {"variantConfig": {"variant": "DEFAULT"}},
            "nodeKubeletConfig": {"insecureKubeletReadonlyPortEnabled": False},
        }
    },
    "notificationConfig": {"pubsub": {}},
    "podAutoscaling": {"hpaProfile": "PERFORMANCE"},
    "privateCluster": True,
    "protectConfig": {
        "workloadConfig": {"auditMode": "BASIC"},
        "workloadVulnerabilityMode": "WORKLOAD_VULNERABILITY_MODE_UNSPECIFIED",
    },
    "rbacBindingConfig": {"enableInsecureBindingSystemAuthenticated": True, "enableInsecureBindingSystemUnauthenticated": True},
    "securityPostureConfig": {"mode": "BASIC", "vulnerabilityMode": "VULNERABILITY_MODE_UNSPECIFIED"},
    "shieldedNodes": {"enabled": True},
    "userManagedKeysConfig": {},
}
FROM_1_35: Body = {"anonymousAuthenticationConfig": {"mode": "LIMITED"}, "nodeCreationConfig": {"nodeCreationMode": "VIA_KUBELET"}}
BEFORE_1_35: Body = {"anonymousAuthenticationConfig": {"mode": "ENABLED"}}
AUTOPILOT: Body = {
    "autoscaling": {"enableNodeAutoprovisioning": True, "autoscalingProfile": "OPTIMIZE_UTILIZATION"},
    "defaultMaxPodsConstraint": {"maxPodsPerNode": AUTOPILOT_PODS},
    "networkConfig": {"datapathProvider": "ADVANCED_DATAPATH"},
    "verticalPodAutoscaling": {"enabled": True},
}
"""Source: https://docs.cloud.google.com/kubernetes-engine/docs/resources/autopilot-standard-feature-comparison, read 2026-11: no Autopilot
cluster is recorded."""
POOL_CONFIG: Body = {
    "effectiveCgroupMode": "EFFECTIVE_CGROUP_MODE_V2",
    "imageType": "COS_CONTAINERD",
    "kubeletConfig": {"insecureKubeletReadonlyPortEnabled": False},
    "metadata": {"disable-legacy-endpoints": "true"},
    "oauthScopes": SCOPES,
    "serviceAccount": "default",
    "shieldedInstanceConfig": {"enableIntegrityMonitoring": True},
    "windowsNodeConfig": {},
}
DISK_TYPE, DISK_GIB = "pd-balanced", 100
BOTH = {"autoRepair": True, "autoUpgrade": True}
UPGRADES: Body = {"maxSurge": 1, "strategy": "SURGE"}
MODEL = "goog-gke-node-pool-provisioning-model"
"""Label of a pool's machines that says how they are bought; `on-demand` is recorded, `spot` and the others are Google's page on labels."""


def merged(defaults: Any, sent: Any) -> Any:
    """What was sent, with *defaults* where it says nothing."""
    if not isinstance(defaults, dict) or not isinstance(sent, dict):
        return sent
    both = {key: merged(value, sent[key]) if key in sent else value for key, value in defaults.items()}
    return both | {key: value for key, value in sent.items() if key not in defaults}


def node_config(sent: Body, way: str) -> Body:
    """
    A pool's machines, in full.

    Args:
        sent: What the client said.
        way: How they are bought.
    """
    config: Body = copy.deepcopy(merged(POOL_CONFIG, sent))
    config.setdefault("machineType", MACHINE)
    disk = config.get("bootDisk", {})
    config["diskType"] = config.get("diskType") or disk.get("diskType") or DISK_TYPE
    config["diskSizeGb"] = config.get("diskSizeGb") or int(disk.get("sizeGb", DISK_GIB))
    config["bootDisk"] = disk | {"diskType": config["diskType"], "sizeGb": str(config["diskSizeGb"])}
    if pulls := PULLS.get(_vcpus(config["machineType"])):
        config["kubeletConfig"].setdefault("maxParallelImagePulls", pulls)
    if config.get("loggingConfig", {}).get("variantConfig") == {}:
        config["loggingConfig"] = {"variantConfig": {"variant": "DEFAULT"}}
    config["resourceLabels"] = config.get("resourceLabels", {}) | {MODEL: way}
    return config


def _vcpus(machine: str) -> int:
    """vCPUs in a machine type's name; 0 where it has none."""
    if machine == MACHINE:
        return 2
    found = re.fullmatch(r"[a-z0-9]+-[a-z]+-(\d{1,3})", machine)
    return int(found[1]) if found else 0
