"""`valid-combination`: what goes together with an accelerator wherever it stands: its disk, its runtime, its nodes, how it is got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from infra.declared import UNKNOWN, Declared
from infra.policy.held import DEPLOYED, INSTANCE, ON_DEMAND, POOL, TEMPLATES, kind, way_of_machine, way_of_pool
from infra.policy.queued import with_queued
from infra.policy.rule import Broken, Rule
from infra.queued_nodes import NODE

POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
OF_ONE_GENERATION = "v2-alpha-tpu"
"""Beginning of the runtimes of v5e and newer, each of one generation. Source: tpu_shapes.csv."""
PARTS = {"partition": "nodeConfig.guestAccelerators[0].gpuPartitionSize", "placement": "placementPolicy.type", "nodes": "nodeCount"}
"""Parts of a wish that `offered-in-zone` does not ask for, and where a pool says them."""
FLEX_START_SECONDS = (600, 7 * 24 * 3600)
"""Source: https://cloud.google.com/compute/docs/instances/about-flex-start-vms, read 2026-11."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """What cannot be put together. Whether a machine has its accelerators at all, `offered-in-zone` asks with the zone."""
    if resource.existing:
        return
    if resource.type == INSTANCE or resource.type in TEMPLATES:
        yield from _machine(resource)
    elif resource.type == NODE:
        yield from _node(resource)
    elif resource.type == POOL:
        yield from _pool(resource)
    elif resource.type == DEPLOYED:
        yield from _deployed(resource, region)
    elif resource.type == POLICY:
        topology = resource.get("workloadPolicy.acceleratorTopology")
        if isinstance(topology, str) and topology not in _topologies():
            yield Broken("workloadPolicy.acceleratorTopology", f"{topology} is the topology of no TPU slice")


def _machine(resource: Declared) -> Iterator[Broken]:
    machine_type = resource.get("machineType")
    short = machine_type.rpartition("/")[2] if isinstance(machine_type, str) else ""
    if not kind(short) and resource.get("guestAccelerators") in (None, []):
        return
    for path, disk in _boot_disks(resource):
        yield from _disk(path, short, disk)
    model = resource.get("scheduling.provisioningModel")
    spot = model == "SPOT" or (model is None and resource.get("scheduling.preemptible") is True)
    if resource.get("scheduling.onHostMaintenance") == "MIGRATE":
        yield Broken("scheduling.onHostMaintenance", "must be TERMINATE: no machine with accelerators moves to another host")
    if spot and resource.get("scheduling.automaticRestart") is True:
        yield Broken("scheduling.automaticRestart", "must be false: a Spot machine that was taken away is not begun again")
    if spot and way_of_machine(resource) == "reservation":
        yield Broken("reservationAffinity.type", "SPECIFIC_RESERVATION does not go with SPOT: Spot machines consume no reservation")
    if model == "FLEX_START":
        seconds = resource.get("scheduling.maxRunDuration.seconds")
        low, high = FLEX_START_SECONDS
        if not isinstance(seconds, int) or not low <= seconds <= high:
            path = "scheduling.maxRunDuration.seconds"
            yield Broken(path, f"must be stated, known at preview, and {low} to {high}: a flex-start machine runs for a limited time")


def _boot_disks(resource: Declared) -> Iterator[tuple[str, Any]]:
    if resource.type == INSTANCE:
        yield "bootDisk.initializeParams.type", resource.get("bootDisk.initializeParams.type")
        return
    disks = resource.get("disks")
    for index, one in enumerate(disks if isinstance(disks, list) else []):
        if isinstance(one, Mapping) and one.get("boot") is True:
            yield f"disks[{index}].diskType", one.get("diskType")


def _disk(path: str, machine_type: str, disk: Any) -> Iterator[Broken]:
    """A boot disk that the machine does not boot from. One that is not said, or not known, is believed."""
    from infra.catalog import tpu
    from infra.catalog.gpu_machines import takes_boot_disk

    if not isinstance(disk, str):
        return
    short = disk.rpartition("/")[2]
    if shape := tpu.by_machine_type(machine_type):
        right = tpu.BOOT_DISK_TYPE.get(shape.generation)
        if right and short.partition("-")[0] != right.partition("-")[0]:
            yield Broken(path, f"{machine_type} does not boot from {short}, but from {right}")
    elif not takes_boot_disk(machine_type, short):
        yield Broken(path, f"{machine_type} does not boot from {short}")


