"""Where the states of a project's stacks are: one bucket, versioned, and never destroyed."""

from __future__ import annotations

from typing import Annotated

import pulumi
from pydantic import Field

from infra import gcp, names
from infra.components.placement import Placement
from infra.components.storage import DAY_SECONDS
from infra.spec import Spec, WholeNumber

STATES = "state"
"""Purpose of the bucket, in its name."""


class StateBucketSpec(Spec):
    """How long old versions of the stacks' states are kept. A version goes when it is old enough and enough newer ones are there."""

    keep_noncurrent_days: Annotated[WholeNumber, Field(ge=1, le=3650)] = 90
    """Days that a version of a state stays after it was replaced."""
    keep_noncurrent_versions: Annotated[WholeNumber, Field(ge=1, le=1000)] = 20
    """Versions of each state that stay however old they are."""
    soft_delete_days: Annotated[WholeNumber, Field(ge=7, le=90)] = 30
    """Days that what was deleted can be restored, the bucket itself too. Google keeps from 7 to 90 days.
    Source: https://cloud.google.com/storage/docs/soft-delete, read 2026-11."""


class StateBucket(pulumi.ComponentResource):
    """The bucket. Who would destroy it is refused in every environment: with a state the knowledge is lost of what is whose."""

    bucket: gcp.storage.Bucket
    url: str
    """What `pulumi login` takes, known before it is made."""

    def __init__(self, name: str, spec: StateBucketSpec, *, placement: Placement, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:state_bucket:StateBucket", name, None, opts)
        physical = names.bucket(placement.project, placement.stack, STATES)
        self.url = f"gs://{physical}"
        self.bucket = gcp.storage.Bucket(
            "state",
            name=physical,
            project=placement.project,
            location=placement.region,
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=False,
            versioning={"enabled": True},
            soft_delete_policy={"retention_duration_seconds": spec.soft_delete_days * DAY_SECONDS},
            lifecycle_rules=[
                {
                    "action": {"type": "Delete"},
                    "condition": {
                        "days_since_noncurrent_time": spec.keep_noncurrent_days,
                        "num_newer_versions": spec.keep_noncurrent_versions,
                    },
                },
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
            ],
            labels=placement.labels,
            opts=pulumi.ResourceOptions(parent=self, protect=True, delete_before_replace=True),
        )
        self.register_outputs({"bucket": self.bucket.name})
