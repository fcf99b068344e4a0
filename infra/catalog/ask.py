"""Questions that people ask of the catalogue: where is it, what does a zone have, what can be had for so much."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from infra.catalog import gpu_zones, zones
from infra.catalog.gpu import Gpu, gpus
from infra.catalog.gpu_machines import Attachment, GpuMachine, attachments, machines
from infra.catalog.named import resolve
from infra.catalog.places import check_region, continent_of, region_of, regions
from infra.catalog.tables import Trust
from infra.catalog.things import Hour, Thing, accelerator_of, hour, memory_of, name_of
from infra.catalog.tpu import TpuShape, shapes
from infra.catalog.unknown import NoMatch
from infra.errors import nearest

WAYS = ("on-demand", "spot", "flex-start", "reservation", "calendar")


class NoZone(NoMatch):
    """A place that is no zone."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way of selling."""

    name: str
    sold: bool | None
    """None where no source tells."""
    hour: Hour | None
    """None where no price is known, or where it is not sold so."""


@dataclass(frozen=True, slots=True)
class Offered:
    """An accelerator in a zone."""

    accelerator: str
    priced_as: str
    """What the prices are of."""
    zone: str
    region: str
    trust: Trust
    ways: tuple[Way, ...]
    source: str
    as_of: str
    notes: str

    @property
    def confirmed(self) -> bool:
        """Whether more than one weak source has it there."""
        return self.trust != "low"

    @property
    def cheapest(self) -> Decimal:
        """The lowest known price; without one, infinity, which no price is."""
        return min((way.hour.usd for way in self.ways if way.hour), default=Decimal("Infinity"))


@dataclass(frozen=True, slots=True)
class Where:
    """Where a thing is."""

    asked: str
    name: str
    offers: tuple[Offered, ...]
    unconfirmed: int
    """How many weak rows there are, shown or not."""


@dataclass(frozen=True, slots=True)
class Zone:
    """What a zone has."""

    zone: str
    offers: tuple[Offered, ...]
    near: tuple[str, ...]
    """Zones of the same region that have something, where nothing is known of this one."""


@dataclass(frozen=True, slots=True)
class Place:
    """A zone that may sell a thing in some way."""

    zone: str
    region: str
    sold: bool | None
    """None where no source tells."""


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that fits, in the region where it costs least."""

    name: str
    accelerator: str
    memory_gib: int
    region: str
    zones: tuple[str, ...]
    sold: bool | None
    """Whether a source says that it is sold this way in one of the zones; None where none tells."""
    hour: Hour
    elsewhere: tuple[tuple[str, Decimal], ...]
    """Further regions at most as dear as asked, cheapest first."""


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Things with memory enough, in regions for which no price is known."""

    accelerator: str
    names: tuple[str, ...]
    regions: tuple[str, ...]


def where(name: str, *, unconfirmed: bool = False, near: str | None = None) -> Where:
    """
    The zones that have what a name stands for: cheapest first, or nearest to a region or zone. A GPU is priced as the smallest machine
    that has it, by series.

    Raises:
        UnknownName: It stands for no one thing.
        UnknownPlace: *near* is in no known region.
    """
    found = resolve(name)
    right, things = _things(found)
    region = near if near is None or near in regions() else region_of(near)
    if near is not None and region not in regions():
        check_region(near)

    def order(one: Offered) -> tuple[bool, bool, bool, Decimal, str]:
        other_region = region is not None and one.region != region
        far = region is not None and continent_of(one.region) != continent_of(region)
        return not one.confirmed, other_region, far, one.cheapest, one.zone

    offers = sorted((_offered(thing, row) for thing in things for row in _rows(thing)), key=order)
    weak = sum(not one.confirmed for one in offers)
    return Where(name, right, tuple(one for one in offers if unconfirmed or one.confirmed), weak)


def _things(found: TpuShape | GpuMachine | Gpu) -> tuple[str, tuple[Thing, ...]]:
    if isinstance(found, Gpu):
        return found.accelerator_type, tuple(_smallest(found.accelerator_type))
    return name_of(found), (found,)


def _smallest(accelerator_type: str) -> Iterator[GpuMachine | Attachment]:
    """The smallest machine of each series with one whole GPU or more; for a GPU that is attached, one of it."""
    taken = set()
    for one in sorted(machines().values(), key=lambda one: (one.gpus, one.vcpus)):
        if one.accelerator_type == accelerator_type and one.gpus >= 1 and one.series not in taken:
            taken.add(one.series)
            yield one
    yield from (one for one in attachments() if one.accelerator_type == accelerator_type and one.gpus == 1)


Row = tuple[zones.Offer | gpu_zones.GpuOffer, Callable[[str], bool | None]]
"""A row of the tables of zones, and what it says of each way of selling a thing."""


def _rows(thing: Thing) -> Iterator[Row]:
    if isinstance(thing, TpuShape):
        yield from ((offer, offer.sells) for offer in zones.offers(thing))
    else:
        yield from ((offer, partial(offer.sells, thing)) for offer in gpu_zones.offers(thing))


