"""Disks: of machines, of nodes, and on their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.catalog import prices
from infra.catalog.places import region_of
from infra.catalog.prices import Item
from infra.cost.context import Context, whole
from infra.cost.line import ALWAYS, LineItem, Triple, listed, others_pay, scaled, unknown
from infra.cost.machine import bounded_by
from infra.cost.usage import HOURS
from infra.declared import Declared

ZONAL: Mapping[str, Item] = {
    "pd-standard": "pd-standard",
    "pd-balanced": "pd-balanced",
    "pd-ssd": "pd-ssd",
    "pd-extreme": "pd-extreme",
    "hyperdisk-balanced": "hyperdisk-balanced",
    "hyperdisk-extreme": "hyperdisk-extreme",
    "hyperdisk-ml": "hyperdisk-ml",
}
REGIONAL: Mapping[str, Item] = {
    "pd-standard": "pd-standard-regional",
    "pd-balanced": "pd-balanced-regional",
    "pd-ssd": "pd-ssd-regional",
}
INCLUDED = {"hyperdisk-balanced": (3000, 140)}
"""IOPS and MiB/s that come with the capacity. Source: the notes of that price; what is more has no price that a source tells."""
PER_IOPS: Mapping[str, Item] = {"hyperdisk-extreme": "hyperdisk-extreme-iops", "pd-extreme": "pd-extreme-iops"}
PER_MIB: Mapping[str, Item] = {"hyperdisk-ml": "hyperdisk-ml-throughput"}
LOCAL_SSD: Mapping[str, Item] = {
    "on-demand": "local-ssd",
    "spot": "local-ssd-spot",
    "flex-start": "local-ssd-flex-start",
    "reservation": "local-ssd",
}
LOCAL_SSD_GIB = 375
"""Of one local SSD. Source: the notes of its price."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk as it was declared: what is not known stays as it came."""

    kind: Any
    gib: Any
    iops: Any = None
    mib_per_second: Any = None


def disk_lines(
    resource: str, what: str, disk: Disk, region: str, stands: Triple, *, regional: bool = False, note: str = ""
) -> Iterator[LineItem]:
    """
    Capacity, and what is provisioned on top.

    Args:
        stands: Disks that stand all month: a share of one for a disk that stands a part of it.
    """
    kind = str(disk.kind).rpartition("/")[2] if isinstance(disk.kind, str) else ""
    item = (REGIONAL if regional else ZONAL).get(kind)
    if item is None or not whole(disk.gib):
        yield unknown(resource, what, f"no price of a disk of type {disk.kind} and size {disk.gib}")
        return
    yield listed(resource, f"{what} {kind}", item, region, scaled(stands, disk.gib), note)
    per_iops, per_mib = INCLUDED.get(kind, (0, 0))
    yield from _more(resource, what, kind, "provisionedIops", disk.iops, per_iops, PER_IOPS.get(kind), region, stands)
    yield from _more(resource, what, kind, "provisionedThroughput", disk.mib_per_second, per_mib, PER_MIB.get(kind), region, stands)


def _more(
    resource: str, what: str, kind: str, key: str, value: Any, included: int, item: Item | None, region: str, stands: Triple
) -> Iterator[LineItem]:
    if value is None:
        if item is not None:
            yield unknown(resource, f"{what} {key}", f"{kind} is billed by it, and none is declared")
    elif not whole(value):
        yield unknown(resource, f"{what} {key}", f"{key} is not known yet")
    elif item is not None:
        yield listed(resource, f"{what} {key}", item, region, scaled(stands, value))
    elif value > included:
        yield unknown(resource, f"{what} {key}", f"no price of {key} of {kind}" + (f" over {included}" if included else ""))


def local_ssd_lines(resource: str, gib: int, region: str, provisioning: str, stands: Triple) -> Iterator[LineItem]:
    """Local SSD that a machine does not bring with it."""
    item = LOCAL_SSD.get(provisioning)
    if item is None:
        yield unknown(resource, "local SSD", f"no price of local SSD with {provisioning}")
        return
    line = listed(resource, "local SSD", item, region, scaled(stands, gib))
    is_bounded = provisioning == "spot" and line.status != "unknown"
    yield bounded_by(line, lambda: prices.price("local-ssd", region)) if is_bounded else line


def disk(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`gcp:compute/disk:Disk`. Without a type the API makes a pd-standard (discovery document of compute.v1, `Disk.type`)."""
    zone = resource.get("zone")
    yield from _own(resource, region_of(zone.lower()) if isinstance(zone, str) else None, regional=False)


def region_disk(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`gcp:compute/regionDisk:RegionDisk`: replicated in two zones."""
    yield from _own(resource, resource.get("region"), regional=True)


def _own(resource: Declared, region: Any, *, regional: bool) -> Iterator[LineItem]:
    if not isinstance(region, str):
        yield unknown(resource.name, "disk", "its place is not known yet")
        return
    kind = "pd-standard" if resource.get("type") is None else resource.get("type")
    found = Disk(kind, resource.get("size"), resource.get("provisionedIops"), resource.get("provisionedThroughput"))
    yield from disk_lines(resource.name, "disk", found, region.lower(), ALWAYS, regional=regional)


def attached(resource: Declared, sources: Iterable[Any], context: Context) -> Iterator[LineItem]:
    """A disk that is attached is billed where it is declared; one that this stack does not declare has an owner elsewhere."""
    names = {one.get("name") for one in context.resources if one.type in TYPES and not one.existing}
    for source in sources:
        if isinstance(source, str) and source.rpartition("/")[2] not in names:
            yield others_pay(resource.name, f"disk {source.rpartition('/')[2]}", "not declared here: its owner pays for it")


TYPES = ("gcp:compute/disk:Disk", "gcp:compute/regionDisk:RegionDisk")


def share_of_month(hours: Triple) -> Triple:
    """Disks that would stand all month, for machines of these hours."""
    low, expected, high = (one / HOURS for one in hours)
    return (low, expected, high)


LINES = {TYPES[0]: disk, TYPES[1]: region_disk}
