"""
What the same hours of work cost elsewhere: other accelerators of Google Cloud, machines of AWS, a server of one's own.

Compared are list prices and the peaks of data sheets. How fast a model runs on any of it is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeVar

from infra.catalog import gpu_zones, zones
from infra.catalog.alternatives import Rental, Server, rentals, servers
from infra.catalog.gpu import Gpu
from infra.catalog.gpu_machines import GpuMachine, attachments, machines
from infra.catalog.named import resolve
from infra.catalog.peak import Peak, peaks
from infra.catalog.places import check_region
from infra.catalog.tables import Trust
from infra.catalog.things import Hour, Thing, hour, name_of
from infra.catalog.tpu import TpuShape, chips, shapes

WAYS = ("on-demand", "spot", "flex-start")
"""Ways of buying on Google Cloud that are compared. A reservation costs what on-demand does, used or not."""
GPUS = ("nvidia-tesla-t4", "nvidia-l4", "nvidia-tesla-a100", "nvidia-a100-80gb", "nvidia-h100-80gb")
"""GPUs of Google Cloud that everything is compared with."""
DAYS_A_YEAR, MONTHS_A_YEAR = 365, 12
"""A month is a twelfth of 365 days: 730 hours where all 24 are used."""

Bounds = tuple[Decimal, Decimal]
"""Low and high; equal where sources agree."""
Provider = Literal["Google Cloud", "AWS", "own"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to buy one thing: what it costs for an hour that is used."""

    name: str
    provider: Provider
    way: str
    region: str
    """Region of the provider; empty for a server of one's own."""
    peak: Peak
    """Of one of its accelerators."""
    accelerators: Decimal
    usd_hour: Bounds
    month_hours: Decimal
    below_on_demand: Decimal | None
    """Percent that it costs less than on demand in the same region; None where it is on demand, or cannot be had so at a known price."""
    kw: Bounds | None
    """Of the accelerators alone at their highest power; of an own server, up to that of all of it. None where unknown."""
    trust: Trust
    source: str
    as_of: str
    notes: str
    asked: bool = False
    sold: bool | None = None
    """Whether a source says that it is sold so in the region; None where none tells."""
    on_demand: Hour | None = None
    """The list price on demand in the same region, where it is bought otherwise and that price is known: it bounds spot."""

    @property
    def usd_month(self) -> Bounds:
        return _times(self.usd_hour, self.month_hours)

    @property
    def bf16_tflops(self) -> Decimal | None:
        """Dense peak of all accelerators together."""
        return None if self.peak.bf16_tflops is None else self.peak.bf16_tflops * self.accelerators

    @property
    def usd_pflop_hour(self) -> Bounds | None:
        """USD for an hour of 1 PFLOP/s at the dense bf16 peak."""
        return None if self.bf16_tflops is None else _times(self.usd_hour, 1000 / self.bf16_tflops)

    @property
    def usd_tb_s_hour(self) -> Bounds | None:
        """USD for an hour of 1 TB/s of memory bandwidth."""
        return None if self.peak.memory_gb_s is None else _times(self.usd_hour, 1000 / (self.peak.memory_gb_s * self.accelerators))

    @property
    def kwh_month(self) -> Bounds | None:
        return None if self.kw is None else _times(self.kw, self.month_hours)


