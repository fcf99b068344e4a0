"""Nodes of the TPU API."""

from __future__ import annotations

import ipaddress
from typing import Any

from infra.catalog import tpu, zones
from infra.sandbox import operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import number
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind

HOST = "tpu.googleapis.com"
SCOPES = ["devstorage.read_write", "logging.write", "service.management", "servicecontrol", "cloud-platform", "pubsub"]
"""Scopes of a node that asks for none, in the order that they are answered. Source: recorded traffic of tpu v2, 2026-08."""


def _fill(call: Call, body: Body) -> None:
    shape = _shape(call, body)
    zone, project = call.word("locations"), call.project
    region = zone.rpartition("-")[0]
    network = body.setdefault("networkConfig", {})
    network["network"] = _link(network.get("network") or "default", f"projects/{project}/global/networks")
    network["subnetwork"] = _link(network.get("subnetwork") or "default", f"projects/{project}/regions/{region}/subnetworks")
    account = body.setdefault("serviceAccount", {})
    account.setdefault("email", f"{call.number}-compute@developer.gserviceaccount.com")
    account.setdefault("scope", [f"https://www.googleapis.com/auth/{scope}" for scope in SCOPES])
    count = call.cloud.store.next("addresses")
    external = network.get("enableExternalIps", False)
    body |= {
        "name": call.target,
        "id": number(call.target),
        "apiVersion": "V2",
        "createTime": rfc3339(call.now),
        "acceleratorType": shape.accelerator_type,
        "acceleratorConfig": {"type": shape.generation.upper(), "topology": shape.topology},
        "cidrBlock": body.get("cidrBlock") or f"{ipaddress.IPv4Address('10.128.0.0') + count * 8}/29",
        "networkEndpoints": [
            {
                "ipAddress": str(ipaddress.IPv4Address("10.140.0.2") + count * 64 + host),
                "port": 8470,
                "accessConfig": {"externalIp": str(ipaddress.IPv4Address("34.0.0.2") + count * 64 + host)} if external else {},
            }
            for host in range(shape.hosts)
        ],
        "health": "HEALTHY",
    }
    body.setdefault("schedulingConfig", {})
    body.setdefault("shieldedInstanceConfig", {})


def _shape(call: Call, body: Body) -> tpu.TpuShape:
    """
    The slice that is asked for.

    Raises:
        Refused: There is no such slice, or the catalogue knows that this zone has none.
    """
    config = body.get("acceleratorConfig", {})
    wanted = body.get("acceleratorType", "")
    zone = call.word("locations")
    try:
        shape = tpu.shape(wanted) if wanted else _of_topology(config)
        zones.check_offered(shape, zone, "on-demand")
    except tpu.UnknownAcceleratorType:
        raise _no_such(wanted or str(config), zone) from None
    except zones.NotOffered as error:
        if error.reason == "impossible":
            raise _no_such(wanted, zone) from None
    if not shape.cloud_tpu_api:
        raise _no_such(wanted, zone)
    return shape


def _of_topology(config: Body) -> tpu.TpuShape:
    """The slice of a generation and a topology: `{type: V5P, topology: 2x2x1}`."""
    generation, topology = config.get("type", "").lower(), config.get("topology", "")
    for shape in tpu.shapes().values():
        if shape.generation == GENERATION.get(generation, generation) and shape.topology == topology:
            return shape
    raise tpu.UnknownAcceleratorType(f"{generation} {topology}", "", ())


def _no_such(accelerator_type: str, zone: str) -> Refused:
    return invalid(f"Accelerator type {accelerator_type} is not available in zone {zone}.", "node.accelerator_type")


def _link(name: str, collection: str) -> str:
    return name if "/" in name else f"{collection}/{name}"


def _made(call: Call, body: Body) -> Body:
    """The node inside the create's operation does not have its health yet."""
    return without_empty({key: value for key, value in body.items() if key != "health"})  # type: ignore[no-any-return]


def _not_found(call: Call) -> Refused:
    return Refused(404, f"Resource '{call.target}' was not found")


GENERATION = {"v5litepod": "v5litepod", "v5lite_pod": "v5litepod"}

