"""Nodes of the TPU API."""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Any

from infra.catalog import tpu, zones
from infra.sandbox import operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import number
from infra.sandbox.refused import Refused, invalid, rpc_error
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind

HOST = "tpu.googleapis.com"
SCOPES = ["devstorage.read_write", "logging.write", "service.management", "servicecontrol", "cloud-platform", "pubsub"]
"""Scopes of a node that asks for none, in the order that they are answered. Source: recorded traffic of tpu v2, 2026-08."""


RESERVED = "Insufficient reserved capacity. Contact customer support to increase your reservation."
NO_CAPACITY = (
    'There is no more capacity in the zone "{zone}"; you can try in another zone where Cloud TPU Nodes are offered '
    "(see https://cloud.google.com/tpu/docs/regions)"
)
TYPE = {"v5e": "V5LITE_POD"}
"""Generations that the API's AcceleratorConfig writes in a way of its own. Source: the discovery document."""
MASKABLE = ("description", "tags", "labels", "metadata", "networkConfig.enableExternalIps")
"""Source: nodes.patch in the discovery document."""


def accelerator_config(shape: tpu.TpuShape) -> Body:
    return {"type": TYPE.get(shape.generation, shape.generation.upper()), "topology": shape.topology}


def fill(call: Call, body: Body) -> None:
    shape = shape_of(call, body, provisioning(body))
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
        "acceleratorConfig": accelerator_config(shape),
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


def shape_of(call: Call, body: Body, provisioning: str) -> tpu.TpuShape:
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
        zones.check_offered(shape, zone, provisioning)
    except tpu.UnknownAcceleratorType:
        raise _no_such(wanted or str(config), zone) from None
    except zones.NotOffered as error:
        if error.reason == "impossible":
            raise _no_such(wanted or str(config), zone) from None
    if not shape.cloud_tpu_api:
        raise _no_such(wanted or str(config), zone)
    return shape


def lacks(call: Call, body: Body, way: str = "") -> Body | None:
    """
    Error that a create ends with where a fault says that the zone has no capacity.

    Words: https://github.com/hashicorp/terraform-provider-google/issues/21243 (code 8), and for v5p, which is asked for as if reserved,
    https://github.com/skypilot-org/skypilot/issues/4579. Both read 2026-11.

    Raises:
        Refused: The project has no quota there, says a fault: words of https://github.com/marin-community/marin/pull/1612; of other
            generations the name of the limit is made like that one.
    """
    zone, way = call.word("locations"), way or provisioning(body)
    shape = tpu.shape(body["acceleratorType"]) if body.get("acceleratorType") else _of_topology(body.get("acceleratorConfig", {}))
    found = call.cloud.faults.lacks(f"{HOST}/{call.target}", zone, way)
    if found == "quota":
        kind = "Preemptible" if way == "spot" else ""
        limit = f"TPU{shape.generation.upper()}{kind}PerProjectPerRegionForTPUAPI"
        raise Refused(429, f"Quota limit '{limit}' has been exceeded. Limit: 0 in region {zone.rpartition('-')[0]}.")
    if found == "stockout":
        reserved = shape.generation == "v5p" and way == "on-demand"
        id = hashlib.sha256(call.target.encode()).hexdigest()[:16]
        return rpc_error("RESOURCE_EXHAUSTED", f"{RESERVED if reserved else NO_CAPACITY.format(zone=zone)} [EID: 0x{id}]")
    return None


def provisioning(body: Body) -> str:
    scheduling = body.get("schedulingConfig", {})
    if scheduling.get("spot") or scheduling.get("preemptible"):
        return "spot"
    return "reservation" if scheduling.get("reserved") else "on-demand"


def _of_topology(config: Body) -> tpu.TpuShape:
    """The slice of a generation and a topology: `{type: V5P, topology: 2x2x1}`."""
    generation, topology = config.get("type", ""), config.get("topology", "")
    for shape in tpu.shapes().values():
        if TYPE.get(shape.generation, shape.generation.upper()) == generation and shape.topology == topology:
            return shape
    raise tpu.UnknownAcceleratorType(f"{generation} {topology}", "", ())


def _no_such(accelerator_type: str, zone: str) -> Refused:
    return invalid(f"Accelerator type {accelerator_type} is not available in zone {zone}.", "node.accelerator_type")


def _link(name: str, collection: str) -> str:
    return name if "/" in name else f"{collection}/{name}"


def made(call: Call, body: Body) -> Body:
    """The node inside the create's operation does not have its health yet."""
    return without_empty({key: value for key, value in body.items() if key != "health"})  # type: ignore[no-any-return]


def _check(call: Call, body: Body, before: Body | None) -> None:
    if body.get("networkConfigs") and "networkConfig" in call.body:  # "mutually exclusive", discovery document
        raise invalid("network_config and network_configs are mutually exclusive.", "node.network_configs")
    if before is None:
        return
    mask = call.query.get("updateMask", "")
    wrong = [path for path in verbs.paths(mask) if path not in MASKABLE]
    if wrong:
        fields = "description, tags, labels, metadata, network_config.enable_external_ips"
        raise invalid(f"Update mask has {', '.join(wrong) or 'nothing'}; supported fields: [{fields}].", "update_mask")


def stop(call: Call) -> Any:
    """`:stop`: of one machine only. Source: the method in the discovery document."""
    node = verbs.opened(call)
    if len(node["networkEndpoints"]) > 1:
        raise invalid("Stop is only available with single TPU nodes.")
    return _move(call, node, "stop", "READY", "STOPPING", "STOPPED")


def start(call: Call) -> Any:
    return _move(call, verbs.opened(call), "start", "STOPPED", "STARTING", "READY")


def _move(call: Call, node: Body, verb: str, needs: str, during: str, after: str) -> Body:
    if node["state"] != needs:
        raise Refused(400, f"Node {call.target} is {node['state']}; {verb} needs {needs}.", status="FAILED_PRECONDITION")
    call.cloud.store.put(HOST, call.target, node | {"state": during})
    return operations.start(call, verb, node, 60, sets={"state": after})


NODE = Kind(
    "projects.locations.nodes",
    id_from="query:nodeId",
    required=("runtimeVersion",),  # "Required." in the document's description of Node
    seconds={"create": 300, "patch": 30, "delete": 120},
    during={"create": {"state": "CREATING"}, "delete": {"state": "DELETING"}},
    ready={"state": "READY"},
    fill=fill,
    check=_check,
    lacks=lacks,
    made=made,
)
HANDLERS = {"projects.locations.nodes.start": start, "projects.locations.nodes.stop": stop}
