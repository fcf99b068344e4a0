"""
Whether a wish can be had: machine, accelerator, count, topology, zone, way of buying, placement and API together, before any call.

A wish that cannot be had is refused with every reason at once, and with the nearest that can: those in the same zone first, then in the
same region, then on the same continent; then those that are open to everybody; then the lowest price an hour, an unknown one last; then
by name.

Rules are in `fits_tpu`, `fits_gpu` and `fits_vertex`, what a zone has in `fits_zone`; each reason says its source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import islice, product
from typing import Any

from infra.catalog import fits_gpu, fits_tpu, fits_vertex, fits_zone, gpu_zones, zones
from infra.catalog.fits_thing import Meant, meant
from infra.catalog.gpu_machines import Attached, GpuMachine
from infra.catalog.machine_prices import gpu_hour, machine_hour
from infra.catalog.places import continent_of, region_of
from infra.catalog.prices import Price, PriceUnknown, tpu_chip_hour
from infra.catalog.things import Hour, together
from infra.catalog.tpu import TpuShape
from infra.catalog.vertex import VertexMachine
from infra.catalog.vertex_prices import vertex_hour
from infra.catalog.wish import KINDS, WAYS, Kind, Near, Provisioning, Reason, Wish

NEAREST = 20
"""How many wishes are offered instead, at most."""
TRIES = 24
"""How many ways of mending a wish are looked at: its parts may be wrong in several ways each."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the catalogue says to a wish."""

    wish: Wish
    kind: Kind
    reasons: tuple[Reason, ...]
    """All of them; none where it works."""
    notes: tuple[str, ...]
    """What to know of it if it works."""
    unconfirmed: bool
    """Whether what a weak source alone has may be among the nearest."""

    @property
    def nearest(self) -> tuple[Near, ...]:
        """What works instead, nearest first; empty where the wish itself works. It is looked for when it is asked for."""
        return () if self.kind == "works" else _nearest(self.wish, self.unconfirmed)

    @property
    def hour(self) -> Hour | None:
        """What it costs an hour in all; None where the price is unknown, or there is no such thing."""
        thing = _look(self.wish)[0]
        return None if thing is None else _hour(self.wish, thing)

    @property
    def shape(self) -> TpuShape | None:
        """The slice: its topology and its hosts; None for GPUs, and where there is no such thing."""
        thing = _look(self.wish)[0]
        return thing if isinstance(thing, TpuShape) else None


def judge(wish: Wish, *, unconfirmed: bool = False) -> Verdict:
    """
    What the catalogue says to a wish.

    Args:
        unconfirmed: Whether what a weak source alone has may be among the nearest; it is marked.
    """
    _, reasons, notes = _look(wish)
    return Verdict(wish, kind_of(reasons), reasons, notes, unconfirmed)


def kind_of(reasons: tuple[Reason, ...]) -> Kind:
    """The worst of the reasons; without any it works."""
    return max((one.kind for one in reasons), key=KINDS.index, default="works")


@lru_cache(maxsize=1 << 16)
def _look(wish: Wish) -> tuple[Meant | None, tuple[Reason, ...], tuple[str, ...]]:
    """The thing, all that speaks against it, and what to know if it works."""
    thing, found = meant(wish)
    if thing is None and len(found) == 1 and len(found[0].instead) == 1:
        return None, (found[0], *_look(replace(wish, **dict[str, Any](found[0].instead[0])))[1]), ()  # one thing is meant: judged as that
    reasons = [*found, *_reservation(wish)]
    notes: list[str] = []
    if thing is None:
        if wish.api != "vertex":
            reasons += filter(None, [fits_zone.named(wish.zone)])
    elif isinstance(thing, TpuShape) and wish.api == "vertex":
        reasons += fits_vertex.tpu(wish, thing)
        notes += _vertex_notes(thing.sold_as, wish)
    elif isinstance(thing, TpuShape):
        reasons += [*fits_tpu.rules(wish, thing), *_in_region(wish), *fits_zone.tpu(wish, thing)]
        offer = zones.offer(thing.sold_as, wish.zone)
        if offer is not None and offer.sells(wish.provisioning) is None:
            notes.append(f"no source says whether it is sold as {wish.provisioning} there")
    elif isinstance(thing, VertexMachine):
        notes += [*_vertex_notes(thing.accelerator, wish), *_shared(thing, wish)]
    else:
        reasons += [*fits_gpu.rules(wish, thing), *_in_region(wish), *fits_zone.gpu(wish, thing, _name(thing))]
        row = gpu_zones.offer(thing, wish.zone)
        if row is not None and wish.provisioning not in row.capacity_types:
            notes.append(f"no source says whether it is sold as {wish.provisioning} there")
    return thing, tuple(reasons), tuple(notes)


