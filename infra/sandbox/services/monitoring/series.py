"""Metrics: their descriptors, and the points that were written and are read again."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from infra.sandbox import filters, lists, verbs
from infra.sandbox.refused import Refused, no_entity
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.monitoring import shared
from infra.sandbox.services.monitoring.shared import HOST

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

POINTS = "points"
"""Where points are kept: beside the resources, since they are none."""
OWN = ("custom.googleapis.com/", "external.googleapis.com/", "workload.googleapis.com/")
"""Types that come to be when they are written. Source: Monitoring's page "User-defined metrics overview", 2026."""
TYPES = {
    "boolValue": "BOOL",
    "int64Value": "INT64",
    "doubleValue": "DOUBLE",
    "stringValue": "STRING",
    "distributionValue": "DISTRIBUTION",
}
MOST_SERIES = 200
"""A request. Source: Monitoring's quota page, "Limits for custom metrics", 2026."""
ALIGNERS: dict[str, Callable[[list[float]], float]] = {
    "ALIGN_MEAN": fmean,
    "ALIGN_MIN": min,
    "ALIGN_MAX": max,
    "ALIGN_SUM": sum,
    "ALIGN_COUNT": len,
}


def named(call: Call) -> None:
    """A metric's type has slashes: descriptors are kept under it quoted, so that none is inside another."""
    head, middle, metric = call.owner.partition("/metricDescriptors/")
    if middle:
        call.owner = f"{head}{middle}{quote(unquote(metric), safe='')}"


def create_descriptor(call: Call) -> Any:
    """POST: makes a descriptor, or changes the one of that type."""
    metric = call.body.get("type", "")
    if not metric.startswith(OWN):
        raise shared.bad("metric_descriptor.type", metric, f"must begin with {', '.join(OWN)}")
    _keep_descriptor(call, dict(call.body))
    return verbs.answered(call, verbs.stored(call))


def _keep_descriptor(call: Call, body: Body) -> None:
    call.target = f"projects/{call.project}/metricDescriptors/{quote(body['type'], safe='')}"
    body["name"] = f"projects/{call.project}/metricDescriptors/{body['type']}"
    call.cloud.store.put(HOST, call.target, body)
    call.cloud.mark_own(HOST, call.target)


def list_descriptors(call: Call) -> Any:
    """GET: `filter=metric.type = starts_with("custom.googleapis.com/")`."""
    terms = filters.parsed(call.query.get("filter", ""))
    bodies = [body for _, body in call.cloud.store.items(HOST, f"projects/{call.project}/metricDescriptors")]
    found, more = lists.page(call, [body for body in bodies if filters.fits({"metric": {"type": body["type"]}}, terms, part=True)])
    return ({"metricDescriptors": [verbs.answered(call, body) for body in found]} if found else {}) | more


def write(call: Call) -> Any:
    """POST of at most one point to each of several series, later than all of its points."""
    series = call.body.get("timeSeries", [])
    if not 1 <= len(series) <= MOST_SERIES:
        raise shared.bad("timeSeries", len(series), f"must be 1 to {MOST_SERIES} series")
    for index, one in enumerate(series):
        _write(call, index, one)
    return {}


def _write(call: Call, index: int, one: Body) -> None:
    where = f"timeSeries[{index}]"
    metric, points = one.get("metric", {}).get("type", ""), one.get("points", [])
    if not metric:
        raise shared.required(f"{where}.metric.type")
    if len(points) != 1:
        raise shared.bad(f"{where}.points", len(points), "must be exactly one point")
    kind = next((TYPES[key] for key in TYPES if key in points[0].get("value", {})), None)
    end = points[0].get("interval", {}).get("endTime")
    if kind is None or not end:
        raise shared.required(f"{where}.points[0].{'value' if end else 'interval.end_time'}")
    metric_kind = one.get("metricKind", "GAUGE")
    resource = one.get("resource") or {"type": "global"}
    resource.setdefault("labels", {}).setdefault("project_id", call.project)
    identity = {"metric": one["metric"], "resource": resource}
    key = f"projects/{call.project}/timeSeries/{hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]}"
    kept = call.cloud.store.get(POINTS, key)
    if kept is not None and _seconds(end) <= kept["last"]:
        # Wording: of Google, as quoted in opentelemetry-operations-go's issues, 2023.
        raise Refused(
            400,
            f"One or more TimeSeries could not be written: {where} Points must be written in order. "
            "One or more of the points specified had an older start time than the most recent point.",
        )
    body = {**identity, "metricKind": metric_kind, "valueType": kind, "last": _seconds(end)}
    call.cloud.store.put(POINTS, key, body, f"projects/{call.project}/timeSeries")
    start = end if metric_kind == "GAUGE" else points[0]["interval"].get("startTime", end)
    point = {"interval": {"startTime": start, "endTime": end}, "value": points[0]["value"]}
    call.cloud.store.put(POINTS, f"{key}/{_seconds(end):.6f}", point, key)
    descriptor = f"projects/{call.project}/metricDescriptors/{quote(metric, safe='')}"
    if metric.startswith(OWN) and call.cloud.store.get(HOST, descriptor) is None:
        labels = [{"key": label} for label in sorted(one["metric"].get("labels", {}))]
        _keep_descriptor(call, {"type": metric, "labels": labels, "metricKind": metric_kind, "valueType": kind})


