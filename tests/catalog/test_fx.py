"""Rates of currencies: dated, and an error where none is known."""

from decimal import Decimal

import pytest

from infra.catalog import fx


@pytest.mark.parametrize(
    ("currency", "per_usd"),
    [("TWD", "31.908932"), ("JPY", "157.298282"), ("EUR", "0.881813"), ("GBP", "0.753798"), ("INR", "95.997282"), ("KRW", "1355.838011")],
)
def test_hand_checked_rates(currency, per_usd):
    """The source prints units per USD; a rate is one divided by that."""
    assert abs(fx.rate(currency).usd_per_unit * Decimal(per_usd) - 1) < Decimal("0.00001")


def test_every_rate_is_above_zero_and_dated():
    """A currency's own worth is never nothing, and of one day; USD is 1 by definition."""
    assert fx.rate("USD").usd_per_unit == 1
    for one in fx.rates().values():
        assert one.usd_per_unit > 0
        assert (one.as_of, one.trust) == ("2026-10-01", "high" if one.currency == "USD" else "low")


def test_an_amount_in_usd():
    """100 EUR are 113.40 USD on that day."""
    assert fx.to_usd(Decimal(100), "EUR") == Decimal("113.402728")
    assert fx.to_usd(Decimal("350.10"), "USD") == Decimal("350.10")


@pytest.mark.parametrize("currency", ["CHF", "XYZ", "eur", "", "EUR "])
def test_fails_where_no_rate_is_known(currency):
    """A currency without a dated rate is never taken at another's."""
    with pytest.raises(fx.UnknownRate, match=r"no dated rate of .* is known; known: USD, TWD") as caught:
        fx.to_usd(Decimal(1), currency)

    assert (caught.value.currency, len(caught.value.known)) == (currency, 10)
