"""What the API says that a zone has: locations, accelerator types, runtime versions. All of it is the catalogue's."""

from __future__ import annotations

from typing import Any

from infra.catalog import tpu, zones
from infra.sandbox import lists
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.tpu.nodes import accelerator_config


def _zones() -> list[str]:
    return sorted({offer.zone for shape in _made_here() for offer in zones.offers(shape) if offer.trust != "low"})


def _made_here() -> list[tpu.TpuShape]:
    return [shape for shape in tpu.shapes().values() if shape.cloud_tpu_api]


def _shapes(zone: str) -> list[tpu.TpuShape]:
    """Shapes that a source of more than low trust has in the zone."""
    sold = {offer.sold_as for offer in zones.in_zone(zone) if offer.trust != "low"}
    return [shape for shape in _made_here() if shape.sold_as in sold]


def _location(call: Call, zone: str) -> Body:
    region = zone.rpartition("-")[0]
    return {"name": f"projects/{call.project}/locations/{zone}", "locationId": zone, "labels": {"cloud.googleapis.com/region": region}}


def list_locations(call: Call) -> Any:
    return lists.answer(call, _zones(), lambda zone: _location(call, zone))


def get_location(call: Call) -> Any:
    zone = call.word("locations")
    if zone not in _zones():
        raise Refused(404, f"Location {zone} is not found or access is unauthorized.")
    return _location(call, zone)


def list_types(call: Call) -> Any:
    return lists.answer(call, _shapes(call.word("locations")), lambda shape: _type(call.owner, shape))


def get_type(call: Call) -> Any:
    where, _, wanted = call.owner.partition("/acceleratorTypes/")
    for shape in _shapes(call.word("locations")):
        if shape.accelerator_type == wanted:
            return _type(where, shape)
    raise Refused(404, f"Resource '{call.owner}' was not found")


def _type(where: str, shape: tpu.TpuShape) -> Body:
    config = accelerator_config(shape)
    said = {"name": f"{where}/acceleratorTypes/{shape.accelerator_type}", "type": shape.accelerator_type}
    return said | ({"acceleratorConfigs": [config]} if config["topology"] else {})


def list_versions(call: Call) -> Any:
    return lists.answer(call, _versions(call), lambda version: _version(call.owner, version))


def get_version(call: Call) -> Any:
    where, _, wanted = call.owner.partition("/runtimeVersions/")
    if wanted not in _versions(call):
        raise Refused(404, f"Resource '{call.owner}' was not found")
    return _version(where, wanted)


def _versions(call: Call) -> list[str]:
    return sorted({shape.runtime_version for shape in _shapes(call.word("locations")) if shape.runtime_version})


def _version(where: str, version: str) -> Body:
    return {"name": f"{where}/runtimeVersions/{version}", "version": version}


def service_identity(call: Call) -> Any:
    """Source: Google's page on service agents."""
    return {"identity": {"email": f"service-{call.number}@cloud-tpu.iam.gserviceaccount.com"}}


HANDLERS = {
    "projects.locations.list": list_locations,
    "projects.locations.get": get_location,
    "projects.locations.generateServiceIdentity": service_identity,
    "projects.locations.acceleratorTypes.list": list_types,
    "projects.locations.acceleratorTypes.get": get_type,
    "projects.locations.runtimeVersions.list": list_versions,
    "projects.locations.runtimeVersions.get": get_version,
}
