"""Two model versions on one endpoint, by what callers got from them: which is faster, which fails more, and whether that is chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from infra.operate.latencies import Distribution
from infra.operate.readings import Reading

EXACT = 100_000
"""Up to so many answers together, errors are compared exactly."""
CHANCE = 0.05
"""A difference counts where chance alone makes one as large in fewer than one of 20 comparisons."""


@dataclass(frozen=True, slots=True)
class Side:
    """One version."""

    version: str
    id: str
    reading: Reading
    usd_per_hour: Decimal | None = None
    """Of all its replicas; None: unknown."""
    hours: float = 0.0
    name: str = ""
    """What the stack file calls it, where the other is called otherwise: two models may both be at version 1."""

    @property
    def usd_per_thousand(self) -> Decimal | None:
        """What a thousand answers cost; None where a price is unknown, or nothing was answered."""
        if self.usd_per_hour is None or not self.reading.requests:
            return None
        return self.usd_per_hour * Decimal(repr(self.hours)) * 1000 / self.reading.requests

    def shown(self) -> dict[str, Any]:
        reading, cost = self.reading, self.usd_per_thousand
        found = {f"p{percent}_ms": reading.latencies.percentile(percent) for percent in (50, 95)}
        return {
            "version": self.version,
            "name": self.name,
            "deployed_model": self.id,
            "requests": reading.requests,
            "errors": reading.errors,
            "error_rate": reading.errors / reading.requests if reading.requests else None,
            **{key: None if one is None else one.value for key, one in found.items()},
            **{f"{key}_at_most": None if one is None else one.most for key, one in found.items()},
            "usd_per_thousand_requests": None if cost is None else f"{cost:.4f}",
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides, and what of their difference is more than chance."""

    old: Side
    new: Side
    errors_p: float | None
    """How often chance alone makes a difference of the error rates this large; None: nothing to compare."""
    latency_p: float | None
    """The same of the latencies."""

    def shown(self) -> dict[str, Any]:
        return {"old": self.old.shown(), "new": self.new.shown(), "errors_p": self.errors_p, "latency_p": self.latency_p}

    def verdict(self) -> str:
        """In words."""
        return f"{self._errors()}; {self._latency()}"

    @property
    def _newer(self) -> str:
        return self.new.name or "the new one"

    def _errors(self) -> str:
        if self.errors_p is None:
            return "errors: too little to compare"
        rates = [side.reading.errors / side.reading.requests for side in (self.old, self.new)]
        if self.errors_p >= CHANCE:
            return f"errors: no difference that is more than chance (p={self.errors_p:.2g})"
        return f"errors: {self._newer} fails {'more' if rates[1] > rates[0] else 'less'} (p={self.errors_p:.2g})"

    def _latency(self) -> str:
        if self.latency_p is None:
            return "latency: too little to compare"
        if self.latency_p >= CHANCE:
            return f"latency: no difference that is more than chance (p={self.latency_p:.2g})"
        medians = [side.reading.latencies.percentile(50) for side in (self.old, self.new)]
        values = [0.0 if one is None else one.value for one in medians]
        return f"latency: {self._newer} is {'slower' if values[1] > values[0] else 'faster'} (p={self.latency_p:.2g})"


def compare(old: Side, new: Side) -> Comparison:
    """
    Errors by Fisher's exact test, where there are many answers by that of two proportions; latencies by Mann and Whitney's, with each
    bucket a tie.
    """
    return Comparison(old, new, errors_p(old.reading, new.reading), latency_p(old.reading.latencies, new.reading.latencies))


def errors_p(old: Reading, new: Reading) -> float | None:
    if not old.requests or not new.requests:
        return None
    from scipy import stats

    good = [one.requests - one.errors for one in (old, new)]
    if old.requests + new.requests <= EXACT:
        return float(stats.fisher_exact([[old.errors, good[0]], [new.errors, good[1]]]).pvalue)
    both = (old.errors + new.errors) / (old.requests + new.requests)
    spread = math.sqrt(both * (1 - both) * (1 / old.requests + 1 / new.requests))
    if not spread:
        return 1.0
    return float(2 * stats.norm.sf(abs(old.errors / old.requests - new.errors / new.requests) / spread))


def latency_p(old: Distribution, new: Distribution) -> float | None:
    """Two-sided, by the normal approximation with the correction for ties and that for continuity; of ten answers each or more."""
    if min(old.count, new.count) < 10:
        return None
    from scipy import stats

    first, second = _by_bucket(old), _by_bucket(new)
    every = sorted({*first, *second})
    below, u, ties = 0.0, 0.0, 0.0
    for value in every:
        a, b = first.get(value, 0), second.get(value, 0)
        u += a * (below + b / 2)
        below += b
        ties += (a + b) ** 3 - (a + b)
    m, n = old.count, new.count
    total = m + n
    variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    return float(min(1.0, 2 * stats.norm.sf((abs(u - m * n / 2) - 0.5) / math.sqrt(variance))))


def _by_bucket(one: Distribution) -> Mapping[float, int]:
    return {one.middle(index): count for index, count in enumerate(one.counts) if count}
