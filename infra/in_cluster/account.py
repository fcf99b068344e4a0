"""
Who pods are: an account of Kubernetes in their namespace, which is granted what it needs of the region's buckets by its own name.

Workload identity knows it without an account of Google's beside it: the grant names the account of Kubernetes.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from infra import gcp
from infra.components.placement import Placement
from infra.kubernetes import Object

READS = {"models": "roles/storage.objectViewer"}
"""What serves reads models."""
TRAINS = {"data": "roles/storage.objectViewer", "models": "roles/storage.objectUser"}
"""What trains reads data, and reads, writes and replaces checkpoints and models."""


class Account(pulumi.ComponentResource):
    """An account of Kubernetes, and its grants on buckets of the region."""

    account: Object

    def __init__(
        self,
        name: str,
        *,
        namespace: str,
        roles: Mapping[str, str],
        placement: Placement,
        buckets: Mapping[str, str],
        project_number: pulumi.Input[str],
        after: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            roles: Roles by the region's bucket: `data`, `models`.
            buckets: Names of those buckets.
            after: What must stand before: its namespace.
        """
        super().__init__("accelform:account:Account", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        metadata = {"name": name, "namespace": namespace, "labels": placement.labels}
        inside = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=list(after)))
        self.account = Object({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}, inside)
        subject = f"subject/ns/{namespace}/sa/{name}"
        pool = f"locations/global/workloadIdentityPools/{placement.project}.svc.id.goog"
        for bucket, role in roles.items():
            gcp.storage.BucketIAMMember(
                f"{name}-{bucket}",
                bucket=buckets[bucket],
                role=role,
                member=pulumi.Output.concat("principal://iam.googleapis.com/projects/", project_number, "/", pool, "/", subject),
                opts=child,
            )
        self.register_outputs({})
