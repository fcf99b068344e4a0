"""Projects, regions, zones and the machine types in them, as far as the catalogue knows."""

from __future__ import annotations

from functools import cache
from typing import Any

from infra.catalog import gpu_zones, places, tpu
from infra.catalog import zones as offers
from infra.catalog.gpu_machines import machines
from infra.catalog.tables import rows
from infra.sandbox import lists
from infra.sandbox.operations import number
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.resources import missing

CREATED = "1969-12-31T16:00:00.000-08:00"
"""Google's zones and regions have no day of birth. Source: recorded traffic of Compute Engine."""
LETTERS = ("a", "b", "c")
"""Zones of a region that no row of the catalogue tells more of. Source: https://docs.cloud.google.com/compute/docs/regions-zones."""
OTHER_LETTERS = {
    "us-central1": ("a", "b", "c", "f"),
    "us-central2": ("b",),
    "us-east1": ("b", "c", "d"),
    "europe-west1": ("b", "c", "d"),
}
"""Regions whose zones have other letters. Source: the same page."""

PLATFORMS = {
    "us-central1-a": [
        *("Ampere Altra", "Intel Broadwell", "Intel Cascade Lake", "Intel Emerald Rapids", "AMD Genoa", "NVIDIA Grace"),
        *("Intel Granite Rapids", "Intel Haswell", "Intel Ice Lake", "Intel Ivy Bridge", "Google Axion", "AMD Milan", "AMD Rome"),
        *("Intel Sandy Bridge", "Intel Sapphire Rapids", "Intel Skylake", "AMD Turin"),
    ]
}
"""Zone -> its processors. Source: recorded traffic, 2026-08: no other zone is recorded."""

DISK_TYPES = (
    *("hyperdisk-balanced", "hyperdisk-balanced-high-availability", "hyperdisk-extreme", "hyperdisk-ml", "hyperdisk-throughput"),
    *("local-ssd", "pd-balanced", "pd-extreme", "pd-ssd", "pd-standard"),
)
"""Source: https://docs.cloud.google.com/compute/docs/disks. Which zone lacks one is not known."""


@cache
def names() -> tuple[str, ...]:
    """Every zone."""
    everywhere = {zone for region in places.regions() for zone in usual(region)}
    return tuple(sorted(everywhere | {row["zone"] for table in ("zones", "gpu_zones") for row in rows(table)}))


def usual(region: str) -> tuple[str, ...]:
    """The zones of a region that everything is in; those for accelerators only are not among them."""
    return tuple(f"{region}-{letter}" for letter in OTHER_LETTERS.get(region, LETTERS))


def check_zone(call: Call, zone: str) -> None:
    """
    Raises:
        Refused: There is no such zone.
    """
    if zone not in names():
        raise missing(f"projects/{call.project}/zones/{zone}")


def check_region(call: Call, region: str) -> None:
    """
    Raises:
        Refused: There is no such region.
    """
    if region not in places.regions():
        raise missing(f"projects/{call.project}/regions/{region}")


def project(call: Call) -> Any:
    """`projects.get`: clients ask it for the number and the default service account."""
    return {
        "kind": "compute#project",
        "id": call.number,
        "creationTimestamp": CREATED,
        "name": call.project,
        "selfLink": f"{links.LINK}projects/{call.project}",
        "defaultServiceAccount": f"{call.number}-compute@developer.gserviceaccount.com",
        "defaultNetworkTier": "PREMIUM",
        "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
    }


def get_zone(call: Call) -> Any:
    zone = links.last(call.owner)
    check_zone(call, zone)
    return _zone(call, zone)


def list_zones(call: Call) -> Any:
    return lists.answer(call, list(names()), lambda zone: _zone(call, zone))


def get_region(call: Call) -> Any:
    region = links.last(call.owner)
    check_region(call, region)
    return _region(call, region)


def list_regions(call: Call) -> Any:
    return lists.answer(call, list(places.regions()), lambda region: _region(call, region))


def get_machine_type(call: Call) -> Any:
    zone, name = call.word("zones"), links.last(call.owner)
    found = next((item for item in _machine_types(call, zone) if item["name"] == name), None)
    if found is None:
        raise missing(call.owner)
    return found


def list_machine_types(call: Call) -> Any:
    zone = call.word("zones")
    check_zone(call, zone)
    return lists.answer(call, _machine_types(call, zone), lambda item: item)


def get_disk_type(call: Call) -> Any:
    if links.last(call.owner) not in DISK_TYPES:
        raise missing(call.owner)
    return _disk_type(call, links.last(call.owner))


def list_disk_types(call: Call) -> Any:
    return lists.answer(call, list(DISK_TYPES), lambda name: _disk_type(call, name))


