"""Where a stack keeps things: a bucket for data, a bucket for models, a repository for images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import pulumi
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from infra import gcp, names
from infra.components.existing import FullName, MayExist
from infra.components.placement import Placement, region_of_file
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, WholeNumber, pattern, problem

REPOSITORY = FullName(
    "a repository",
    ("projects/{project}/locations/{location}/repositories/{name}",),
    "projects/tw-shop-ml/locations/asia-east1/repositories/images",
)
DAY_SECONDS = 24 * 60 * 60


def _here(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str):
        return value
    region = region_of_file(info)
    if region and value.lower() != region:
        raise problem("is not the stack's region", allowed=region)
    return value.lower()


class BucketSpec(MayExist):
    """A bucket of the stack, or one that others own."""

    beside: ClassVar[tuple[str, ...]] = ("location",)

    keep_noncurrent_days: Annotated[WholeNumber, Field(ge=1, le=3650)] = 30
    """Days that an overwritten or deleted object stays as a noncurrent version."""
    existing: (
        Annotated[
            str,
            pattern(r"(?!goog|.*google|.*\.\.|[0-9.]+$)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", "is not a bucket name", "shop-clicks"),
        ]
        | None
    ) = None
    """Name of a bucket that others own, instead of an own one: it gets grants for the stack's accounts, and is never destroyed."""
    location: Annotated[str, BeforeValidator(_here)] | None = None
    """Location of the existing bucket: stated here, held against the stack's region, and against the bucket itself at preview."""

    @classmethod
    def unsaid(cls, data: Mapping[Any, Any]) -> Iterator[Problem]:
        if data.get("location") is None:
            yield Problem("location", "an existing bucket's location must be stated", fix="add `location: <region>`")

    @model_validator(mode="after")
    def _one_form(self) -> BucketSpec:
        if self.location:
            raise ProblemsError([Problem("location", "a bucket of the stack stands in its region", fix="remove `location`")])
        return self


class RepositorySpec(MayExist):
    """The image repository of the stack, or one that others own."""

    keep_versions: Annotated[WholeNumber, Field(ge=1, le=1000)] = 10
    """Most recent versions of each image that are always kept."""
    delete_untagged_days: Annotated[WholeNumber, Field(ge=1, le=3650)] = 30
    """Age in days at which an untagged version that is not among those kept is deleted."""
    existing: Annotated[str, REPOSITORY.validator] | None = None
    """A Docker repository that others own, by its full name: it gets grants for the stack's accounts, and is never destroyed."""


class StorageSpec(Spec):
    """The stack's buckets and its image repository: always declared, all in the stack's region."""

    data: BucketSpec = BucketSpec()
    """Bucket for data that jobs read."""
    models: BucketSpec = BucketSpec()
    """Bucket for checkpoints and models that jobs write and endpoints read."""
    images: RepositorySpec = RepositorySpec()
    """Docker repository for workload images."""

    @model_validator(mode="after")
    def _two_buckets(self) -> StorageSpec:
        if self.data.existing and self.data.existing == self.models.existing:
            raise ProblemsError([Problem("models.existing", "is the data bucket too", fix="name another bucket: their grants differ")])
        return self


class Storage(pulumi.ComponentResource):
    """Two buckets and a Docker repository, in one region."""

    data: gcp.storage.Bucket
    models: gcp.storage.Bucket
    images: gcp.artifactregistry.Repository
    data_bucket: str
    """Name of the data bucket, known before it is made."""
    models_bucket: str
    image_prefix: pulumi.Output[str]
    """What an image's name begins with, such as `asia-east1-docker.pkg.dev/tw-shop-ml/asia-east1-images`."""

    def __init__(self, name: str, spec: StorageSpec, *, placement: Placement, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:storage:Storage", name, None, opts)
        self._placement = placement
        self.data_bucket = spec.data.existing or names.bucket(placement.project, placement.stack, "data")
        self.models_bucket = spec.models.existing or names.bucket(placement.project, placement.stack, "models")
        self.data = self._bucket("data", spec.data)
        self.models = self._bucket("models", spec.models)
        self.images = self._repository("images", spec.images)
        self.image_prefix = pulumi.Output.concat(
            self.images.location, "-docker.pkg.dev/", self.images.project, "/", self.images.repository_id
        )
        self.register_outputs({"data": self.data.name, "models": self.models.name, "images": self.image_prefix})

    def _bucket(self, name: str, spec: BucketSpec) -> gcp.storage.Bucket:
        placement = self._placement
        if spec.existing:
            bucket = gcp.storage.Bucket.get(
                name,
                spec.existing,
                opts=pulumi.ResourceOptions(parent=self),
                name=spec.existing,
                location=spec.location,
            )

            def stands_here(location: str) -> str:
                if location.lower() != placement.region:
                    raise pulumi.RunError(
                        f"storage.{name}.location: bucket {spec.existing} stands in {location}, not in {placement.region}"
                    )
                return location

            bucket.location.apply(stands_here)
            return bucket
        return gcp.storage.Bucket(
            name,
            name=names.bucket(placement.project, placement.stack, name),
            project=placement.project,
            location=placement.region,
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=not placement.protects_data,
            versioning={"enabled": True},
            soft_delete_policy={"retention_duration_seconds": 7 * DAY_SECONDS},
            lifecycle_rules=[
                {"action": {"type": "Delete"}, "condition": {"days_since_noncurrent_time": spec.keep_noncurrent_days}},
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
            ],
            labels=placement.labels,
            # A bucket's name is one in all of Google Cloud: the new one cannot stand beside the old.
            opts=pulumi.ResourceOptions(parent=self, protect=placement.protects_data, delete_before_replace=True),
        )

    def _repository(self, name: str, spec: RepositorySpec) -> gcp.artifactregistry.Repository:
        placement = self._placement
        if spec.existing:
            project, location, short = REPOSITORY.parts(spec.existing).values()
            return gcp.artifactregistry.Repository.get(
                name,
                spec.existing,
                opts=pulumi.ResourceOptions(parent=self),
                project=project,
                location=location,
                repository_id=short,
            )
        return gcp.artifactregistry.Repository(
            name,
            repository_id=names.resource(placement.stack, name),
            project=placement.project,
            location=placement.region,
            format="DOCKER",
            mode="STANDARD_REPOSITORY",
            docker_config={"immutable_tags": True},
            cleanup_policy_dry_run=False,
            cleanup_policies=[
                {
                    "id": "keep-recent",
                    "action": "KEEP",
                    "most_recent_versions": {"keep_count": spec.keep_versions},
                },
                {
                    "id": "delete-untagged",
                    "action": "DELETE",
                    "condition": {
                        "tag_state": "UNTAGGED",
                        "older_than": f"{spec.delete_untagged_days * DAY_SECONDS}s",
                    },
                },
            ],
            labels=placement.labels,
            opts=pulumi.ResourceOptions(parent=self, protect=placement.protects_data, delete_before_replace=True),
        )