@dataclass(frozen=True, slots=True)
class Missing:
    """What cannot be compared, and why."""

    name: str
    way: str
    why: str
    asked: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that a name is compared with: least USD for peak compute first, then what has no known peak by USD an hour."""

    asked: str
    name: str
    alternatives: tuple[Alternative, ...]
    missing: tuple[Missing, ...]


def month_hours(hours_a_day: Decimal) -> Decimal:
    """Hours of a month in which so many are used a day."""
    return hours_a_day * DAYS_A_YEAR / MONTHS_A_YEAR


def compare(
    name: str, *, hours_a_day: Decimal = Decimal(24), region: str | None = None, years: Decimal = Decimal(3), usd_kwh: Decimal | None = None
) -> Comparison:
    """
    What a name stands for, and what is near it in peak compute, for so many hours a day.

    Args:
        hours_a_day: Above 0, at most 24.
        region: Of Google Cloud. (default: for each thing the one where it costs least)
        years: Over which the price of an own server is spread.
        usd_kwh: Price of electricity for an own server. (default: unknown, and left out)

    Raises:
        UnknownName: It stands for no one thing.
        UnknownPlace: There is no such region.
        ValueError: Hours, years or the price of electricity are not what they may be.
    """
    if not 0 < hours_a_day <= 24 or years <= 0 or (usd_kwh is not None and usd_kwh < 0):
        raise ValueError(f"no comparison for {hours_a_day} hours a day over {years} years at {usd_kwh} USD a kWh")
    if region is not None:
        check_region(region)
    found = resolve(name)
    subject = _subject(found)
    target = _tflops(subject[0])
    in_month = month_hours(hours_a_day)
    alternatives: list[Alternative] = []
    missing: list[Missing] = []
    for group in (subject, *_others(subject[0])):
        for way in WAYS:
            offers = [one for thing in group if (one := _cheapest(thing, way, region, in_month, asked=group is subject))]
            if offers:
                alternatives.append(_nearest(offers, target, lambda one: one.bf16_tflops))
            else:
                thing = _nearest(group, target, _tflops)
                missing.append(Missing(name_of(thing), way, _why_not(thing, way, region), group is subject))
    for same in _grouped(rentals()):
        rented = [_rented(one, hours_a_day, in_month) for one in same]
        alternatives.append(_nearest(rented, target, lambda one: one.bf16_tflops))
    alternatives += (_owned(one, hours_a_day, in_month, years, usd_kwh) for one in servers())
    right = found.accelerator_type if isinstance(found, Gpu) else name_of(subject[0])
    return Comparison(name, right, tuple(sorted(alternatives, key=_order)), tuple(missing))


def _order(one: Alternative) -> tuple[bool, Decimal, Decimal, str, str]:
    """Least for peak compute first, by the high bound; without a known peak last."""
    unit = one.usd_pflop_hour
    return unit is None, unit[1] if unit else one.usd_hour[1], one.usd_hour[1], one.name, one.way


def _subject(found: Thing | Gpu) -> Sequence[Thing]:
    """What is asked, as things that can be bought: a GPU as every machine with it, of which the smallest that is sold is taken."""
    return _hosts(found.accelerator_type) if isinstance(found, Gpu) else (found,)


def _others(subject: Thing) -> Iterator[Sequence[Thing]]:
    """Every other accelerator, as all that can be bought of it on one host, smallest first."""
    own = _peak(subject).name
    yield from (_slices(name) for name in chips() if name != own)
    yield from (_hosts(name) for name in GPUS if name != own)


def _slices(generation: str) -> Sequence[TpuShape]:
    """The slices of one host, fewest chips first."""
    return sorted((one for one in shapes().values() if one.generation == generation and one.single_host), key=lambda one: one.chips)


def _hosts(accelerator_type: str) -> Sequence[Thing]:
    """The smallest machine of each series for each number of whole GPUs, fewest GPUs first."""
    found: dict[tuple[str, Decimal], Thing] = {}
    for one in sorted(machines().values(), key=lambda one: (one.gpus, one.vcpus)):
        if one.accelerator_type == accelerator_type and one.gpus >= 1:
            found.setdefault((one.series, one.gpus), one)
    for rule in attachments():
        if rule.accelerator_type == accelerator_type and not rule.zones:
            found.setdefault((rule.series, Decimal(rule.gpus)), rule)
    return tuple(found.values())


def _peak(thing: Thing) -> Peak:
    return peaks()[thing.generation if isinstance(thing, TpuShape) else thing.accelerator_type]


def _count(thing: Thing) -> Decimal:
    if isinstance(thing, TpuShape):
        return Decimal(thing.chips)
    return Decimal(thing.gpus)


def _tflops(thing: Thing) -> Decimal | None:
    one = _peak(thing).bf16_tflops
    return None if one is None else one * _count(thing)


Sized = TypeVar("Sized")


def _nearest(things: Sequence[Sized], target: Decimal | None, tflops: Callable[[Sized], Decimal | None]) -> Sized:
    """The one whose peak is nearest by ratio; the first of several, and where a peak is unknown."""

    def ratio(one: Sized) -> Decimal:
        peak = tflops(one)
        return Decimal(1) if target is None or peak is None else max(peak / target, target / peak)

    return min(things, key=ratio)


def _places(thing: Thing, way: str) -> Iterator[tuple[str, bool | None]]:
    """Regions where more than one weak source has a thing, and whether one says that it is sold this way there."""
    if isinstance(thing, TpuShape):
        yield from ((one.region, one.sells(way)) for one in zones.offers(thing) if one.trust != "low")
    else:
        yield from ((one.region, one.sells(thing, way)) for one in gpu_zones.offers(thing) if one.trust != "low")


def _cheapest(thing: Thing, way: str, region: str | None, month_hours: Decimal, *, asked: bool) -> Alternative | None:
    """A thing where it costs least this way; None where it is not sold so, or no price is known."""
    sold: dict[str, bool | None] = {}
    for place, told in _places(thing, way):
        if region in (None, place) and told is not False:
            sold[place] = sold.get(place) or told
    hours = {place: cost for place in sold if (cost := hour(thing, place, way))}
    if not hours:
        return None
    here = min(hours, key=lambda place: (hours[place].usd_high, place))
    cost, peak, count = hours[here], _peak(thing), _count(thing)
    usual = None if way == "on-demand" else hour(thing, here, "on-demand")
    buyable = any(place == here and told is not False for place, told in _places(thing, "on-demand"))
    kw = None if peak.power_watts is None else peak.power_watts * count / 1000
    return Alternative(
        name=name_of(thing),
        provider="Google Cloud",
        way=way,
        region=here,
        peak=peak,
        accelerators=count,
        usd_hour=(cost.usd_low, cost.usd_high),
        month_hours=month_hours,
        below_on_demand=100 - 100 * cost.usd / usual.usd if usual and buyable else None,
        kw=None if kw is None else (kw, kw),
        trust=cost.trust,
        source=cost.source,
        as_of=cost.as_of,
        notes=_notes(thing),
        asked=asked,
        sold=sold[here],
        on_demand=usual,
    )


def _notes(thing: Thing) -> str:
    if isinstance(thing, TpuShape):
        lone = thing.generation == "tpu7x" and thing.chips == 1
        return "priced by the machine with 4 chips; no source says that one with 1 is sold" if lone else ""
    return "" if isinstance(thing, GpuMachine) else "the smallest machine of N1 included"


def _why_not(thing: Thing, way: str, region: str | None) -> str:
    told = [sold for place, sold in _places(thing, way) if region in (None, place)]
    if not told:
        return f"no zone{f' of {region}' if region else ''} is known to have it"
    return "not sold so" if all(sold is False for sold in told) else "no price is known"


def _rented(one: Rental, hours_a_day: Decimal, month_hours: Decimal) -> Alternative:
    """A machine of AWS. Of a block, the hours that are not used are paid for too: one block a day."""
    usd = one.usd if one.hours == 1 else one.usd / hours_a_day
    peak = peaks()[one.accelerator]
    kw = None if peak.power_watts is None else Decimal(peak.power_watts * one.accelerators) / 1000
    return Alternative(
        name=one.name,
        provider="AWS",
        way=one.way,
        region=one.region,
        peak=peak,
        accelerators=Decimal(one.accelerators),
        usd_hour=(usd, usd),
        month_hours=month_hours,
        below_on_demand=None,
        kw=None if kw is None else (kw, kw),
        trust=one.trust,
        source=one.source,
        as_of=one.as_of,
        notes=one.notes,
        sold=True,
    )


def _owned(one: Server, hours_a_day: Decimal, month_hours: Decimal, years: Decimal, usd_kwh: Decimal | None) -> Alternative:
    """A server of one's own: paid for whole, used so many hours a day, and drawing nothing in between."""
    peak = peaks()[one.accelerator]
    hours = years * DAYS_A_YEAR * hours_a_day
    watts = peak.power_watts
    alone = None if watts is None else Decimal(watts * one.accelerators) / 1000
    known = [kw for kw in (alone, one.power_kw) if kw is not None]
    kw = (min(known), max(known)) if known else None
    energy = (Decimal(0), Decimal(0)) if kw is None or usd_kwh is None else _times(kw, usd_kwh)
    paid = "with" if kw and usd_kwh is not None else "without"
    return Alternative(
        name=one.name,
        provider="own",
        way="purchase",
        region="",
        peak=peak,
        accelerators=Decimal(one.accelerators),
        usd_hour=(one.usd_low / hours + energy[0], one.usd_high / hours + energy[1]),
        month_hours=month_hours,
        below_on_demand=None,
        kw=kw,
        trust=one.trust,
        source=one.source,
        as_of=one.as_of,
        notes=f"its price over {years} years, {paid} electricity; no place, cooling, network, repair and people; {one.notes}",
    )


def _times(bounds: Bounds, factor: Decimal) -> Bounds:
    return bounds[0] * factor, bounds[1] * factor


def _grouped(every: Iterable[Rental]) -> list[list[Rental]]:
    """By accelerator and way of buying."""
    groups: dict[tuple[str, str], list[Rental]] = {}
    for one in every:
        groups.setdefault((one.accelerator, one.way), []).append(one)
    return list(groups.values())
