"""
A volume that outlives the pods that mount it: a disk, or a folder that many nodes share.

Each has a storage class of its own, so that the disk which is made for it carries the stack's labels, and stays where the stack's data is
protected. A disk that is filled already, such as one with models, is named by its full name: nothing is made then, and nothing destroyed.

Sources: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/storage-overview and .../how-to/persistent-volumes/hyperdisk-ml, read
2026-11; kubernetes-sigs/gcp-compute-persistent-disk-csi-driver, "CreateVolume Parameters" (`type`, `labels`);
kubernetes-sigs/gcp-filestore-csi-driver (`tier`, `network`, `labels`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

import pulumi
from pydantic import Field, ValidationInfo, model_validator

from infra import names
from infra.catalog.gpu_machines import takes_boot_disk
from infra.catalog.places import region_of
from infra.catalog.tpu import TpuShape
from infra.components import pool_nodes
from infra.components.cluster import ClusterSpec
from infra.components.network import NetworkSpec
from infra.components.placement import Placement, region_of_file
from infra.errors import Problem, ProblemsError
from infra.kubernetes import Object
from infra.spec import Name, Spec, WholeNumber, pattern

Storage = Literal["pd-balanced", "pd-ssd", "pd-standard", "hyperdisk-balanced", "hyperdisk-ml", "filestore"]
Access = Literal["read-write-once", "read-only-many", "read-write-many"]
DISK = re.compile(r"projects/([a-z][a-z0-9-]{2,28}[a-z0-9])/zones/([a-z0-9-]+)/disks/[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
MODES: dict[Access, str] = {
    "read-write-once": "ReadWriteOnce",
    "read-only-many": "ReadOnlyMany",
    "read-write-many": "ReadWriteMany",
}
LEAST = {"filestore": 1024, "hyperdisk-balanced": 4, "hyperdisk-ml": 4}
"""GiB at least; 10 of a Persistent Disk. Sources: https://cloud.google.com/filestore/docs/service-tiers (Basic HDD) and
https://cloud.google.com/compute/docs/disks/hyperdisks, read 2026-11."""
DISKS, SHARES = "pd.csi.storage.gke.io", "filestore.csi.storage.gke.io"
ZONE = "topology.gke.io/zone"
SKIP = {"pulumi.com/skipAwait": "true"}
"""A claim is bound when its first pod comes: a run that waited for it would wait for the pod that waits for the run."""


class VolumeSpec(Spec):
    """What one volume is. Checked before anything is declared."""

    never: ClassVar[dict[str, str]] = {
        "existing": "a disk of others cannot be mounted twice; files of others are read from a bucket that is `existing`",
        "storage_class": "say `storage`: each volume gets a class of its own",
        "path": "it is said where it is mounted",
    }

    namespace: Name
    """Where it is: a key of `namespaces:`. Pods of the same namespace mount it."""
    storage: Storage = "pd-balanced"
    """A Persistent Disk (`pd-...`), a Hyperdisk, of which newer machines have nothing else, or `filestore`, which is a Basic HDD share."""
    size_gib: Annotated[WholeNumber, Field(ge=1, le=65536)]
    """Its size, or that of `disk`. It can grow, and not shrink."""
    access: Access | None = None
    """Which nodes mount it: one, that writes too; many, that only read; many, that write too (`filestore` only). (default: of Filestore
    `read-write-many`, of a `disk` with models `read-only-many`, else `read-write-once`)"""
    disk: Annotated[str, pattern(DISK.pattern, "is not the full name of a disk", "projects/shop/zones/us-east5-a/disks/models")] | None = (
        None
    )
    """A disk that is there and filled already. It is never changed or destroyed. (default: a new one, which is empty)"""

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        if found := list(_problems(self, region_of_file(info))):
            raise ProblemsError(found)
        return self

    @property
    def mode(self) -> Access:
        """Which nodes mount it."""
        if self.access:
            return self.access
        if self.storage == "filestore":
            return "read-write-many"
        return "read-only-many" if self.disk and self.storage == "hyperdisk-ml" else "read-write-once"

    @property
    def zone(self) -> str:
        """Zone that it is in; empty where it comes to the zone of its first pod."""
        match = DISK.fullmatch(self.disk or "")
        return match[2] if match else ""


