"""Who builds the stack's images in Cloud Build: an account that reads their sources, pushes to the stack's repository, and writes logs."""

from __future__ import annotations

import pulumi

from infra import gcp
from infra.components import identity
from infra.components.placement import Placement
from infra.components.storage import Storage
from infra.names import BUILDER

PROJECT_ROLES = {"logs": "roles/logging.logWriter"}
"""A build with an account of its own keeps its log in Cloud Logging."""
BUCKET_ROLE = "roles/storage.objectViewer"
REPOSITORY_ROLE = "roles/artifactregistry.writer"
"""Of the three: https://docs.cloud.google.com/build/docs/securing-builds/configure-user-specified-service-accounts, read 2026-11.
Whoever begins a build needs `roles/cloudbuild.builds.editor`, and `roles/iam.serviceAccountUser` on the account."""


class Builder(pulumi.ComponentResource):
    """The account of `accelform image build`. It can do nothing else, and nothing runs as it between builds."""

    account: gcp.serviceaccount.Account

    def __init__(self, name: str, *, placement: Placement, storage: Storage, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:builder:Builder", name, None, opts)
        self.account = identity.account(BUILDER, placement=placement, parent=self)
        identity.on_the_project(BUILDER, PROJECT_ROLES, self.account, placement=placement)
        child = pulumi.ResourceOptions(parent=self.account)
        gcp.storage.BucketIAMMember(
            f"{BUILDER}-sources", bucket=storage.models.name, role=BUCKET_ROLE, member=self.account.member, opts=child
        )
        identity.on_the_images(f"{BUILDER}-pushes", REPOSITORY_ROLE, self.account, storage=storage)
        self.register_outputs({"account": self.account.email})
