"""What the stack's accelerators cost in other regions, and in other ways of buying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from infra.catalog.things import Hour
from infra.report.document import plot
from infra.report.markup import Html, cell, details, h, linked, row, table
from infra.report.plots import amount
from infra.report.rates import WAYS, Rates, Region


def elsewhere(found: Sequence[Rates], own: str, drawn: dict[str, Any]) -> Html:
    """The section; *drawn* names the plots that the page has."""
    heading = h("h2", "Accelerator prices", id="accelerators")
    if not found:
        return h("section", heading, h("p", "This stack has no accelerator: neither a TPU nor a machine with a GPU."))
    said = h(
        "p",
        "USD an hour by region and way of buying, host included. A reservation is billed at the on-demand rate, used or not. "
        "A price does not say that there is capacity, nor that a zone sells it so: ",
        h("code", "accelform catalog zones NAME"),
        " says what is known.",
    )
    parts = [part for number, one in enumerate(found, 1) for part in _rates(one, f"plot-hours-{number}", own, drawn)]
    return h("section", heading, said, *parts)


def _rates(one: Rates, name: str, own: str, drawn: dict[str, Any]) -> Iterator[Html]:
    yield h("h3", one.name)
    yield h("p", f"Used by {', '.join(one.used_by)} in {own}.")
    if name in drawn:
        priced = [region for region in one.regions if region.hours]
        said = f"Dots: USD an hour of {one.name} in {len(priced)} region{'s' * (len(priced) != 1)}, by way of buying."
        yield plot(name, f"{said} The lowest price known is in {priced[0].name}. The table below has every price.")
    else:
        yield h("p", f"No price of {one.name} is known in any region.")
    if name in drawn and not any(region.own and region.hours for region in one.regions):
        yield h("p", h("strong", f"No price is known in {own}, where this stack stands."))
    yield from _gaps(one)
    rows = [
        row(
            f"{region.name}, this stack" if region.own else region.name,
            *(cell(_hour(region, way), number=True) for way in WAYS),
            class_="place own" if region.own else "place",
        )
        for region in one.regions
    ]
    yield table(f"{one.name}, USD an hour", ("region", *WAYS), [h("tbody", *rows)], numbers=WAYS)
    sourced = [_sourced(region, way, hour) for region in one.regions for way, hour in region.hours.items()]
    if sourced:
        columns = ("region", "way", "USD an hour", "trust", "of", "source")
        told = table(f"Sources of the prices of {one.name}", columns, [h("tbody", *sourced)], numbers=("USD an hour",))
        yield details(f"Where the prices of {one.name} are from ({len(sourced)})", told)


def _sourced(region: Region, way: str, hour: Hour) -> Html:
    usd, when = cell(f"{hour.usd:f}", number=True), cell(hour.as_of, class_="short")
    source = cell(linked(hour.source), class_="words")
    return row(region.name, cell(way, class_="short"), usd, cell(hour.trust), when, source, class_="place")


def _gaps(one: Rates) -> Iterator[Html]:
    """What the plot cannot show, in words."""
    gaps = []
    for way in WAYS:
        unknown = one.unknown(way)
        if unknown:
            where = "every region where it may be sold so" if way not in one.ways else ", ".join(unknown)
            gaps.append(h("li", f"{way}: unknown in {where}"))
    if gaps:
        yield h("p", "Not drawn, since no price is known:")
        yield h("ul", *gaps)
    if one.left_out:
        yield h("p", f"Left out, since one weak source alone has it there: {', '.join(one.left_out)}.")


def _hour(region: Region, way: str) -> str:
    hour = region.hours.get(way)
    if hour is None:
        return "not sold" if way in region.not_sold else "unknown"
    if hour.usd_low != hour.usd_high:
        return f"{amount(hour.usd)} ({amount(hour.usd_low)} to {amount(hour.usd_high)})"
    return amount(hour.usd)