class Volume(pulumi.ComponentResource):
    """A claim that pods mount by its name, and what it is bound to."""

    claim: Object

    def __init__(
        self,
        name: str,
        spec: VolumeSpec,
        *,
        placement: Placement,
        network: str,
        after: list[pulumi.Resource] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            network: Name of the network that a share is reached in.
            after: What must stand before: its namespace.
        """
        super().__init__("accelform:volume:Volume", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        labels = {**placement.labels, "app.kubernetes.io/name": name}
        cluster_wide = names.resource(placement.stack, name)
        if spec.disk:
            above: list[pulumi.Resource] = [Object(_volume(cluster_wide, name, spec, labels), child)]
        else:
            above = [Object(_class(cluster_wide, spec, placement, network), child)]
        inside = pulumi.ResourceOptions(depends_on=[*above, *(after or [])], protect=placement.protects_data)
        self.claim = Object(_claim(name, cluster_wide, spec, labels), pulumi.ResourceOptions.merge(child, inside))
        self.register_outputs({})


def _class(name: str, spec: VolumeSpec, placement: Placement, network: str) -> dict[str, Any]:
    labels = ",".join(f"{key}={value}" for key, value in sorted(placement.labels.items()))
    own = {"tier": "standard", "network": network} if spec.storage == "filestore" else {"type": spec.storage}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "labels": placement.labels},
        "provisioner": SHARES if spec.storage == "filestore" else DISKS,
        "parameters": {**own, "labels": labels},
        "reclaimPolicy": "Retain" if placement.protects_data else "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }


def _volume(name: str, claim: str, spec: VolumeSpec, labels: dict[str, str]) -> dict[str, Any]:
    """A disk that is there, for this claim and no other."""
    source = {"driver": DISKS, "volumeHandle": spec.disk, "fsType": "ext4", "readOnly": spec.mode == "read-only-many"}
    wanted = [{"key": ZONE, "operator": "In", "values": [spec.zone]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "storageClassName": "",
            "capacity": {"storage": f"{spec.size_gib}Gi"},
            "accessModes": [MODES[spec.mode]],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": source,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": wanted}]}},
            "claimRef": {"name": claim, "namespace": spec.namespace},
        },
    }


def _claim(name: str, cluster_wide: str, spec: VolumeSpec, labels: dict[str, str]) -> dict[str, Any]:
    bound = {"storageClassName": "", "volumeName": cluster_wide} if spec.disk else {"storageClassName": cluster_wide}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": spec.namespace, "labels": labels, **({} if spec.disk else {"annotations": SKIP})},
        "spec": {"accessModes": [MODES[spec.mode]], "resources": {"requests": {"storage": f"{spec.size_gib}Gi"}}, **bound},
    }


def _problems(spec: VolumeSpec, region: str | None) -> Iterator[Problem]:
    least = LEAST.get(spec.storage, 10)
    if spec.size_gib < least:
        yield Problem("size_gib", f"{spec.size_gib} is less than the smallest {spec.storage}", f"{least} or more")
    if spec.mode == "read-write-many" and spec.storage != "filestore":
        yield Problem("access", f"read-write-many is not for {spec.storage}: a disk has one writer", "filestore; or another access")
    if spec.mode == "read-only-many" and not spec.disk:
        words = "read-only-many of a new volume is of no use: it is empty, and nobody could fill it"
        yield Problem("access", words, "read-write-once", "name a disk that is filled under `disk`")
    if spec.disk and spec.storage == "filestore":
        yield Problem("disk", "is a disk, and filestore is a share", "another storage", "remove it")
    if spec.zone and region and region_of(spec.zone) != region:
        yield Problem("disk", f"stands in {spec.zone}, outside the cluster's region", f"a disk in a zone of {region}")


def against_cluster(spec: VolumeSpec, cluster: ClusterSpec, network: NetworkSpec) -> Iterator[Problem]:
    """What the cluster lacks for it: of one that others own nobody knows. A share is in a network, and of a subnet nobody knows which."""
    if spec.storage == "filestore" and (network.existing or cluster.existing):
        words = "filestore is reached in a network, and the file does not say which one an existing subnet or cluster is in"
        yield Problem("storage", words, "a disk, or the bucket")
    elif spec.storage == "filestore" and cluster.own_nodes and "filestore" not in cluster.addons:
        fix = "add filestore to `addons` of the cluster in the region's file"
        yield Problem("storage", "filestore needs an add-on that the cluster does not have", fix=fix)


def against_host(name: str, spec: VolumeSpec, host: pool_nodes.Host, zones: list[str]) -> str:
    """
    Why nodes of such machines cannot mount it; empty where they can, as far as anybody knows.

    Args:
        zones: Where the nodes stand.

    Sources: https://cloud.google.com/compute/docs/gpus; https://cloud.google.com/tpu/docs/setup-persistent-disk, read 2026-11.
    """
    if spec.storage != "filestore":
        if isinstance(host, TpuShape):
            only = "hyperdisk" if pool_nodes.boot_disk(host).startswith("hyperdisk") else "pd"
            takes = spec.storage == "hyperdisk-ml" or spec.storage.startswith(only)
        else:
            takes = spec.storage == "hyperdisk-ml" or takes_boot_disk(host.machine_type, spec.storage)
        if not takes:
            return f"{name} is a {spec.storage}, which {host.machine_type} does not take"
    if spec.zone and spec.zone not in zones:
        return f"{name} is in {spec.zone}, and the nodes stand in {', '.join(zones)}"
    return ""
