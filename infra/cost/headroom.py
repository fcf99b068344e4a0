"""How a month compares with each budget: data first, then lines for people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Literal

from infra.catalog import fx
from infra.catalog.fx import Rate
from infra.cost.estimate import Estimate
from infra.cost.usage import HOURS

if TYPE_CHECKING:
    from infra.components.budget import BudgetSpec

TENTH = Decimal("0.1")

Over = Literal["yes", "may be", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Gone:
    """When an amount is spent, at one speed: the day and the full days before it; both None where the amount outlasts its period."""

    day: dt.date | None
    full_days: int | None


@dataclass(frozen=True, slots=True)
class Headroom:
    """One budget beside the month."""

    budget: str
    amount: Decimal
    currency: str
    scope: Literal["project", "stack"]
    period: tuple[dt.date, dt.date] | None
    """First and last day, both included; None for every calendar month."""
    rate: Rate | None
    """What the month was converted with; None for USD, and where no rate is known."""
    complete: bool
    """Whether every line of the estimate has a price: else the shares are lower bounds."""
    expected_share: Decimal | None
    """Part of the amount that a month takes, 1 for all of it; None where it was not compared."""
    high_share: Decimal | None
    lasts_months: Decimal | None
    """Months of 730 hours that a period's amount lasts at what is expected; None for a monthly budget, and where nothing is spent."""
    gone_expected: Gone | None
    gone_high: Gone | None
    """For a period that was compared: when its amount is spent."""
    over: Over
    """Whether more is spent than the amount, in a month or before the period's end."""
    not_compared: str
    """Why there are no shares; empty where there are."""
    is_credit: bool = False
    """Whether it is an amount that others give once, and that may be used up: days, counted before credits are taken off."""


def headroom(estimate: Estimate, budgets: Mapping[str, BudgetSpec]) -> list[Headroom]:
    """The month beside each budget. What cannot be compared says why, and is never taken for enough."""
    return [_headroom(estimate, name, budget) for name, budget in budgets.items()]


def _headroom(estimate: Estimate, name: str, budget: BudgetSpec) -> Headroom:
    amount, currency = budget.amount.amount, budget.amount.currency
    rate, why = None, ""
    if currency != "USD":
        try:
            rate = fx.rate(currency)
        except fx.UnknownRate as error:
            why = str(error)
    if budget.period and not estimate.complete:
        why = why or "the estimate is incomplete"
    _, expected, high = estimate.total
    if rate:
        expected, high = expected / rate.usd_per_unit, high / rate.usd_per_unit
    period = (budget.period.start, budget.period.end) if budget.period else None
    gone_expected = gone_high = None
    if period and not why:
        gone_expected, gone_high = _gone(amount, expected, *period), _gone(amount, high, *period)
    return Headroom(
        budget=name,
        amount=amount,
        currency=currency,
        scope=budget.scope,
        period=period,
        rate=rate,
        complete=estimate.complete,
        expected_share=None if why else expected / amount,
        high_share=None if why else high / amount,
        lasts_months=amount / expected if period and not why and expected else None,
        gone_expected=gone_expected,
        gone_high=gone_high,
        over="unknown" if why else _over(amount, expected, high, gone_expected, gone_high, complete=estimate.complete),
        not_compared=why,
        is_credit=bool(budget.period and budget.spend == "before-credits"),
    )


def _over(amount: Decimal, expected: Decimal, high: Decimal, gone_expected: Gone | None, gone_high: Gone | None, *, complete: bool) -> Over:
    if gone_expected and gone_high:
        return "yes" if gone_expected.day else "may be" if gone_high.day else "no"
    if expected > amount:
        return "yes"
    if high > amount:
        return "may be"
    return "no" if complete else "unknown"


