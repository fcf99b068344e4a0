"""What Vertex AI runs of machines, accelerators and regions: all that speaks against a wish at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from infra.catalog.accelerator import accelerators
from infra.catalog.gpu import gpu as gpu_of
from infra.catalog.places import continent_of, region_of
from infra.catalog.places import regions as known_regions
from infra.catalog.tpu import TpuShape
from infra.catalog.vertex import Use, VertexMachine, VertexRegion, machines, regions
from infra.catalog.wish import Change, Reason, Wish
from infra.errors import nearest

PAGES = "https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/general/locations, read 2026-11"
PODS = "https://docs.cloud.google.com/vertex-ai/docs/predictions/use-flex-start-vms and use-spot-vms, read 2026-11"
"""Neither spot nor flex-start machines are for TPU slices of several hosts."""


SCHEDULED = (
    "NVIDIA_L4",
    "NVIDIA_TESLA_A100",
    "NVIDIA_A100_80GB",
    "NVIDIA_H100_80GB",
    "NVIDIA_H100_MEGA_80GB",
    "NVIDIA_H200_141GB",
    "NVIDIA_B200",
)
"""Accelerators that training gets by flex-start."""
DWS = "https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/training/schedule-jobs-dws, read 2026-11"


@cache
def names() -> Mapping[str, str]:
    """A GPU's name in Vertex AI by its name on Compute Engine."""
    return MappingProxyType({one.name: one.vertex_enum for one in accelerators().values() if not one.is_tpu and one.vertex_enum})


@cache
def plain_names() -> Mapping[str, str]:
    """A GPU's name on Compute Engine by its name in Vertex AI."""
    return MappingProxyType({enum: name for name, enum in names().items()})


@cache
def _regions() -> Mapping[tuple[str, str], VertexRegion]:
    return MappingProxyType({(one.accelerator, one.region): one for one in regions()})


def row(accelerator: str, region: str) -> VertexRegion | None:
    """What the pages say of an accelerator in a region."""
    return _regions().get((accelerator, region))


@cache
def running(accelerator: str, use: Use) -> tuple[VertexRegion, ...]:
    """Regions that run an accelerator for a use; those that are open to everybody first."""
    able = [one for one in regions() if one.accelerator == accelerator and one.runs(use)]
    return tuple(sorted(able, key=lambda one: (one.by_allowlist, one.region)))


def machine_for(accelerator: str, count: int | None) -> tuple[str, ...]:
    """Machine types with this accelerator in this number, smallest names first."""
    return tuple(
        name for name, choices in machines().items() for one in choices if one.accelerator == accelerator and (count or 1) in one.counts
    )


