"""
What somebody confirms by name: that a zone or region has what no good source says it has.

It overrules what is unconfirmed or unknown, never what is impossible.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from infra.catalog import gpu_zones, zones
from infra.catalog.accelerator import accelerators
from infra.catalog.fits import Verdict, judge
from infra.catalog.fits_gpu import attached_to, with_gpu
from infra.catalog.fits_tpu import able
from infra.catalog.gpu import Gpu
from infra.catalog.named import resolve
from infra.catalog.places import region_of, regions
from infra.catalog.tpu import TpuShape, shapes
from infra.catalog.wish import WAYS, Kind, Wish


@dataclass(frozen=True, slots=True)
class Confirmation:
    """That a place has something."""

    what: str
    """A TPU slice, a TPU as zones are listed by (`tpu-v6e`: every size of it), a GPU, or a machine type."""
    place: str
    """A zone, or a region: every zone of it."""


def read(entries: object) -> tuple[Confirmation, ...]:
    """The entries of a stack file that say what and where; those that do not are refused elsewhere."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            what, place = entry.get("what"), entry.get("zone") or entry.get("region")
            if isinstance(what, str) and isinstance(place, str):
                found.append(Confirmation(what, place))
    return tuple(found)


def parse(text: str | None) -> tuple[Confirmation, ...]:
    """The same from the engine's text."""
    try:
        return read(json.loads(text or "[]"))
    except (ValueError, RecursionError):
        return ()


def covers(confirmations: Iterable[Confirmation], verdict: Verdict) -> bool:
    """Whether what speaks against a wish is overruled: all of it is unconfirmed or unknown, and its thing is confirmed where it stands."""
    return verdict.kind in ("unconfirmed", "unknown") and any(_names(one, verdict) for one in confirmations)


def _names(one: Confirmation, verdict: Verdict) -> bool:
    wish, shape = verdict.wish, verdict.shape
    names = {wish.accelerator_type, wish.machine_type}
    if shape is not None:
        names |= {shape.accelerator_type, shape.machine_type, shape.sold_as}
    places = {wish.zone, wish.region, region_of(wish.zone)}
    return bool(one.what and one.place) and one.what in names and one.place in places


def is_name(what: str) -> bool:
    """
    Whether a confirmation may be about this.

    Raises:
        UnknownName: It is no name, with those that may be meant.
    """
    if what in accelerators():
        return True
    found = resolve(what)
    return what in (found.accelerator_type, getattr(found, "machine_type", ""))


def kinds(one: Confirmation) -> set[Kind]:
    """What the catalogue says of it, over all ways of buying and, for a region, over all its zones."""
    places = {one.place}
    if one.place in regions():
        listed = {row.zone for row in zones.every()} | {row.zone for row in gpu_zones.every()}
        places = {zone for zone in listed if region_of(zone) == one.place} | {f"{one.place}-{letter}" for letter in "abcdef"}
    return {judge(wish).kind for zone in places for wish in _wishes(one.what, zone)}


def _wishes(what: str, zone: str) -> Iterator[Wish]:
    """The smallest wishes for a thing in a zone, one for each way of buying."""
    for way in WAYS:
        if what in accelerators() and accelerators()[what].is_tpu:
            smallest = min((shape for shape in shapes().values() if shape.sold_as == what), key=lambda shape: (shape.chips, shape.hosts))
            yield Wish(able(smallest)[0], smallest.accelerator_type, zone=zone, provisioning=way)
            continue
        thing = resolve(what)
        if isinstance(thing, TpuShape):
            yield Wish(able(thing)[0], thing.accelerator_type, zone=zone, provisioning=way)
        elif isinstance(thing, Gpu):
            for machine_type in with_gpu(thing.accelerator_type, None):
                yield Wish("compute-engine", machine_type=machine_type, zone=zone, provisioning=way)
            for machine_type in attached_to(thing.accelerator_type, 1)[:1]:
                yield Wish("compute-engine", thing.accelerator_type, machine_type, 1, zone=zone, provisioning=way)
        else:
            yield Wish("compute-engine", machine_type=thing.machine_type, zone=zone, provisioning=way)
