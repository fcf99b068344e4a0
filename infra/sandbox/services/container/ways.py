"""How the nodes of a pool are bought, and what is made all at once."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog import tpu
from infra.catalog.gpu_machines import N1, by_machine_type, series_of
from infra.sandbox.service import Body
from infra.sandbox.services.compute.zones import tpu_host

GIVES_UP_SECONDS = 2100.0
"""
Virtual seconds after which an operation that waits for machines fails: "not all instances running in IGM after 35m".

Sources: GoogleCloudPlatform/cluster-toolkit pull request 6278, akka/akka-core issue 32992, NVIDIA/aicr issue 2764, all of 2026-09. The real
service tells what is no lack of capacity (a quota, addresses) within a minute; here it is told as late.
"""
CHIPS_OF_A_SLICE_S_HOST = 4


def provisioning(config: Body) -> str:
    """`spot`, `flex-start`, `reservation` or `on-demand`."""
    if config.get("spot") or config.get("preemptible"):
        return "spot"
    if config.get("flexStart"):
        return "flex-start"
    affinity = config.get("reservationAffinity", {}).get("consumeReservationType")
    return "reservation" if affinity == "SPECIFIC_RESERVATION" else "on-demand"


def scheduling(config: Body) -> Body:
    """The same in Compute Engine's words."""
    way = provisioning(config)
    models = {"spot": "SPOT", "flex-start": "FLEX_START"}
    found: Body = {"provisioningModel": models[way]} if way in models else {}
    if way in models:
        found["instanceTerminationAction"] = "DELETE"
    if config.get("accelerators") or by_machine_type(config["machineType"]):
        found["onHostMaintenance"] = "TERMINATE"
    if limit := config.get("maxRunDuration"):
        found["maxRunDuration"] = {"seconds": str(int(float(limit.removesuffix("s"))))}
        found["instanceTerminationAction"] = "DELETE"
    return found


def attached(config: Body) -> list[Body]:
    """GPUs that are attached to machines of N1; on all others they are built in."""
    if series_of(config["machineType"]) != N1:
        return []
    return [
        {"acceleratorType": one["acceleratorType"], "acceleratorCount": int(one.get("acceleratorCount", 1))}
        for one in config.get("accelerators", [])
    ]


@dataclass(frozen=True, slots=True)
class Slice:
    """A TPU slice of several nodes."""

    generation: str
    topology: str
    hosts: int


def topologies(machine_type: str) -> dict[str, int]:
    """
    Topologies that nodes of this type make -> how many nodes each has; none for a machine without TPUs.

    The machine decides: 2x4 is one node with 8 chips or two with 4. Slices of several nodes are made of those with 4 chips.
    Source: AI-Hypercomputer/xpk, system characteristics, as the catalogue's shapes have them.
    """
    host = tpu_host(machine_type)
    if host is None:
        return {}
    ours = [shape for shape in tpu.shapes().values() if shape.generation == host.generation and shape.topology]
    counts = {shape.topology: shape.chips // host.chips for shape in ours if shape.chips % host.chips == 0}
    return {topology: nodes for topology, nodes in counts.items() if nodes == 1 or host.chips == CHIPS_OF_A_SLICE_S_HOST}


def slice_of(body: Body) -> Slice | None:
    """The slice of several nodes that a pool is; None where each of its nodes is by itself."""
    topology = body.get("placementPolicy", {}).get("tpuTopology", "")
    machine = body.get("config", {}).get("machineType", "")
    nodes = topologies(machine).get(topology, 0) if topology else 0
    host = tpu_host(machine) if nodes > 1 else None
    return Slice(host.generation, topology, nodes) if host is not None else None