def tpu(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    """What speaks against a TPU slice on Vertex AI."""
    if wish.count is not None:
        message = "is not said of a TPU: the machine type alone chooses it, and no accelerator field is sent"
        yield Reason("count", "impossible", message, (), PAGES, ((("count", None),),))
    if wish.topology and wish.topology != shape.topology:
        message = f"is not the topology of {shape.accelerator_type}"
        change: Change = (("topology", shape.topology),)
        yield Reason("topology", "impossible", message, (shape.topology,), shape.source, (change,))
    if shape.machine_type not in machines():
        trained = bool(running(shape.sold_as, wish.use))
        said = "is not in a table of Vertex AI's machines that was read" if trained else "is not run by Vertex AI"
        yield Reason("accelerator_type", "unknown" if trained else "impossible", said, _tpus(), PAGES, _elsewhere(shape))
    elif not shape.single_host and wish.provisioning in ("spot", "flex-start"):
        ways: tuple[Change, ...] = ((("provisioning", "on-demand"),), (("provisioning", "reservation"),))
        message = f"is not for slices of {shape.hosts} hosts on Vertex AI"
        yield Reason("provisioning", "impossible", message, ("on-demand", "reservation"), PODS, ways)
    elif shape.single_host:
        yield from _scheduled(wish, shape.sold_as)
    if wish.partition:
        yield Reason("partition", "impossible", "is for GPUs: a TPU is not cut into parts", (), "", ((("partition", ""),),))
    yield from _common(wish)
    yield from _region(wish, shape.sold_as, shape.accelerator_type)


def _tpus() -> tuple[str, ...]:
    return tuple(name for name, choices in machines().items() if choices[0].is_tpu)


def _elsewhere(shape: TpuShape) -> tuple[Change, ...]:
    from infra.catalog.fits_tpu import able

    return tuple((("api", api), ("region", "")) for api in able(shape))


def gpu(wish: Wish) -> tuple[VertexMachine | None, list[Reason]]:
    """A machine with GPUs on Vertex AI, and what speaks against it."""
    accelerator = names().get(wish.accelerator_type, wish.accelerator_type)
    found: list[Reason] = []
    choices = machines().get(wish.machine_type)
    chosen = None
    if choices is None:
        own = machine_for(accelerator, wish.count)
        near = own or tuple(nearest(wish.machine_type, machines()))
        message = "is missing" if not wish.machine_type else "is no machine with accelerators on Vertex AI"
        changes: tuple[Change, ...] = tuple((("machine_type", one),) for one in near[:4])
        found.append(Reason("machine_type", "impossible", message, near[:4], PAGES, changes))
    else:
        chosen = next((one for one in choices if one.accelerator == accelerator), None)
        chosen = chosen or (choices[0] if choices[0].built_in and not accelerator else None)
        if chosen is None:
            own = tuple(one.accelerator for one in choices)
            changes = tuple((("accelerator_type", plain_names().get(one, "")),) for one in own)
            others = machine_for(accelerator, wish.count)[:3]
            changes += tuple((("machine_type", one),) for one in others)
            message = f"is not what {wish.machine_type} has on Vertex AI" if accelerator else "is missing"
            found.append(Reason("accelerator_type", "impossible", message, own, PAGES, changes))
        elif not (len(chosen.counts) == 1 if wish.count is None else chosen.takes(wish.count, wish.use)):
            near_counts = sorted(chosen.counts, key=lambda one: (abs(one - (wish.count or 1)), one))
            message = f"is not a number of {chosen.accelerator} that {wish.machine_type} has" if wish.count is not None else "is missing"
            counts: tuple[Change, ...] = tuple((("count", one),) for one in near_counts)
            counts += tuple((("machine_type", one),) for one in machine_for(chosen.accelerator, wish.count)[:3])
            found.append(Reason("count", "impossible", message, tuple(map(str, near_counts)), PAGES, counts))
    if wish.topology:
        found.append(Reason("topology", "impossible", "is for TPUs: a machine with GPUs has none", (), "", ((("topology", ""),),)))
    found += _common(wish)
    known = chosen.accelerator if chosen else accelerator
    if known in plain_names():
        found += _partition(wish, plain_names()[known])
        found += _scheduled(wish, known)
        found += _region(wish, known, known)
    return chosen, found


def _partition(wish: Wish, accelerator_type: str) -> Iterator[Reason]:
    sizes = gpu_of(accelerator_type).partitions
    if wish.partition and wish.partition not in sizes:
        changes: tuple[Change, ...] = ((("partition", ""),), *((("partition", one),) for one in sizes))
        message = f"is not a size that {accelerator_type} is cut into" if sizes else f"is not for {accelerator_type}: it is not cut"
        yield Reason("partition", "impossible", message, tuple(sizes), "gpu_partitions.csv", changes)


def _scheduled(wish: Wish, accelerator: str) -> Iterator[Reason]:
    """Flex-start of training is for some GPUs alone."""
    if wish.use == "training" and wish.provisioning == "flex-start" and accelerator not in SCHEDULED:
        ways: tuple[Change, ...] = tuple((("provisioning", one),) for one in ("on-demand", "spot", "reservation"))
        message = "is for L4, A100, H100, H200 and B200 where Vertex AI trains"
        yield Reason("provisioning", "impossible", message, ("on-demand", "spot", "reservation"), DWS, ways)


def _common(wish: Wish) -> Iterator[Reason]:
    """What Vertex AI has no field for."""
    if wish.placement:
        change: Change = (("placement", ""),)
        yield Reason("placement", "impossible", "is not a field of Vertex AI's machines", (), "discovery document aiplatform v1", (change,))
    if wish.nodes is not None and wish.nodes < 1:
        yield Reason("nodes", "impossible", "is not a number of replicas", ("1 or more",), "", ((("nodes", None),),))
    if wish.zone:
        inside = wish.region or region_of(wish.zone)
        changes: tuple[Change, ...] = ((("zone", ""), ("region", inside)),)
        yield Reason("zone", "impossible", "is not chosen on Vertex AI, which takes a region", (inside,), PAGES, changes)


def _region(wish: Wish, accelerator: str, what: str) -> Iterator[Reason]:
    if wish.zone and not wish.region:
        return  # said of the zone already
    able = running(accelerator, wish.use)
    here = row(accelerator, wish.region)
    if here is not None and here.runs(wish.use):
        if here.trust == "low":
            yield Reason("region", "unconfirmed", f"is said to run {what} by one weak source only", source=here.source)
        return
    far = sorted(able, key=lambda one: (continent_of(one.region) != continent_of(wish.region), one.by_allowlist, one.region))
    allowed = tuple(one.region for one in far)
    of_kind = [one for one in regions() if one.region == wish.region and one.accelerator.startswith("tpu")]
    has_tpu = any(one.runs(wish.use) for one in of_kind)
    if not wish.region:
        message = "is missing: Vertex AI runs an accelerator in some regions only"
    elif wish.region not in known_regions():
        message = "is not a Google Cloud region"
    elif accelerator.startswith("tpu") and not has_tpu:
        message = f"has no TPU for {wish.use} on Vertex AI at all"
    else:
        other: Use = "training" if wish.use == "prediction" else "prediction"
        only = f"; it has it for {other}" if here is not None and here.runs(other) else ""
        message = f"has no {what} for {wish.use} on Vertex AI{only}"
    yield Reason("region", "impossible", message, allowed, PAGES)
