"""Guards are read from texts, refused in words, and judged exactly."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SpecError
from infra.operate import guards
from infra.operate.latencies import Distribution
from infra.operate.readings import Reading


def reading(requests: int, errors: int = 0, slow: int = 0) -> Reading:
    """Requests of 10 to 20 ms, but for some of 100 to 200."""
    return Reading(requests, errors, Distribution((10.0, 20.0, 100.0, 200.0), (0, requests - slow, 0, slow, 0)))


def test_reads_what_a_person_writes() -> None:
    """Spaces do not matter; what is left out is the least of requests."""
    found = guards.parse([" p95_ms < 80 ", "error_rate<=0.010"])
    assert found.texts() == ["p95_ms<80", "error_rate<=0.010", "requests>=100"]
    assert found.limits[1].limit == Decimal("0.010")
    assert guards.parse(["p50_ms<5", "requests>=7"]).least == 7
    assert guards.parse(["p50_ms<5", "requests>7"]).least == 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no guard"),
        ("p95_ms", "is no guard"),
        ("p95<80", "p95 is not known"),
        ("P95_MS<80", "is no guard"),
        ("p95_ms>80", "wrong comparison"),
        ("p95_ms==80", "wrong comparison"),
        ("requests<100", "traffic that a step needs"),
        ("p95_ms<80ms", "no plain number"),
        ("p95_ms<-1", "no plain number"),
        ("p95_ms<nan", "no plain number"),
        ("p95_ms<1e400", "no plain number"),
        ("p95_ms<" + "9" * 400, "no plain number"),
        ("p95_ms<٨٠", "no plain number"),
        ("p95_ms<0", "is no limit"),
        ("error_rate<1.5", "above 1"),
        ("requests>=1.5", "whole number"),
        ("requests>=0", "1 or more"),
        ("error_rate<0", "can never hold"),
        ("error_rate<=1", "always holds"),
        ("p95_ms<<80", "no plain number"),
        ("latency<1", "latency is not known"),
    ],
)
def test_refuses_in_words(text: str, said: str) -> None:
    """What it is not, and what may stand there."""
    with pytest.raises(SpecError, match=said) as refused:
        guards.parse([text])
    assert "allowed: " in str(refused.value)


def test_every_problem_is_said_at_once() -> None:
    """Three wrong texts, three problems; a rollout that nothing guards is none."""
    with pytest.raises(SpecError) as refused:
        guards.parse(["p95_ms<80", "p95_ms<70", "x", "requests>=1", "requests>=2"])
    assert len(refused.value.problems) == 3
    with pytest.raises(SpecError, match="nothing guards the rollout"):
        guards.parse(["requests>=10"])


@given(st.text(max_size=30))
def test_any_text_is_a_guard_or_refused(text: str) -> None:
    """Nothing else happens, however odd it is."""
    try:
        found = guards.parse([text])
    except SpecError:
        return
    assert guards.parse(found.texts()) == found


@given(
    st.sampled_from(["p50_ms", "p95_ms", "p99_ms", "error_rate"]),
    st.sampled_from(["<", "<="]),
    st.decimals("0.0001", "0.9999", places=4),  # 1 holds always for a rate, and is refused
    st.integers(1, 10**6),
)
def test_a_guard_is_written_as_it_is_read(metric: str, operator: str, limit: Decimal, least: int) -> None:
    """Texts are kept in the journal and read again: exactly."""
    found = guards.parse([f"{metric}{operator}{limit}", f"requests>={least}"])
    assert guards.parse(found.texts()) == found
    assert (found.limits[0].limit, found.least) == (limit, least)


def test_limits_of_the_stack_file_are_texts() -> None:
    """`p95_ms: 80`, `error_rate: 0.01`: floats become the decimals that were written."""
    assert guards.texts({"p95_ms": 80.0, "error_rate": 0.01, "requests": 50}) == ["p95_ms<80.0", "error_rate<0.01", "requests>=50"]
    assert guards.texts({"error_rate": 1e-05}) == ["error_rate<0.00001"]


def test_a_limit_itself_does_not_hold_unless_it_says_so() -> None:
    """1 of 100 is 0.01: `<0.01` is broken, `<=0.01` is not; no binary fraction decides."""
    one = reading(100, errors=1)
    assert [breach.value for breach in guards.parse(["error_rate<0.01"]).breaches(one, "now")] == ["0.01"]
    assert guards.parse(["error_rate<=0.01"]).breaches(one, "now") == []
    assert guards.parse(["error_rate<=0.1"]).breaches(reading(100, errors=10), "now") == []


def test_says_guard_value_requests_and_window() -> None:
    """What a person needs to believe it."""
    (breach,) = guards.parse(["p95_ms<80"]).breaches(reading(200, slow=20), "in the 5 min of this step")
    assert breach.line() == "p95_ms<80 does not hold: p95_ms is 150 (at most 200) ms, of 200 requests in the 5 min of this step"


def test_without_requests_nothing_is_said() -> None:
    """Neither well nor bad."""
    both = guards.parse(["p95_ms<80", "error_rate<0.01"])
    assert both.breaches(Reading(), "now") == []
    assert not both.proven(Reading())
    assert both.proven(reading(100))


def test_with_few_requests_only_what_nothing_can_mend() -> None:
    """Of 100 that are needed 10 are there: all slow, so more than 5 of the 100 will be; or 2, and they may be the only ones."""
    both = guards.parse(["p95_ms<80", "error_rate<0.05"])
    assert [breach.guard.metric for breach in both.breaches(reading(10, slow=10), "now")] == ["p95_ms"]
    assert both.breaches(reading(10, slow=2), "now") == []
    assert both.breaches(reading(4, errors=4), "now") == []
    assert [breach.value for breach in both.breaches(reading(5, errors=5), "now")] == ["1"]


def test_latencies_that_are_not_there_prove_nothing() -> None:
    """Requests are counted by one series and timed by another: a percentile needs its own, and as many."""
    found = guards.parse(["p95_ms<80", "error_rate<0.5"])
    assert not found.proven(Reading(1000))
    late = Reading(1000, 0, Distribution((10.0, 20.0), (0, 5, 0)))
    assert found.lacks(late) == "p95_ms of 5 of 100 requests"
    assert guards.parse(["error_rate<0.5"]).proven(Reading(1000))


def test_few_slow_latencies_of_many_requests_break_nothing() -> None:
    """Two slow ones that came first, of a thousand requests: the other latencies are still on their way."""
    late = Reading(1000, 0, Distribution((10.0, 200.0), (0, 0, 2)))
    assert guards.parse(["p95_ms<80"]).breaches(late, "") == []


def test_what_is_above_the_last_bucket_is_not_below_a_higher_limit() -> None:
    """80 ms or more may be above 100: it is no proof, and no breach; a limit of 70 is broken."""
    beyond = Reading(200, 0, Distribution((40.0, 80.0), (0, 0, 200)))
    found = guards.parse(["p95_ms<100"])
    assert found.breaches(beyond, "") == []
    assert found.lacks(beyond) == "p95_ms is 80 or more ms, and whether it is <100 is unknown"
    assert guards.parse(["p95_ms<70"]).breaches(beyond, "")
    assert not found.proven(Reading(200, 0, Distribution.read({"count": "200"})))
