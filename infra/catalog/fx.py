"""Rates of currencies, dated: good for showing an amount, not for billing, where Google has rates of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from infra.catalog.tables import Trust, rows, trust_of


class UnknownRate(LookupError):  # noqa: N818 - reads as the finding it is
    """No dated rate of a currency is known. Nothing is guessed."""

    def __init__(self, currency: str, known: tuple[str, ...]) -> None:
        self.currency = currency
        self.known = known
        super().__init__(f"no dated rate of {currency} is known; known: {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Rate:
    """What one unit of a currency is worth."""

    currency: str
    usd_per_unit: Decimal
    as_of: str
    source: str
    trust: Trust
    notes: str


@cache
def rates() -> Mapping[str, Rate]:
    """Every currency with a rate, by its ISO 4217 code."""
    return MappingProxyType(
        {
            row["currency"]: Rate(
                currency=row["currency"],
                usd_per_unit=Decimal(row["usd_per_unit"]),
                as_of=row["as_of"],
                source=row["source"],
                trust=trust_of(row),
                notes=row["notes"],
            )
            for row in rows("fx")
        }
    )


def rate(currency: str) -> Rate:
    """
    Raises:
        UnknownRate: With the currencies that have one.
    """
    if currency not in rates():
        raise UnknownRate(currency, tuple(rates()))
    return rates()[currency]


def to_usd(amount: Decimal, currency: str) -> Decimal:
    """
    An amount in USD, with every digit of the product.

    Raises:
        UnknownRate: With the currencies that have a rate.
    """
    return amount * rate(currency).usd_per_unit
