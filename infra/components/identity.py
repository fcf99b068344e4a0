"""Who a stack's machines are: one service account each, with the least roles, granted member by member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from infra import gcp, names
from infra.components.placement import Placement
from infra.components.storage import Storage

PROJECT_ROLES = {
    "logs": "roles/logging.logWriter",
    "metrics": "roles/monitoring.metricWriter",
}
"""What every machine writes. Nothing of it can be granted on less than the project."""

BUCKET_ROLES = {
    "data": "roles/storage.objectViewer",
    "models": "roles/storage.objectUser",
}
"""Data is read; checkpoints and models are read, written and replaced."""

REPOSITORY_ROLE = "roles/artifactregistry.reader"


class Identity(pulumi.ComponentResource):
    """
    A service account for each of *purposes*, such as `tpu-eval`.

    Grants are members, never bindings or policies: those are authoritative and would drop what others granted.
    """

    accounts: dict[str, gcp.serviceaccount.Account]
    grants: dict[str, list[pulumi.Resource]]
    """What must stand before a machine of that purpose boots, or its first pull is refused."""

    def __init__(
        self,
        name: str,
        purposes: Sequence[str],
        *,
        placement: Placement,
        storage: Storage,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("accelform:identity:Identity", name, None, opts)
        self.accounts, self.grants = {}, {}
        for purpose in purposes:
            self.accounts[purpose] = account(purpose, placement=placement, parent=self)
            self.grants[purpose] = self._grant(purpose, self.accounts[purpose], placement, storage)
        self.register_outputs({"accounts": {purpose: account.email for purpose, account in self.accounts.items()}})

    def _grant(self, purpose: str, account: gcp.serviceaccount.Account, placement: Placement, storage: Storage) -> list[pulumi.Resource]:
        child = pulumi.ResourceOptions(parent=account)
        on_project = on_the_project(purpose, PROJECT_ROLES, account, placement=placement)
        on_buckets = [
            gcp.storage.BucketIAMMember(f"{purpose}-{key}", bucket=getattr(storage, key).name, role=role, member=account.member, opts=child)
            for key, role in BUCKET_ROLES.items()
        ]
        return [*on_project, *on_buckets, on_the_images(f"{purpose}-images", REPOSITORY_ROLE, account, storage=storage)]


def on_the_images(
    name: str, role: str, account: gcp.serviceaccount.Account, *, storage: Storage
) -> gcp.artifactregistry.RepositoryIamMember:
    """A grant on the stack's repository of images."""
    return gcp.artifactregistry.RepositoryIamMember(
        name,
        project=storage.images.project,
        location=storage.images.location,
        repository=storage.images.repository_id,
        role=role,
        member=account.member,
        opts=pulumi.ResourceOptions(parent=account),
    )


def account(purpose: str, *, placement: Placement, parent: pulumi.Resource) -> gcp.serviceaccount.Account:
    """An account of the stack, for one purpose."""
    return gcp.serviceaccount.Account(
        purpose,
        account_id=names.service_account_id(placement.stack, purpose),
        project=placement.project,
        display_name=f"{placement.stack} {purpose}",
        opts=pulumi.ResourceOptions(parent=parent),
    )


def on_the_project(
    purpose: str, roles: Mapping[str, str], account: gcp.serviceaccount.Account, *, placement: Placement
) -> list[pulumi.Resource]:
    """Grants of what an account may in all of the project, by the words that they are called by."""
    return [
        gcp.projects.IAMMember(
            f"{purpose}-{key}",
            project=placement.project,
            role=role,
            member=account.member,
            opts=pulumi.ResourceOptions(parent=account),
        )
        for key, role in roles.items()
    ]
