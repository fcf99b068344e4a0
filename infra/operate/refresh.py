"""
The catalogue's tables of zones against Google's live lists: what is new, confirmed or gone, and the rows that would say so.

A list shows what one project may see. So what it has is there; what it lacks is gone for that project alone, and no row is ever taken away
for it: the row is marked, and its trust goes down one step, once. A row that nobody doubts and that is seen stays as it is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from infra.catalog import tpu
from infra.catalog.gpu import gpus
from infra.catalog.gpu_machines import N1, attachments, machines
from infra.catalog.places import region_of
from infra.catalog.tables import Table, rows
from infra.findings import Found
from infra.operate.live import GPUS, GROUPS, MACHINES, RUNTIMES, TPU_TYPES, ZONES, Group, Live

Kind = Literal["new", "confirmed", "gone"]
Row = Mapping[str, str]
Rows = Callable[[Table], Sequence[Row]]

TABLES: Mapping[Group, Table] = {"tpus": "zones", "gpus": "gpu_zones", "regions": "regions"}
KEYS: Mapping[Table, tuple[str, ...]] = {
    "zones": ("accelerator", "zone"),
    "gpu_zones": ("accelerator_type", "series", "zone"),
    "regions": ("region",),
}
MARK = "not in the live list"
LOWER = {"high": "medium", "medium": "low"}
WORKSTATION = "-vws"
"""Ends the name of a GPU with a licence for virtual workstations: the same GPU. Source: https://docs.cloud.google.com/compute/docs/gpus."""


@dataclass(frozen=True, slots=True)
class Change:
    """A row of a table that the live lists do not agree with."""

    kind: Kind
    table: Table
    key: tuple[str, ...]
    lists: tuple[str, ...]
    """Methods that have it; where it is gone, all that would have it."""
    before: Row | None
    after: Row | None
    """None where the table has no room to say it."""


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A name that a list has and no table knows: nothing is known of it but its name."""

    name: str
    method: str
    zones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lacking:
    """A runtime that the tables name for an accelerator, in zones that list the accelerator and not the runtime."""

    runtime: str
    zones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Silent:
    """What did not answer. Rows that hang on it are left as they are."""

    method: str
    places: tuple[str, ...]
    """Empty: the whole list."""
    found: Found


@dataclass(frozen=True, slots=True)
class Difference:
    """Tables against lists."""

    changes: tuple[Change, ...]
    names: tuple[Unnamed, ...]
    runtimes: tuple[Lacking, ...]
    silent: tuple[Silent, ...]
    unchanged: Mapping[Table, int]
    unknown: Mapping[Table, int]
    """Rows that hang on a list that did not answer."""

    def __bool__(self) -> bool:
        return bool(self.changes or self.names or self.runtimes)

    def written(self, table: Table) -> list[Row]:
        """Rows that a table would get."""
        return [one.after for one in self.changes if one.table == table and one.after is not None]


def compare(live: Live, groups: Sequence[Group], *, today: dt.date, region: str | None = None, tables: Rows = rows) -> Difference:
    """
    Compares the tables of *groups* with the lists. Asks nothing and changes nothing.

    Args:
        region: Only this region's rows. (default: all)
        tables: Reads a table.
    """
    changes: list[Change] = []
    unchanged: dict[Table, int] = {}
    unknown: dict[Table, int] = {}
    for group in (one for one in GROUPS if one in groups):
        table = TABLES[group]
        seen = dict(_seen(live, table))
        unchanged[table] = unknown[table] = 0
        for row in tables(table):
            key = tuple(row[column] for column in KEYS[table])
            listed = seen.pop(key, ())
            if region not in (None, row["region"]):
                continue
            change, known = _judged(live, table, key, row, listed, today)
            if change:
                changes.append(change)
            elif known:
                unchanged[table] += 1
            else:
                unknown[table] += 1
        changes += [Change("new", table, key, listed, None, _new(table, key, listed, today)) for key, listed in seen.items()]
    order = {"new": 0, "confirmed": 1, "gone": 2}
    return Difference(
        changes=tuple(sorted(changes, key=lambda one: (order[one.kind], list(KEYS).index(one.table), one.key))),
        names=tuple(sorted(_unnamed(live), key=lambda one: (one.method, one.name))),
        runtimes=tuple(_lacking(live)),
        silent=tuple(dict.fromkeys(_silent(live))),
        unchanged=unchanged,
        unknown=unknown,
    )


def _judged(
    live: Live, table: Table, key: tuple[str, ...], row: Row, listed: tuple[str, ...], today: dt.date
) -> tuple[Change | None, bool]:
    """What the lists say against a row, if anything; and whether they say anything at all of it."""
    doubted = row["trust"] == "low" or MARK in row.get("notes", "")
    if listed:
        after = {**row, "trust": "high", "source": _source(listed), "as_of": today.isoformat(), **({"notes": ""} if "notes" in row else {})}
        return (Change("confirmed", table, key, listed, row, after) if doubted else None), True
    would = _would_have(table, row)
    if not would or not all(live[method].answered(key[-1]) for method in would):
        return None, False
    return (None if doubted else Change("gone", table, key, would, row, _gone(row, would, today))), True


def _gone(row: Row, would: tuple[str, ...], today: dt.date) -> Row | None:
    if "notes" not in row:
        return None
    said = f"{MARK} of {' or '.join(would)} on {today.isoformat()}, as one project sees it"
    return {**row, "trust": LOWER[row["trust"]], "notes": "; ".join(filter(None, (row["notes"], said)))}


def _new(table: Table, key: tuple[str, ...], listed: tuple[str, ...], today: dt.date) -> Row:
    """A row with what the lists tell: how it is sold there, they do not."""
    told = {**dict(zip(KEYS[table], key, strict=True)), "trust": "high", "source": _source(listed), "as_of": today.isoformat()}
    if table == "regions":
        return told
    blank = {"capacity_types": "", "notes": ""} | ({"capacity_source": ""} if table == "zones" else {})
    return told | {"region": region_of(key[-1])} | blank


def _source(listed: tuple[str, ...]) -> str:
    return "; ".join(f"live list of {method}" for method in listed)


def _would_have(table: Table, row: Row) -> tuple[str, ...]:
    """The lists that have a row's thing wherever it is."""
    if table == "regions":
        return (ZONES,)
    if table == "gpu_zones":
        return (GPUS,) if row["series"] == N1 else (MACHINES,)
    of_row = [shape for shape in tpu.shapes().values() if shape.sold_as == row["accelerator"]]
    found = {MACHINES: any(shape.machine_type for shape in of_row), TPU_TYPES: any(shape.cloud_tpu_api for shape in of_row)}
    return tuple(method for method, has in found.items() if has)


