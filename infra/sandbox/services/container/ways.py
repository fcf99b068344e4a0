"""How the nodes of a pool are bought, and what is made all at once."""

from __future__ import annotations

from infra.catalog import tpu
from infra.catalog.gpu_machines import N1, series_of
from infra.sandbox.service import Body

GIVES_UP_SECONDS = 600.0
"""Virtual seconds after which an operation that waits for machines fails. No source says how many: users tell of tens of minutes."""


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


def shapes_of(machine_type: str) -> list[tpu.TpuShape]:
    """TPU slices whose hosts are of this type."""
    return [shape for shape in tpu.shapes().values() if shape.machine_type == machine_type and machine_type]


def slice_of(body: Body) -> tpu.TpuShape | None:
    """The slice of several hosts that a pool is; None where each of its nodes is by itself."""
    topology = body.get("placementPolicy", {}).get("tpuTopology", "")
    machine = body.get("config", {}).get("machineType", "")
    return next((shape for shape in shapes_of(machine) if shape.topology == topology and not shape.single_host), None)
