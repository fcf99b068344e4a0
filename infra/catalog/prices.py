"""List prices in USD, without tax, commitments or negotiated discounts. Exact, dated, and never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Literal

from infra.catalog.places import regions
from infra.catalog.tables import Trust, rows, trust_of
from infra.catalog.tpu import TpuShape

Item = Literal[
    "hyperdisk-balanced",
    "internet-egress",
    "logging",
    "nat-address",
    "nat-data",
    "nat-gateway",
    "nat-gateway-cap",
    "pd-balanced",
    "registry-storage",
    "storage-class-a",
    "storage-class-b",
    "storage-standard",
]


class PriceUnknown(LookupError):  # noqa: N818 - reads as the finding it is
    """The catalogue has no price. Nothing is guessed."""

    def __init__(self, item: str, region: str) -> None:
        self.item = item
        self.region = region
        super().__init__(f"no price of {item} in {region} is known")


@dataclass(frozen=True, slots=True)
class Price:
    """A price of one unit in USD."""

    item: str
    unit: str
    region: str
    """Region that it holds for; `all` where the source gives one rate for every region."""
    usd: Decimal
    usd_low: Decimal
    usd_high: Decimal
    """Bounds: both equal `usd` unless the sources disagree."""
    tier: str
    """Part of the usage it holds for, and what is free before it."""
    source: str
    as_of: str
    trust: Trust
    notes: str

    @property
    def bounded(self) -> bool:
        """Whether it is known only to lie between two figures."""
        return self.usd_low != self.usd_high


@cache
def _prices() -> Mapping[tuple[str, str, str], Price]:
    return MappingProxyType({(row["item"], row["region"], row["provisioning"]): _price(row) for row in rows("prices")})


def _price(row: dict[str, str]) -> Price:
    return Price(
        item=row["item"],
        unit=row["unit"],
        region=row["region"],
        usd=Decimal(row["usd"]),
        usd_low=Decimal(row["usd_low"] or row["usd"]),
        usd_high=Decimal(row["usd_high"] or row["usd"]),
        tier=row["tier"],
        source=row["source"],
        as_of=row["as_of"],
        trust=trust_of(row),
        notes=row["notes"],
    )


def price(item: Item, region: str) -> Price:
    """
    Price of an everyday item in a region.

    Raises:
        PriceUnknown: No source has one for this region, or there is no such region.
    """
    found = _prices().get((item, region, "")) or _prices().get((item, "all", ""))
    if found is None or region not in regions():
        raise PriceUnknown(item, region)
    return found


def is_priced(sold_as: str, region: str, provisioning: str) -> bool:
    """Whether a source prices a TPU, by its name in the tables, sold this way in this region."""
    return (sold_as, region, provisioning) in _prices()


def tpu_chip_hour(shape: TpuShape, region: str, provisioning: str) -> Price:
    """
    Price of one chip for an hour, its host included; a slice costs `shape.chips` times this.

    Args:
        provisioning: `on-demand`, `spot`, `flex-start` or `reservation`. A reservation is billed at the on-demand rate, used or not
            (https://cloud.google.com/compute/docs/instances/reservations-overview, read 2026-11); discounts are not applied.

    Raises:
        PriceUnknown: No source has one for this region and way of selling.
    """
    found = _prices().get((shape.sold_as, region, billed_as(provisioning)))
    if found is None:
        raise PriceUnknown(f"{shape.sold_as} chip-hour, {provisioning}", region)
    return as_billed(found, provisioning)


def billed_as(provisioning: str) -> str:
    """Whose rate is billed: for a reservation the on-demand one, used or not."""
    return "on-demand" if provisioning == "reservation" else provisioning


def as_billed(found: Price, provisioning: str) -> Price:
    """A price of `billed_as`, with what is to be known of it."""
    if provisioning == "reservation":
        return replace(found, trust="medium", notes="billed at the on-demand rate, used or not; no discount applied")
    return found
