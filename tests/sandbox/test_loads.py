"""Declared loads: series that follow from what callers do and from the split at each moment, the same each time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.store import Store

AT = "projects/shop/locations/us-central1"
ENDPOINT = f"{AT}/endpoints/77"
PREFIX = "aiplatform.googleapis.com/prediction/online"
START = 1_800_000_000.0 - 1_800_000_000.0 % 60
FAST, SLOW = {"p50_ms": 20, "p95_ms": 20}, {"p50_ms": 200, "p95_ms": 200, "error_rate": 0.25}


class Shop:
    """An endpoint with two versions, 75 to 25."""

    def __init__(self, store: Store | None = None) -> None:
        self.cloud = Cloud(store, Clock(start=START, real=lambda: 0.0))
        if store is None:
            self.make()

    def make(self) -> None:
        self.cloud.projects.make("shop")
        vertex = "aiplatform.googleapis.com/v1"
        self.ask("POST", f"{vertex}/{AT}/endpoints", {"displayName": "x"}, endpointId="77")
        for parent in ({"modelId": "m"}, {"parentModel": f"{AT}/models/m"}):
            self.ask("POST", f"{vertex}/{AT}/models:upload", {"model": {"displayName": "m"}, **parent})
            self.cloud.clock.advance(61)
        machine = {"machineSpec": {"machineType": "n1-standard-2"}, "minReplicaCount": 1}
        for id in ("1", "2"):
            model = {"id": id, "model": f"{AT}/models/m@{id}", "dedicatedResources": machine}
            self.ask(
                "POST", f"{vertex}/{ENDPOINT}:deployModel", {"deployedModel": model} | ({"trafficSplit": {"0": 100}} if id == "1" else {})
            )
            self.cloud.clock.advance(601)
        self.give({"1": 75, "2": 25})
        self.cloud.clock.advance(60 - self.cloud.clock.now() % 60)

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> dict[str, Any]:
        host, _, rest = path.partition("/")
        answer = self.cloud.handle(Request(method, host, f"/{rest}", query, json.dumps(body).encode() if body else b""))
        assert answer.status == 200, answer.body
        return dict(answer.body)

    def give(self, split: dict[str, int]) -> None:
        self.ask("PATCH", f"aiplatform.googleapis.com/v1/{ENDPOINT}", {"trafficSplit": split}, updateMask="trafficSplit")

    def load(self, rate: float = 4, **models: Any) -> None:
        self.cloud.loads.declare({"endpoint": ENDPOINT, "requests_per_second": rate, "models": {"1": FAST, "2": SLOW} | models})

    def series(self, metric: str, more: str = "", seconds: float = 3600) -> list[dict[str, Any]]:
        now = self.cloud.clock.now()
        query = {"interval.startTime": _moment(now - seconds), "interval.endTime": _moment(now)}
        return list(
            self.ask(
                "GET", "monitoring.googleapis.com/v3/projects/shop/timeSeries", filter=f'metric.type = "{PREFIX}/{metric}"{more}', **query
            ).get("timeSeries", [])
        )

    def counts(self, metric: str, more: str = "") -> dict[str, list[int]]:
        """Points by deployed model, oldest first."""
        found: dict[str, list[int]] = {}
        for one in self.series(metric, more):
            found[one["metric"]["labels"]["deployed_model_id"]] = [int(point["value"]["int64Value"]) for point in one["points"][::-1]]
        return found


def _moment(seconds: float) -> str:
    import datetime as dt

    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat().replace("+00:00", "Z")


@pytest.fixture
def shop() -> Iterator[Shop]:
    """Two versions."""
    found = Shop()
    yield found
    found.cloud.store.close()


def test_requests_follow_the_split_of_each_moment(shop: Shop) -> None:
    """4 a second: 180 and 60 a minute; after the split has changed within a minute, both parts of it count."""
    shop.load()
    shop.cloud.clock.advance(90)
    shop.give({"1": 25, "2": 75})
    shop.cloud.clock.advance(90)
    assert shop.counts("prediction_count") == {"1": [180, 120, 60], "2": [60, 120, 180]}


def test_the_minute_that_runs_has_no_point_yet(shop: Shop) -> None:
    """Only what is over is known."""
    shop.load()
    shop.cloud.clock.advance(59)
    assert shop.counts("prediction_count") == {}
    shop.cloud.clock.advance(1)
    assert shop.counts("prediction_count") == {"1": [180], "2": [60]}


def test_errors_and_codes_add_up(shop: Shop) -> None:
    """A quarter of what the second one answers fails: by count and by code."""
    shop.load()
    shop.cloud.clock.advance(120)
    assert shop.counts("error_count") == {"2": [15, 15]}
    assert shop.counts("response_count", ' AND metric.labels.response_code = "2xx"') == {"1": [180, 180], "2": [45, 45]}
    assert shop.counts("response_count", ' AND metric.labels.response_code = "5xx"') == {"2": [15, 15]}


def test_latencies_are_a_distribution(shop: Shop) -> None:
    """All of 20 ms are in the bucket that holds 20 ms; its bounds are said."""
    shop.load()
    shop.cloud.clock.advance(60)
    fast, slow = shop.series("prediction_latencies", ' AND metric.labels.latency_type = "total"')
    assert (fast["metricKind"], fast["valueType"]) == ("DELTA", "DISTRIBUTION")
    for one, latency, count in ((fast, 20, 180), (slow, 200, 60)):
        value = one["points"][0]["value"]["distributionValue"]
        assert value["count"] == str(count)
        assert value["mean"] == pytest.approx(latency)
        buckets = value["bucketOptions"]["exponentialBuckets"]
        last = len(value["bucketCounts"]) - 1
        assert value["bucketCounts"] == [*["0"] * last, str(count)]
        assert buckets["scale"] * buckets["growthFactor"] ** (last - 1) <= latency < buckets["scale"] * buckets["growthFactor"] ** last
    assert shop.series("prediction_latencies", ' AND metric.labels.latency_type = "model"') == []


@pytest.mark.parametrize("rate", [2.0, 500.0])
def test_percentiles_are_as_declared(shop: Shop, rate: float) -> None:
    """Half of the requests below the median, 95 in a hundred below p95: of few, each by itself, as of many."""
    shop.load(rate, **{"1": {"p50_ms": 50, "p95_ms": 150}})
    shop.cloud.clock.advance(600)
    (one,) = shop.series("prediction_latencies", ' AND metric.labels.deployed_model_id = "1"')
    below = {50: 0, 150: 0}
    total = 0
    for point in one["points"]:
        for bucket, count in enumerate(point["value"]["distributionValue"]["bucketCounts"]):
            total += int(count)
            for limit in below:
                below[limit] += int(count) if 1.1**bucket <= limit * 1.05 else 0
    assert total == rate * 0.75 * 600
    assert below[50] / total == pytest.approx(0.5, abs=0.06)
    assert below[150] / total == pytest.approx(0.95, abs=0.02)


def test_another_load_counts_from_now_on(shop: Shop) -> None:
    """What was before stays as it was; none at all has no points."""
    shop.load()
    shop.cloud.clock.advance(60)
    shop.load(8)
    shop.cloud.clock.advance(60)
    shop.load(0)
    shop.cloud.clock.advance(60)
    assert shop.counts("prediction_count") == {"1": [180, 360], "2": [60, 120]}
    shop.cloud.loads.clear()
    assert shop.counts("prediction_count") == {}
    assert shop.cloud.loads.shown() == {"loads": []}


def test_is_kept_with_the_cloud(shop: Shop) -> None:
    """A server that starts anew knows it, and says the same."""
    shop.load()
    shop.cloud.clock.advance(60)
    before = shop.counts("prediction_count")
    later = Shop(shop.cloud.store)
    later.cloud.clock.advance(shop.cloud.clock.now() - START)
    assert later.counts("prediction_count") == before
    assert later.cloud.loads.shown()["loads"][0]["traffic"] == {"1": 75, "2": 25}


def test_the_end_of_an_undeploy_moves_the_load(shop: Shop) -> None:
    """The split changes when the operation ends, not when it is asked for."""
    shop.load()
    body = {"deployedModelId": "2", "trafficSplit": {"1": 100}}
    shop.ask("POST", f"aiplatform.googleapis.com/v1/{ENDPOINT}:undeployModel", body)
    shop.cloud.clock.advance(180)
    assert shop.counts("prediction_count") == {"1": [180, 180, 240], "2": [60, 60]}


def test_others_metrics_are_read_beside_it(shop: Shop) -> None:
    """Points that somebody wrote are no part of it, nor is another project's load."""
    shop.load()
    shop.cloud.clock.advance(60)
    shop.cloud.projects.make("other")
    assert len(shop.series("prediction_count")) == 2
    query = {"interval.startTime": _moment(START), "interval.endTime": _moment(shop.cloud.clock.now())}
    text = f'metric.type = "{PREFIX}/prediction_count"'
    assert shop.ask("GET", "monitoring.googleapis.com/v3/projects/other/timeSeries", filter=text, **query) == {}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (None, "a load has endpoint, requests_per_second, models"),
        ({"endpoint": ENDPOINT}, "a load has endpoint, requests_per_second, models"),
        ({"endpoint": ENDPOINT, "requests_per_second": -1, "models": {"1": FAST}}, "is not a number from 0"),
        ({"endpoint": ENDPOINT, "requests_per_second": True, "models": {"1": FAST}}, "is not a number from 0"),
        ({"endpoint": ENDPOINT, "requests_per_second": float("nan"), "models": {"1": FAST}}, "is not a number from 0"),
        ({"endpoint": ENDPOINT, "requests_per_second": 1, "models": {}}, "is no object of models"),
        ({"endpoint": ENDPOINT, "requests_per_second": 1, "models": {"1": {}}}, "has p50_ms"),
        ({"endpoint": ENDPOINT, "requests_per_second": 1, "models": {"1": {"p50_ms": 9, "p95_ms": 8}}}, "p95_ms: 8 is not a number from 9"),
        ({"endpoint": ENDPOINT, "requests_per_second": 1, "models": {"1": {"p50_ms": 9, "error_rate": 2}}}, "is not a number from 0 to 1"),
        ({"endpoint": f"{AT}/endpoints/78", "requests_per_second": 1, "models": {"1": FAST}}, "there is no endpoint"),
        ({"endpoint": 5, "requests_per_second": 1, "models": {"1": FAST}}, "there is no endpoint"),
    ],
)
def test_what_is_no_load_is_refused(shop: Shop, sent: Any, said: str) -> None:
    """In words, and nothing is kept."""
    with pytest.raises(ValueError, match=said):
        shop.cloud.loads.declare(sent)
    assert shop.cloud.loads.shown() == {"loads": []}
