"""`uniform-access`: who reads a bucket is said by IAM alone, and it is never everybody."""

from __future__ import annotations

from collections.abc import Iterator

from infra.declared import Declared
from infra.policy.rule import Broken, Rule

BUCKET = "gcp:storage/bucket:Bucket"


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Buckets whose objects may have lists of their own, or that could be opened to everybody. What others own is theirs to decide."""
    if resource.type != BUCKET or resource.existing:
        return
    if resource.get("uniformBucketLevelAccess") is not True:
        yield Broken("uniformBucketLevelAccess", "must be stated as true, and known at preview: else each object may say who reads it")
    if resource.get("publicAccessPrevention") != "enforced":
        yield Broken("publicAccessPrevention", "must be stated as enforced, and known at preview: else a grant may open it to everybody")


RULE = Rule(
    name="uniform-access",
    description="IAM alone says who reads a bucket, and never says everybody.",
    remediation="set uniformBucketLevelAccess: true, publicAccessPrevention: enforced",
    severity="high",
    find=find,
)
