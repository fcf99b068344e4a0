"""
Which changes make an object anew. Source: pulumi-kubernetes at 2026-07 (`forceNewProperties`); a ConfigMap's and a Secret's content among
them, unless the provider is told otherwise, so that who mounts them is rolled, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from infra.local.kubernetes.config import Config
from infra.local.kubernetes.kinds import Kind
from infra.provider.values import Path, Unknown

EACH = "*"
"""Any element of a list."""
IDENTITY = ("metadata.name", "metadata.namespace")

SELECTOR = ("spec.selector",)
CONTAINER = (
    "args",
    "command",
    "env",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
)
POD = (
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostname",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "volumes",
)
VOLUME = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
)
TABLE: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps", "DaemonSet"): SELECTOR,
    ("apps", "Deployment"): SELECTOR,
    ("apps", "StatefulSet"): (
        *SELECTOR,
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    ("batch", "Job"): (*SELECTOR, "spec.completions", "spec.parallelism", "spec.template"),
    ("policy", "PodDisruptionBudget"): ("spec",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner"),
    ("", "PersistentVolume"): tuple(f"spec.{name}" for name in VOLUME),
    ("", "PersistentVolumeClaim"): (*SELECTOR, "spec.accessModes", "spec.storageClassName", "spec.volumeName"),
    ("", "Pod"): (
        *(f"spec.{name}" for name in POD),
        *(f"spec.{which}.{EACH}.{name}" for which in ("containers", "initContainers") for name in CONTAINER),
    ),
    ("", "ResourceQuota"): ("spec.scopes",),
    ("", "Service"): ("spec.clusterIP",),
}
"""Group and kind -> properties. The official provider has them by version, too: what is served today is one of these."""
VERSIONS = {"policy": ("v1beta1",)}
"""Versions that a group's rows are of, where that is not every one: a budget's spec changes in place since policy/v1."""


def of(kind: Kind, new: dict[str, Any], config: Config) -> tuple[tuple[str, ...], ...]:
    """Paths whose change makes an object of *new* inputs anew."""
    return tuple(tuple(path.split(".")) for path in (*IDENTITY, *_own(kind, new, config)))


def _own(kind: Kind, new: dict[str, Any], config: Config) -> tuple[str, ...]:
    immutable = new.get("immutable") is True
    if kind[0::2] == ("", "Secret"):
        return () if config.mutable_secrets and not immutable else ("type", "data", "stringData")
    if kind[0::2] == ("", "ConfigMap"):
        return () if config.mutable_config_maps and not immutable else ("binaryData", "data")
    if kind.version not in VERSIONS.get(kind.group, (kind.version,)):
        return ()
    return TABLE.get((kind.group, kind.name), ())


def hit(fixed: Iterable[tuple[str, ...]], path: Path, value: Any) -> bool:
    """Whether a change at *path* to *value* is at, in or around one of the *fixed* paths."""
    return any(_hit(one, path, value) for one in fixed)


def _hit(fixed: tuple[str, ...], path: Path, value: Any) -> bool:
    for step, name in zip(path, fixed, strict=False):
        if name != (EACH if isinstance(step, int) else step):
            return False
    return _holds(value, fixed[len(path) :])


def _holds(value: Any, rest: tuple[str, ...]) -> bool:
    """Whether what comes, or becomes another thing, has something below a path."""
    if not rest:
        return True
    if isinstance(value, Unknown):
        return False
    if rest[0] == EACH:
        return isinstance(value, list) and any(_holds(part, rest[1:]) for part in value)
    return isinstance(value, dict) and rest[0] in value and _holds(value[rest[0]], rest[1:])