def read(call: Call) -> Any:
    """GET: series of one metric that fit a filter, their points newest first, aligned where that is asked for."""
    terms = filters.parsed(call.query.get("filter", ""))
    if not any(term["key"] == "metric.type" for term in terms):
        raise shared.bad("filter", call.query.get("filter", ""), "must specify a single metric type")
    if call.query.get("aggregation.crossSeriesReducer", "REDUCE_NONE") != "REDUCE_NONE":
        raise _not_yet("aggregation.crossSeriesReducer")
    if call.query.get("orderBy"):
        raise _not_yet(f"orderBy={call.query['orderBy']}")
    until = call.query.get("interval.endTime")
    if not until:
        raise shared.required("interval.end_time")
    start, end = _seconds(call.query.get("interval.startTime") or until), _seconds(until)
    found = [_series(call, body, points, end) for body, points in fitting(call.cloud, call.project, terms, start, end)]
    return {"timeSeries": found} if found else {}


def fitting(cloud: Cloud, project: str, terms: list[re.Match[str]], start: float, end: float) -> Iterator[tuple[Body, list[Body]]]:
    """Series of a project that fit a filter, those that were written and those of declared loads, with their points, oldest first."""
    for key, body in cloud.store.items(POINTS, f"projects/{project}/timeSeries"):
        if not filters.fits(body, terms, part=True):
            continue
        if points := [point for _, point in cloud.store.items(POINTS, key) if _inside(point, start, end)]:
            yield body, points
    for one in chain(cloud.loads.series(project), cloud.use.series(project)):
        if filters.fits(one.identity, terms, part=True) and (made := one.points(start, min(end, cloud.moment))):
            points = [
                {"interval": {"startTime": _moment(point["start"]), "endTime": _moment(point["end"])}, "value": point["value"]}
                for point in made
            ]
            yield {**one.identity, "metricKind": one.kind, "valueType": one.value_type} | ({"unit": one.unit} if one.unit else {}), points


def _inside(point: Body, start: float, end: float) -> bool:
    moment = _seconds(point["interval"]["endTime"])
    return start < moment <= end or moment == start == end


def _series(call: Call, body: Body, points: list[Body], end: float) -> Body:
    aligner = call.query.get("aggregation.perSeriesAligner", "ALIGN_NONE")
    shown = {key: value for key, value in body.items() if key != "last"}
    if aligner != "ALIGN_NONE":
        if aligner not in ALIGNERS or body["valueType"] not in ("INT64", "DOUBLE"):
            raise _not_yet(aligner)
        points = _aligned(call, points, end, ALIGNERS[aligner])
        shown |= {"metricKind": "GAUGE", "valueType": "DOUBLE"}
    if call.query.get("view") == "HEADERS":
        return shown
    return shown | {"points": points[::-1]}


def _aligned(call: Call, points: list[Body], end: float, aligner: Callable[[list[float]], float]) -> list[Body]:
    """One point a period, counted back from the end."""
    period = shared.seconds("aggregation.alignmentPeriod", call.query.get("aggregation.alignmentPeriod", "0s"))
    if period < 60:
        raise shared.bad("aggregation.alignmentPeriod", f"{period:g}s", "must be at least 60 seconds")
    periods: dict[int, list[float]] = {}
    for point in points:
        back = int((end - _seconds(point["interval"]["endTime"])) // period)
        periods.setdefault(back, []).append(float(next(iter(point["value"].values()))))
    out = []
    for back in sorted(periods, reverse=True):
        moment = _moment(end - back * period)
        out.append({"interval": {"startTime": moment, "endTime": moment}, "value": {"doubleValue": float(aligner(periods[back]))}})
    return out


def _moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat().replace("+00:00", "Z")


def _seconds(moment: str) -> float:
    try:
        return dt.datetime.fromisoformat(moment).timestamp()
    except ValueError:
        raise shared.bad("interval", moment, "must be a time such as 2026-12-01T08:00:00Z") from None


def _not_yet(what: str) -> Refused:
    return Refused(501, f"The sandbox does not have {what} of time series yet.", status="UNIMPLEMENTED")


DESCRIPTOR = Kind("projects.metricDescriptors", show=lambda call, body: dict(without_empty(body)), not_found=no_entity)
HANDLERS = {
    "projects.metricDescriptors.create": create_descriptor,
    "projects.metricDescriptors.list": list_descriptors,
    "projects.timeSeries.create": write,
    "projects.timeSeries.list": read,
}