def _name(thing: GpuMachine | Attached) -> str:
    return thing.machine_type if isinstance(thing, GpuMachine) else f"{thing.accelerator_type} on N1"


def _vertex_notes(accelerator: str, wish: Wish) -> Iterator[str]:
    row = fits_vertex.row(accelerator, wish.region)
    if row is not None and row.by_allowlist and wish.use == "prediction":
        yield f"prediction in {wish.region} is open to projects only that Google let in"
    if accelerator.startswith("tpu") and wish.use == "prediction":
        yield "replicas with TPUs do not autoscale; their quota is 0 in most regions until it is asked for"


def _shared(thing: VertexMachine, wish: Wish) -> Iterator[str]:
    if thing.built_in and wish.count is not None and wish.count not in thing.counts:
        yield f"of {thing.counts[-1]} GPUs a replica takes {wish.count}; two or more replicas share a machine where they fit"
    if wish.partition and (wish.count or thing.counts[-1]) != 1:
        yield "with GPUs that are cut into parts, the count should be 1, as the API's reference says"


def _reservation(wish: Wish) -> Iterator[Reason]:
    if wish.reservation and wish.provisioning != "reservation":
        instead = ((("reservation", ""),), (("provisioning", "reservation"),))
        message = f"is not consumed by {wish.provisioning} capacity: spot, flex-start and reservations never go together"
        source = "https://docs.cloud.google.com/tpu/docs/consume-reservation, read 2026-11"
        yield Reason("reservation", "impossible", message, (), source, instead)


def _in_region(wish: Wish) -> Iterator[Reason]:
    if wish.region and wish.zone and region_of(wish.zone) != wish.region:
        yield Reason("zone", "impossible", f"is outside the region {wish.region}", (f"a zone of {wish.region}",))


def _nearest(wish: Wish, unconfirmed: bool) -> tuple[Near, ...]:
    """What works instead: the wish with each wrong part mended in each way that is known, in every place that has it."""
    found: dict[Wish, Near] = {}
    seen, waiting = {wish}, [wish]
    for _ in range(TRIES):
        if not waiting:
            break
        one = waiting.pop(0)
        thing, reasons, _notes = _look(one)
        mendable = [reason for reason in reasons if reason.instead]
        if mendable:
            several = 5 if len(mendable) == 1 else 2  # the best ways to mend each part, where many are wrong
            for changes in islice(product(*(reason.instead[:several] for reason in mendable)), TRIES):
                values: dict[str, Any] = {field: value for change in changes for field, value in change}
                mended = replace(one, **values)
                if mended not in seen:
                    seen.add(mended)
                    waiting.append(mended)
        elif not reasons:
            found[one] = _near(one)
        elif thing is not None:
            there = _everywhere(_nowhere(one, one.provisioning), unconfirmed)
            found |= {near.wish: near for near in there}
            if any(reason.part == "provisioning" for reason in reasons):
                others = (near for way in WAYS for near in _everywhere(_nowhere(one, way), unconfirmed))
                found |= {near.wish: near for near in others if not there or near.wish.place == one.place}
    found.pop(wish, None)
    return tuple(sorted(found.values(), key=lambda near: _distance(near, wish))[:NEAREST])


