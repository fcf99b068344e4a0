"""Cloud Monitoring: alerting, uptime checks, objectives, metrics (v3); dashboards and metrics scopes (v1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind, Service
from infra.sandbox.services.monitoring import alerting, checks, dashboards, objectives, series, shared

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud


def _metadata(_: Cloud, operation: Body) -> Body:
    """Of metrics scopes, which alone have operations. Source: recorded, 2026-08."""
    return {
        "@type": "type.googleapis.com/google.monitoring.metricsscope.v1.OperationMetadata",
        "createTime": rfc3339(operation["starts"]),
        "state": "DONE" if operation["done"] else "RUNNING",
        "updateTime": rfc3339(operation["ends"] if operation["done"] else operation["starts"]),
    }


def _not_yet(call: Call) -> Any:
    """Lists of Google's own that the sandbox does not know: an empty answer would not be true."""
    raise Refused(501, f"The sandbox does not have {call.method.id} yet.", status="UNIMPLEMENTED")


SERVICE = Service(
    host=shared.HOST,
    apis=("monitoring.v3", "monitoring.v1"),
    operations=LongRunning(metadata=_metadata, under=lambda call, verb: ""),
    kinds=(
        alerting.CHANNEL,
        alerting.POLICY,
        checks.CHECK,
        checks.GROUP,
        objectives.SERVICE,
        objectives.OBJECTIVE,
        dashboards.DASHBOARD,
        series.DESCRIPTOR,
    ),
    usual=Kind("", id_from="server:number", show=lambda call, body: dict(without_empty(body))),
    keeps_empty=True,
    handlers=alerting.HANDLERS
    | objectives.HANDLERS
    | dashboards.HANDLERS
    | series.HANDLERS
    | {
        f"projects.{resource}.{verb}": _not_yet
        for resource in ("notificationChannelDescriptors", "monitoredResourceDescriptors", "alerts")
        for verb in ("get", "list")
    }
    | {"uptimeCheckIps.list": _not_yet, "projects.groups.members.list": _not_yet},
    verbs={"patch": shared.patch},
    listed=shared.listed,
    finds_parts=True,
    prepare=series.named,
)
