"""
Declared loads: how callers use an endpoint, as nobody really does here, so that what Cloud Monitoring would show of it can be read.

`POST /sandbox/loads` says how many requests come, and for each model version how fast it answers and how often it fails. Requests go to
what is deployed by the endpoint's traffic split, at each moment of the sandbox's clock. Nothing is drawn by lot: the same load is the same
series.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from infra.sandbox.gauge import Gauge

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

HOST = "aiplatform.googleapis.com"
FACT = "loads"
ANY = "default"
FIELDS = ("endpoint", "requests_per_second", "models")
MOST_REQUESTS = 100_000.0
"""A second, over all models."""
MINUTE = 60
SINGLY = 2_000
"""Up to so many requests a minute, each has a latency of its own; more are spread over the buckets by their parts."""
REPLICAS = "replicas"
GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, without their whole part, fill 0 to 1 evenly however many they are."""
STANDARD = NormalDist()
P95 = STANDARD.inv_cdf(0.95)
SCALE, GROWTH, FINITE = 1.0, 1.1, 120
"""Buckets of latencies, in milliseconds: 1 ms to 93 s, each a tenth wider. Which ones Google has, no source shows."""
BOUNDS = [SCALE * GROWTH**index for index in range(FINITE + 1)]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one model version answers: latencies are log-normal."""

    p50_ms: float
    p95_ms: float
    error_rate: float

    @classmethod
    def read(cls, name: str, sent: Any) -> Behaviour:
        """
        Raises:
            ValueError: It is none.
        """
        known = ("p50_ms", "p95_ms", "error_rate", REPLICAS)
        if not isinstance(sent, dict) or set(sent) - set(known) or "p50_ms" not in sent:
            raise ValueError(f"models.{name}: has p50_ms, and may have p95_ms, error_rate and {REPLICAS}; got {sent!r}")
        if REPLICAS in sent and (
            isinstance(sent[REPLICAS], bool) or not isinstance(sent[REPLICAS], int) or not 0 <= sent[REPLICAS] <= 1000
        ):
            raise ValueError(f"models.{name}.{REPLICAS}: {sent[REPLICAS]!r} is not a whole number from 0 to 1000")
        p50 = _number(f"models.{name}.p50_ms", sent["p50_ms"], 0.001, 1e7)
        p95 = _number(f"models.{name}.p95_ms", sent.get("p95_ms", p50), p50, 1e7)
        return cls(p50, p95, _number(f"models.{name}.error_rate", sent.get("error_rate", 0), 0, 1))

    def at(self, part: float) -> float:
        """The latency that this part of all requests is not above."""
        return self.p50_ms * math.exp(self._sigma * _normal(part))

    def below(self, milliseconds: float) -> float:
        """The part of all requests that is not above a latency."""
        if not self._sigma:
            return float(milliseconds >= self.p50_ms)
        return 0.5 * math.erfc(-math.log(milliseconds / self.p50_ms) / (self._sigma * math.sqrt(2)))

    @property
    def _sigma(self) -> float:
        return math.log(self.p95_ms / self.p50_ms) / P95


class Loads:
    """
    The loads of one sandbox. Each is a list of changes: of the load, of the split, of what is deployed, with the time from which it counts.
    """

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._kept: dict[str, list[dict[str, Any]]] = cloud.store.fact(FACT) or {}
        self._done: dict[tuple[str, str], Minutes] = {}

    def declare(self, sent: Any) -> dict[str, Any]:
        """
        A load on an endpoint, from now on: `{"endpoint": "projects/P/locations/R/endpoints/E", "requests_per_second": 5, "models":
        {"2": {"p50_ms": 20, "p95_ms": 60, "error_rate": 0.001, "replicas": 3}, "default": {"p50_ms": 30}}}`. A model is named by its
        version, or by the id of the deployed model; `default` is every other one. Replicas are as many as are declared, else the least.

        Raises:
            ValueError: It is none, or there is no such endpoint.
        """
        if not isinstance(sent, dict) or set(sent) != set(FIELDS):
            raise ValueError(f"a load has {', '.join(FIELDS)}; got {', '.join(sent) if isinstance(sent, dict) else sent!r}")
        rate = _number("requests_per_second", sent["requests_per_second"], 0, MOST_REQUESTS)
        models = sent["models"]
        if not isinstance(models, dict) or not models:
            raise ValueError(f"models: is no object of models, by version, by id or {ANY}; got {models!r}")
        for name, one in models.items():
            Behaviour.read(name, one)
        name = self._cloud.projects.by_id(str(sent["endpoint"]))
        if "/endpoints/" not in name or self._cloud.store.get(HOST, name) is None:
            raise ValueError(f"endpoint: there is no endpoint {name!r} in the sandbox")
        self._cloud.settle(self._cloud.clock.now())
        self._add(name, {"rate": rate, "models": models})
        return self.shown()

    def shown(self) -> dict[str, Any]:
        """The loads as they are now."""
        now = {name: changes[-1] for name, changes in self._kept.items()}
        return {
            "loads": [
                {"endpoint": name, "requests_per_second": one["rate"], "models": one["models"], "traffic": one["split"]}
                for name, one in now.items()
            ]
        }

    def clear(self) -> None:
        self._kept = {}
        self._done = {}
        self._cloud.store.set_fact(FACT, self._kept)

    def look(self, at: float) -> None:
        """Notices whether the split of an endpoint with a load has changed: asked after every change of anything."""
        for name, changes in self._kept.items():
            split, versions = self._split(name)
            if split != changes[-1]["split"]:
                self._add(name, {"rate": changes[-1]["rate"], "models": changes[-1]["models"]}, split, versions, at)

    def series(self, project: str) -> Iterator[Series | Gauge]:
        """Every series that the loads of a project make."""
        for name, changes in self._kept.items():
            if name.split("/")[1] != project:
                continue
            for id in sorted({id for one in changes for id in one["split"]}):
                minutes = self._done.setdefault((name, id), Minutes(changes, id))
                for metric in METRICS:
                    yield from metric.series(name, id, minutes)
                yield _replicas(name, id, changes)

    def _add(
        self,
        name: str,
        load: dict[str, Any],
        split: dict[str, int] | None = None,
        versions: dict[str, str] | None = None,
        at: float | None = None,
    ) -> None:
        if split is None or versions is None:
            split, versions = self._split(name)
        at = self._cloud.clock.now() if at is None else at
        least = {
            one["id"]: one.get("dedicatedResources", one.get("automaticResources", {})).get("minReplicaCount", 1)
            for one in (self._cloud.store.get(HOST, name) or {}).get("deployedModels", [])
        }
        self._kept.setdefault(name, []).append({"at": at, **load, "split": split, "versions": versions, "least": least})
        self._cloud.store.set_fact(FACT, self._kept)

    def _split(self, name: str) -> tuple[dict[str, int], dict[str, str]]:
        body = self._cloud.store.get(HOST, name) or {}
        deployed = {one["id"]: str(one.get("modelVersionId", "")) for one in body.get("deployedModels", [])}
        split = {id: share for id, share in body.get("trafficSplit", {}).items() if share and id in deployed}
        return split, {id: deployed[id] for id in split}


@dataclass(frozen=True, slots=True)
class Series:
    """One series of Monitoring, and how its points are made."""

    identity: dict[str, Any]
    value_type: str
    minutes: Minutes
    pick: str
    """What of the minute is its value."""
    kind: str = "DELTA"
    unit: str = ""

    def points(self, start: float, end: float) -> list[dict[str, Any]]:
        """Points of the minutes that end after *start* and not after *end*, oldest first. Minutes without a request have none."""
        found = []
        for minute in self.minutes.until(end):
            if start < minute.begins + MINUTE <= end and (value := minute.value(self.pick)) is not None:
                found.append({"start": minute.begins, "end": minute.begins + MINUTE, "value": value})
        return found


@dataclass(slots=True)
class Minute:
    """What one deployed model did in one minute."""

    begins: int
    parts: list[tuple[float, Behaviour]]
    """Requests as they are expected, by how they are answered."""
    requests: int
    errors: int
    before: int
    """Requests of all minutes before."""
    _latencies: dict[str, Any] | None = None

    def value(self, pick: str) -> dict[str, Any] | None:
        count = {"requests": self.requests, "errors": self.errors, "good": self.requests - self.errors, "latencies": self.requests}[pick]
        if not count:
            return None
        if pick != "latencies":
            return {"int64Value": str(count)}
        if self._latencies is None:
            self._latencies = _latencies(self.parts, self.requests, self.before)
        return {"distributionValue": self._latencies}


class Minutes:
    """The whole minutes of one deployed model. What is over does not change: each is reckoned once."""

    def __init__(self, changes: list[dict[str, Any]], id: str) -> None:
        self._changes = changes
        self._id = id
        self._next = int(changes[0]["at"] // MINUTE) * MINUTE
        self._expected = self._failing = 0.0
        self._requests = self._errors = 0
        self._done: list[Minute] = []

    def until(self, end: float) -> list[Minute]:
        """Those that are over at *end*, and no later moment than that of the clock."""
        while self._next + MINUTE <= end:
            parts = list(_parts(self._changes, self._id, self._next))
            self._expected += sum(amount for amount, _ in parts)
            self._failing += sum(amount * behaviour.error_rate for amount, behaviour in parts)
            requests = int(self._expected + 1e-6) - self._requests
            errors = min(int(self._failing + 1e-6) - self._errors, requests)
            if requests:
                self._done.append(Minute(self._next, parts, requests, errors, self._requests))
            self._requests += requests
            self._errors += errors
            self._next += MINUTE
        return self._done


def _parts(changes: list[dict[str, Any]], id: str, minute: int) -> Iterator[tuple[float, Behaviour]]:
    """Requests that one deployed model gets within a minute, by what was so meanwhile."""
    for index, one in enumerate(changes):
        until = changes[index + 1]["at"] if index + 1 < len(changes) else math.inf
        seconds = min(until, minute + MINUTE) - max(one["at"], minute)
        share = one["split"].get(id, 0)
        if seconds <= 0 or not share:
            continue
        named = _named(one, id)
        if named is not None:
            yield one["rate"] * seconds * share / 100, Behaviour.read(id, named)


def _named(change: dict[str, Any], id: str) -> dict[str, Any] | None:
    """What a load says of one deployed model."""
    models = change["models"]
    return next((models[key] for key in (id, change["versions"].get(id, ""), ANY) if key in models), None)


def _replicas(endpoint: str, id: str, changes: list[dict[str, Any]]) -> Gauge:
    """Replicas of one deployed model, while it has a load. Source: the same list as of the other metrics, `prediction/online/replicas`."""

    def at(moment: float) -> int | None:
        index = bisect_right(changes, moment, key=lambda change: change["at"])
        named = _named(changes[index - 1], id) if index and id in changes[index - 1]["split"] else None
        return None if named is None else int(named.get(REPLICAS, changes[index - 1].get("least", {}).get(id, 1)))

    return Gauge(_identity(endpoint, id, REPLICAS, {}), "INT64", "1", changes[0]["at"], math.inf, at)


def _identity(endpoint: str, id: str, metric: str, labels: dict[str, str]) -> dict[str, Any]:
    words = endpoint.split("/")
    resource = {"resource_container": words[1], "location": words[3], "endpoint_id": words[5]}
    return {
        "metric": {"type": f"{HOST}/prediction/online/{metric}", "labels": {"deployed_model_id": id, "spot": "False", **labels}},
        "resource": {"type": f"{HOST}/Endpoint", "labels": resource},
    }


def _latencies(parts: list[tuple[float, Behaviour]], requests: int, before: int) -> dict[str, Any]:
    """A `distributionValue`."""
    buckets = [0] * (FINITE + 2)
    amount = sum(part for part, _ in parts)
    mean = 0.0
    for index, (part, behaviour) in enumerate(parts):
        mean += part / amount * behaviour.p50_ms * math.exp((math.log(behaviour.p95_ms / behaviour.p50_ms) / P95) ** 2 / 2)
        own = requests - sum(buckets) if index == len(parts) - 1 else round(requests * part / amount)
        if own <= SINGLY:
            for number in range(own):
                buckets[bisect_right(BOUNDS, behaviour.at(((before + number + 1) * GOLDEN) % 1))] += 1
            continue
        upto = [round(own * behaviour.below(bound)) for bound in BOUNDS] + [own]
        for bucket, (count, lower) in enumerate(zip(upto, [0, *upto], strict=False)):
            buckets[bucket] += count - lower
    last = max(index for index, number in enumerate(buckets) if number)
    return {
        "count": str(requests),
        "mean": mean,
        "bucketOptions": {"exponentialBuckets": {"numFiniteBuckets": FINITE, "growthFactor": GROWTH, "scale": SCALE}},
        "bucketCounts": [str(number) for number in buckets[: last + 1]],
    }


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of online predictions. Source: https://cloud.google.com/monitoring/api/metrics_gcp_a_b#gcp-aiplatform, read 2026-11."""

    name: str
    value_type: str
    labelled: tuple[tuple[dict[str, str], str], ...]
    """Labels of its own, and what of a minute has them."""

    def series(self, endpoint: str, id: str, minutes: Minutes) -> Iterator[Series]:
        for labels, pick in self.labelled:
            yield Series(_identity(endpoint, id, self.name, labels), self.value_type, minutes, pick)


METRICS = (
    Metric("prediction_count", "INT64", (({}, "requests"),)),
    Metric("error_count", "INT64", (({}, "errors"),)),
    Metric("response_count", "INT64", (({"response_code": "2xx"}, "good"), ({"response_code": "5xx"}, "errors"))),
    Metric("prediction_latencies", "DISTRIBUTION", (({"latency_type": "total"}, "latencies"),)),
)


def _number(what: str, value: Any, least: float, most: float) -> float:
    """
    Raises:
        ValueError: It is no number there.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{what}: {value!r} is not a number from {least:g} to {most:g}")
    return float(value)


def _normal(part: float) -> float:
    return STANDARD.inv_cdf(min(max(part, 1e-12), 1 - 1e-12))
