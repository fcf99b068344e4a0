"""Which zone offers which GPU on which machines, and how it is sold there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from infra.catalog import machine_prices
from infra.catalog.gpu_machines import Attached, Attachment, GpuMachine
from infra.catalog.offers import Reason, reason_against
from infra.catalog.offers import nearest as nearest_of
from infra.catalog.places import region_of, regions
from infra.catalog.tables import Trust, rows, trust_of, words

Host = GpuMachine | Attachment | Attached
"""A machine type with GPUs, or GPUs on a machine of N1."""


@dataclass(frozen=True, slots=True)
class GpuOffer:
    """A GPU on the machines of one series in a zone."""

    accelerator_type: str
    series: str
    """First parts of the machine type: `a3-highgpu`, `g2-standard`; `n1` for attached GPUs."""
    zone: str
    region: str
    trust: Trust
    capacity_types: frozenset[str]
    """How a source says it is sold there. What is not listed is unknown."""
    source: str
    as_of: str
    notes: str

    def sells(self, host: Host, provisioning: str) -> bool | None:
        """Whether *host* is sold this way here: None where no source tells."""
        if never_sold(host, provisioning):
            return False
        return True if provisioning in self.capacity_types else None


class GpuNotOffered(ValueError):  # noqa: N818 - reads as the finding it is
    """A GPU that cannot be had in a zone as asked."""

    def __init__(self, host: Host, zone: str, reason: Reason, close: tuple[GpuOffer, ...]) -> None:
        self.reason: Reason = reason
        self.nearest = close
        """Offers that would do, nearest first."""
        super().__init__(f"{zone}: {host.accelerator_type} on {host.series}: {reason}")


def never_sold(host: Host, provisioning: str) -> bool:
    """Whether a source rules this way out for a machine, in every zone. Nothing is ruled out for GPUs on N1."""
    return isinstance(host, GpuMachine) and (provisioning in host.not_sold or bool(host.sold_only and provisioning not in host.sold_only))


@cache
def every() -> tuple[GpuOffer, ...]:
    """All rows."""
    return tuple(
        GpuOffer(
            accelerator_type=row["accelerator_type"],
            series=row["series"],
            zone=row["zone"],
            region=row["region"],
            trust=trust_of(row),
            capacity_types=frozenset(words(row["capacity_types"])),
            source=row["source"],
            as_of=row["as_of"],
            notes=row["notes"],
        )
        for row in rows("gpu_zones")
    )


@cache
def _by_zone() -> Mapping[tuple[str, str, str], GpuOffer]:
    return MappingProxyType({(one.accelerator_type, one.series, one.zone): one for one in every()})


def offer(host: Host, zone: str) -> GpuOffer | None:
    """What a source says of a host in a zone; None where none names it there."""
    return _by_zone().get((host.accelerator_type, host.series, zone))


def in_zone(zone: str) -> tuple[GpuOffer, ...]:
    """What a zone offers."""
    return tuple(offer for offer in every() if offer.zone == zone)


def offers(host: Host) -> tuple[GpuOffer, ...]:
    """Where a host is offered, weak sources included."""
    return _by_host().get((host.accelerator_type, host.series), ())


@cache
def _by_host() -> Mapping[tuple[str, str], tuple[GpuOffer, ...]]:
    found: dict[tuple[str, str], list[GpuOffer]] = {}
    for one in every():
        found.setdefault((one.accelerator_type, one.series), []).append(one)
    return MappingProxyType({host: tuple(several) for host, several in found.items()})


def check_offered(host: Host, zone: str, provisioning: str) -> GpuOffer:
    """
    The offer of *host* in *zone*.

    Raises:
        GpuNotOffered: `unknown` (no source has it there, and none claims to be complete), `unconfirmed` (only a source of low trust), or
            `not-sold` (not this way).
    """
    found = next((offer for offer in offers(host) if offer.zone == zone), None)
    reason = reason_against(found, lambda offer: offer.sells(host, provisioning), complete=region_of(zone) not in regions())
    if reason is not None:
        raise GpuNotOffered(host, zone, reason, nearest(host, zone, provisioning))
    assert found is not None
    return found


def nearest(host: Host, zone: str, provisioning: str) -> tuple[GpuOffer, ...]:
    """Offers that would do, nearest first."""
    return nearest_of(
        offers(host),
        zone,
        sells=lambda offer: offer.sells(host, provisioning),
        price=lambda region: _price(host, region, provisioning),
    )


def _price(host: Host, region: str, provisioning: str) -> Decimal:
    if isinstance(host, GpuMachine):
        return machine_prices.machine_hour(host.machine_type, region, provisioning).usd
    return machine_prices.gpu_hour(host.accelerator_type, region, provisioning).usd
