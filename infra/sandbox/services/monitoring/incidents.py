"""
Incidents: what the alert policies find in the time series, by the sandbox's clock. Nobody gets mail here.

A condition is looked at each minute since its policy was made or changed, of the last seven days. What Google puts together in another way
than is read here is not judged, and said so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.sandbox import filters
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body
from infra.sandbox.services.monitoring import aligned, series
from infra.sandbox.services.monitoring.aligned import STEP, NotReadError, Values
from infra.sandbox.services.monitoring.shared import HOST

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

LOOKS_BACK = 7 * 86400.0
AUTO_CLOSE = 7 * 86400.0
"""Seconds without data after which an incident is closed, where the policy says nothing. Source: description of `autoClose`."""


@dataclass(slots=True)
class Incident:
    """One violation of one condition, by what has the same labels."""

    by: tuple[str, ...]
    opened: int
    value: float | None
    closed: int | None = None


def judged(cloud: Cloud) -> Body:
    """Incidents of every policy that is enabled, the newest first, and policies that are not judged, with why."""
    found, unread = [], []
    for _, name, policy in list(cloud.store.every(HOST, "projects/")):
        if name.split("/")[2] != "alertPolicies" or not policy.get("enabled", True):
            continue
        for condition in policy["conditions"]:
            try:
                if len(policy["conditions"]) > 1 and policy.get("combiner") != "OR":
                    raise NotReadError(f"the combiner {policy.get('combiner')}")
                found += [_shown(name, policy, condition, one) for one in _incidents(cloud, name, policy, condition)]
            except (NotReadError, Refused) as why:
                unread.append({"policy": name, "condition": condition.get("displayName", ""), "because": str(why)})
    return {"incidents": sorted(found, key=lambda one: (one["opened"], one["policy"]), reverse=True), "not_judged": unread}


def _shown(name: str, policy: Body, condition: Body, incident: Incident) -> Body:
    kind = "conditionAbsent" if "conditionAbsent" in condition else "conditionThreshold"
    fields = [field for one in condition[kind].get("aggregations", []) for field in one.get("groupByFields", [])]
    return {
        "policy": name,
        "policy_name": policy["displayName"],
        "condition": condition.get("displayName", ""),
        "of": dict(zip(fields, incident.by, strict=False)),
        "state": "open" if incident.closed is None else "closed",
        "opened": rfc3339(incident.opened),
        "closed": None if incident.closed is None else rfc3339(incident.closed),
        "value": incident.value,
        "limit": condition[kind].get("thresholdValue", 0) if kind == "conditionThreshold" else None,
        "runbook": policy.get("documentation", {}).get("content", "").partition("\n")[0],
    }


def _incidents(cloud: Cloud, name: str, policy: Body, condition: Body) -> Iterator[Incident]:
    project = name.split("/")[1]
    since = max(aligned.seconds(policy["mutationRecord"]["mutateTime"]), cloud.moment - LOOKS_BACK)
    until = math.floor(cloud.moment / STEP) * STEP
    said = condition.get("conditionAbsent") or condition.get("conditionThreshold")
    if said is None:
        kinds = ", ".join(key for key in condition if key.startswith("condition"))
        raise NotReadError(kinds)
    values = _values(cloud, project, said.get("filter", ""), said.get("aggregations", []), since, until)
    duration = aligned.duration(said.get("duration", "0s"))
    if "conditionAbsent" in condition:
        for by, one in values.items():
            yield from _absent(by, one, duration, until)
        return
    if "denominatorFilter" in said:
        whole = _values(cloud, project, said["denominatorFilter"], said.get("denominatorAggregations", []), since, until)
        values = {by: _part(one, whole.get(by, {})) for by, one in values.items()}
    comparison, limit = said.get("comparison", "COMPARISON_UNSPECIFIED"), float(said.get("thresholdValue", 0))
    if comparison not in ("COMPARISON_GT", "COMPARISON_LT"):
        raise NotReadError(comparison)
    if said.get("trigger", {}).get("count", 1) != 1 or "percent" in said.get("trigger", {}):
        raise NotReadError("a trigger of several series")
    auto_close = aligned.duration(policy.get("alertStrategy", {}).get("autoClose", f"{AUTO_CLOSE:.0f}s"))
    for by, one in values.items():
        yield from _violated(by, one, comparison == "COMPARISON_LT", limit, duration, auto_close, until)


def _values(cloud: Cloud, project: str, text: str, aggregations: list[Body], since: float, until: int) -> dict[tuple[str, ...], Values]:
    if len(aggregations) != 1:
        raise NotReadError(f"{len(aggregations)} aggregations")
    terms = filters.parsed(text)
    if not any(term["key"] == "metric.type" for term in terms):
        raise NotReadError("a filter without a metric")
    found = list(series.fitting(cloud, project, terms, since, until))
    return aligned.put_together(found, aggregations[0], until)


def _part(some: Values, whole: Values) -> Values:
    """Where there is no whole there is no part of it."""
    return {moment: value / whole[moment] for moment, value in some.items() if whole.get(moment)}


def _violated(
    by: tuple[str, ...], values: Values, below: bool, limit: float, duration: float, auto_close: float, until: int
) -> Iterator[Incident]:
    """An incident opens when every value of the duration violates, and closes with the first that does not, or long after the last."""
    since: int | None = None
    last: int | None = None
    incident: Incident | None = None
    for moment in range(min(values, default=until + 1), until + 1, STEP):
        value = values.get(moment)
        if value is None:
            since = None
            if incident is not None and last is not None and moment - last >= auto_close:
                incident.closed = moment
                yield incident
                incident = None
            continue
        last = moment
        if (value < limit) if below else (value > limit):
            since = moment if since is None else since
            if incident is None and moment - since >= duration:
                incident = Incident(by, moment, value)
            continue
        since = None
        if incident is not None:
            incident.closed = moment
            yield incident
            incident = None
    if incident is not None:
        yield incident


def _absent(by: tuple[str, ...], values: Values, duration: float, until: int) -> Iterator[Incident]:
    """What was there is not any more, for the whole duration."""
    moments = sorted(values)
    for index, moment in enumerate(moments):
        following = moments[index + 1] if index + 1 < len(moments) else None
        gone = moment + math.ceil(duration / STEP) * STEP
        if gone <= (until if following is None else following - STEP):
            yield Incident(by, gone, None, following)
