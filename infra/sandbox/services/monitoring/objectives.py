"""Services and their service level objectives."""

from __future__ import annotations

from typing import Any

from infra.sandbox import verbs
from infra.sandbox.refused import Refused
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.monitoring import shared
from infra.sandbox.services.monitoring.shared import HOST

HIGHEST_GOAL = 0.9999
LONGEST_DAYS = 30
"""Source of both: descriptions of `ServiceLevelObjective`."""


def _fill(call: Call, body: Body) -> None:
    body["name"] = call.target


def create(call: Call) -> Any:
    """POST: under the id of the query, or one that the server makes."""
    parameter = call.kind.id_from.partition(":")[2]
    if not call.query.get(parameter):
        made = call.cloud.uuid(call.cloud.store.next("ids"))
        call.query = {**call.query, parameter: made}
    return verbs.create(call)


def _check_objective(call: Call, body: Body, before: Body | None) -> None:
    service = call.target.rpartition("/serviceLevelObjectives/")[0]
    if call.cloud.store.get(HOST, service) is None:
        raise _no_service_named(call, service)
    if not 0 < body.get("goal", 0) <= HIGHEST_GOAL:
        raise shared.bad("service_level_objective.goal", body.get("goal", 0), f"must be above 0, and at most {HIGHEST_GOAL}")
    if ("rollingPeriod" in body) == ("calendarPeriod" in body):
        raise shared.required("service_level_objective.period")
    if "rollingPeriod" in body:
        seconds = shared.seconds("service_level_objective.rolling_period", body["rollingPeriod"])
        if seconds % 86400 or not 1 <= seconds / 86400 <= LONGEST_DAYS:
            raise shared.bad("service_level_objective.rolling_period", body["rollingPeriod"], f"must be 1 to {LONGEST_DAYS} whole days")


def _shown(call: Call, body: Body) -> Body:
    return shared.by_number(call, dict(without_empty(body)))


def _no_service(call: Call) -> Refused:
    return _no_service_named(call, call.target)


def _no_service_named(call: Call, name: str) -> Refused:
    """Wording of both: recorded, 2026-08."""
    return Refused(404, f"There is no service with id '{name.rpartition('/')[2]}' in project '{call.number}'")


def _no_objective(call: Call) -> Refused:
    words = call.target.split("/")
    return Refused(404, f'There is no slo with id "{words[5]}" under service "{words[3]}" in project "{call.number}"')


SERVICE = Kind("services", id_from="query:serviceId", fill=_fill, show=_shown, not_found=_no_service)
OBJECTIVE = Kind(
    "services.serviceLevelObjectives",
    id_from="query:serviceLevelObjectiveId",
    fill=_fill,
    check=_check_objective,
    show=_shown,
    not_found=_no_objective,
)
HANDLERS = {
    "services.create": create,
    "services.serviceLevelObjectives.create": create,
}
