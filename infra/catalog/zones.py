"""Which zone offers which TPU, and how it is sold there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from infra.catalog import prices
from infra.catalog.offers import Reason, reason_against
from infra.catalog.offers import nearest as nearest_of
from infra.catalog.places import region_of, regions
from infra.catalog.tables import Trust, rows, trust_of
from infra.catalog.tpu import TpuShape

FLEX_START = "flex-start"
FLEX_START_SOURCE = "https://docs.cloud.google.com/tpu/docs/consumption-options, read 2026-11"
PAGE = "https://docs.cloud.google.com/tpu/docs/regions-zones, read 2026-11: the United States in full, Europe and Asia in part"


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
def every() -> tuple[Offer, ...]:
    """All rows."""
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


@cache
def _by_zone() -> Mapping[tuple[str, str], Offer]:
    return MappingProxyType({(one.sold_as, one.zone): one for one in every()})


def offer(sold_as: str, zone: str) -> Offer | None:
    """What a source says of a TPU, by its name in the tables, in a zone; None where none names it there."""
    return _by_zone().get((sold_as, zone))


def in_zone(zone: str) -> tuple[Offer, ...]:
    """What a zone offers."""
    return tuple(offer for offer in every() if offer.zone == zone)


def offers(shape: TpuShape) -> tuple[Offer, ...]:
    """Where a shape is offered, weak sources included."""
    return _by_name().get(shape.sold_as, ())


@cache
def _by_name() -> Mapping[str, tuple[Offer, ...]]:
    found: dict[str, list[Offer]] = {}
    for one in every():
        found.setdefault(one.sold_as, []).append(one)
    return MappingProxyType({name: tuple(several) for name, several in found.items()})


def read_in_full(zone: str) -> bool:
    """Whether the list of TPUs that this zone would be in was read as a whole: of Google's page the part on the United States was."""
    return zone.startswith("us-")


def check_offered(shape: TpuShape, zone: str, provisioning: str) -> Offer:
    """
    The offer of *shape* in *zone*.

    Raises:
        NotOffered: `impossible` (a complete list lacks it), `unknown` (no source has it there), `unconfirmed` (only a source of low trust),
            or `not-sold` (not this way).
    """
    found = next((offer for offer in offers(shape) if offer.zone == zone), None)
    reason = reason_against(found, lambda offer: offer.sells(provisioning), complete=read_in_full(zone) or region_of(zone) not in regions())
    if reason is not None:
        raise NotOffered(shape, zone, reason, nearest(shape, zone, provisioning))
    assert found is not None
    return found


def nearest(shape: TpuShape, zone: str, provisioning: str) -> tuple[Offer, ...]:
    """Offers that would do, nearest first."""
    return nearest_of(
        offers(shape),
        zone,
        sells=lambda offer: offer.sells(provisioning),
        price=lambda region: prices.tpu_chip_hour(shape, region, provisioning).usd,
    )
