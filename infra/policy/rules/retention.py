"""`retention`: what is kept has an end, so that old versions and logs do not cost for ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra.declared import Declared
from infra.policy.rule import Broken, Rule

BUCKET = "gcp:storage/bucket:Bucket"
REPOSITORY = "gcp:artifactregistry/repository:Repository"
LOGS = "gcp:logging/projectBucketConfig:ProjectBucketConfig"
NONCURRENT = ("daysSinceNoncurrentTime", "numNewerVersions", "noncurrentTimeBefore")
"""Conditions of a lifecycle rule that only noncurrent versions meet."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Versions of objects and of images that pile up, and buckets of logs without a number of days."""
    if resource.existing:
        return
    if resource.type == BUCKET:
        versioning = resource.get("versioning.enabled")
        if versioning not in (None, False) and not any(map(_ends_versions, _list(resource.get("lifecycleRules")))):
            yield Broken("lifecycleRules", "none deletes noncurrent versions after a time: each overwritten object would cost for ever")
    elif resource.type == REPOSITORY:
        if not any(isinstance(one, Mapping) and one.get("action") == "DELETE" for one in _list(resource.get("cleanupPolicies"))):
            yield Broken("cleanupPolicies", "none deletes: each image that was ever pushed would cost for ever")
        if resource.get("cleanupPolicyDryRun") not in (None, False):
            yield Broken("cleanupPolicyDryRun", "must not be true, and known at preview: policies would delete nothing")
    elif resource.type == LOGS:
        days = resource.get("retentionDays")
        if not isinstance(days, int) or isinstance(days, bool) or days <= 0:
            yield Broken("retentionDays", "must be stated, and known at preview")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _ends_versions(rule: Any) -> bool:
    if not isinstance(rule, Mapping):
        return False
    action, condition = rule.get("action"), rule.get("condition")
    if not isinstance(action, Mapping) or action.get("type") != "Delete" or not isinstance(condition, Mapping):
        return False
    return any(condition.get(key) for key in NONCURRENT if isinstance(condition.get(key), int | str))


RULE = Rule(
    name="retention",
    description="Old versions of objects and of images, and logs in a bucket of their own, are deleted after a stated time.",
    remediation="set a lifecycle rule with daysSinceNoncurrentTime; of a repository cleanupPolicies; of a log bucket retentionDays",
    severity="low",
    find=find,
)
