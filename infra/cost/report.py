"""Estimates as tables for people and as plain data for machines."""

from __future__ import annotations

from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from infra.cost.estimate import Estimate
from infra.cost.kubernetes import IN_CLUSTER
from infra.cost.line import LineItem, Triple

if TYPE_CHECKING:
    from rich.console import RenderableType

    from infra.catalog.prices import Price

CENT = Decimal("0.01")
FOURTH_PLACE = Decimal("0.0001")
COLUMNS = ("low", "expected", "high")


def cents(amount: Decimal) -> str:
    """An amount as it is shown: to the cent, halves up. Something above nothing is never shown as nothing."""
    rounded = amount.quantize(CENT, ROUND_HALF_UP)
    return "<0.01" if not rounded and amount else f"{rounded:,}"


def table(estimate: Estimate) -> RenderableType:
    """The lines and their total. What is free stands in one line."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    shown.add_column("costs, USD a month")
    for column in COLUMNS:
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_column("", overflow="fold")
    for line in estimate.lines:
        if line.status != "free":
            shown.add_row(Text(title(line)), *_amounts(line), Text(_remark(line)))
    if free := _free(estimate):
        shown.add_row("free", "0.00", "0.00", "0.00", Text(free))
    total = [Text(cents(amount), "bold") for amount in estimate.total]
    missing = len(estimate.unknown)
    remark = Text(f"incomplete: {missing} line{'s' * (missing != 1)} unknown", "red") if missing else Text(_age(estimate))
    shown.add_row(Text("total, at least" if missing else "total", "bold"), *total, remark)
    return shown


def title(line: LineItem) -> str:
    """What a line is of, and of which resource where its name does not say."""
    if not line.resource or line.resource in line.what.split():
        return line.what
    return f"{line.resource}: {line.what}"


def _amounts(line: LineItem) -> tuple[str, str, str]:
    month = line.usd_month
    if month is None:
        return ("-", "-", "-") if line.status == "others pay" else ("unknown", "unknown", "unknown")
    low, expected, high = (cents(amount) for amount in month)
    return low, expected, high


def _remark(line: LineItem) -> str:
    note = line.note.split("; capacity only")[0]
    if line.quantity and line.unit_usd:
        count = f"{_count(line.quantity[1])} {line.unit.replace('_', '-')} x {line.unit_usd[1].normalize():f}"
        return f"{count}; {note}" if note else count
    return note


def _count(quantity: Decimal) -> str:
    """A quantity as it is shown: a third of an hour has no end."""
    return f"{quantity.quantize(FOURTH_PLACE, ROUND_HALF_UP).normalize():f}"


def _free(estimate: Estimate) -> str:
    """What is free, by kind; what is in a cluster by its number: there are too many kinds of it, and all for one reason."""
    free = [line for line in estimate.lines if line.status == "free"]
    inside = sum(line.note == IN_CLUSTER for line in free)
    names = Counter(line.what for line in free if line.note != IN_CLUSTER)
    said = [f"{count} {name}" if count > 1 else name for name, count in names.items()]
    if inside:
        said.append(f"{inside} object{'s' * (inside != 1)} in the cluster, whose nodes are billed where they are declared")
    return ", ".join(said)


def _age(estimate: Estimate) -> str:
    if estimate.price_dates is None:
        return ""
    oldest, newest = estimate.price_dates
    return f"list prices of {oldest} to {newest}, without tax" if oldest != newest else f"list prices of {oldest}, without tax"


def sources(estimate: Estimate) -> RenderableType:
    """Every price and assumption that the figures rest on."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    used = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("price", "USD", "per", "of", "trust", "source"):
        used.add_column(column, justify="right" if column == "USD" else "left", overflow="fold", no_wrap=column != "source")
    for price in estimate.prices:
        usd = f"{price.usd_low:f} to {price.usd_high:f}" if price.bounded else f"{price.usd:f}"
        used.add_row(price.item, usd, price.unit.replace("_", "-"), price.as_of, price.trust, Text(price.source))
    assumed = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("assumed a month", "low", "expected", "high", ""):
        assumed.add_column(column, justify="left" if column in ("assumed a month", "") else "right")
    for one in estimate.assumptions:
        assumed.add_row(f"usage.{one.name}", *(f"{value:f}" for value in one.value), "default" if one.is_default else "yours")
    return Group(used, Text(""), assumed)


def as_json(estimate: Estimate) -> dict[str, Any]:
    """Amounts as text, exact: a float would not be."""
    return {
        "currency": "USD",
        "hours_a_month": 730,
        "complete": estimate.complete,
        "unknown_lines": len(estimate.unknown),
        "prices_as_of": dict(zip(("oldest", "newest"), estimate.price_dates, strict=True)) if estimate.price_dates else None,
        "total_usd_month": triple(estimate.total),
        "lines": [
            {
                "resource": line.resource,
                "what": line.what,
                "status": line.status,
                "quantity": triple(line.quantity),
                "unit": line.unit,
                "unit_usd": triple(line.unit_usd),
                "usd_month": triple(line.usd_month),
                **(_source(line.price) or dict.fromkeys(("as_of", "trust", "source"))),
                "ceiling": _source(line.ceiling),
                "note": line.note,
            }
            for line in estimate.lines
        ],
        "assumptions": [{"name": one.name, "default": one.is_default} | (triple(tuple(one.value)) or {}) for one in estimate.assumptions],
    }


def _source(price: Price | None) -> dict[str, str] | None:
    """Where a price is from; the ceiling's is that of the high column, where it is another."""
    return None if price is None else {"as_of": price.as_of, "trust": price.trust, "source": price.source}


def triple(values: Triple | None) -> dict[str, str] | None:
    return None if values is None else {column: f"{value:f}" for column, value in zip(COLUMNS, values, strict=True)}
