"""Budgets beside the month: shares, dated rates, and the day on which a credit is gone."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalog import fx
from infra.components.budget import BudgetSpec
from infra.cost import headroom
from infra.cost.estimate import Estimate
from infra.cost.line import LineItem

PERIOD = {"from": "2026-12-01", "until": "2027-02-28"}


def month(expected: str, high: str, *, complete: bool = True) -> Estimate:
    """A month of one line."""
    amounts = (Decimal(0), Decimal(expected), Decimal(high))
    lines = [LineItem("try", "machine", "priced", amounts, "month", (Decimal(1),) * 3)]
    return Estimate(lines + [LineItem("odd", "Thing", "unknown")] * (not complete), [])


def beside(estimate: Estimate, **budget: Any) -> headroom.Headroom:
    """The month beside one budget."""
    if "period" in budget:
        budget["spend"] = "before-credits"
    (one,) = headroom.headroom(estimate, {"limit": BudgetSpec.model_validate(budget)})
    return one


def said(one: headroom.Headroom) -> list[str]:
    return headroom.lines([one])


@pytest.mark.parametrize(
    ("amount", "over", "words"),
    [
        ("100 USD", "no", "10 % expected, 20 % at most"),
        ("20 USD", "no", "50 % expected, 100 % at most"),
        ("19.99 USD", "may be", "100 % at most: may be over"),
        ("10 USD", "may be", "100 % expected, 200 % at most: may be over"),
        ("9.99 USD", "yes", "200 % at most: OVER"),
        ("999999999999999 USD", "no", "<1 % expected, <1 % at most"),
    ],
)
def test_a_months_shares(amount: str, over: str, words: str) -> None:
    """10 USD expected, 20 at most: a share is over only above the whole."""
    one = beside(month("10", "20"), amount=amount)
    assert (one.over, one.rate, one.lasts_months, one.not_compared) == (over, None, None, "")
    assert one.expected_share == Decimal(10) / Decimal(amount.split()[0])
    assert words in said(one)[0]


def test_an_incomplete_month_is_a_lower_bound() -> None:
    """What is over stays over; what seems to fit may not."""
    assert beside(month("10", "20", complete=False), amount="5 USD").over == "yes"
    fits = beside(month("10", "20", complete=False), amount="100 USD")
    assert fits.over == "unknown"
    assert said(fits)[0].endswith("at least 10 % expected, at least 20 % at most: may be over, as the estimate is incomplete")


def test_another_currency_is_converted_by_a_dated_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 USD are 320 TWD at 0.03125 USD each; the rate, its date, its source and its limits stand beside."""
    rate = fx.Rate("TWD", Decimal("0.03125"), "2026-10-01", "a table of rates", "low", "")
    monkeypatch.setattr(fx, "rate", {"TWD": rate}.__getitem__)
    one = beside(month("10", "20"), amount="3200 TWD")
    assert (one.expected_share, one.high_share, one.over) == (Decimal("0.1"), Decimal("0.2"), "no")
    assert said(one) == [
        "budget limit: 3200 TWD a month: 10 % expected, 20 % at most",
        "  at 0.03125 USD for 1 TWD of 2026-10-01 (a table of rates); Google bills with its own factors",
    ]
    (data,) = headroom.as_json([one])
    assert (data["rate"]["usd_per_unit"], data["rate"]["as_of"], data["expected_share"]) == ("0.03125", "2026-10-01", "0.1000")


def test_fails_to_compare_where_no_rate_is_known() -> None:
    """The refusal names the currencies that have a rate; nothing is over or within."""
    one = beside(month("10", "20"), amount="100 NOK")
    assert (one.expected_share, one.over, one.rate) == (None, "unknown", None)
    assert "not compared: " in said(one)[0]
    assert "TWD" in said(one)[0]


