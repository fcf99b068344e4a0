"""Two versions side by side: figures and chance."""

from __future__ import annotations

from decimal import Decimal

import pytest
from scipy import stats

from infra.operate.latencies import Distribution
from infra.operate.readings import Reading
from infra.operate.versions import Side, compare, errors_p, latency_p

BOUNDS = (10.0, 20.0, 40.0)


def side(version: str, reading: Reading, usd: str | None = None, hours: float = 1.0) -> Side:
    return Side(version, f"10{version}", reading, None if usd is None else Decimal(usd), hours)


def test_errors_by_fisher() -> None:
    """By hand: 0 of 5 and 5 of 5 are one of 252 tables on each side: p = 2/252."""
    assert errors_p(Reading(5, 0), Reading(5, 5)) == pytest.approx(2 / 252)
    assert errors_p(Reading(0, 0), Reading(5, 5)) is None


def test_errors_of_very_many_answers_agree_with_fisher() -> None:
    """Above the limit of the exact test the other one says the same."""
    many = errors_p(Reading(60_000, 600), Reading(60_000, 700))
    exact = stats.fisher_exact([[600, 59_400], [700, 59_300]]).pvalue
    assert many == pytest.approx(exact, rel=0.1)
    assert errors_p(Reading(60_000, 0), Reading(60_000, 0)) == 1.0


def test_latency_is_that_of_mann_and_whitney() -> None:
    """The same as scipy's test on the middles of the buckets, one value a request."""
    old, new = Distribution(BOUNDS, (5, 40, 5, 0)), Distribution(BOUNDS, (2, 30, 18, 1))
    a = [5.0] * 5 + [15.0] * 40 + [30.0] * 5
    b = [5.0] * 2 + [15.0] * 30 + [30.0] * 18 + [40.0]
    expected = stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic", use_continuity=True).pvalue
    assert latency_p(old, new) == pytest.approx(expected, rel=1e-9)


def test_of_few_or_equal_ones_nothing_is_said() -> None:
    """Nine answers are too few; all in one bucket are all the same."""
    assert latency_p(Distribution(BOUNDS, (0, 9, 0, 0)), Distribution(BOUNDS, (0, 90, 0, 0))) is None
    assert latency_p(Distribution(BOUNDS, (0, 90, 0, 0)), Distribution(BOUNDS, (0, 90, 0, 0))) == 1.0


def test_says_what_is_more_than_chance() -> None:
    """Slower and failing more; or nothing."""
    old = Reading(100, 0, Distribution(BOUNDS, (0, 100, 0, 0)))
    new = Reading(100, 20, Distribution(BOUNDS, (0, 10, 90, 0)))
    found = compare(side("1", old), side("2", new))
    assert found.verdict().startswith("errors: the new one fails more (p=")
    assert "latency: the new one is slower (p=" in found.verdict()
    assert compare(side("1", new), side("2", old)).verdict().count("less") == 1
    assert "faster" in compare(side("1", new), side("2", old)).verdict()
    assert compare(side("1", old), side("2", old)).verdict().count("no difference that is more than chance") == 2
    assert compare(side("1", old), side("2", Reading())).verdict() == "errors: too little to compare; latency: too little to compare"


def test_cost_is_known_or_unknown() -> None:
    """0.19 USD an hour for half an hour, 500 answers: 0.19 USD a thousand. Without a price, or an answer, it is unknown, never 0."""
    reading = Reading(500, 0, Distribution(BOUNDS, (0, 500, 0, 0)))
    assert side("1", reading, "0.19", 0.5).usd_per_thousand == Decimal("0.19")
    assert side("1", reading).usd_per_thousand is None
    assert side("1", Reading(), "0.19").usd_per_thousand is None
    shown = compare(side("1", reading, "0.19", 0.5), side("2", Reading())).shown()
    assert shown["old"]["usd_per_thousand_requests"] == "0.1900"
    assert shown["new"] == {
        "version": "2",
        "name": "",
        "deployed_model": "102",
        "requests": 0,
        "errors": 0,
        "error_rate": None,
        "p50_ms": None,
        "p95_ms": None,
        "p50_ms_at_most": None,
        "p95_ms_at_most": None,
        "usd_per_thousand_requests": None,
    }
