"""Which zone offers which TPU, and how it is sold there."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Literal

from infra.catalog import prices
from infra.catalog.places import continent_of, region_of
from infra.catalog.tables import Trust, rows, trust_of
from infra.catalog.tpu import TpuShape

FLEX_START = "flex-start"

Reason = Literal["impossible", "unconfirmed", "not-sold"]


@dataclass(frozen=True, slots=True)
class Offer:
    """A TPU in a zone."""

    sold_as: str
    zone: str
    region: str
    trust: Trust
    capacity_types: frozenset[str]
    """How a source says it is sold there; empty where none tells. What is not listed is unknown, but for `flex-start`."""
    source: str
    as_of: str
    notes: str

    def sells(self, provisioning: str) -> bool | None:
        """
        Whether it is sold this way: None where no source tells.

        Google lists the zones of flex-start one by one: where that list was read, an absence is a no, unless the region has a price for it.
        Source: https://docs.cloud.google.com/tpu/docs/consumption-options, read 2026-11.
        """
        if provisioning in self.capacity_types:
            return True
        listed = provisioning == FLEX_START and bool(self.capacity_types)
        return False if listed and not prices.is_priced(self.sold_as, self.region, provisioning) else None


class NotOffered(ValueError):  # noqa: N818 - reads as the finding it is
    """A shape that cannot be had in a zone as asked."""

    def __init__(self, shape: TpuShape, zone: str, reason: Reason, close: tuple[Offer, ...]) -> None:
        self.reason: Reason = reason
        self.nearest = close
        """Offers that would do, nearest first."""
        super().__init__(f"{zone}: {shape.accelerator_type}: {reason}")


@cache
def _offers() -> tuple[Offer, ...]:
    return tuple(
        Offer(
            sold_as=row["accelerator"],
            zone=row["zone"],
            region=row["region"],
            trust=trust_of(row),
            capacity_types=frozenset(filter(None, row["capacity_types"].split(";"))),
            source=row["source"],
            as_of=row["as_of"],
            notes=row["notes"],
        )
        for row in rows("zones")
    )


def in_zone(zone: str) -> tuple[Offer, ...]:
    """What a zone offers."""
    return tuple(offer for offer in _offers() if offer.zone == zone)


def offers(shape: TpuShape) -> tuple[Offer, ...]:
    """Where a shape is offered, weak sources included."""
    return tuple(offer for offer in _offers() if offer.sold_as == shape.sold_as)


def check_offered(shape: TpuShape, zone: str, provisioning: str) -> Offer:
    """
    The offer of *shape* in *zone*.

    Raises:
        NotOffered: `impossible` (no source has it there), `unconfirmed` (only a source of low trust), or `not-sold` (not this way).
    """
    found = next((offer for offer in offers(shape) if offer.zone == zone), None)
    if found is None:
        reason: Reason = "impossible"
    elif found.trust == "low":
        reason = "unconfirmed"
    elif found.sells(provisioning) is False:
        reason = "not-sold"
    else:
        return found
    raise NotOffered(shape, zone, reason, nearest(shape, zone, provisioning))


def nearest(shape: TpuShape, zone: str, provisioning: str) -> tuple[Offer, ...]:
    """Offers that would do: same region first, then same continent, then firmer sources, then the lower price, then by name."""

    def distance(offer: Offer) -> tuple[bool, bool, bool, Decimal, str]:
        try:
            price = prices.tpu_chip_hour(shape, offer.region, provisioning).usd
        except prices.PriceUnknown:
            price = Decimal("Infinity")
        return (
            offer.region != region_of(zone),
            continent_of(offer.region) != continent_of(zone),
            offer.trust != "high",
            price,
            offer.zone,
        )

    able = (one for one in offers(shape) if one.trust != "low" and one.sells(provisioning) is not False)
    return tuple(sorted(able, key=distance))
