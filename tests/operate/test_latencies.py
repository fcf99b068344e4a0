"""Percentiles of counts in buckets."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.operate.latencies import Distribution, Percentile


def test_interpolates_within_a_bucket_and_says_its_end() -> None:
    """100 requests from 10 to 20 ms: the 95th of them is at 19.5, and not above 20."""
    one = Distribution((10.0, 20.0), (0, 100, 0))
    assert one.percentile(95) == Percentile(19.5, 20.0)
    assert one.percentile(50) == Percentile(15.0, 20.0)
    assert one.percentile(100) == Percentile(20.0, 20.0)


def test_the_first_bucket_begins_at_nothing_and_the_last_has_no_end() -> None:
    """Below the first bound from 0 on; above the last one only that much is known."""
    assert Distribution((10.0,), (4, 0)).percentile(50) == Percentile(5.0, 10.0)
    last = Distribution((10.0,), (0, 4)).percentile(50)
    assert last == Percentile(10.0, None)
    assert str(last) == "10 or more"


def test_nothing_has_no_percentile() -> None:
    """Unknown is not 0."""
    assert Distribution().percentile(95) is None


def test_missing_requests_are_taken_as_fast() -> None:
    """10 slow ones of 100: p95 is slow; of 1000 it is not."""
    slow = Distribution((100.0, 200.0), (0, 10, 0))
    found = slow.percentile(95, fast=90)
    assert found is not None
    assert found.value == pytest.approx(150.0)
    assert slow.percentile(95, fast=990) == Percentile(0.0, 0.0)


@pytest.mark.parametrize(
    ("options", "bounds"),
    [
        ({"exponentialBuckets": {"numFiniteBuckets": 3, "growthFactor": 2, "scale": 1}}, (1, 2, 4, 8)),
        ({"linearBuckets": {"numFiniteBuckets": 2, "width": 5, "offset": 10}}, (10, 15, 20)),
        ({"linearBuckets": {"numFiniteBuckets": 1, "width": 5}}, (0, 5)),
        ({"explicitBuckets": {"bounds": [0, 7]}}, (0, 7)),
    ],
)
def test_reads_all_three_kinds_of_buckets(options: Any, bounds: tuple[float, ...]) -> None:
    """Trailing empty buckets are not written."""
    found = Distribution.read({"count": "3", "bucketOptions": options, "bucketCounts": ["0", "3"]})
    assert found.bounds == bounds
    assert found.counts == (0, 3, *[0] * (len(bounds) - 1))
    assert found.count == 3


def test_reads_what_has_no_buckets() -> None:
    """Only how many there were: a percentile has then no upper end."""
    assert Distribution.read({}).count == 0
    found = Distribution.read({"count": "5", "mean": 3})
    assert found.count == 5
    assert found.percentile(95) == Percentile(0.0, None)


def test_sums() -> None:
    """Same buckets add up; others are put together by their middles; nothing adds nothing."""
    one, other = Distribution((10.0, 20.0), (0, 3, 0)), Distribution((10.0, 20.0), (1, 2, 0))
    assert (one + other).counts == (1, 5, 0)
    assert one + Distribution() == one
    assert Distribution() + one == one
    mixed = one + Distribution((12.0, 14.0), (0, 4, 0))
    assert mixed.count == 7
    assert mixed.bounds == (10.0, 12.0, 14.0, 20.0)


def test_sums_keep_what_has_no_end() -> None:
    """10 or more and 100 or less together: what is above 10 is not known to be below 100; without buckets nothing is known."""
    other = Distribution((50.0, 100.0), (0, 3, 0))
    assert (Distribution((10.0,), (0, 4)) + other).percentile(95) == Percentile(10.0, None)
    assert (other + Distribution((), (4,))).percentile(95) == Percentile(0.0, None)
    assert (other + Distribution((10.0,), (4, 0))).bounds == (10.0, 50.0, 100.0)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=200), st.sampled_from([50, 95, 99]))
def test_of_samples_it_is_near_the_sample(samples: list[float], percent: int) -> None:
    """Within a hundredth of the one that stands there in order."""
    found = Distribution.of(samples).percentile(percent)
    assert found is not None
    exact = sorted(samples)[max(math.ceil(percent / 100 * len(samples) - 1e-9), 1) - 1]
    assert found.value == pytest.approx(exact, rel=0.0101)


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(any))
def test_percentiles_grow(counts: list[int]) -> None:
    """p50 is never above p95, nor that above p99, nor any above its upper end."""
    one = Distribution((1.0, 5.0, 9.0), tuple(counts))
    found = [one.percentile(percent) for percent in (50, 95, 99)]
    values = [part.value for part in found if part]
    assert values == sorted(values)
    assert all(part.most is None or part.value <= part.most for part in found if part)
