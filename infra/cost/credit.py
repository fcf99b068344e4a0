"""How long a credit lasts: to the day when it is gone, or to the end of its own period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from infra.cost.alternatives import Alternative

FREE_TRIAL_DAYS = 90
"""
Days of Google's free trial, whose credit is 300 USD. What is left then lapses, after an upgrade to a paid account too. During the trial
no GPU can be added to a machine and no quota be raised: an upgrade comes first.
Source: https://cloud.google.com/free/docs/free-cloud-features, read 2026-11.
"""


@dataclass(frozen=True, slots=True)
class Runway:
    """
    What a credit pays, by whole days of use.

    The first day is the day it starts. A day's hours are paid while the credit covers them; on its last day it may cover only some.
    """

    usd_hour: Decimal
    hours: Decimal
    """Hours that it pays until it is gone or its period ends."""
    full_days: int
    """Days of which it pays every hour."""
    last_day_hours: Decimal
    """Hours that it pays on the day when it is gone; 0 where it outlives its period."""
    gone: date | None
    """The day on which the last of it is spent; None where it outlives its period."""
    until: date
    """Last day of its period."""
    lapses_usd: Decimal
    """What is left when the period ends; 0 where it is gone before."""


def runway(usd: Decimal, start: date, *, hours_a_day: Decimal, usd_hour: Decimal, days: int = FREE_TRIAL_DAYS) -> Runway:
    """
    How long a credit of *usd* lasts when so many hours a day at *usd_hour* are paid from it, and nothing else.

    Args:
        days: Days of its period, the first included.

    Raises:
        ValueError: An amount or the period is not above 0, or the hours are not from 0 to 24.
        OverflowError: The period ends after the last day of the calendar.
    """
    if usd <= 0 or usd_hour <= 0 or days < 1 or not 0 <= hours_a_day <= 24:
        raise ValueError(f"no credit of {usd} USD for {days} days at {hours_a_day} hours a day and {usd_hour} USD an hour")
    until = start + timedelta(days=days - 1)
    credit, a_day = Fraction(usd), Fraction(hours_a_day) * Fraction(usd_hour)
    if a_day * days < credit:
        return Runway(usd_hour, hours_a_day * days, days, Decimal(0), None, until, _decimal(credit - a_day * days))
    full, rest = divmod(credit, a_day)
    used = full if rest else full - 1  # days before the one on which the last of it is spent
    last = rest / Fraction(usd_hour) if rest else Fraction(hours_a_day)
    return Runway(
        usd_hour=usd_hour,
        hours=_decimal(credit / Fraction(usd_hour)),
        full_days=full,
        last_day_hours=_decimal(last),
        gone=start + timedelta(days=used),
        until=until,
        lapses_usd=Decimal(0),
    )


@dataclass(frozen=True, slots=True)
class Lasts:
    """How long a credit lasts for one way of buying one thing: by the low, the expected and the high price."""

    name: str
    way: str
    region: str
    low: Runway
    expected: Runway
    """By the price of the tables; where sources disagree, by the higher one."""
    high: Runway | None
    """Spot prices change monthly: by the price on demand, which bounds them; None where that is unknown."""
    trust: str
    as_of: str


def lasts(one: Alternative, usd: Decimal, start: date, *, hours_a_day: Decimal, days: int = FREE_TRIAL_DAYS) -> Lasts:
    """How long a credit lasts when it pays for the hours of *one*; errors as of `runway`."""

    def at(price: Decimal) -> Runway:
        return runway(usd, start, hours_a_day=hours_a_day, usd_hour=price, days=days)

    low, high = one.usd_hour
    expected = at(high)
    ceiling: Runway | None = expected
    if one.way == "spot":
        ceiling = None if one.on_demand is None else at(max(high, one.on_demand.usd_high))
    return Lasts(one.name, one.way, one.region, at(low), expected, ceiling, one.trust, one.as_of)


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / Decimal(exact.denominator)
