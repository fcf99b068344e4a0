"""Which TPU slices can be had by which API, and as what: the rules that hold in every zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from math import prod
from types import MappingProxyType

from infra.catalog.tpu import TpuShape, shapes
from infra.catalog.wish import API_NAMES, Api, Change, Reason, Wish

GKE_FLEX_START = "GoogleCloudPlatform/cluster-toolkit pull request 5111 builds slices of several hosts so; no page that was read tells"
MIGRATION = "https://docs.cloud.google.com/tpu/docs/tpu-compute-engine-migration, read 2026-11"
"""v5e and newer are Compute Engine machines; the Cloud TPU API has no TPU7x."""
FLEX_START = "https://cloud.google.com/tpu/docs/request-using-flex-start, read 2026-11"
"""On the Cloud TPU API flex-start is for v5e and v6e, by queued resources."""
NODE_POOLS = "GoogleCloudPlatform/ai-on-gke pull request 7; AI-Hypercomputer/xpk pull requests 595 and 822"
"""The machines of a pool are its topology's; a pool of single hosts gets no placement policy."""
COMPACT_FLEX_START = "GoogleCloudPlatform/cluster-toolkit pull request 5737: with flex-start on A3 Ultra, A4 and H4D only"
TPU7X_POOLS = "vllm-project/ci-infra pull request 547: GKE refuses compact placement for TPU7x, which takes a workload policy"
ONE_TOPOLOGY = "tpu_shapes.csv"

TWO_HOSTS = MappingProxyType({("ct5lp-hightpu-4t", "2x4"): "v5litepod-8", ("ct6e-standard-4t", "2x4"): "v6e-8"})
"""Slices that GKE also makes of two machines with 4 chips.
Source: AI-Hypercomputer/xpk:src/xpk/core/system_characteristics.py, read 2026-11."""


@cache
def machines() -> Mapping[str, tuple[TpuShape, ...]]:
    """Every slice that a TPU machine type is part of, smallest first."""
    found: dict[str, list[TpuShape]] = {}
    for one in sorted(shapes().values(), key=lambda one: one.chips):
        if one.machine_type:
            found.setdefault(one.machine_type, []).append(one)
    for machine_type, topology in TWO_HOSTS:
        found[machine_type].append(two_hosts(machine_type, topology))
    return MappingProxyType({name: tuple(several) for name, several in found.items()})


@cache
def two_hosts(machine_type: str, topology: str) -> TpuShape:
    """The slice as two machines with 4 chips."""
    return replace(
        shapes()[TWO_HOSTS[machine_type, topology]],
        hosts=2,
        chips_per_host=4,
        machine_type=machine_type,
        cloud_tpu_api=False,
        image_family="",
    )


def by_machine(wish: Wish) -> tuple[TpuShape | None, list[Reason]]:
    """The slice that a machine type and a topology mean: without a topology, that of one host."""
    several = machines()[wish.machine_type]
    found = next((one for one in several if (one.topology == wish.topology if wish.topology else one.single_host)), None)
    if found is not None:
        return found, []
    chips = chips_of(wish.topology)
    near = sorted((one for one in several if one.topology), key=lambda one: (abs(one.chips - chips), one.topology))
    said = f"is no slice of {wish.machine_type}" if wish.topology else f"is missing: {wish.machine_type} is a part of larger slices"
    changes: tuple[Change, ...] = tuple((("topology", one.topology),) for one in near[:5])
    return None, [Reason("topology", "impossible", said, tuple(one.topology for one in near[:5]), ONE_TOPOLOGY, changes)]


def chips_of(topology: str) -> int:
    """Chips of a topology; 0 where it is none."""
    axes = topology.lower().split("x")
    return prod(map(int, axes)) if all(axis.isascii() and axis.isdigit() and len(axis) <= 4 for axis in axes) else 0


