"""What a stack costs a month: by component, and every line with its source."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from infra.cost.estimate import Estimate
from infra.cost.line import LineItem
from infra.cost.report import COLUMNS, FOURTH_PLACE, cents, title
from infra.report.document import plot
from infra.report.findings import total
from infra.report.markup import Html, cell, details, h, joined, linked, row, table

PLOT = "plot-month"


def bill(estimate: Estimate, groups: dict[str, list[LineItem]], drawn: dict[str, Any]) -> Html:
    """The section; *drawn* names the plots that the page has."""
    missing = len(estimate.unknown)
    low, expected, high = (total(estimate, column) for column in range(3))
    said = [f"Expected: {expected} USD a month of 730 hours. Low: {low}. High: {high}."]
    if missing:
        names = ", ".join(title(line) for line in estimate.unknown)
        said.append(f"Not in it, since no price is known: {names}.")
    return h(
        "section",
        h("h2", "Cost a month", id="cost"),
        h("p", " ".join(said)),
        *([plot(PLOT, _spoken(groups))] if PLOT in drawn else []),
        _by_component(groups, estimate),
        details(f"Every line, with its source ({len(estimate.lines)})", _lines(groups, estimate)),
        details(f"Assumptions ({len(estimate.assumptions)})", _assumptions(estimate)),
    )


def _spoken(groups: dict[str, list[LineItem]]) -> str:
    """The plot in words, for who does not see it."""
    expected = {name: _sums(lines)[1] for name, lines in groups.items() if _sums(lines)[2] != "0.00"}
    told = "; ".join(f"{name} {usd}" for name, usd in expected.items())
    return f"Bars: USD a month by component, low, expected and high. Expected: {told}. The table below has every amount."


def _sums(lines: Sequence[LineItem]) -> tuple[str, ...]:
    """Low, expected and high of some lines, as shown."""
    missing = any(line.status == "unknown" for line in lines)
    known = [line.usd_month for line in lines if line.usd_month is not None]
    if missing and not any(map(any, known)):
        return ("unknown",) * 3
    return tuple(("at least " if missing else "") + cents(sum((month[column] for month in known), Decimal(0))) for column in range(3))


def _amounts(shown: Sequence[str]) -> list[Html]:
    return [cell(one, number=True) for one in shown]


def _by_component(groups: dict[str, list[LineItem]], estimate: Estimate) -> Html:
    rows = [row(name, *_amounts(_sums(lines))) for name, lines in groups.items()]
    foot = row("total", *_amounts([total(estimate, column) for column in range(3)]))
    return table("USD a month, by component", ("component", *COLUMNS), [h("tbody", *rows)], numbers=COLUMNS, foot=foot)


def _lines(groups: dict[str, list[LineItem]], estimate: Estimate) -> Html:
    columns = ("line", *COLUMNS, "quantity x USD each, expected", "price from", "note")
    bodies = []
    for name, lines in groups.items():
        head = h("tr", h("th", name, scope="rowgroup", colspan=str(len(columns))), class_="group")
        bodies.append(h("tbody", head, *map(_line, lines)))
    foot = row("total", *_amounts([total(estimate, column) for column in range(3)]), *[cell("")] * 3)
    return table("Every line of the month, in USD", columns, bodies, numbers=COLUMNS, foot=foot)


def _line(line: LineItem) -> Html:
    unpriced = "-" if line.status == "others pay" else "unknown"
    amounts = [cents(usd) for usd in line.usd_month] if line.usd_month else [unpriced] * 3
    used = dict.fromkeys(price for price in (line.price, line.ceiling) if price)
    return row(
        title(line),
        *_amounts(amounts),
        cell(_worked(line), class_="words"),
        cell(joined(h("p", f"{price.as_of}, trust {price.trust}: ", linked(price.source)) for price in used), class_="words"),
        cell(linked(line.note), class_="words"),
        class_="missing" if line.status == "unknown" else None,
    )


def _worked(line: LineItem) -> str:
    """How the expected amount comes about; where there is none, why."""
    if line.quantity is None or line.unit_usd is None:
        return line.status
    low, expected, high = line.unit_usd
    count = f"{_exact(line.quantity[1].quantize(FOURTH_PLACE, ROUND_HALF_UP))} {line.unit.replace('_', '-')}"
    bounds = f", from {_exact(low)} to {_exact(high)}" if low != high else ""
    return f"{count} x {_exact(expected)}{bounds}"


def _exact(number: Decimal) -> str:
    return f"{number.normalize():,f}"


def _assumptions(estimate: Estimate) -> Html:
    if not estimate.assumptions:
        return h("p", "No line rests on one.")
    rows = [
        row(
            f"usage.{one.name}",
            *_amounts([_exact(value) for value in one.value]),
            cell("default of a small shop, no fact" if one.is_default else "set in the stack file"),
        )
        for one in estimate.assumptions
    ]
    return table("Quantities a month that no declaration tells", ("assumption", *COLUMNS, "whose"), [h("tbody", *rows)], numbers=COLUMNS)