def test_a_credit_is_gone_to_the_day() -> None:
    """
    300 USD at 205.30 a month: 300 / (205.30 * 24 / 730) = 44.447 days, so 44 full ones from 1 December on, and the 45th, 14 January, empties it.
    """
    one = beside(month("205.30", "410.60"), amount="300 USD", period=PERIOD)
    assert one.gone_expected == headroom.Gone(dt.date(2027, 1, 14), 44)
    assert one.gone_high == headroom.Gone(dt.date(2026, 12, 23), 22)
    assert one.over == "yes"
    assert said(one) == [
        "budget limit: 300 USD, 2026-12-01 to 2027-02-28: gone on 2027-01-14 (44 days) at what is expected, gone on 2026-12-23 (22 days) at the high figure"
    ]
    (data,) = headroom.as_json([one])
    assert (data["lasts_months"], data["gone_on"]) == ("1.5", {"expected": "2027-01-14", "high": "2026-12-23"})


def test_a_credit_that_lasts_is_never_said_to_go_later() -> None:
    """90 days at 730 USD a month of 730 hours cost 2160: that amount lasts to the end, a cent less does not."""
    assert beside(month("730", "730"), amount="2160 USD", period=PERIOD).gone_expected == headroom.Gone(None, None)
    short = beside(month("730", "730"), amount="2159.99 USD", period=PERIOD)
    assert short.gone_expected == headroom.Gone(dt.date(2027, 2, 28), 89)
    part = beside(month("700", "740"), amount="2160 USD", period=PERIOD)
    assert part.over == "may be"
    assert said(part)[0].endswith("lasts to its end at what is expected, gone on 2027-02-27 (88 days) at the high figure")


def test_a_credit_that_nothing_takes_lasts() -> None:
    """Nothing expected and nothing at most: no day, no months, no division."""
    one = beside(month("0", "0"), amount="300 USD", period=PERIOD)
    assert (one.lasts_months, one.over) == (None, "no")
    assert said(one)[0].endswith("lasts to its end, even at the high figure")


def test_a_credit_gone_on_its_first_day() -> None:
    """An amount smaller than a day's cost is gone on the first day, after no full day."""
    one = beside(month("73000", "73000"), amount="1 USD", period=PERIOD)
    assert one.gone_expected == headroom.Gone(dt.date(2026, 12, 1), 0)
    assert "gone on 2026-12-01 (0 days)" in said(one)[0]


def test_an_incomplete_estimate_is_held_against_no_period() -> None:
    """How long a credit lasts is not said while a price is unknown."""
    one = beside(month("10", "20", complete=False), amount="300 USD", period=PERIOD)
    assert said(one)[0].endswith("not compared: the estimate is incomplete")
    assert one.over == "unknown"


@given(
    cost=st.decimals("0.01", "1e9", places=2), amount=st.decimals("0.01", "1e12", places=2), length=st.integers(1, 3000), first=st.dates()
)
def test_a_day_is_always_within_the_period(cost: Decimal, amount: Decimal, length: int, first: dt.date) -> None:
    """Whatever the amounts: the day stands in the period, and by its end as much as the amount is spent."""
    end = min(dt.date.max.toordinal(), first.toordinal() + length)
    one = beside(
        month(str(cost), str(cost)),
        amount=f"{amount:f} USD",
        period={"from": first.isoformat(), "until": dt.date.fromordinal(end).isoformat()},
    )
    assert one.gone_expected is not None
    if day := one.gone_expected.day:
        assert first <= day <= dt.date.fromordinal(end)
        full = (day - first).days
        assert cost * full * 24 <= amount * 730 <= cost * (full + 1) * 24
    else:
        assert cost * (end - first.toordinal() + 1) * 24 <= amount * 730


def test_a_budget_by_label_says_what_it_cannot_see() -> None:
    """What carries no label is named beside the budget that misses it."""
    assert "does not see what carries no label: NAT" in said(beside(month("10", "20"), amount="50 USD", scope="stack"))[1]


def test_json_can_be_written() -> None:
    """Dates and amounts are text."""
    data = headroom.as_json([beside(month("10", "20"), amount="300 USD", period=PERIOD)])
    assert json.loads(json.dumps(data)) == data
    assert data[0]["period"] == PERIOD
