"""What the stack's accelerators cost an hour, by region and way of buying."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from infra import queued_nodes
from infra.catalog import ask
from infra.catalog.gpu import Gpu
from infra.catalog.named import UnknownName, resolve
from infra.catalog.things import Hour, name_of
from infra.declared import Declared

WAYS = ask.WAYS


@dataclass(frozen=True, slots=True)
class Region:
    """A region that has the accelerator."""

    name: str
    own: bool
    """Whether it is the stack's."""
    hours: dict[str, Hour]
    """By way of buying; one that is not here has no known price, or is not sold."""
    not_sold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Rates:
    """One thing that the stack uses, and what it costs an hour in each region, cheapest first."""

    name: str
    used_by: tuple[str, ...]
    regions: tuple[Region, ...]
    left_out: tuple[str, ...]
    """Other regions, which one weak source alone has."""

    @property
    def ways(self) -> tuple[str, ...]:
        """Ways that have a price somewhere."""
        return tuple(way for way in WAYS if any(way in region.hours for region in self.regions))

    def unknown(self, way: str) -> list[str]:
        """Regions where it may be sold this way, at a price that is not known."""
        return [region.name for region in self.regions if way not in region.hours and way not in region.not_sold]


def rates(resources: Iterable[Declared], region: str) -> list[Rates]:
    """Each accelerator that *resources* use, once, in the order of their declaration."""
    used: dict[str, list[str]] = {}
    for resource in resources:
        for name in _names(resource):
            used.setdefault(name, []).append(resource.name)
    return [_rates(name, tuple(dict.fromkeys(by)), region) for name, by in used.items()]


def _names(resource: Declared) -> Iterator[str]:
    """What the catalogue calls the accelerators of a resource. A machine without any has none; what is not known yet is left out."""
    if resource.type == queued_nodes.QUEUED:
        for one in queued_nodes.asked(resource):
            yield from _names(one.node)
        return
    machine = ("machineType", "guestAccelerators.0.type")
    keys = {
        "gcp:compute/instance:Instance": machine,
        "gcp:compute/instanceTemplate:InstanceTemplate": machine,
        "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate": machine,
        "gcp:tpu/v2Vm:V2Vm": ("acceleratorType",),
    }.get(resource.type, ())
    for key in keys:
        said = resource.get(key)
        if isinstance(said, str):
            try:
                found = resolve(said.rpartition("/")[2])
            except UnknownName:
                continue
            yield found.accelerator_type if isinstance(found, Gpu) else name_of(found)


def _rates(name: str, used_by: tuple[str, ...], own: str) -> Rates:
    every = ask.where(name, unconfirmed=True).offers
    shown: dict[str, list[ask.Offered]] = {}
    for offer in every:
        if offer.confirmed or offer.region == own:
            shown.setdefault(offer.region, []).append(offer)
    regions = [_region(one, offers, own) for one, offers in shown.items()]
    return Rates(
        name=name,
        used_by=used_by,
        regions=tuple(sorted(regions, key=_cheapest)),
        left_out=tuple(sorted({offer.region for offer in every} - set(shown))),
    )


def _region(name: str, offers: list[ask.Offered], own: str) -> Region:
    """The zones of a region together: prices are the region's; it is not sold where no zone sells it."""
    hours: dict[str, Hour] = {}
    for offer in offers:
        for way in offer.ways:
            if way.hour and (way.name not in hours or way.hour.usd < hours[way.name].usd):
                hours[way.name] = way.hour
    not_sold = frozenset(way for way in WAYS if all(one.sold is False for offer in offers for one in offer.ways if one.name == way))
    return Region(name, name == own, hours, not_sold)


def _cheapest(region: Region) -> tuple[bool, object, str]:
    prices = [hour.usd for hour in region.hours.values()]
    return not prices, min(prices, default=0), region.name