def _nowhere(wish: Wish, way: Provisioning) -> Wish:
    """The wish without a place, got in some way."""
    return replace(wish, zone="", region="", provisioning=way)


@lru_cache(maxsize=1 << 14)
def _everywhere(template: Wish, unconfirmed: bool) -> tuple[Near, ...]:
    """Every place where a wish without a place works."""
    thing, reasons, _ = _look(template)
    if thing is None or any(reason.part not in ("zone", "region") for reason in reasons):
        return ()
    trusted = ("high", "medium", "low") if unconfirmed else ("high", "medium")
    wishes: Iterator[Wish]
    if template.api == "vertex":
        accelerator = thing.sold_as if isinstance(thing, TpuShape) else thing.accelerator if isinstance(thing, VertexMachine) else ""
        wishes = (replace(template, region=one.region) for one in fits_vertex.running(accelerator, template.use) if one.trust in trusted)
    elif isinstance(thing, VertexMachine):
        return ()
    else:
        offers = zones.offers(thing) if isinstance(thing, TpuShape) else gpu_zones.offers(thing)
        wishes = (replace(template, zone=one.zone) for one in offers if one.trust in trusted)
    kinds = ("works", "unconfirmed") if unconfirmed else ("works",)
    return tuple(_near(one) for one in wishes if kind_of(_look(one)[1]) in kinds)


@lru_cache(maxsize=1 << 16)
def _near(wish: Wish) -> Near:
    thing, reasons, _ = _look(wish)
    assert thing is not None
    hour = _hour(wish, thing)
    return Near(wish, kind_of(reasons), None if hour is None else hour.usd)


def _distance(near: Near, wish: Wish) -> tuple[bool, bool, bool, bool, Decimal, str]:
    here = wish.region or region_of(wish.zone)
    there = near.wish.region or region_of(near.wish.zone)
    thing = _look(near.wish)[0]
    accelerator = thing.sold_as if isinstance(thing, TpuShape) else thing.accelerator if isinstance(thing, VertexMachine) else ""
    row = fits_vertex.row(accelerator, there) if near.wish.api == "vertex" else None
    return (
        near.wish.place != wish.place,
        there != here,
        continent_of(there) != continent_of(here),
        near.kind != "works" or (row is not None and row.by_allowlist and near.wish.use == "prediction"),
        Decimal("Infinity") if near.usd is None else near.usd,
        f"{near.wish.place} {near.wish.words()}",
    )


def _hour(wish: Wish, thing: Meant) -> Hour | None:
    """What all its machines cost an hour; None where a part has no known price, as a TPU on Vertex AI and GPUs attached there."""
    if isinstance(thing, VertexMachine):
        return _on_vertex(wish, thing)
    region = region_of(wish.zone)
    if wish.api == "vertex" or not region:
        return None
    hosts = thing.hosts if isinstance(thing, TpuShape) else 1
    nodes = hosts if wish.nodes is None or wish.nodes < 1 else wish.nodes
    try:
        return together(*((nodes * count // hosts, price) for count, price in _parts(thing, region, wish.provisioning)))
    except PriceUnknown:
        return None


def _on_vertex(wish: Wish, thing: VertexMachine) -> Hour | None:
    try:
        price = vertex_hour(thing.machine_type, wish.region, wish.use, wish.provisioning, attached=not thing.built_in)
    except PriceUnknown:
        return None
    return together((max(1, wish.nodes or 1), price))


def _parts(thing: TpuShape | GpuMachine | Attached, region: str, way: str) -> list[tuple[int, Price]]:
    """What one slice or machine is billed as."""
    if isinstance(thing, TpuShape):
        return [(thing.chips, tpu_chip_hour(thing, region, way))]
    machine = (1, machine_hour(thing.machine_type, region, way))
    return [machine] if isinstance(thing, GpuMachine) else [machine, (thing.gpus, gpu_hour(thing.accelerator_type, region, way))]
