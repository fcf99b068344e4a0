"""Cloud Monitoring. Its endpoint has no version: v1 has dashboards, v3 the rest."""

from __future__ import annotations

import json
from typing import Any

from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import Codec, Field, ResourceType, Update

SENSITIVE = {"authToken": "auth_token", "password": "password", "serviceKey": "service_key"}


class Channel(Lifecycle):
    """Google has the sensitive labels among the others, and answers with stars."""

    def _sent(self, inputs: dict[str, Any]) -> dict[str, Any]:
        sensitive = inputs.get("sensitiveLabels") or {}
        return inputs | {"labels": (inputs.get("labels") or {}) | {SENSITIVE[key]: value for key, value in sensitive.items() if value}}

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        labels = {key: value for key, value in answer.get("labels", {}).items() if key not in SENSITIVE.values()}
        return super().outputs(answer | {"labels": labels}, names, written)


CHANNEL = ResourceType(
    "gcp:monitoring/notificationChannel:NotificationChannel",
    "monitoring",
    "v3/projects/{project}/notificationChannels/{name}",
    id="projects/{project}/notificationChannels/{name}",
    named_by_google=True,
    delete_query={"force": "{forceDelete}"},
    defaults={"enabled": True},
    virtual={"forceDelete": False},
    fields=(Field("enabled", always=True), Field("name"), Field("sensitiveLabels", codec=Codec(lambda *_: None), unread=True)),
    updates=(Update(),),
    lifecycle=Channel,
)

ALERT_POLICY = ResourceType(
    "gcp:monitoring/alertPolicy:AlertPolicy",
    "monitoring",
    "v3/projects/{project}/alertPolicies/{name}",
    id="projects/{project}/alertPolicies/{name}",
    named_by_google=True,
    defaults={"enabled": True},
    fields=(
        Field("enabled", always=True),
        Field("name"),
        Field("creationRecords", "creationRecord", codec=Codec(decode=lambda value: [value]), absent=[]),
        Field("conditions.conditionThreshold.thresholdValue", always=True),
        Field("conditions.conditionThreshold.aggregations.groupByFields", absent=None),
    ),
    computed=("conditions.name",),
    updates=(Update(mask=True),),
)


COMPUTED = ("createTime", "etag", "name", "updateTime")
"""What Google adds to a dashboard, at every depth. The official provider does not see it as a change either.
Source: terraform-provider-google, `monitoringDashboardDiffSuppress`, read 2026-11."""


def _said(text: Any) -> Any:
    """A dashboard without what Google adds to it; text that is no JSON, as it is."""
    try:
        return _without_computed(json.loads(text))
    except (TypeError, ValueError):
        return text


def _without_computed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_computed(part) for key, part in value.items() if key not in COMPUTED}
    return [_without_computed(part) for part in value] if isinstance(value, list) else value


class Dashboard(Lifecycle):
    """The program writes the dashboard as JSON, which is the body."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(inputs["dashboardJson"])
        return found

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(answer, sort_keys=True, separators=(",", ":"))
        return super().outputs(answer, names, written) | {"dashboardJson": text}

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        names = self.names_of(id, state)
        if old["dashboardJson"] != new["dashboardJson"]:
            etag = json.loads(state["dashboardJson"]).get("etag")
            body = self.create_body(new, names) | ({"etag": etag} if etag else {})
            self.call("PATCH", self.fill(self.row.url, names), {}, body, names)
        return self._now(id, names, state | new)


DASHBOARD = ResourceType(
    "gcp:monitoring/dashboard:Dashboard",
    "monitoring",
    "v1/projects/{project}/dashboards/{name}",
    id="projects/{project}/dashboards/{name}",
    named_by_google=True,
    fields=(Field("dashboardJson", canonical=_said),),
    lifecycle=Dashboard,
)

ROWS = (CHANNEL, ALERT_POLICY, DASHBOARD)
