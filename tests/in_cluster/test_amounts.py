"""Amounts: as the API writes them, and as much as was said."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalog.quantities import quantity
from infra.in_cluster.amounts import amount


@pytest.mark.parametrize(
    ("number", "unit", "written"),
    [
        (1, "", "1"),
        (0.5, "", "500m"),
        (7.25, "", "7250m"),
        (1000, "", "1k"),
        (1_000_000, "", "1M"),
        (1024, "", "1024"),
        (0.0001, "", "1m"),
        (16, "Gi", "16Gi"),
        (1.5, "Gi", "1536Mi"),
        (1024, "Gi", "1Ti"),
        (65536, "Gi", "64Ti"),
        (0.0001, "Gi", "1Mi"),
    ],
)
def test_they_are_written_as_the_api_writes_them(number: float, unit: str, written: str) -> None:
    """The largest unit of which it is a whole number."""
    assert amount(number, unit) == written


@given(st.integers(1, 10**9))
def test_they_are_as_much_as_was_said(thousandths: int) -> None:
    """Whatever unit they are written in."""
    assert quantity(amount(thousandths / 1000)) == Decimal(thousandths) / 1000
    assert quantity(amount(thousandths / 1024, "Gi")) == thousandths * 2**20
