"""Latencies as a distribution: counts in buckets, as Cloud Monitoring has them, and the percentiles that follow."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile of counts in buckets, in milliseconds."""

    value: float
    """Interpolated: as if the requests of a bucket were spread evenly over it."""
    most: float | None
    """Upper end of its bucket: it is not above that. None: the last bucket has no upper end, and `value` is its lower one."""

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.value:.4g} or more"
        return f"{self.value:.4g}" if self.most - self.value < 0.05 * self.value else f"{self.value:.4g} (at most {self.most:.4g})"


@dataclass(frozen=True, slots=True)
class Distribution:
    """
    Counts in buckets: bucket i holds what is from `bounds[i - 1]` up to below `bounds[i]`; the first begins at 0, the last has no end.

    Source: `Distribution.BucketOptions` in the discovery document of Monitoring v3.
    """

    bounds: tuple[float, ...] = ()
    counts: tuple[int, ...] = (0,)

    @property
    def count(self) -> int:
        return sum(self.counts)

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Distribution:
        """A `distributionValue` of Monitoring. Trailing empty buckets are left out there."""
        bounds = _bounds(value.get("bucketOptions") or {})
        counts = [int(count) for count in value.get("bucketCounts") or []]
        if not counts and int(value.get("count") or 0):
            counts = [int(value["count"])]  # no buckets: only how many there were
            bounds = ()
        return cls(bounds, tuple(counts + [0] * (len(bounds) + 1 - len(counts))))

    @classmethod
    def of(cls, samples: Iterable[float]) -> Distribution:
        """Measured one by one: each value has a bucket of its own, a hundredth of it wide."""
        found = sorted(samples)
        bounds = sorted({bound for one in found for bound in (one * 0.995, one * 1.005)})
        counts = [0] * (len(bounds) + 1)
        for one in found:
            counts[bisect_right(bounds, one)] += 1
        return cls(tuple(bounds), tuple(counts))

    def __add__(self, other: Distribution) -> Distribution:
        """
        Both together; where the buckets are others, on all their bounds, each bucket's count at its middle.

        What is in a last bucket, without an end, stays in one: bounds above its lower end are left out.
        """
        if not self.count or not other.count:
            return other if other.count else self
        if self.bounds == other.bounds:
            return Distribution(self.bounds, tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)))
        known = min((one.bounds[-1] if one.bounds else 0.0 for one in (self, other) if one.counts[-1]), default=math.inf)
        bounds = tuple(bound for bound in sorted({*self.bounds, *other.bounds}) if bound <= known)
        counts = [0] * (len(bounds) + 1)
        for one in (self, other):
            for index, count in enumerate(one.counts):
                counts[bisect_right(bounds, one.middle(index))] += count
        return Distribution(bounds, tuple(counts))

    def middle(self, bucket: int) -> float:
        """A value that stands for a bucket; of the last one its lower end."""
        low, high = self._ends(bucket)
        return low if high is None else (low + high) / 2

    def percentile(self, percent: float, fast: int = 0) -> Percentile | None:
        """
        The value that *percent* of the requests are not above; None without a request.

        Args:
            fast: Requests that are taken as answered at once, besides those that were counted.
        """
        total = self.count + fast
        if not total:
            return None
        rank = percent / 100 * total - fast
        if rank <= 0 and fast:
            return Percentile(0.0, 0.0)
        below = 0
        for bucket, (count, upto) in enumerate(zip(self.counts, accumulate(self.counts), strict=True)):
            if count and upto >= rank - 1e-9:
                low, high = self._ends(bucket)
                if high is None:
                    return Percentile(low, None)
                return Percentile(low + (high - low) * min(max((rank - below) / count, 0.0), 1.0), high)
            below = upto
        raise AssertionError("a rank is within the counts")

    def _ends(self, bucket: int) -> tuple[float, float | None]:
        low = self.bounds[bucket - 1] if bucket else 0.0
        return low, self.bounds[bucket] if bucket < len(self.bounds) else None


def _bounds(options: Mapping[str, Any]) -> tuple[float, ...]:
    """Source: the formulas of `Exponential`, `Linear` and `Explicit` in the discovery document of Monitoring v3."""
    if grown := options.get("exponentialBuckets"):
        return tuple(float(grown["scale"]) * float(grown["growthFactor"]) ** i for i in range(int(grown["numFiniteBuckets"]) + 1))
    if even := options.get("linearBuckets"):
        return tuple(float(even.get("offset", 0)) + float(even["width"]) * i for i in range(int(even["numFiniteBuckets"]) + 1))
    given: Sequence[Any] = (options.get("explicitBuckets") or {}).get("bounds") or []
    return tuple(map(float, given))
