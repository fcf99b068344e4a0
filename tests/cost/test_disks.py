"""Disks on their own: capacity, and what is provisioned on top."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import declared, estimated, month, of, usd

from infra.cost.line import LineItem
from infra.declared import UNKNOWN, Declared, Secret

REGION = "us-central1"


def disk(**change: Any) -> Declared:
    return declared("gcp:compute/disk:Disk", "data", {"zone": "us-central1-a", "type": "pd-ssd", "size": 100} | change)


def found(resource: Declared) -> dict[str, LineItem]:
    return of("data", resource, region=REGION)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"disk pd-ssd": usd(100 * Decimal("0.17"))}),
        ({"type": "projects/p/zones/us-central1-a/diskTypes/pd-balanced"}, {"disk pd-balanced": usd(Decimal(10))}),
        ({"type": None}, {"disk pd-standard": usd(100 * Decimal("0.04"))}),
        # 3,000 IOPS and 140 MiB/s come with the capacity, whose sources disagree
        (
            {"type": "hyperdisk-balanced", "provisionedIops": 3000, "provisionedThroughput": 140},
            {"disk hyperdisk-balanced": usd(Decimal(6), Decimal(8), Decimal(12))},
        ),
        (
            {"type": "hyperdisk-extreme", "provisionedIops": 5000},
            {"disk hyperdisk-extreme": usd(100 * Decimal("0.125")), "disk provisionedIops": usd(5000 * Decimal("0.032"))},
        ),
    ],
)
def test_a_disk_costs_its_capacity_and_what_is_provisioned(change: dict[str, Any], expected: dict[str, tuple[str, ...]]) -> None:
    """All month, used or not."""
    assert {what: month(line) for what, line in found(disk(**change)).items()} == expected


def test_a_regional_disk_costs_its_own_price() -> None:
    """Replicated in two zones: 0.34 a GiB of SSD."""
    both = declared("gcp:compute/regionDisk:RegionDisk", "data", {"region": REGION, "type": "pd-ssd", "size": 100})
    assert month(found(both)["disk pd-ssd"]) == usd(Decimal(34))


@pytest.mark.parametrize(
    "change",
    [
        {"size": UNKNOWN},
        {"size": None},
        {"size": Secret(1)},
        {"type": "pd-novel"},
        {"type": "hyperdisk-balanced", "provisionedIops": 3001},
        {"type": "hyperdisk-balanced", "provisionedThroughput": UNKNOWN},
        {"type": "hyperdisk-extreme"},
        {"zone": UNKNOWN},
        {"zone": "us-central9-a"},
    ],
    ids=str,
)
def test_what_is_not_known_of_a_disk_is_unknown(change: dict[str, Any]) -> None:
    """Nothing is rounded to nothing."""
    assert not estimated(disk(**change), region=REGION).complete