def _seen(live: Live, table: Table) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Keys of rows that the lists speak for, each with the lists."""
    found: dict[tuple[str, ...], set[str]] = {}
    for method, place, name in _names(live):
        for of_table, first in _stands_for(method, name):
            if of_table == table:
                found.setdefault((*first, place), set()).add(method)
    yield from ((key, tuple(sorted(methods))) for key, methods in found.items())


def _names(live: Live) -> Iterator[tuple[str, str, str]]:
    """Each list, place and name."""
    yield from ((method, place, name) for method, listed in live.items() for place, names in listed.names.items() for name in names)


def _stands_for(method: str, name: str) -> tuple[tuple[Table, tuple[str, ...]], ...]:
    """The table and the key less its place that a name of a list stands for; none where the tables do not know it."""
    if method == ZONES:
        return (("regions", ()),)
    if method == TPU_TYPES:
        shape = tpu.shapes().get(name)
        return (("zones", (shape.sold_as,)),) if shape else ()
    if method == GPUS:
        return (("gpu_zones", (name, N1)),) if any(rule.accelerator_type == name for rule in attachments()) else ()
    if method == MACHINES:
        host = machines().get(name)
        if host:
            return (("gpu_zones", (host.accelerator_type, host.series)),)
        return tuple(("zones", (sold_as,)) for sold_as in sorted({s.sold_as for s in tpu.shapes().values() if s.machine_type == name}))
    return ()


def _unnamed(live: Live) -> Iterator[Unnamed]:
    found: dict[tuple[str, str], set[str]] = {}
    for method, place, name in _names(live):
        if method not in (RUNTIMES, ZONES) and not _stands_for(method, name) and not (method == GPUS and _told_by_machines(name)):
            found.setdefault((method, name), set()).add(place)
    yield from (Unnamed(name, method, tuple(sorted(zones))) for (method, name), zones in found.items())


def _told_by_machines(accelerator_type: str) -> bool:
    """Whether a GPU's machines tell its zones; TPUs are in Compute Engine's list of accelerators too, under names of their own."""
    name = accelerator_type.removesuffix(WORKSTATION)
    return name in gpus() or name.startswith(("ct", "tpu"))


def _lacking(live: Live) -> Iterator[Lacking]:
    if RUNTIMES not in live:
        return
    found: dict[str, set[str]] = {}
    for zone, names in live[TPU_TYPES].names.items():
        wanted = {shape.runtime_version for shape in map(tpu.shapes().get, names) if shape and shape.runtime_version}
        for runtime in wanted - live[RUNTIMES].has(zone) if live[RUNTIMES].answered(zone) else ():
            found.setdefault(runtime, set()).add(zone)
    yield from (Lacking(runtime, tuple(sorted(found[runtime]))) for runtime in sorted(found))


def _silent(live: Live) -> Iterator[Silent]:
    """Each thing that was said instead of an answer once, with the places that it was said of."""
    for method in sorted(live):
        listed = live[method]
        if listed.refused:
            yield Silent(listed.refused.check, (), listed.refused)
        said: dict[Found, list[str]] = {}
        for place in sorted(listed.silent):
            found = listed.silent[place]
            plain = Found(method, found.level, found.message.replace(place, "the zone"), found.fix)
            said.setdefault(plain, []).append(place)
        yield from (Silent(method, tuple(places), found) for found, places in said.items())