def _node(resource: Declared) -> Iterator[Broken]:
    """A node of the Cloud TPU API, whose runtime is one of its generation."""
    from infra.catalog import tpu

    accelerator_type, runtime = resource.get("acceleratorType"), resource.get("runtimeVersion")
    shape = tpu.shapes().get(accelerator_type) if isinstance(accelerator_type, str) else None
    if shape is None or not isinstance(runtime, str):
        return
    if OF_ONE_GENERATION in shape.runtime_version and runtime != shape.runtime_version:
        yield Broken("runtimeVersion", f"{runtime} is not that of {accelerator_type}, which is {shape.runtime_version}")
    elif OF_ONE_GENERATION in runtime and runtime != shape.runtime_version:
        yield Broken("runtimeVersion", f"{runtime} is that of another generation than {accelerator_type}: {shape.runtime_version}")


def _pool(resource: Declared) -> Iterator[Broken]:
    from infra.catalog import fits_tpu
    from infra.catalog.fits import judge
    from infra.catalog.wish import Provisioning, Wish

    machine_type = resource.get("nodeConfig.machineType")
    if not isinstance(machine_type, str):
        return
    attached = resource.get("nodeConfig.guestAccelerators.0.type")
    if not kind(machine_type) and not isinstance(attached, str):
        return
    yield from _disk("nodeConfig.diskType", machine_type, resource.get("nodeConfig.diskType"))
    slices = fits_tpu.machines().get(machine_type)
    topology = resource.get("placementPolicy.tpuTopology")
    several = bool(slices) and isinstance(topology, str) and topology != ""
    places = resource.get("nodeLocations")
    if several and isinstance(places, list) and len(places) > 1:
        yield Broken("nodeLocations", f"a slice of {topology} stands in one zone, and here are {len(places)}")
    compact = resource.get("placementPolicy.type") == "COMPACT"
    count = resource.get("nodeConfig.guestAccelerators.0.count")
    partition, nodes = resource.get("nodeConfig.guestAccelerators.0.gpuPartitionSize"), resource.get("nodeCount")
    wish = Wish(
        "gke",
        attached if isinstance(attached, str) and not kind(machine_type) else "",
        machine_type,
        count if isinstance(count, int) and not kind(machine_type) else None,
        str(topology) if several else "",
        provisioning=cast("Provisioning", way_of_pool(resource) or ON_DEMAND),
        placement="compact" if compact else "",
        nodes=nodes if several and isinstance(nodes, int) and nodes else None,
        partition=partition if isinstance(partition, str) else "",
    )
    for reason in judge(wish).reasons:
        if reason.part in PARTS and reason.kind == "impossible":
            said = {"partition": wish.partition, "placement": "COMPACT", "nodes": str(wish.nodes)}[reason.part]
            allowed = f"; allowed: {', '.join(reason.allowed)}" if reason.allowed else ""
            yield Broken(PARTS[reason.part], f"{said} {reason.message}{allowed}")


def _deployed(resource: Declared, region: str) -> Iterator[Broken]:
    from infra.catalog.deployed_model import wrongs

    models = resource.get("deployedModels")
    for name, one in models.items() if isinstance(models, Mapping) else ():
        if isinstance(one, Mapping):
            for wrong in wrongs(_judged(one), region or None):
                path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in wrong.path)
                allowed = f"; allowed: {wrong.allowed}" if wrong.allowed else ""
                yield Broken(f"deployedModels.{name}{path}", f"{wrong.message}{allowed}")


def _judged(value: Any) -> Any:
    """The same, with something in place of what is not known that is of no type, and so is not judged."""
    if value is UNKNOWN:
        return object()
    if isinstance(value, Mapping):
        return {key: _judged(inner) for key, inner in value.items()}
    return [_judged(inner) for inner in value] if isinstance(value, list) else value


@cache
def _topologies() -> frozenset[str]:
    from infra.catalog import tpu

    return frozenset(one.topology for one in tpu.shapes().values() if one.topology)


RULE = Rule(
    name="valid-combination",
    description="Disk, runtime, topology, partition and way of buying go together with the accelerator that they are said of.",
    remediation="set what the message allows; `accelform catalog fits` judges a combination before it is written",
    severity="high",
    find=with_queued(find),
)
