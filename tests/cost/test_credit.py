"""How long a credit lasts."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.cost.alternatives import compare
from infra.cost.credit import FREE_TRIAL_DAYS, Lasts, lasts, runway

START = date(2026, 12, 1)
MONEY = st.decimals("0.01", "100000", places=2)
PRICE = st.decimals("0.0001", "500", places=4)
HOURS = st.decimals("0.0001", "12", places=4)


def v4(way: str) -> Lasts:
    """300 USD for a v4-8, 2 hours a day."""
    two = Decimal(2)
    (one,) = (one for one in compare("v4-8", hours_a_day=two).alternatives if one.asked and one.way == way)
    return lasts(one, Decimal(300), START, hours_a_day=two)


def test_v4_on_demand_computed_by_hand() -> None:
    """
    A v4-8 is 4 chips at 3.22 USD an hour in us-central2: 12.88 USD an hour, 25.76 USD for the 2 hours of a day.

    11 days are 283.36 USD, 1 to 11 December. On the 12th 16.64 USD are left: 16.64 / 12.88 = 1.29 hours, and nothing on the 13th.
    """
    found = v4("on-demand")
    one = found.expected
    assert (found.region, one.usd_hour, one.full_days) == ("us-central2", Decimal("12.88"), 11)
    assert one.gone == date(2026, 12, 12)
    assert round(one.last_day_hours, 4) == Decimal("1.2919")
    assert round(one.hours, 4) == Decimal("23.2919")
    assert (found.low, found.high) == (one, one)


def test_v4_as_spot_computed_by_hand() -> None:
    """
    At 0.9215 USD a chip a day of 2 hours costs 7.372 USD: 40 days are 294.88 USD, to 9 January; 5.12 USD are 1.39 hours on the 10th.

    Should the spot price rise to the one on demand, it is gone on 12 December.
    """
    found = v4("spot")
    assert (found.expected.usd_hour, found.expected.full_days, found.expected.gone) == (Decimal("3.686"), 40, date(2027, 1, 10))
    assert round(found.expected.last_day_hours, 4) == Decimal("1.3890")
    assert found.high == v4("on-demand").expected


def test_spot_without_a_price_on_demand_has_no_earliest_day() -> None:
    """Nothing is known that bounds it."""
    (spot,) = (one for one in compare("v4-8").alternatives if one.asked and one.way == "spot")
    found = lasts(replace(spot, on_demand=None), Decimal(300), START, hours_a_day=Decimal(24))
    assert found.high is None
    assert found.expected.gone is not None


@pytest.mark.parametrize(
    ("usd", "hours", "usd_hour", "full_days", "last", "gone"),
    [
        ("20", "2", "10", 1, "2", date(2026, 12, 1)),
        ("40", "2", "10", 2, "2", date(2026, 12, 2)),
        ("40.01", "2", "10", 2, "0.001", date(2026, 12, 3)),
        ("5", "2", "10", 0, "0.5", date(2026, 12, 1)),
        ("0.01", "24", "88.49", 0, None, date(2026, 12, 1)),
        ("310", "1", "10", 31, "1", date(2026, 12, 31)),
        ("311", "1", "10", 31, "0.1", date(2027, 1, 1)),
        ("900", "1", "10", 90, "1", date(2027, 2, 28)),
    ],
)
def test_the_last_day_may_be_a_part(usd: str, hours: str, usd_hour: str, full_days: int, last: str | None, gone: date) -> None:
    """To the cent: whole days, a cent more, less than an hour, the turn of the year, and the last day of the period."""
    one = runway(Decimal(usd), START, hours_a_day=Decimal(hours), usd_hour=Decimal(usd_hour))
    assert (one.full_days, one.gone, one.lapses_usd) == (full_days, gone, 0)
    assert last is None or one.last_day_hours == Decimal(last)
    assert one.until == date(2027, 2, 28)


def test_what_outlives_the_period_lapses() -> None:
    """A cent more than 90 days of 10 USD: that cent lapses on 28 February."""
    one = runway(Decimal("900.01"), START, hours_a_day=Decimal(1), usd_hour=Decimal(10))
    assert (one.gone, one.full_days, one.hours, one.lapses_usd) == (None, 90, Decimal(90), Decimal("0.01"))


def test_without_hours_all_of_it_lapses() -> None:
    """Nothing is spent."""
    one = runway(Decimal(300), START, hours_a_day=Decimal(0), usd_hour=Decimal(10))
    assert (one.gone, one.hours, one.lapses_usd, one.until) == (None, 0, 300, date(2027, 2, 28))


@pytest.mark.parametrize(
    ("start", "until", "gone"),
    [
        (date(2026, 12, 1), date(2027, 2, 28), date(2027, 2, 28)),
        (date(2027, 12, 1), date(2028, 2, 28), date(2028, 2, 28)),
        (date(2027, 12, 2), date(2028, 2, 29), date(2028, 2, 29)),
        (date(2027, 12, 3), date(2028, 3, 1), date(2028, 3, 1)),
        (date(2100, 1, 1), date(2100, 3, 31), date(2100, 3, 31)),
    ],
)
def test_leap_years_and_ends_of_years(start: date, until: date, gone: date) -> None:
    """90 days, the first included; 2028 has a 29 February and 2100 has none."""
    one = runway(Decimal(90), start, hours_a_day=Decimal(1), usd_hour=Decimal(1), days=FREE_TRIAL_DAYS)
    assert (one.until, one.gone) == (until, gone)


@pytest.mark.parametrize(
    "wrong",
    [
        {"usd": Decimal(0)},
        {"usd": Decimal(-1)},
        {"usd_hour": Decimal(0)},
        {"hours_a_day": Decimal(-1)},
        {"hours_a_day": Decimal("24.1")},
        {"days": 0},
    ],
    ids=str,
)
def test_fails_on_what_is_no_credit(wrong: dict[str, Decimal | int]) -> None:
    """Amounts and days are above 0, a day has 24 hours."""
    given_: dict[str, object] = {"usd": Decimal(300), "start": START, "hours_a_day": Decimal(2), "usd_hour": Decimal(1)} | wrong
    with pytest.raises(ValueError, match="no credit of"):
        runway(**given_)  # type: ignore[arg-type]


@given(MONEY, HOURS, PRICE, st.integers(1, 400))
def test_doubling_the_hours_never_lengthens_a_credit(usd: Decimal, hours: Decimal, usd_hour: Decimal, days: int) -> None:
    """Nor does a dearer hour."""
    once = runway(usd, START, hours_a_day=hours, usd_hour=usd_hour, days=days)
    for other in (
        runway(usd, START, hours_a_day=2 * hours, usd_hour=usd_hour, days=days),
        runway(usd, START, hours_a_day=hours, usd_hour=2 * usd_hour, days=days),
    ):
        assert (other.gone or other.until) <= (once.gone or once.until)
        assert other.full_days <= once.full_days
        assert other.lapses_usd <= once.lapses_usd
        assert once.gone is None or other.gone is not None


@given(MONEY, HOURS, PRICE)
def test_every_cent_is_spent_or_lapses(usd: Decimal, hours: Decimal, usd_hour: Decimal) -> None:
    """Hours paid and what lapses are the credit; a day has no more hours than asked."""
    one = runway(usd, START, hours_a_day=hours, usd_hour=usd_hour)
    assert abs(one.hours * usd_hour + one.lapses_usd - usd) < Decimal("1e-15")
    assert 0 <= one.last_day_hours <= hours
    assert one.gone is None or START <= one.gone <= one.until == START + timedelta(days=89)
