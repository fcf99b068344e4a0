"""`accelform catalog zones|zone|region|show|search|ages`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from infra.catalog import ask
from infra.catalog.gpu import gpus
from infra.catalog.named import UnknownName
from infra.catalog.places import UnknownPlace, regions
from infra.catalog.things import Hour
from infra.cli.output import aligned, print_json
from infra.errors import ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.catalog.cards import OnVertex, Value

NAMES = "a TPU slice such as v6e-8, a GPU such as nvidia-l4, a machine type such as g2-standard-4"
PRICED = ("on-demand", "spot", "flex-start")
"""Ways with a column of their own. A reservation costs what on-demand does."""


def zones(name: str, *, near: str | None, unconfirmed: bool, as_json: bool) -> int:
    with _refused("zones", "NAME", NAMES):
        found = ask.where(name, unconfirmed=unconfirmed, near=near)
    if as_json:
        offers = [_offered(offer) for offer in found.offers]
        print_json({"asked": found.asked, "name": found.name, "unconfirmed": found.unconfirmed, "zones": offers})
        return ExitCode.OK
    things = list(dict.fromkeys(offer.priced_as for offer in found.offers))
    one = f" of {things[0]}" if len(things) == 1 and things[0] != found.name else ""
    _say(f"{_meant(found.asked, found.name)}: USD an hour{one}, host included, without tax")
    _print(_offers(found.offers, place=True, thing=len(things) > 1) if found.offers else "no zone is known to have it")
    if near and found.offers:
        _say(f"nearest first: {near}, then its continent, then the others; cheapest first among them")
    if found.offers and found.name in gpus():
        _say(f"the prices are of the smallest machine with one whole GPU; more machines: accelform catalog show {found.name}")
    hidden = 0 if unconfirmed else found.unconfirmed
    _say(*_legend(found.offers), f"not shown: {hidden} that only a weak source has; see them: --unconfirmed" if hidden else "")
    return ExitCode.OK


def zone(name: str, *, as_json: bool) -> int:
    with _refused("zone", "ZONE", "a zone such as asia-east1-c"):
        found = ask.zone(name)
    if as_json:
        print_json({"zone": found.zone, "known": bool(found.offers), "offers": [_offered(x) for x in found.offers], "near": found.near})
    elif found.offers:
        _say(f"{found.zone}: USD an hour, host included, without tax")
        _print(_offers(found.offers, place=False, thing=True))
        _say(*_legend(found.offers))
    else:
        near = ", ".join(found.near) or "none"
        _say(f"nothing is known of {found.zone}: no table has an accelerator there", f"zones of its region that have one: {near}")
    return ExitCode.OK


def region(name: str, *, as_json: bool) -> int:
    from infra.catalog.region import region as ask_region

    with _refused("region", "REGION", "a region such as asia-east1"):
        found = ask_region(name)
    if as_json:
        on_vertex = {one.use: {key: value for key, value in asdict(one).items() if key != "use"} for one in found.vertex_ai}
        print_json({"region": found.region, "offers": [_offered(one) for one in found.offers], "on_vertex_ai": on_vertex})
        return ExitCode.OK
    if found.offers:
        _say(f"{found.region}: USD an hour, host included, without tax")
        _print(_offers(found.offers, place=False, thing=True, zones=True))
    else:
        _say(f"nothing is known of {found.region}: no table has an accelerator in its zones")
    for one in found.vertex_ai:
        named = [f"{name} (by allowlist)" if name in one.by_allowlist else name for name in one.accelerators]
        _say(f"Vertex AI {one.use}: {', '.join(named) or 'no accelerator'}")
        if one.tpu_elsewhere:
            _say(f"  no TPU for {one.use} in {found.region}; regions that have one, nearest first: {', '.join(one.tpu_elsewhere)}")
    _say(*_legend(found.offers))
    return ExitCode.OK


def show(name: str, *, as_json: bool) -> int:
    from infra.catalog import cards

    with _refused("show", "NAME", NAMES):
        card = cards.show(name)
    if as_json:
        told = [{"of": x.of, "source": x.source, "as_of": x.as_of, "trust": x.trust, "notes": x.notes} for x in card.origins]
        names = {"asked": card.asked, "name": card.name, "kind": card.kind}
        on_vertex = None if card.on_vertex is None else asdict(card.on_vertex)
        print_json({**names, "facts": _plain(card.facts), "spellings": _plain(card.spellings), "on_vertex_ai": on_vertex, "origins": told})
        return ExitCode.OK
    _say(f"{_meant(card.asked, card.name)}: {card.kind}")
    named = {f"name, {_label(key)}": value for key, value in card.spellings.items()}
    facts = {_label(key): value for key, value in card.facts.items()} | named | _on_vertex(card.on_vertex)
    _print(aligned(("what", "is"), [(key, "none known" if value is None else str(value)) for key, value in facts.items()], fold=90))
    told_by = [(x.of, x.as_of, x.trust, f"{x.source}: {x.notes}" if x.notes else x.source) for x in card.origins]
    _print(aligned(("facts", "as of", "trust", "source"), told_by, fold=90))
    return ExitCode.OK


def _on_vertex(found: OnVertex | None) -> dict[str, Value]:
    """Where Vertex AI has it, by what it is for."""
    if found is None:
        return {"Vertex AI regions": None}
    prediction = [*found.prediction, *(f"{region} (by allowlist)" for region in found.by_allowlist)]
    return {
        "Vertex AI prediction": ", ".join(prediction) or None,
        "Vertex AI training": ", ".join(found.training) or None,
    }


def search(memory_gib: str | None, max_usd_hour: str | None, *, spot: bool, flex_start: bool, region: str | None, as_json: bool) -> int:
    if spot and flex_start:
        problem = Problem("--spot", "does not go with --flex-start: one way a search", "--spot, --flex-start, or neither", "leave one out")
        raise SpecError("accelform catalog search", [problem])
    memory = Decimal(0) if memory_gib is None else _number("--memory-gib", memory_gib, "80")
    limit = None if max_usd_hour is None else _number("--max-usd-hour", max_usd_hour, "4")
    way = "spot" if spot else "flex-start" if flex_start else "on-demand"
    with _refused("search", "--region", "a region such as asia-east1"):
        found, unpriced = ask.search(memory_gib=memory, max_usd_hour=limit, way=way, region=region)
    if as_json:
        print_json({"way": way, "found": [_found(x) for x in found], "unknown": [_unpriced(x) for x in unpriced]})
        return ExitCode.OK
    _say(f"{way}, USD an hour, host included, without tax")
    columns = ("what", "GiB", "USD", "region", "zones", f"sold as {way}", "trust", "as of", "more regions")
    table = aligned(columns, map(_row, found), right=("GiB", "USD", "more regions"), fold=40)
    _print(table if found else "nothing with a known price fits")
    if unpriced:
        _say("memory enough, but the price is unknown:")
        apart = [(group.accelerator, _several(group.names), ", ".join(group.regions)) for group in unpriced]
        _print(aligned(("accelerator", "as", "regions"), apart, fold=60))
    _say("trust and date are those of the price; zones that only a weak source has are left out")
    return ExitCode.OK


def ages(*, as_json: bool) -> int:
    from infra.catalog.ages import ages as every

    found = list(every())
    if as_json:
        told = [{**asdict(one), "by_trust": dict(one.by_trust)} for one in found]
        print_json({"tables": told})
        return ExitCode.OK
    columns = ("table", "rows", "oldest", "newest", "undated", "high", "medium", "low")
    rows = [(x.table, *map(str, (x.rows, x.oldest, x.newest, x.undated, *x.by_trust.values()))) for x in found]
    _print(aligned(columns, rows, right=("rows", "undated", "high", "medium", "low"), fold=40))
    _say("dates are those of the sources; high, medium and low count rows by trust")
    return ExitCode.OK


def _row(one: ask.Found) -> tuple[str, ...]:
    here = ", ".join(place.removeprefix(one.region) for place in one.zones)
    sold, others = "yes" if one.sold else "unknown", str(len(one.elsewhere))
    return one.name, str(one.memory_gib), _usd(one.hour.usd), one.region, here, sold, one.hour.trust, one.hour.as_of, others


def _several(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)}, {names[0]} to {names[-1]}"


@contextmanager
def _refused(command: str, path: str, such_as: str) -> Iterator[None]:
    """What the catalogue does not know is a mistake in the command line."""
    where = f"accelform catalog {command}"
    try:
        yield
    except (UnknownName, ask.NoZone) as error:
        allowed = ", ".join(error.nearest) or such_as
        fix = f"{where} {error.nearest[0]}" if error.nearest else f"name {such_as}"
        if isinstance(error, ask.NoZone) and error.got in regions():
            fix = f"accelform catalog region {error.got}"
        raise SpecError(where, [Problem(path, f"{error.got!r} {error.message}", allowed, fix)]) from None
    except UnknownPlace as error:
        option = "--near" if command == "zones" else path
        allowed = ", ".join(error.nearest) or "a region such as asia-east1"
        typed = where if path == "REGION" else option
        fix = f"{typed} {error.nearest[0]}" if error.nearest else "name a region such as asia-east1"
        raise SpecError(where, [Problem(option, f"{error.got!r} is not a Google Cloud region", allowed, fix)]) from None


def _number(option: str, text: str, example: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number <= 0:
        problem = Problem(option, f"{text!r} is not a number above 0", "a number above 0", f"{option} {example}")
        raise SpecError("accelform catalog search", [problem])
    return number


def _label(key: str) -> str:
    """A key of the JSON, as people write it."""
    words = {"gib": "GiB", "gb_s": "GB/s", "gke": "GKE", "api": "API", "cloud_tpu": "Cloud TPU", "compute_engine": "Compute Engine"}
    for small, right in {**words, "vertex_ai": "Vertex AI", "n1": "N1", "ssd": "SSD", "gpu": "GPU", "vcpus": "vCPUs"}.items():
        key = key.replace(small, right)
    return key.replace("_", " ")


def _meant(asked: str, name: str) -> str:
    return name if asked == name else f"{asked.strip()} is {name}"


def _offers(offers: Sequence[ask.Offered], *, place: bool, thing: bool, zones: bool = False) -> str:
    """
    One line an offer: by zone, else by accelerator; with what is priced, unless it is always the same.

    Args:
        zones: One line for all zones of a region that say the same, with their last parts.
    """
    columns = ("zone" if place else "accelerator", *(["price of"] if thing else []), *(["zones"] if zones else []))
    places: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for one in offers:
        first = (one.zone if place else one.accelerator, *([one.priced_as] if thing else []))
        prices = [_cell(way) for way in one.ways if way.name in PRICED]
        trust = one.trust if one.confirmed else f"{one.trust}: unconfirmed"
        last = (*prices, trust, one.as_of, ", ".join(way.name for way in one.ways if way.sold) or "unknown")
        places.setdefault((first, last), []).append(one.zone.removeprefix(one.region))
    rows = [(*first, *([", ".join(sorted(here))] if zones else []), *last) for (first, last), here in places.items()]
    return aligned((*columns, *PRICED, "trust", "as of", "sold as"), rows, right=PRICED, fold=26)


def _cell(way: ask.Way) -> str:
    if way.sold is False:
        return "not sold"
    return "unknown" if way.hour is None else _usd(way.hour.usd)


def _legend(offers: Sequence[ask.Offered]) -> tuple[str, ...]:
    dates = sorted({way.hour.as_of for one in offers for way in one.ways if way.hour})
    aged = f"prices as of {dates[0]} to {dates[-1]}; each with its source: --json" if dates else ""
    told = (
        "trust, as of: of the source that it is there at all, not that it is free",
        "sold as: what a source says; a way that is not named may be sold too",
    )
    return (aged, *(told if offers else ()))


def _usd(amount: Decimal) -> str:
    return f"{amount:.4f}"


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines if line))


def _print(text: str) -> None:
    _say(f"\n{text}\n")


def _hour(one: Hour) -> dict[str, Any]:
    """Prices are text: exact, as they are in the tables."""
    bounds = {"usd": f"{one.usd:f}", "usd_low": f"{one.usd_low:f}", "usd_high": f"{one.usd_high:f}"}
    return {**bounds, "trust": one.trust, "as_of": one.as_of, "source": one.source}


def _offered(one: ask.Offered) -> dict[str, Any]:
    return {
        "accelerator": one.accelerator,
        "priced_as": one.priced_as,
        "zone": one.zone,
        "region": one.region,
        "trust": one.trust,
        "confirmed": one.confirmed,
        "as_of": one.as_of,
        "source": one.source,
        "notes": one.notes,
        "ways": {way.name: {"sold": way.sold, "hour": None if way.hour is None else _hour(way.hour)} for way in one.ways},
    }


def _found(one: ask.Found) -> dict[str, Any]:
    return {
        "name": one.name,
        "accelerator": one.accelerator,
        "memory_gib": one.memory_gib,
        "region": one.region,
        "zones": one.zones,
        "sold": one.sold,
        "hour": _hour(one.hour),
        "elsewhere": [{"region": region, "usd": f"{usd:f}"} for region, usd in one.elsewhere],
    }


def _unpriced(one: ask.Unpriced) -> dict[str, Any]:
    return {"accelerator": one.accelerator, "names": one.names, "regions": one.regions}


def _plain(facts: dict[str, Value]) -> dict[str, Any]:
    return {key: f"{value:f}" if isinstance(value, Decimal) else value for key, value in facts.items()}
