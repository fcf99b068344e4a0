"""
Time series as a condition of an alert policy looks at them: each put together over a period, then over all that have the same labels.

Source: https://docs.cloud.google.com/monitoring/api/v3/aggregation, and descriptions of `Aggregation` in the discovery document, both
read 2026-11.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from infra.sandbox import filters
from infra.sandbox.service import Body

STEP = 60
"""Seconds between two looks at a condition. Source: as Google's page on the behaviour of metric-based policies has it, read 2026-11."""
Values = dict[int, float]
"""By the end of the period, in seconds since 1970."""
REDUCERS: dict[str, Callable[[Sequence[float]], float]] = {
    "REDUCE_MEAN": fmean,
    "REDUCE_MIN": min,
    "REDUCE_MAX": max,
    "REDUCE_SUM": sum,
    "REDUCE_COUNT": len,
}


def _share_of_true(points: list[Any], _: float) -> float:
    return sum(point is True for point in points) / len(points)


def _percentile(part: float) -> Callable[[list[Any], float], float]:
    """Of distributions: within a bucket the values are taken to be spread evenly."""

    def of(points: list[Any], _: float) -> float:
        counts: dict[int, int] = {}
        for point in points:
            for bucket, count in enumerate(point.get("bucketCounts", [])):
                counts[bucket] = counts.get(bucket, 0) + int(count)
        options = points[0].get("bucketOptions", {}).get("exponentialBuckets")
        if options is None:
            raise NotReadError("a distribution without exponential buckets")
        wanted, below = sum(counts.values()) * part, 0
        for bucket in sorted(counts):
            if counts[bucket] and below + counts[bucket] >= wanted:
                low = options["scale"] * options["growthFactor"] ** (bucket - 1) if bucket else 0.0
                high = options["scale"] * options["growthFactor"] ** min(bucket, options["numFiniteBuckets"])
                return float(low + (high - low) * (wanted - below) / counts[bucket])
            below += counts[bucket]
        return math.nan

    return of


ALIGNERS: dict[tuple[str, str], Callable[[list[Any], float], float]] = {
    ("ALIGN_MEAN", "number"): lambda points, _: fmean(points),
    ("ALIGN_MIN", "number"): lambda points, _: min(points),
    ("ALIGN_MAX", "number"): lambda points, _: max(points),
    ("ALIGN_SUM", "number"): lambda points, _: sum(points),
    ("ALIGN_COUNT", "number"): lambda points, _: float(len(points)),
    ("ALIGN_RATE", "number"): lambda points, period: sum(points) / period,
    ("ALIGN_FRACTION_TRUE", "BOOL"): _share_of_true,
    **{(f"ALIGN_PERCENTILE_{part:02}", "DISTRIBUTION"): _percentile(part / 100) for part in (5, 50, 95, 99)},
}
"""By the type of the values; `ALIGN_RATE` of changes (DELTA) only."""


class NotReadError(Exception):
    """A way of putting together that the sandbox does not have."""


def put_together(series: list[tuple[Body, list[Body]]], aggregation: Body, until: int) -> dict[tuple[str, ...], Values]:
    """
    Values by the labels that series are put together by, at each step until a moment.

    Raises:
        NotReadError: It is asked for in a way that is not known here.
    """
    period = duration(aggregation.get("alignmentPeriod", "0s"))
    fields, reducer = aggregation.get("groupByFields", []), aggregation.get("crossSeriesReducer", "REDUCE_NONE")
    if period < STEP:
        raise NotReadError("an alignment period of less than a minute")
    if reducer != "REDUCE_NONE" and reducer not in REDUCERS:
        raise NotReadError(reducer)
    found: dict[tuple[str, ...], dict[int, list[float]]] = {}
    for index, (body, points) in enumerate(series):
        by = (str(index),) if reducer == "REDUCE_NONE" else tuple(str(filters.value(body, field) or "") for field in fields)
        for moment, value in _aligned(body, points, str(aggregation.get("perSeriesAligner", "ALIGN_NONE")), period, until).items():
            found.setdefault(by, {}).setdefault(moment, []).append(value)
    together = REDUCERS.get(reducer, fmean)
    return {by: {moment: float(together(values)) for moment, values in sorted(one.items())} for by, one in found.items()}


def _aligned(body: Body, points: list[Body], aligner: str, period: float, until: int) -> Values:
    type_ = "number" if body["valueType"] in ("INT64", "DOUBLE") else body["valueType"]
    align = ALIGNERS.get((aligner, type_))
    if align is None or (aligner == "ALIGN_RATE" and body["metricKind"] != "DELTA"):
        raise NotReadError(f"{aligner} of {body['metricKind']} {body['valueType']}")
    ends = [seconds(point["interval"]["endTime"]) for point in points]
    values = [_value(point["value"], type_) for point in points]
    found, moment = {}, math.ceil(ends[0] / STEP) * STEP
    while moment <= until:
        first, last = bisect_right(ends, moment - period), bisect_right(ends, moment)
        if first < last:
            found[moment] = align(values[first:last], period)
        elif last == len(ends):
            break  # nothing comes after it
        moment += STEP
    return found


def _value(value: Body, type_: str) -> Any:
    (one,) = value.values()
    return float(one) if type_ == "number" else one


def duration(text: Any) -> float:
    """
    `60s` -> 60.

    Raises:
        NotReadError: It is none.
    """
    if not re.fullmatch(r"\d+(\.\d+)?s", str(text)):
        raise NotReadError(f"the duration {text}")
    return float(str(text)[:-1])


def seconds(moment: str) -> float:
    return dt.datetime.fromisoformat(moment).timestamp()
