"""List prices in USD, without tax, commitments or negotiated discounts. Exact, dated, and never guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from infra.catalog.places import regions
from infra.catalog.tables import Trust, find, trust_of
from infra.catalog.tpu import TpuShape

Item = Literal[
    "armor-policy",
    "armor-requests-global",
    "armor-requests-regional",
    "armor-rule",
    "autopilot-ephemeral-storage",
    "autopilot-memory",
    "autopilot-memory-spot",
    "autopilot-pd-balanced-premium",
    "autopilot-scale-out-arm-memory",
    "autopilot-scale-out-arm-memory-spot",
    "autopilot-scale-out-arm-vcpu",
    "autopilot-scale-out-arm-vcpu-spot",
    "autopilot-scale-out-memory",
    "autopilot-scale-out-memory-spot",
    "autopilot-scale-out-vcpu",
    "autopilot-scale-out-vcpu-spot",
    "autopilot-vcpu",
    "autopilot-vcpu-spot",
    "bigquery-query",
    "bigquery-read-api",
    "bigquery-slot-enterprise",
    "bigquery-slot-enterprise-plus",
    "bigquery-slot-standard",
    "bigquery-storage",
    "bigquery-storage-long-term",
    "bigquery-write-api",
    "build-minute",
    "dns-zone",
    "external-address",
    "external-address-idle",
    "external-address-spot",
    "filestore-basic-hdd",
    "gke-cluster",
    "gke-credit",
    "hyperdisk-balanced",
    "hyperdisk-balanced-pool",
    "hyperdisk-extreme",
    "hyperdisk-extreme-iops",
    "hyperdisk-ml",
    "hyperdisk-ml-throughput",
    "hyperdisk-throughput-pool",
    "internet-egress",
    "kms-hsm-key-version",
    "kms-hsm-key-version-over-2000",
    "kms-hsm-operations",
    "kms-key-version",
    "kms-operations",
    "lb-data-in",
    "lb-data-out",
    "lb-proxy",
    "lb-rule",
    "lb-rule-set",
    "lb-rule-set-global",
    "local-ssd",
    "local-ssd-flex-start",
    "local-ssd-spot",
    "logging",
    "monitoring-metrics",
    "monitoring-metrics-over-100000-mib",
    "monitoring-metrics-over-250000-mib",
    "monitoring-read-calls",
    "nat-address",
    "nat-data",
    "nat-gateway",
    "nat-gateway-cap",
    "pd-balanced",
    "pd-balanced-regional",
    "pd-extreme",
    "pd-extreme-iops",
    "pd-ssd",
    "pd-ssd-regional",
    "pd-standard",
    "pd-standard-regional",
    "pubsub-bigquery",
    "pubsub-messages",
    "pubsub-retained",
    "pubsub-storage",
    "registry-storage",
    "run-cpu",
    "run-cpu-idle",
    "run-cpu-instance",
    "run-memory",
    "run-memory-instance",
    "run-requests",
    "scheduler-job",
    "secret-operations",
    "secret-rotation",
    "secret-version",
    "snapshot",
    "storage-archive",
    "storage-archive-class-a",
    "storage-archive-class-b",
    "storage-archive-retrieval",
    "storage-autoclass",
    "storage-class-a",
    "storage-class-b",
    "storage-coldline",
    "storage-coldline-class-a",
    "storage-coldline-class-b",
    "storage-coldline-retrieval",
    "storage-nearline",
    "storage-nearline-class-a",
    "storage-nearline-class-b",
    "storage-nearline-retrieval",
    "storage-rapid",
    "storage-rapid-cache",
    "storage-rapid-cache-ingest",
    "storage-rapid-cache-out",
    "storage-standard",
    "trace-spans",
    "vertex-feature-store",
    "vertex-model-monitoring",
    "vertex-pd-ssd",
    "vertex-pipeline-run",
    "vertex-vector-search-build",
    "vertex-vector-search-e2-standard-2",
    "workbench-n1-memory",
    "workbench-n1-vcpu",
]

MULTI_REGIONS = ("asia", "asia1", "eu", "eur4", "nam4", "us")
"""Places that are no region and have prices of their own: Cloud Storage's, and for snapshots and BigQuery some of them."""

_FREE = re.compile(r"after ([0-9.]+) [^;]+? free")


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
    def free(self) -> Decimal:
        """What a month has free before the first billed unit, in units of the price; for a whole account or project."""
        match = _FREE.match(self.tier)
        return Decimal(match[1]) if match else Decimal(0)

    @property
    def bounded(self) -> bool:
        """Whether it is known only to lie between two figures."""
        return self.usd_low != self.usd_high


def _find(item: str, region: str, provisioning: str = "") -> Price | None:
    row = find("prices", item=item, region=region, provisioning=provisioning)
    return _price(row) if row else None


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
    Price of an everyday item in a region, or in one of `MULTI_REGIONS`.

    Raises:
        PriceUnknown: No source has one for this region, or there is no such region.
    """
    known = region in regions() or region in MULTI_REGIONS
    found = (_find(item, region) or _find(item, "all")) if known else None
    if found is None:
        raise PriceUnknown(item, region)
    return found


def is_priced(sold_as: str, region: str, provisioning: str) -> bool:
    """Whether a source prices a TPU, by its name in the tables, sold this way in this region."""
    return find("prices", item=sold_as, region=region, provisioning=provisioning) is not None


def tpu_chip_hour(shape: TpuShape, region: str, provisioning: str) -> Price:
    """
    Price of one chip for an hour, its host included; a slice costs `shape.chips` times this.

    Args:
        provisioning: `on-demand`, `spot`, `flex-start` or `reservation`. A reservation is billed at the on-demand rate, used or not
            (https://cloud.google.com/compute/docs/instances/reservations-overview, read 2026-11); discounts are not applied.

    Raises:
        PriceUnknown: No source has one for this region and way of selling.
    """
    found = _find(shape.sold_as, region, billed_as(provisioning))
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
