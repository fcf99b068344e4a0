"""Cloud Quotas: what quota is asked for."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import LAST, Field, ResourceType, Update


class Preference(Lifecycle):
    """Its body says its name too; it only leaves the state. Source: terraform-provider-google-beta at 0123f3888f2e, `cloudquotas`."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        return super().create_body(inputs, names) | self.update_extra(inputs)

    def update_extra(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"name": inputs["name"]}

    def delete(self, id: str, state: dict[str, Any]) -> None:
        """Nothing is asked of Google."""


ANSWERED = ("grantedValue", "requestOrigin", "stateDetail", "traceId")
"""What Google says of a request. The SDK has it among the inputs."""

PREFERENCE = ResourceType(
    "gcp:cloudquota/sQuotaPreference:SQuotaPreference",
    "cloudQuotas",
    "{parent}/locations/global/quotaPreferences/{name}",
    create_query={"quotaPreferenceId": "{name}", "ignoreSafetyChecks": "{ignoreSafetyChecks}"},
    url_only=("parent", "name"),
    virtual={"ignoreSafetyChecks": "QUOTA_SAFETY_CHECK_UNSPECIFIED"},
    defaults={"ignoreSafetyChecks": "QUOTA_SAFETY_CHECK_UNSPECIFIED"},
    fields=(
        Field("name", codec=LAST),
        Field("contactEmail", unread=True),
        Field("reconciling", absent=False),
        Field("quotaConfig.annotations", unread=True),
    ),
    computed=("dimensions", "quotaId", "service", *(f"quotaConfig.{name}" for name in ANSWERED)),
    updates=(Update(query={"ignoreSafetyChecks": "{ignoreSafetyChecks}"}, mask=True),),
    lifecycle=Preference,
)

ROWS = (PREFERENCE,)
