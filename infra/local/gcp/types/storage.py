"""Cloud Storage."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from infra.local.gcp.iam import IamMember
from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import INT64, Codec, Field, Policy, ResourceType, Update
from infra.provider.calls import GoogleError
from infra.provider.server import ProviderError

STATE = Codec(lambda state, _: {"LIVE": True, "ARCHIVED": False}.get(state), lambda live: "LIVE" if live else "ARCHIVED")
OWN_WORDS = ("sendAgeIfZero", "sendDaysSinceCustomTimeIfZero", "sendDaysSinceNoncurrentTimeIfZero", "sendNumNewerVersionsIfZero")
"""Conditions of the provider's own, which Google does not know."""


class Bucket(Lifecycle):
    """A bucket with something in it is deleted only by `forceDestroy`."""

    def create(self, inputs: dict[str, Any]) -> Made:
        made = super().create(inputs)
        if number := made.outputs["projectNumber"]:
            self._tried(f"projects/{number}", service="compute")
        return made

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        own = {"project": written.get("project") or self.client.config.project, "url": f"gs://{names['name']}"}
        return super().outputs(answer, names, written) | own

    def delete(self, id: str, state: dict[str, Any]) -> None:
        url = self.fill(self.row.url, self.names_of(id, state))
        self._tried(f"{url}/anywhereCaches")
        query = {"versions": "true"}
        while found := self._tried(f"{url}/o", query).get("items"):
            if not state.get("forceDestroy"):
                raise ProviderError(
                    f"Error trying to delete bucket {id} containing objects without `force_destroy` set to true\n"
                    "  fix: empty it; or set forceDestroy, `pulumi up`, then destroy"
                )
            for item in found:
                self._tried(f"{url}/o/{quote(item['name'], safe='')}", {"generation": item.get("generation", "")}, method="DELETE")
        super().delete(id, state)

    def _tried(self, path: str, query: dict[str, str] | None = None, *, service: str = "storage", method: str = "GET") -> dict[str, Any]:
        """A call to what need not be there."""
        try:
            return self.client.call(method, service, path, query)
        except GoogleError as error:
            if error.code == 404:
                return {}
            raise


BUCKET = ResourceType(
    "gcp:storage/bucket:Bucket",
    "storage",
    "b/{name}",
    id="{name}",
    imported_by=("{project}/{name}",),
    create_query={"project": "{project}"},
    defaults={"storageClass": "STANDARD"},
    virtual={"forceDestroy": False},
    fields=(
        Field("enableObjectRetention", "objectRetention.enabled"),
        Field("projectNumber", codec=INT64),
        Field("lifecycleRules", "lifecycle.rule", always=True),
        Field("lifecycleRules.condition.withState", "isLive", codec=STATE, absent="ANY"),
        *(Field(f"lifecycleRules.condition.{name}", codec=Codec(lambda *_: None), unread=True) for name in OWN_WORDS),
        Field("lifecycleRules.condition.matchesPrefixes", "matchesPrefix"),
        Field("lifecycleRules.condition.matchesStorageClasses", "matchesStorageClass"),
        Field("lifecycleRules.condition.matchesSuffixes", "matchesSuffix"),
        Field("publicAccessPrevention", "iamConfiguration.publicAccessPrevention", absent=None),
        Field("rpo", absent=None),
        Field("uniformBucketLevelAccess", "iamConfiguration.uniformBucketLevelAccess.enabled", always=True),
        Field("requesterPays", "billing.requesterPays"),
        Field("softDeletePolicy.retentionDurationSeconds", codec=INT64, always=True),
        Field("versioning.enabled", always=True),
        Field("cors.methods", "method"),
        Field("cors.origins", "origin"),
        Field("cors.responseHeaders", "responseHeader"),
        Field("retentionPolicy.retentionPeriod", codec=Codec(lambda value, _: str(value), str)),
        Field("hierarchicalNamespace", absent={"enabled": False}),
        Field("hierarchicalNamespace.enabled", always=True),
        Field("autoclass.enabled", always=True),
    ),
    computed=(
        "lifecycleRules.condition.withState",
        "publicAccessPrevention",
        "rpo",
        "softDeletePolicy",
        "softDeletePolicy.effectiveTime",
        "uniformBucketLevelAccess",
    ),
    sets=("lifecycleRules",),
    updates=(Update(changed_only=True),),
    lifecycle=Bucket,
)

BUCKET_IAM_MEMBER = ResourceType(
    "gcp:storage/bucketIAMMember:BucketIAMMember",
    "storage",
    "b/{bucket}",
    policy=Policy(
        "bucket",
        "b/{bucket}",
        get=("GET", "/iam"),
        set=("PUT", "/iam"),
        get_query={"optionsRequestedPolicyVersion": "3"},
        wrapped=False,
    ),
    lifecycle=IamMember,
)

ROWS = (BUCKET, BUCKET_IAM_MEMBER)
