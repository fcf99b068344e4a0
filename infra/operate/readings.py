"""
What the deployed models of an endpoint did in a span of time, as Cloud Monitoring has it: requests, errors, latencies.

`prediction/online/response_count` counts answers by their code; `prediction_count` would count the instances in them. An error is an answer
of 4xx or 5xx: a version that refuses what the last one took is a broken one. `prediction/online/prediction_latencies` of the type `total`
is the only one that every model has.

Source: https://cloud.google.com/monitoring/api/metrics_gcp_a_b#gcp-aiplatform, read 2026-11: kinds DELTA, values INT64 and DISTRIBUTION in
milliseconds, labels `deployed_model_id`, `response_code` ("1xx, 2xx, 3xx, 4xx, 5xx") and `latency_type`, on the monitored resource
`aiplatform.googleapis.com/Endpoint`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from infra.operate.latencies import Distribution
from infra.provider.google import Google
from infra.provider.holds import seconds

API = "monitoring.v3"
RESOURCE = "aiplatform.googleapis.com/Endpoint"
PREFIX = "aiplatform.googleapis.com/prediction/online"
RESPONSES = f"{PREFIX}/response_count"
LATENCIES = f"{PREFIX}/prediction_latencies"
GOOD = ("1", "2", "3")
"""First digits of codes that are no errors."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One deployed model in one span."""

    requests: int = 0
    errors: int = 0
    latencies: Distribution = field(default_factory=Distribution)

    def __add__(self, other: Reading) -> Reading:
        return Reading(self.requests + other.requests, self.errors + other.errors, self.latencies + other.latencies)


@dataclass(frozen=True, slots=True)
class Moment:
    """What one deployed model did in one short span."""

    id: str
    start: float
    end: float
    reading: Reading


class Source(Protocol):
    """Where readings come from."""

    def moments(self, start: float, end: float) -> list[Moment]:
        """What is known of the time from *start* to *end*, in seconds since 1970."""


class Monitoring:
    """
    Cloud Monitoring. What it says is late by minutes: "not visible for up to 120 seconds" is said of its neighbours.

    Args:
        google: Google's APIs.
        endpoint: Full name: `projects/P/locations/R/endpoints/E`.
    """

    def __init__(self, google: Google, endpoint: str) -> None:
        self._google = google
        words = endpoint.split("/")
        self._project = "/".join(words[:2])
        self._where = f'resource.type = "{RESOURCE}" AND resource.labels.endpoint_id = "{words[5]}"'

    def moments(self, start: float, end: float) -> list[Moment]:
        found: dict[tuple[str, float, float], Reading] = {}
        for metric, more in ((RESPONSES, ""), (LATENCIES, ' AND metric.labels.latency_type = "total"')):
            series = self._google.pages(
                API,
                "projects.timeSeries.list",
                "timeSeries",
                name=self._project,
                filter=f'metric.type = "{metric}" AND {self._where}{more}',
                interval_startTime=rfc3339(start),
                interval_endTime=rfc3339(end),
            )
            for one in series:
                labels = one["metric"].get("labels", {})
                for point in one.get("points", []):
                    begun, ended = (seconds(point["interval"][key]) for key in ("startTime", "endTime"))
                    if begun < start - 1:
                        continue  # a part of it is of another step
                    key = (str(labels.get("deployed_model_id", "")), begun, ended)
                    found[key] = found.get(key, Reading()) + _reading(metric, labels, point.get("value", {}))
        return [Moment(id, begun, ended, reading) for (id, begun, ended), reading in sorted(found.items())]


def total(moments: Iterable[Moment], id: str, since: float = 0.0) -> Reading:
    """One deployed model, over all that began at *since* or later."""
    found = Reading()
    for one in moments:
        if one.id == id and one.start >= since - 1:
            found = found + one.reading
    return found


def rfc3339(moment: float) -> str:
    return dt.datetime.fromtimestamp(moment, dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _reading(metric: str, labels: Mapping[str, Any], value: Mapping[str, Any]) -> Reading:
    if metric == LATENCIES:
        return Reading(latencies=Distribution.read(value.get("distributionValue") or {}))
    count = int(value.get("int64Value") or 0)
    is_good = str(labels.get("response_code", "")).startswith(GOOD)
    return Reading(count, 0 if is_good else count)
