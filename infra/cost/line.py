"""One line of an estimate: what is billed, how much of it, at which price; or why that is not known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from infra.catalog import prices
from infra.catalog.prices import Item, Price, PriceUnknown
from infra.cost.usage import HOURS, Range

ZERO, ONE = Decimal(0), Decimal(1)

Triple = tuple[Decimal, Decimal, Decimal]
"""Low, expected and high."""
Status = Literal["priced", "bounded", "free", "unknown", "others pay"]

MONTH: Triple = (HOURS, HOURS, HOURS)
"""What stands all month."""
NOTHING: Triple = (ZERO, ZERO, ZERO)
ALWAYS: Triple = (ONE, ONE, ONE)


@dataclass(frozen=True, slots=True)
class LineItem:
    """One thing that is billed, or the reason why it is not."""

    resource: str
    """Logical name of the resource; empty for what the whole stack uses."""
    what: str
    status: Status
    quantity: Triple | None = None
    unit: str = ""
    unit_usd: Triple | None = None
    price: Price | None = None
    note: str = ""
    ceiling: Price | None = None
    """The price behind the high column, where it is another one."""

    @property
    def usd_month(self) -> Triple | None:
        """USD a month; None where it is unknown or others pay."""
        if self.status == "free":
            return NOTHING
        if self.quantity is None or self.unit_usd is None:
            return None
        return times(self.quantity, self.unit_usd)


def times(one: Triple, other: Triple) -> Triple:
    """Column by column."""
    low, expected, high = (a * b for a, b in zip(one, other, strict=True))
    return (low, expected, high)


def scaled(amounts: Triple, factor: Decimal | int) -> Triple:
    low, expected, high = (one * factor for one in amounts)
    return (low, expected, high)


def added(one: Triple, other: Triple) -> Triple:
    """Column by column."""
    low, expected, high = (a + b for a, b in zip(one, other, strict=True))
    return (low, expected, high)


def columns(amount: Range) -> Triple:
    return (amount.low, amount.expected, amount.high)


def joined(*notes: str) -> str:
    """Notes of one line, the empty ones left out."""
    return "; ".join(filter(None, notes))


def unknown(resource: str, what: str, why: str) -> LineItem:
    return LineItem(resource, what, "unknown", note=why)


def free(resource: str, what: str, why: str) -> LineItem:
    return LineItem(resource, what, "free", note=why)


def others_pay(resource: str, what: str, why: str) -> LineItem:
    return LineItem(resource, what, "others pay", note=why)


def priced(resource: str, what: str, price: Price, quantity: Triple, note: str = "") -> LineItem:
    """A line at one price; bounded where the sources of the price disagree, or where a source calls its own figure rough."""
    return LineItem(
        resource=resource,
        what=what,
        status="bounded" if price.bounded else "priced",
        quantity=quantity,
        unit=price.unit,
        unit_usd=(price.usd_low, price.usd, price.usd_high),
        price=price,
        note=joined(note, price.notes if price.bounded or price.item.startswith("tpu") else ""),
    )


def under_ceiling(line: LineItem, ceiling: Price, note: str) -> LineItem:
    """The same line whose price may rise to another one, which is then its high column; with a note of its own."""
    if line.unit_usd is None:
        return line
    low, expected, high = line.unit_usd
    bounds = (low, expected, max(high, ceiling.usd_high))
    return replace(line, status="bounded", unit_usd=bounds, ceiling=ceiling, note=note)


def listed(resource: str, what: str, item: Item, region: str, amount: Triple, note: str = "") -> LineItem:
    """An item by amount, at its list price. What a price has free is not for these: see `Context.metered`."""
    try:
        price = prices.price(item, region)
    except PriceUnknown as error:
        return unknown(resource, what, str(error))
    return priced(resource, what, price, amount, note)


def either(resource: str, what: str, amount: Triple, cheap: Price, dear: Price, note: str) -> LineItem:
    """One of two prices, and no telling which: low is the one, expected and high are the other."""
    line = under_ceiling(priced(resource, what, cheap, amount), dear, note)
    return replace(line, unit_usd=(cheap.usd_low, max(cheap.usd, dear.usd), max(cheap.usd_high, dear.usd_high)))
