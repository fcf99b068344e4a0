"""The gate's condition: what is one, what is none and where, and verdicts that never accept what is not known."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.accept_if import AND, CHAMPION, EXAMPLE, Condition, ConditionError, Term, judge, parse

NUMBERS = st.decimals(min_value="-1000000", max_value="1000000", places=6).map(lambda one: Decimal(format(one, "f")))
WORDS = st.from_regex(r"[a-z_][a-z0-9_.@/]{0,12}", fullmatch=True).filter(lambda word: word not in (AND, CHAMPION))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def terms(draw: st.DrawFn) -> Term:
    op = draw(st.sampled_from([">=", ">", "<=", "<"]))
    kind = draw(st.integers(0, 2))
    number = draw(NUMBERS)
    if kind == 0:
        return Term(draw(WORDS), op, Decimal(0), number)
    if kind == 1:
        return Term(draw(WORDS), op, number or Decimal(1), Decimal(0))
    return Term(draw(WORDS), op, Decimal(1), number)


CONDITIONS = st.lists(terms(), min_size=1, max_size=5).map(lambda every: Condition(tuple(every)))


@given(CONDITIONS)
def test_a_condition_is_read_as_it_is_written(condition: Condition) -> None:
    assert parse(str(condition)) == condition


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["a", "and", "champion", ">=", "<", "*", "+", "-", "0.5", "1e3", ".", "((", "=="])).map(" ".join)
)
def test_any_other_text_is_refused_in_words_at_a_place_of_it(text: str) -> None:
    found, error = _parsed(text)
    if error:
        assert 1 <= error.column <= len(text) + 1
        assert error.allowed
        assert EXAMPLE in error.fix
    else:
        assert parse(str(found)) == found


def _parsed(text: str) -> tuple[Condition | None, ConditionError | None]:
    try:
        return parse(text), None
    except ConditionError as error:
        return None, error


@given(CONDITIONS, st.dictionaries(WORDS, FLOATS, max_size=3))
def test_a_worse_version_is_not_accepted_where_a_better_one_is_refused(condition: Condition, champion: dict[str, float]) -> None:
    """Of conditions that want more only."""
    more = Condition(tuple(Term(one.metric, ">=", one.factor, one.plus) for one in condition.terms))
    low = {term.metric: -1.0 for term in more.terms}
    high = {term.metric: 1.0 for term in more.terms}
    assert judge(more, low, champion).accepted <= judge(more, high, champion).accepted


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", 1, "the end stands there"),
        ("recall", 7, "the end stands there"),
        ("recall >=", 10, "the end stands there"),
        ("recall == 1", 8, "'==' is nothing that a condition has"),
        ("recall >= 0.98 * best", 18, "'best' stands there"),
        ("recall >= champion * 0.98", 20, "'*' stands there"),
        ("recall >= champion +", 21, "the end stands there"),
        ("recall >= champion + -1", 22, "'-1' stands there"),
        ("recall >= 1 or loss < 2", 13, "'or' stands there"),
        ("recall >= 1 and", 16, "the end stands there"),
        ("recall >= NaN", 11, "'NaN' stands there"),
        ("recall >= inf", 11, "'inf' stands there"),
        ("recall >= 1e3", 11, "'1e3' is nothing that a condition has"),
        ("recall >= 1.2.3", 11, "'1.2.3' is nothing that a condition has"),
        ("recall >= ٣", 11, "'٣' is nothing that a condition has"),
        ("champion >= 1", 1, "'champion' stands there"),
        ("0.5 <= recall", 1, "'0.5' stands there"),
        ("recall >= 0 * champion", 15, "compares with nothing"),
        ("__import__('os')", 11, "is nothing that a condition has"),
        (f"recall >= {'1' * 2000}", 1001, "has 2010 characters"),
    ],
)
def test_refusals_say_where_and_what(text: str, column: int, said: str) -> None:
    with pytest.raises(ConditionError, match="column") as refused:
        parse(text)
    assert refused.value.column == column
    assert said in str(refused.value)


def verdict(text: str, candidate: dict[str, float], champion: dict[str, float] | None = None) -> tuple[bool, str]:
    found = judge(parse(text), candidate, champion)
    return found.accepted, found.reason


def test_a_limit_is_met_exactly() -> None:
    """In binary, 0.98 * 0.15 is above 0.147."""
    accepted, reason = verdict("recall >= 0.98 * champion", {"recall": 0.147}, {"recall": 0.15})
    assert accepted
    assert reason == "recall is 0.147, >= 0.98 * champion, where champion is 0.15"
    assert not verdict("recall > 0.98 * champion", {"recall": 0.147}, {"recall": 0.15})[0]


def test_a_whole_number_may_be_longer_than_a_float_goes() -> None:
    """A report may say any: it is compared, and ends no runner."""
    assert verdict("recall > champion", {"recall": 10**400}, {"recall": 0.2})[0]
    assert not verdict("recall > champion", {"recall": 0.2}, {"recall": 10**400})[0]


def test_every_broken_comparison_is_told() -> None:
    accepted, reason = verdict(
        "recall>=0.98*champion and loss<=champion-0.1 and n > 0", {"recall": 0.1, "loss": 0.7, "n": 1}, {"recall": 0.2, "loss": 0.7}
    )
    assert not accepted
    assert reason == (
        "recall is 0.1, not >= 0.98 * champion, where champion is 0.2; loss is 0.7, not <= champion - 0.1, where champion is 0.7"
    )


@pytest.mark.parametrize(
    ("candidate", "champion", "said"),
    [
        ({}, {"recall": 0.2}, "recall of the new version is not known: it has no metrics"),
        ({"loss": 1.0}, None, "recall of the new version is not known: it has loss"),
        ({"recall": math.nan}, {"recall": 0.2}, "recall of the new version is nan, which is no finite number"),
        ({"recall": math.inf}, None, "recall of the new version is inf, which is no finite number"),
        ({"recall": True}, None, "recall of the new version is True, which is no finite number"),
        ({"recall": 0.3}, {}, "recall of champion is not known: it has no metrics"),
        ({"recall": 0.3}, {"recall": math.nan}, "recall of champion is nan, which is no finite number"),
    ],
)
def test_what_is_not_known_is_refused(candidate: dict[str, float], champion: dict[str, float] | None, said: str) -> None:
    assert verdict("recall >= 0.9 * champion", candidate, champion) == (False, said)


def test_the_first_of_all_is_compared_with_nobody() -> None:
    accepted, reason = verdict("recall >= champion and loss < 1", {"recall": 0.0, "loss": 0.5})
    assert accepted
    assert reason == "recall is 0.0, and there is no champion yet to compare with; loss is 0.5, < 1"
    assert not verdict("recall >= champion and loss < 1", {"recall": 0.0, "loss": 1.5})[0]
