"""Incidents: when conditions open and close them, and which policies are not judged."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Cloud
from infra.sandbox.server import Server

HOST = "monitoring.googleapis.com"
POLICIES = "v3/projects/{project}/alertPolicies"
SERIES = "v3/projects/{project}/timeSeries"
METRIC = "custom.googleapis.com/depth"
MEAN = {"alignmentPeriod": "60s", "perSeriesAligner": "ALIGN_MEAN"}
DEEP = {
    "filter": f'metric.type="{METRIC}" AND resource.type="global"',
    "aggregations": [MEAN],
    "comparison": "COMPARISON_GT",
    "thresholdValue": 10,
    "duration": "120s",
}
TEXT = {"content": "The queue is deep.\n\n**What to do:** wait.", "mimeType": "text/markdown"}


class Watch:
    """One policy, values that are written each minute, and what comes of them."""

    def __init__(self, cloud: Cloud, ask: Callable[..., Any]) -> None:
        self._cloud = cloud
        self._ask = ask
        self._server = Server(cloud)

    def policy(self, condition: dict[str, Any], **more: Any) -> str:
        body = {
            "displayName": "queue",
            "combiner": "OR",
            "conditions": [{"displayName": "depth"} | condition],
            "documentation": TEXT,
        } | more
        answer = self._ask("POST", HOST, POLICIES, body)
        assert answer.status == 200, answer.body
        return str(answer.body["name"])

    def write(self, *values: float | None, of: str = "a") -> None:
        """A value each minute, and none where it is None."""
        for value in values:
            self._cloud.clock.advance(60)
            end = dt.datetime.fromtimestamp(self._cloud.clock.now(), dt.UTC).isoformat()
            point = {"interval": {"endTime": end}, "value": {"doubleValue": value}}
            one = {"metric": {"type": METRIC, "labels": {"of": of}}, "resource": {"type": "global"}, "points": [point]}
            if value is not None:
                assert self._ask("POST", HOST, SERIES, {"timeSeries": [one]}).status == 200

    def incidents(self) -> list[tuple[str, int | None]]:
        """State, and minutes that it was open if it is closed; oldest first."""
        found = []
        for one in self.all()["incidents"][::-1]:
            lasted = None if one["closed"] is None else (_seconds(one["closed"]) - _seconds(one["opened"])) // 60
            found.append((one["state"], lasted))
        return found

    def all(self) -> Any:
        return self._server.alerts("GET", {})


def _seconds(moment: str) -> int:
    return int(dt.datetime.fromisoformat(moment).timestamp())


@pytest.fixture
def watch(cloud: Cloud, ask: Callable[..., Any]) -> Watch:
    return Watch(cloud, ask)


def test_opens_after_its_duration_and_closes_with_the_first_value_that_is_well(watch: Watch) -> None:
    """Two minutes: a first value that violates, and each of the two after it. One below in between begins anew."""
    watch.policy({"conditionThreshold": DEEP})
    watch.write(11, 11, 9, 11, 11)
    assert watch.incidents() == []
    watch.write(12)
    (incident,) = watch.all()["incidents"]
    assert (incident["policy_name"], incident["condition"], incident["value"], incident["limit"]) == ("queue", "depth", 12.0, 10)
    assert (incident["state"], incident["closed"], incident["runbook"]) == ("open", None, "The queue is deep.")
    watch.write(10)
    assert watch.incidents() == [("closed", 1)]


def test_the_limit_itself_is_no_violation_in_either_direction(watch: Watch) -> None:
    watch.policy({"conditionThreshold": DEEP})
    watch.policy({"conditionThreshold": DEEP | {"comparison": "COMPARISON_LT"}})
    watch.write(*[10] * 6)
    assert watch.incidents() == []


def test_each_series_has_its_own_unless_they_are_put_together(watch: Watch) -> None:
    """By a label: one of the two; as a mean: none."""
    watch.policy(
        {
            "conditionThreshold": DEEP
            | {"duration": "0s", "aggregations": [MEAN | {"crossSeriesReducer": "REDUCE_MAX", "groupByFields": ["metric.label.of"]}]}
        }
    )
    watch.policy(
        {
            "conditionThreshold": DEEP
            | {"duration": "0s", "aggregations": [MEAN | {"alignmentPeriod": "300s", "crossSeriesReducer": "REDUCE_MEAN"}]}
        }
    )
    watch.write(2)
    watch.write(15, of="b")
    (incident,) = watch.all()["incidents"]
    assert incident["of"] == {"metric.label.of": "b"}


def test_without_data_it_stays_open_until_it_is_closed_by_itself(watch: Watch) -> None:
    watch.policy({"conditionThreshold": DEEP}, alertStrategy={"autoClose": "1800s"})
    watch.write(11, 11, 11, *[None] * 20)
    assert watch.incidents() == [("open", None)]
    watch.write(*[None] * 20)
    assert watch.incidents() == [("closed", 30)]


def test_what_was_there_and_is_no_more_is_an_incident(watch: Watch) -> None:
    """Ten minutes without data; what was never there is none."""
    watch.policy({"conditionAbsent": {"filter": DEEP["filter"], "aggregations": [MEAN], "duration": "600s"}})
    watch.write(*[None] * 30)
    assert watch.incidents() == []
    watch.write(1, *[None] * 9)
    assert watch.incidents() == []
    watch.write(None, None, 1)
    assert watch.incidents() == [("closed", 2)]


def test_a_policy_that_is_off_finds_nothing_and_a_change_begins_anew(watch: Watch, ask: Callable[..., Any]) -> None:
    watch.policy({"conditionThreshold": DEEP}, enabled=False)
    name = watch.policy({"conditionThreshold": DEEP})
    watch.write(*[11] * 5)
    assert watch.incidents() == [("open", None)]
    assert ask("PATCH", HOST, f"v3/{name}", {"displayName": "other"}, updateMask="displayName").status == 200
    assert watch.incidents() == []


@pytest.mark.parametrize(
    ("condition", "more", "because"),
    [
        ({"conditionThreshold": DEEP | {"aggregations": [MEAN | {"perSeriesAligner": "ALIGN_STDDEV"}]}}, {}, "ALIGN_STDDEV of GAUGE DOUBLE"),
        ({"conditionThreshold": DEEP | {"aggregations": [MEAN | {"perSeriesAligner": "ALIGN_RATE"}]}}, {}, "ALIGN_RATE of GAUGE DOUBLE"),
        ({"conditionThreshold": DEEP | {"aggregations": [MEAN, MEAN]}}, {}, "2 aggregations"),
        ({"conditionThreshold": DEEP | {"aggregations": [MEAN | {"alignmentPeriod": "10s"}]}}, {}, "less than a minute"),
        ({"conditionThreshold": DEEP | {"aggregations": [MEAN | {"crossSeriesReducer": "REDUCE_STDDEV"}]}}, {}, "REDUCE_STDDEV"),
        ({"conditionThreshold": DEEP | {"comparison": "COMPARISON_GE"}}, {}, "COMPARISON_GE"),
        ({"conditionThreshold": {key: one for key, one in DEEP.items() if key != "comparison"}}, {}, "COMPARISON_UNSPECIFIED"),
        ({"conditionThreshold": DEEP | {"duration": "-60s"}}, {}, "the duration -60s"),
        ({"conditionThreshold": DEEP | {"filter": ""}}, {}, "without a metric"),
        ({"conditionThreshold": DEEP}, {"alertStrategy": {"autoClose": ""}}, "the duration"),
        ({"conditionThreshold": DEEP | {"trigger": {"count": 2}}}, {}, "a trigger of several series"),
        ({"conditionThreshold": DEEP | {"filter": f'metric.type="{METRIC}" OR a=b'}}, {}, "does not read this"),
        ({"conditionPrometheusQueryLanguage": {"query": "up"}}, {}, "conditionPrometheusQueryLanguage"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_said(watch: Watch, condition: dict[str, Any], more: dict[str, Any], because: str) -> None:
    """And no other policy is kept from being judged."""
    name = watch.policy(condition, **more)
    watch.policy({"conditionThreshold": DEEP})
    watch.write(*[11] * 4)
    found = watch.all()
    assert [(one["policy"], because in one["because"]) for one in found["not_judged"]] == [(name, True)]
    assert watch.incidents() == [("open", None)]


def test_several_conditions_are_judged_by_or_alone(watch: Watch) -> None:
    both = [{"displayName": name, "conditionThreshold": DEEP} for name in ("a", "b")]
    watch.policy({}, conditions=both, combiner="AND")
    watch.policy({}, conditions=both)
    watch.write(*[11] * 4)
    assert watch.incidents() == [("open", None)] * 2
    assert {one["because"] for one in watch.all()["not_judged"]} == {"the combiner AND"}