def _disk_type(call: Call, name: str) -> Body:
    place, where = ("zone", call.word("zones")) if call.word("zones") else ("region", call.word("regions"))
    parent = f"projects/{call.project}/{place}s/{where}"
    return {
        "kind": "compute#diskType",
        "id": number(f"{parent}/{name}"),
        "name": name,
        place: links.LINK + parent,
        "selfLink": f"{links.LINK}{parent}/diskTypes/{name}",
    }


def tpu_host(machine_type: str) -> tpu.TpuShape | None:
    """What one machine of this type is, those of GKE alone (v4) included; None for a machine without a TPU."""
    return next((shape for shape in tpu.shapes().values() if shape.machine_type == machine_type and shape.single_host), None)


def check_machine_type(zone: str, name: str, *, node: bool = False) -> bool:
    """
    Whether a zone may have a machine type: a TPU's unless the catalogue knows that it has none; of the others it knows nothing.

    Args:
        node: Whether GKE makes it: it has TPUs that Compute Engine does not.
    """
    shape = tpu_host(name) if node else tpu.by_machine_type(name)
    if shape is None:
        return not name.startswith(("ct", "tpu"))
    try:
        offers.check_offered(shape, zone, "on-demand")
    except offers.NotOffered as error:
        return error.reason != "impossible"
    return True


def _machine_types(call: Call, zone: str) -> list[Body]:
    """Machines with TPUs and GPUs, where a source of more than low trust has them. Others are made unlisted: of them no table tells."""
    sold = {offer.sold_as for offer in offers.in_zone(zone) if offer.trust != "low"}
    found = {shape.machine_type for shape in tpu.shapes().values() if shape.machine_type and shape.sold_as in sold}
    with_gpus = {(offer.accelerator_type, offer.series) for offer in gpu_zones.in_zone(zone) if offer.trust != "low"}
    found |= {host.machine_type for host in machines().values() if (host.accelerator_type, host.series) in with_gpus}
    return [_machine_type(call, zone, name) for name in sorted(found)]


def _machine_type(call: Call, zone: str, name: str) -> Body:
    where = f"projects/{call.project}/zones/{zone}/machineTypes/{name}"
    return {"kind": "compute#machineType", "id": number(name), "name": name, "zone": zone, "selfLink": links.LINK + where}


def get_accelerator_type(call: Call) -> Any:
    found = next((item for item in _accelerator_types(call, call.word("zones")) if item["name"] == links.last(call.owner)), None)
    if found is None:
        raise missing(call.owner)
    return found


def list_accelerator_types(call: Call) -> Any:
    zone = call.word("zones")
    check_zone(call, zone)
    return lists.answer(call, _accelerator_types(call, zone), lambda item: item)


def _accelerator_types(call: Call, zone: str) -> list[Body]:
    """GPUs, attached ones and built-in ones. A TPU has names of its own in this list, which no table tells."""
    return [
        {
            "kind": "compute#acceleratorType",
            "id": number(name),
            "name": name,
            "zone": f"{links.LINK}projects/{call.project}/zones/{zone}",
            "selfLink": f"{links.LINK}projects/{call.project}/zones/{zone}/acceleratorTypes/{name}",
        }
        for name in sorted({offer.accelerator_type for offer in gpu_zones.in_zone(zone) if offer.trust != "low"})
    ]


def of_catalogue(call: Call, word: str, zone: str) -> list[Body]:
    """What the catalogue has of a kind in a zone, for lists over all zones."""
    kinds = {"machineTypes": _machine_types, "acceleratorTypes": _accelerator_types}
    return kinds[word](call, zone) if word in kinds else []


def _zone(call: Call, zone: str) -> Body:
    return {
        "kind": "compute#zone",
        "id": number(zone),
        "creationTimestamp": CREATED,
        "name": zone,
        "description": zone,
        "status": "UP",
        "region": f"{links.LINK}projects/{call.project}/regions/{places.region_of(zone)}",
        "selfLink": f"{links.LINK}projects/{call.project}/zones/{zone}",
        "supportsPzs": False,
    } | ({"availableCpuPlatforms": PLATFORMS[zone]} if zone in PLATFORMS else {})


def _region(call: Call, region: str) -> Body:
    return {
        "kind": "compute#region",
        "id": number(region),
        "creationTimestamp": CREATED,
        "name": region,
        "description": region,
        "status": "UP",
        "zones": [f"{links.LINK}projects/{call.project}/zones/{zone}" for zone in names() if places.region_of(zone) == region],
        "selfLink": f"{links.LINK}projects/{call.project}/regions/{region}",
        "supportsPzs": False,
    }
