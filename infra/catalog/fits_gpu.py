"""Which GPUs go with which machines on Compute Engine and GKE: the rules that hold in every zone, and those of N1."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.gpu import gpu
from infra.catalog.gpu_machines import Attached, GpuMachine, NotAttachable, attachments, check_attachable, machines, n1_size
from infra.catalog.wish import Change, Reason, Wish

PLACEMENT = (
    "https://docs.cloud.google.com/ai-hypercomputer/docs/placement-policy-and-workload-policy, read 2026-11; "
    "GoogleCloudPlatform/cluster-toolkit pull request 5737"
)
COMPACT = frozenset(
    {
        "a2-highgpu",
        "a2-megagpu",
        "a2-ultragpu",
        "a3-edgegpu",
        "a3-highgpu",
        "a3-megagpu",
        "a3-ultragpu",
        "a4-highgpu",
        "a4x-highgpu",
        "a4x-maxgpu",
        "g2-standard",
        "g4-standard",
    }
)
"""Series that compact placement is for."""
COMPACT_FLEX_START = ("a3-ultragpu", "a4-highgpu")
"""Series that may be both compact and flex-start."""
ATTACHMENTS = "gpu_attachments.csv"
FLEX_START = "https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms, read 2026-11"
"""Flex-start machines are those with accelerators built in, A4X and G4 excepted."""
GKE_PLACEMENT = "discovery document container v1: PlacementPolicy.type"


def with_gpu(accelerator_type: str, gpus: int | None) -> tuple[str, ...]:
    """Machine types with this GPU built in: those with the number that is wanted, else those with the nearest."""
    own = [one for one in machines().values() if one.accelerator_type == accelerator_type]
    own = [one for one in own if one.gpus == (gpus or 1)] or own
    return tuple(one.machine_type for one in sorted(own, key=lambda one: (abs(one.gpus - (gpus or 1)), one.vcpus, one.machine_type)))


def attached_to(accelerator_type: str, gpus: int | None) -> tuple[str, ...]:
    """Standard machines of N1 that take this GPU in this number, smallest first."""
    own = [one for one in attachments() if one.accelerator_type == accelerator_type and one.gpus == (gpus or 1) and not one.zones]
    return tuple(name for name in (f"n1-standard-{vcpus}" for vcpus in (4, 8, 16, 32)) if any(_holds(name, one.vcpus) for one in own))


def _holds(machine_type: str, vcpus: int) -> bool:
    size = n1_size(machine_type)
    return size is not None and size[0] <= vcpus


def built_in(wish: Wish, host: GpuMachine) -> Iterator[Reason]:
    """What speaks against a machine with its own GPUs."""
    if wish.accelerator_type and wish.accelerator_type != host.accelerator_type:
        own = with_gpu(wish.accelerator_type, wish.count) or attached_to(wish.accelerator_type, wish.count)
        changes: tuple[Change, ...] = (
            (("accelerator_type", host.accelerator_type), ("count", None)),
            *((("machine_type", name),) for name in own[:3]),
        )
        message = f"is not what {host.machine_type} has built in"
        yield Reason("accelerator_type", "impossible", message, (host.accelerator_type,), host.source, changes)
    has = host.counted if wish.api == "gke" else host.gpus
    if wish.count is not None and wish.count != has:
        other = [name for name in with_gpu(host.accelerator_type, wish.count) if machines()[name].gpus == wish.count]
        changes = ((("count", None),), *((("machine_type", name),) for name in other[:4]))
        message = f"is not the number of {host.accelerator_type} that {host.machine_type} has"
        yield Reason("count", "impossible", message, (f"{has}",), host.source, changes)


def attachable(wish: Wish) -> tuple[Attached | None, list[Reason]]:
    """GPUs on a machine of N1, as the rules of its zone have it."""
    size = n1_size(wish.machine_type)
    assert size is not None
    vcpus, memory_gib = size
    of_gpu = tuple(dict.fromkeys(one.gpus for one in attachments() if one.accelerator_type == wish.accelerator_type))
    changes: tuple[Change, ...]
    if not of_gpu:
        own = with_gpu(wish.accelerator_type, wish.count)
        changes = tuple((("machine_type", name), ("count", None)) for name in own[:4])
        message = f"takes no {wish.accelerator_type}: it comes with machines of its own"
        return None, [Reason("machine_type", "impossible", message, own[:4], "gpu_machines.csv", changes)]
    host = Attached(wish.machine_type, wish.accelerator_type, wish.count or 0, ATTACHMENTS)
    if wish.count is None or wish.count not in of_gpu:
        near = sorted(of_gpu, key=lambda one: (abs(one - (wish.count or 1)), one))
        changes = tuple((("count", one),) for one in near)
        said = "is missing" if wish.count is None else f"is not a number of {wish.accelerator_type} that one machine takes"
        return host, [Reason("count", "impossible", said, tuple(map(str, near)), host.source, changes)]
    try:
        check_attachable(wish.accelerator_type, wish.count, vcpus=vcpus, memory_gib=memory_gib, zone=wish.zone)
    except NotAttachable as error:
        kind = wish.machine_type.split("-")[1]
        fitting = [name for name in (f"n1-{kind}-{one}" for one in (64, 32, 16, 8, 4, 2)) if _fits(wish, name)]
        more = [one for one in of_gpu if one > wish.count]
        changes = (*((("machine_type", name),) for name in fitting[:2]), *((("count", one),) for one in more))
        message = f"is too large for {wish.count} x {wish.accelerator_type}"
        return host, [Reason("machine_type", "impossible", message, (f"at most {' and '.join(error.allowed)}",), host.source, changes)]
    return host, []


def _fits(wish: Wish, machine_type: str) -> bool:
    size = n1_size(machine_type)
    if size is None:
        return False
    try:
        check_attachable(wish.accelerator_type, wish.count or 0, vcpus=size[0], memory_gib=size[1], zone=wish.zone)
    except NotAttachable:
        return False
    return True


def rules(wish: Wish, host: GpuMachine | Attached) -> Iterator[Reason]:
    """What speaks against GPUs on a machine, wherever it is to stand."""
    none: tuple[Change, ...]
    if wish.api == "tpu-api":
        none = ((("api", "compute-engine"),), (("api", "gke"),))
        message = "is wrong: the Cloud TPU API makes TPUs only"
        yield Reason("api", "impossible", message, ("compute-engine", "gke"), "discovery document tpu v2", none)
    if wish.topology:
        none = ((("topology", ""),),)
        yield Reason("topology", "impossible", "is for TPUs: a machine with GPUs has none", (), "", none)
    if wish.nodes is not None and wish.nodes < 1:
        none = ((("nodes", None),),)
        yield Reason("nodes", "impossible", "is not a number of machines", ("1 or more",), "", none)
    if wish.api == "compute-engine" and wish.provisioning == "flex-start" and isinstance(host, Attached):
        none = tuple((("provisioning", way),) for way in ("on-demand", "spot"))
        message = "is not for GPUs that are attached: it is for machines with GPUs built in"
        yield Reason("provisioning", "impossible", message, ("on-demand", "spot", "reservation"), FLEX_START, none)
    if wish.partition:
        yield from _partition(wish, host)
    if wish.placement:
        yield from _placement(wish, host)


def _partition(wish: Wish, host: GpuMachine | Attached) -> Iterator[Reason]:
    changes: list[Change] = [(("partition", ""),)]
    if wish.api == "compute-engine":
        changes.append((("api", "gke"),))
        yield Reason(
            "partition", "impossible", "is said to GKE: on Compute Engine the machine's own tools cut a GPU", (), "", tuple(changes)
        )
    sizes = gpu(host.accelerator_type).partitions
    if wish.partition not in sizes:
        changes += [(("partition", one),) for one in sizes]
        message = (
            f"is not a size that {host.accelerator_type} is cut into" if sizes else f"is not for {host.accelerator_type}: it is not cut"
        )
        yield Reason("partition", "impossible", message, tuple(sizes), "gpu_partitions.csv", tuple(changes))


def _placement(wish: Wish, host: GpuMachine | Attached) -> Iterator[Reason]:
    changes: tuple[Change, ...] = ((("placement", ""),),)
    if wish.placement == "spread":
        if wish.api == "gke":
            yield Reason("placement", "impossible", "is not known to GKE: compact is its one kind", ("compact",), GKE_PLACEMENT, changes)
        elif wish.api == "compute-engine":
            yield Reason("placement", "unknown", f"is not known to be for {host.series}: no source tells", (), PLACEMENT, changes)
        return
    if host.series not in COMPACT:
        message = f"is not for {host.series}: it is for {', '.join(sorted(COMPACT))}"
        yield Reason("placement", "impossible", message, (), PLACEMENT, changes)
    elif wish.provisioning == "flex-start" and host.series not in COMPACT_FLEX_START:
        changes = (*changes, *((("provisioning", way),) for way in ("on-demand", "spot")))
        message = f"does not go with flex-start on {host.series}, only on {' and '.join(COMPACT_FLEX_START)}"
        yield Reason("placement", "impossible", message, (), PLACEMENT, changes)