def _offered(thing: Thing, row: Row) -> Offered:
    offer, sells = row
    ways = [(way, sells(way)) for way in WAYS]
    return Offered(
        accelerator=accelerator_of(thing),
        priced_as=name_of(thing),
        zone=offer.zone,
        region=offer.region,
        trust=offer.trust,
        ways=tuple(Way(way, sold, None if sold is False else hour(thing, offer.region, way)) for way, sold in ways),
        source=offer.source,
        as_of=offer.as_of,
        notes=offer.notes,
    )


def zone(name: str) -> Zone:
    """
    What a zone has, weak sources included. A TPU is priced as its smallest slice, a GPU as the smallest machine that has it.

    Raises:
        NoZone: It is a region, or no place that could be a zone.
    """
    rows = list(_everywhere())
    known = sorted({row[0].zone for _, row in rows})
    if name in regions():
        raise NoZone(name, "is a region, not a zone", (one for one in known if region_of(one) == name))
    region = region_of(name)
    if name not in known and (region not in regions() or not re.fullmatch(r"[a-z]|ai\d[a-z]", name.removeprefix(f"{region}-"))):
        raise NoZone(name, "is not a zone of Google Cloud", nearest(name.lower(), known))
    offers = [_offered(thing, row) for thing, row in rows if row[0].zone == name]
    here = sorted(offers, key=lambda one: (not one.confirmed, one.accelerator))
    near = () if here else tuple(one for one in known if region_of(one) == region)
    return Zone(name, tuple(here), near)


def everything() -> Iterator[Offered]:
    """What every zone has, weak sources included; each accelerator priced as the smallest thing that has it."""
    yield from (_offered(thing, row) for thing, row in _everywhere())


def _everywhere() -> Iterator[tuple[Thing, Row]]:
    """Every row, with the smallest thing that it is about."""
    smallest = {one.sold_as: one for one in sorted(shapes().values(), key=lambda one: -one.chips)}
    hosts = (host for name in gpus() for host in _smallest(name))
    yield from ((thing, row) for thing in (*smallest.values(), *hosts) for row in _rows(thing))


def search(
    *, memory_gib: Decimal = Decimal(0), max_usd_hour: Decimal | None = None, way: str = "on-demand", region: str | None = None
) -> tuple[tuple[Found, ...], tuple[Unpriced, ...]]:
    """
    What has at least this memory in all and costs at most so much an hour, cheapest first; and apart, what has no known price.

    Only zones that more than one weak source has, and that are not known to sell it in other ways only.

    Raises:
        UnknownPlace: There is no such region.
    """
    if region is not None:
        check_region(region)
    every: list[Thing] = [*shapes().values(), *machines().values(), *_attached()]
    found, unpriced = [], []
    for thing in every:
        if memory_of(thing) < memory_gib:
            continue
        places = [place for place in _sold(thing, way) if region in (None, place.region)]
        hours = {one: hour(thing, one, way) for one in {place.region for place in places}}
        fitting = {one: cost for one, cost in hours.items() if cost and (max_usd_hour is None or cost.usd_high <= max_usd_hour)}
        if blank := tuple(sorted(one for one, cost in hours.items() if cost is None)):
            unpriced.append((thing, blank))
        if fitting:
            found.append(_found(thing, fitting, places))
    return tuple(sorted(found, key=lambda one: (one.hour.usd, one.name))), _grouped(unpriced)


def _found(thing: Thing, hours: dict[str, Hour], places: Iterable[Place]) -> Found:
    first, *rest = sorted(hours, key=lambda one: (hours[one].usd, one))
    here = [place for place in places if place.region == first]
    return Found(
        name=name_of(thing),
        accelerator=accelerator_of(thing),
        memory_gib=memory_of(thing),
        region=first,
        zones=tuple(sorted(place.zone for place in here)),
        sold=any(place.sold for place in here) or None,
        hour=hours[first],
        elsewhere=tuple((one, hours[one].usd) for one in rest),
    )


def _attached() -> Iterator[Attachment]:
    """Each number of GPUs on N1 once: rules for some zones limit the machine, not the number."""
    yield from (one for one in attachments() if not one.zones)


def _sold(thing: Thing, way: str) -> tuple[Place, ...]:
    """Where a thing may be sold this way, weak sources left out."""
    rows = ((offer, sells(way)) for offer, sells in _rows(thing) if offer.trust != "low")
    return tuple(Place(offer.zone, offer.region, sold) for offer, sold in rows if sold is not False)


def _grouped(unpriced: Iterable[tuple[Thing, tuple[str, ...]]]) -> tuple[Unpriced, ...]:
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for thing, where_unknown in unpriced:
        groups.setdefault((accelerator_of(thing), where_unknown), []).append(name_of(thing))
    return tuple(Unpriced(accelerator, tuple(names), where_unknown) for (accelerator, where_unknown), names in groups.items())
