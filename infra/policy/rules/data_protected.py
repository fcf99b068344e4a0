"""`data-protected`: in staging and prod a destroy stops before data, and what was overwritten can be had again."""

from __future__ import annotations

from collections.abc import Iterator

from infra import environments
from infra.declared import Declared
from infra.policy.objects import is_object
from infra.policy.rule import Broken, Rule

BUCKET = "gcp:storage/bucket:Bucket"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
HOLD_DATA = frozenset(
    {
        BUCKET,
        CLAIM,
        "gcp:artifactregistry/repository:Repository",
        "gcp:bigquery/dataset:Dataset",
        "gcp:compute/disk:Disk",
        "gcp:compute/regionDisk:RegionDisk",
        "gcp:filestore/instance:Instance",
        "gcp:kms/cryptoKey:CryptoKey",  # without it, what it encrypted is lost
        "gcp:secretmanager/regionalSecret:RegionalSecret",
        "gcp:secretmanager/secret:Secret",
    }
)
"""Types that hold what no program makes again. A machine's boot disk is none, and a registered model is a name for what a bucket keeps."""
KEEPS = {
    "kubernetes:core/v1:PersistentVolume": "spec.persistentVolumeReclaimPolicy",
    "kubernetes:storage.k8s.io/v1:StorageClass": "reclaimPolicy",
}
"""Where Kubernetes is told what becomes of a disk whose claim is gone. A claim that is protected may be deleted with its namespace."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """
    Data that a destroy takes away. The environment is the resource's own label, which `labels` asks for: what has none, or one that is not
    known, is held to be data of prod.
    """
    if resource.existing or (resource.type not in HOLD_DATA and resource.type not in KEEPS):
        return
    if not environments.protects(resource.get("metadata.labels.environment" if is_object(resource) else "labels.environment")):
        return
    if resource.type in KEEPS:
        if resource.get(KEEPS[resource.type]) != "Retain":
            yield Broken(KEEPS[resource.type], "must be stated as Retain, and known at preview: else the disk goes with its claim")
        return
    if not resource.protect:
        yield Broken("protect", "is not set, a resource option: a destroy would take the data away")
    if resource.type == BUCKET:
        if resource.get("forceDestroy") not in (None, False):
            yield Broken("forceDestroy", "must not be true, and known at preview: it empties the bucket")
        seconds = resource.get("softDeletePolicy.retentionDurationSeconds")
        if resource.get("versioning.enabled") is not True and not (isinstance(seconds, int) and seconds > 0):
            yield Broken("versioning.enabled", "must be true, or softDeletePolicy stated: else what is overwritten is gone")


RULE = Rule(
    name="data-protected",
    description="Data of every environment but dev outlives a destroy, and an overwritten object can be had again.",
    remediation="set the option protect, and of a bucket versioning; of Kubernetes reclaimPolicy: Retain; or say `environment: dev`",
    severity="high",
    find=find,
)