def rules(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    """What speaks against a slice, wherever it is to stand."""
    yield from _api(wish, shape)
    yield from _shape(wish, shape)
    if wish.api == "gke":
        yield from _nodes(wish, shape)
    elif wish.nodes not in (None, shape.hosts):
        changes: tuple[Change, ...] = ((("nodes", None),),)
        message = f"is not the number of machines of {shape.accelerator_type}"
        yield Reason("nodes", "impossible", message, (str(shape.hosts),), ONE_TOPOLOGY, changes)
    yield from _placement(wish, shape)
    yield from _ways(wish, shape)


def able(shape: TpuShape) -> tuple[Api, ...]:
    """The APIs that make a slice outside Vertex AI, best first."""
    fits = {"compute-engine": shape.compute_engine, "tpu-api": shape.cloud_tpu_api, "gke": bool(shape.machine_type)}
    return tuple(api for api in API_NAMES if fits.get(api))


def _api(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    fits = able(shape)
    if wish.api not in fits:
        split = f" of {shape.hosts} x {shape.machine_type}" if (shape.machine_type, shape.topology) in TWO_HOSTS else ""
        message = f"is wrong: {API_NAMES[wish.api]} has no {shape.accelerator_type}{split}"
        changes: tuple[Change, ...] = tuple((("api", api),) for api in fits)
        yield Reason("api", "impossible", message, fits, MIGRATION, changes)
    elif wish.api == "compute-engine" and "GKE) only" in shape.notes:
        changes = ((("api", "gke"),),)
        message = f"is not known to make {shape.accelerator_type}: its topology is known from a tool that builds it on GKE"
        yield Reason("api", "unknown", message, ("gke",), shape.source, changes)
    if "limit" in shape.notes:
        yield Reason("accelerator_type", "unknown", f"is {shape.notes}", source=shape.source)


def _shape(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    if wish.count is not None:
        changes: tuple[Change, ...] = ((("count", None),),)
        yield Reason(
            "count", "impossible", f"is not said of a TPU: {shape.accelerator_type} tells its {shape.chips} chips", (), "", changes
        )
    if wish.partition:
        changes = ((("partition", ""),),)
        yield Reason("partition", "impossible", "is for GPUs: a TPU is not cut into parts", (), "", changes)
    if wish.topology and not shape.topology:
        changes = ((("topology", ""),),)
        message = f"is not known to be that of {shape.accelerator_type}: no source confirms one"
        yield Reason("topology", "unknown", message, (), shape.source, changes)
    elif wish.topology and wish.topology != shape.topology:
        alike = (one for one in shapes().values() if (one.generation, one.topology) == (shape.generation, wish.topology))
        other = tuple((("accelerator_type", one.accelerator_type), ("machine_type", "")) for one in alike)
        message = f"is not the topology of {shape.accelerator_type}"
        yield Reason("topology", "impossible", message, (shape.topology,), shape.source, ((("topology", shape.topology),), *other))


def _nodes(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    if not shape.single_host and not shape.topology:
        message = f"is missing for {shape.accelerator_type}: GKE wants it for {shape.hosts} hosts, and no source confirms one"
        yield Reason("topology", "unknown", message, (), shape.source, ((("api", "tpu-api"),),) if shape.cloud_tpu_api else ())
    if wish.nodes is None or wish.nodes == shape.hosts:
        return
    changes: list[Change] = [(("nodes", None),)]
    if shape.single_host and wish.nodes >= 1:
        if not wish.topology:
            return  # so many machines, each for itself
        changes.append((("topology", ""),))
    what = wish.topology or shape.accelerator_type
    message = f"is not what {what} takes: it is {shape.hosts} host{'s' if shape.hosts > 1 else ''}, and a pool is one slice"
    yield Reason("nodes", "impossible", message, (str(shape.hosts),), NODE_POOLS, tuple(changes))


def _placement(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    if not wish.placement:
        return
    changes: tuple[Change, ...] = ((("placement", ""),),)
    if wish.api == "tpu-api":
        yield Reason("placement", "impossible", "is not a field of the Cloud TPU API", (), "discovery document tpu v2", changes)
    elif wish.placement == "spread":
        yield Reason("placement", "impossible", "would part a slice: its chips stand as its topology says", (), "", changes)
    elif wish.api == "compute-engine":
        message = "is not for TPU machines: the workload policy of their group holds the topology"
        yield Reason("placement", "impossible", message, (), MIGRATION, changes)
    elif shape.single_host:
        yield Reason("placement", "impossible", f"is not for {shape.accelerator_type}: it is one host", (), NODE_POOLS, changes)
    elif shape.generation == "tpu7x":
        yield Reason("placement", "impossible", "is not for tpu7x: it takes a workload policy", (), TPU7X_POOLS, changes)


def _ways(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    if wish.provisioning != "flex-start":
        return
    others: tuple[Change, ...] = tuple((("provisioning", way),) for way in ("on-demand", "spot"))
    if wish.api == "tpu-api" and shape.generation == "v5p":
        changes: tuple[Change, ...] = ((("api", "compute-engine"),), (("api", "gke"),), *others)
        message = "is not for v5p on the Cloud TPU API: there it is for v5e and v6e"
        yield Reason("provisioning", "impossible", message, ("on-demand", "spot", "reservation"), FLEX_START, changes)
    if wish.api == "gke" and not shape.single_host:
        message = f"is known on GKE for slices of one host only; {shape.accelerator_type} is {shape.hosts}"
        yield Reason("provisioning", "unknown", message, ("on-demand", "spot", "reservation"), GKE_FLEX_START, others)
    if wish.api == "gke" and wish.placement == "compact":
        changes = ((("placement", ""),), *others)
        yield Reason("placement", "impossible", "does not go with flex-start on TPU machines", (), COMPACT_FLEX_START, changes)