def _gone(amount: Decimal, a_month: Decimal, start: dt.date, end: dt.date) -> Gone:
    """On which day the last of *amount* is spent, from the beginning of *start* on. Spent with the end of the last day is not gone."""
    hours = ((end - start).days + 1) * 24
    if a_month * hours <= amount * HOURS:
        return Gone(None, None)
    days = amount * HOURS / (a_month * 24)
    return Gone(start + dt.timedelta(days=max(0, int(days.to_integral_value(ROUND_CEILING)) - 1)), int(days))


def lines(every: Iterable[Headroom]) -> list[str]:
    """The same in words."""
    return [line for one in every for line in _lines(one)]


def _lines(one: Headroom) -> list[str]:
    title = f"budget {one.budget}: {one.amount} {one.currency}"
    title += f", {one.period[0]} to {one.period[1]}" if one.period else " a month"
    if one.expected_share is None or one.high_share is None:
        return [f"{title}: not compared: {one.not_compared}"]
    if one.gone_expected and one.gone_high:
        said = [f"{title}: {_period(one.gone_expected, one.gone_high)}"]
    else:
        least = "" if one.complete else "at least "
        over = {"yes": ": OVER", "may be": ": may be over", "no": "", "unknown": ": may be over, as the estimate is incomplete"}[one.over]
        said = [f"{title}: {least}{share(one.expected_share)} expected, {least}{share(one.high_share)} at most{over}"]
    if one.rate:
        rate = one.rate
        said.append(
            f"  at {rate.usd_per_unit:f} USD for 1 {rate.currency} of {rate.as_of} ({rate.source}); Google bills with its own factors"
        )
    if one.scope == "stack":
        from infra.components.budget import NOT_IN_A_LABEL_BUDGET

        said.append(f"  it counts what carries the label accelform-stack, and does not see {NOT_IN_A_LABEL_BUDGET}")
    return said


def _period(expected: Gone, high: Gone) -> str:
    if not high.day:
        return "lasts to its end, even at the high figure"
    return f"{_when(expected)} at what is expected, {_when(high)} at the high figure"


def _when(gone: Gone) -> str:
    if gone.day is None:
        return "lasts to its end"
    return f"gone on {gone.day} ({gone.full_days} day{'s' * (gone.full_days != 1)})"


def share(part: Decimal) -> str:
    """A part of 1 in whole percent. Something above nothing is never shown as nothing."""
    percent = (part * 100).quantize(Decimal(1), ROUND_HALF_UP)
    return "<1 %" if not percent and part else f"{percent:,f} %"


def as_json(every: Iterable[Headroom]) -> list[dict[str, Any]]:
    """Amounts and shares as text; shares to a hundredth of a percent."""
    return [
        {
            "budget": one.budget,
            "amount": f"{one.amount:f}",
            "currency": one.currency,
            "scope": one.scope,
            "period": {"from": one.period[0].isoformat(), "until": one.period[1].isoformat()} if one.period else None,
            "rate": _rate(one.rate),
            "estimate_complete": one.complete,
            "expected_share": _rounded(one.expected_share, Decimal("0.0001")),
            "high_share": _rounded(one.high_share, Decimal("0.0001")),
            "lasts_months": _rounded(one.lasts_months, TENTH),
            "gone_on": {"expected": _day(one.gone_expected), "high": _day(one.gone_high)} if one.gone_expected else None,
            "over": one.over,
            "not_compared": one.not_compared,
        }
        for one in every
    ]


def _rate(rate: Rate | None) -> dict[str, str] | None:
    if rate is None:
        return None
    return {
        "usd_per_unit": f"{rate.usd_per_unit:f}",
        "as_of": rate.as_of,
        "source": rate.source,
        "trust": rate.trust,
        "notes": rate.notes,
        "caution": "Google bills with its own factors",
    }


def _rounded(value: Decimal | None, to: Decimal) -> str | None:
    return None if value is None else f"{value.quantize(to, ROUND_HALF_UP):f}"


def _day(gone: Gone | None) -> str | None:
    return gone.day.isoformat() if gone and gone.day else None
