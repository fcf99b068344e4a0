"""Codes of currencies: those in use, and no other letters."""

import re

import pytest

from infra.catalog import fx
from infra.currencies import CURRENCIES, is_currency


@pytest.mark.parametrize("code", ["USD", "EUR", "TWD", "JPY", "XOF", "XCG", "SLE", "ZWG", "VED"])
def test_currencies_in_use(code):
    """Money that is paid somewhere, the newest codes among it."""
    assert is_currency(code)


@pytest.mark.parametrize("code", ["XYZ", "usd", "", "USDT", "XAU", "XDR", "XXX", "XTS", "CHE", "HRK", "BGN", "DEM", "ANG", "ÜSD", " USD"])
def test_what_is_no_currency_in_use(code):
    """Codes of metals, funds, tests and of money that is gone, and what is no code at all."""
    assert not is_currency(code)


def test_codes_are_three_letters():
    """Every code is what ISO 4217 writes, and none was lost in the table."""
    assert all(re.fullmatch("[A-Z]{3}", code) for code in CURRENCIES)
    assert len(CURRENCIES) == 155


def test_every_rate_is_of_a_currency():
    """No rate stands under a code that nobody can write."""
    assert {*fx.rates()} <= CURRENCIES
