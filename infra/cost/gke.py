"""GKE: the fee of a cluster, and the nodes of its pools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from infra.catalog import prices, tpu
from infra.catalog.places import region_of
from infra.catalog.prices import Item, PriceUnknown
from infra.cost.context import Context, bounds, whole
from infra.cost.disks import LOCAL_SSD_GIB, Disk, disk_lines, local_ssd_lines, share_of_month
from infra.cost.line import ALWAYS, MONTH, LineItem, Triple, either, joined, listed, scaled, unknown
from infra.cost.machine import Machine, gpus_of, machine_lines
from infra.cost.usage import HOURS
from infra.declared import UNKNOWN, Declared

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
OBJECTS = "kubernetes:"
"""How types of what is in a cluster begin."""
ZONE = re.compile(r"[a-z]+(?:-[a-z]+)+[0-9]+-[a-z0-9]+")
DEFAULT_MACHINE_TYPE, DEFAULT_DISK_GIB = "e2-medium", 100
"""What the API makes where nothing is said. Source: discovery document of container.v1, `NodeConfig`."""
DEFAULT_ZONES = 3
"""Of a regional cluster without node locations. Source: https://cloud.google.com/kubernetes-engine/docs/concepts/regional-clusters."""
PD_SERIES = ("a2", "c2", "c2d", "ct4p", "ct5lp", "ct5p", "e2", "g2", "n1", "n2", "n2d", "t2d")
"""Machines that take a persistent disk, so that the default type of a node's disk is one of two."""
CREDIT = "a credit of 74.40 a month pays one zonal or Autopilot cluster of a billing account, and is not taken off"
NO_CREDIT = "the free credit of a billing account pays zonal and Autopilot clusters only, and not this one"
TOTAL_KEYS = ("totalMinNodeCount", "totalMaxNodeCount")
SSD_KEYS = (
    "localSsdCount",
    "ephemeralStorageConfig.localSsdCount",
    "ephemeralStorageLocalSsdConfig.localSsdCount",
    "localNvmeSsdBlockConfig.localSsdCount",
)
PODS: Mapping[str, tuple[str, Item]] = {
    "pod_vcpus": ("pods' vCPUs", "autopilot-vcpu"),
    "pod_memory_gib": ("pods' memory", "autopilot-memory"),
    "pod_storage_gib": ("pods' ephemeral storage", "autopilot-ephemeral-storage"),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a pool stands."""

    region: str
    zones: int | None
    """None where it is not known."""
    note: str = ""


def cluster(resource: Declared, context: Context) -> Iterator[LineItem]:
    """The fee, and the nodes that are declared inside the cluster itself; pools of their own are lines of their own."""
    place, autopilot, removed = resource.get("location"), resource.get("enableAutopilot"), resource.get("removeDefaultNodePool")
    if not isinstance(place, str) or autopilot not in (None, False, True) or removed not in (None, False, True):
        context.machines.append(None)
        for field in PODS:
            context.given(resource.name, field)
        yield unknown(resource.name, "Cluster", "its location, mode or default pool is not known yet")
        return
    where = _place(None, resource)
    credit = CREDIT if autopilot or ZONE.fullmatch(place.lower()) else NO_CREDIT
    yield listed(resource.name, "cluster fee", "gke-cluster", where.region, MONTH, credit)
    if autopilot:
        context.machines.append(None)
        yield from _pods(resource, where.region, context)
        return
    if (automatic := resource.get("clusterAutoscaling.enabled")) not in (None, False):
        context.machines.append(None)
        why = "no declaration bounds the nodes of node auto-provisioning" if automatic is True else "whether it is on is not known yet"
        yield unknown(resource.name, "auto-provisioned nodes", why)
    if resource.get("enterpriseConfig.desiredTier") == "ENTERPRISE":
        yield unknown(resource.name, "GKE Enterprise", "the sources disagree on its fee")
    pools = [] if resource.get("nodePools") is None else resource.get("nodePools")
    if not isinstance(pools, list | tuple):
        context.machines.append(None)
        yield unknown(resource.name, "node pools", "which pools it has is not known yet")
    elif pools:
        for index, inputs in enumerate(pools):
            yield from _inline(resource, index, inputs, context)
    elif not removed:
        default = {"initialNodeCount": resource.get("initialNodeCount"), "nodeConfig": resource.get("nodeConfig")}
        yield from _pool(Declared(POOL, resource.name, default), resource.name, resource, context, "default pool")


def _inline(resource: Declared, index: int, inputs: Any, context: Context) -> Iterator[LineItem]:
    if not isinstance(inputs, dict):
        context.machines.append(None)
        yield unknown(resource.name, f"node pool {index}", "it is not known yet")
        return
    name = inputs.get("name") if isinstance(inputs.get("name"), str) else str(index)
    yield from _pool(Declared(POOL, resource.name, inputs), f"{resource.name}/{name}", resource, context, f"pool {name}")


def _pods(resource: Declared, region: str, context: Context) -> Iterator[LineItem]:
    """Autopilot bills what pods request, by the hour."""
    for field, (what, item) in PODS.items():
        said = context.given(resource.name, field)
        if said is None:
            yield unknown(resource.name, what, f"Autopilot bills what pods request: say usage.resources.{resource.name}.{field}")
        else:
            amount = scaled((said.low, said.expected, said.high), HOURS)
            yield listed(resource.name, what, item, region, amount, "general-purpose pods, on demand")


def node_pool(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`gcp:container/nodePool:NodePool`."""
    yield from _pool(resource, resource.name, context.referred(resource, "cluster", [CLUSTER]), context, "")


def _pool(pool: Declared, usage_name: str, cluster: Declared | None, context: Context, title: str) -> Iterator[LineItem]:
    """
    The nodes of a pool, their disks and addresses.

    Args:
        usage_name: What the stack file calls the pool under `usage.resources`.
        title: What a line says before what it is; empty where the resource's own name says it.
    """
    place = _place(pool, cluster)
    count = _count(pool, usage_name, place, context)
    config = pool.get("nodeConfig")
    what = title or "NodePool"
    if place.region == "" or not isinstance(config, dict | None) or isinstance(count, str):
        context.machines.append(None)
        why = count if isinstance(count, str) else "its location or its nodes are not known yet"
        yield unknown(pool.name, what, why)
        return
    context.stand(count, MONTH)
    queued, topology = pool.get("queuedProvisioning.enabled"), pool.get("placementPolicy.tpuTopology")
    nodes = Declared(pool.type, pool.name, {"queued": queued, "topology": topology, **(config or {})})
    if _in_total(pool.get("autoscaling")):
        place = replace(place, note="")  # its zones mean nothing to the count
    for line in _nodes(nodes, place, count, _private(pool, cluster)):
        yield replace(line, what=f"{title}: {line.what}") if title else line


def _place(pool: Declared | None, cluster: Declared | None) -> _Place:
    """A pool stands where it says, else where its cluster says."""
    locations = [one.get("location") for one in (pool, cluster) if one is not None]
    place = next((one for one in locations if one is not None), None)
    if not isinstance(place, str):
        return _Place("", None)
    own = pool.get("nodeLocations") if pool is not None else None
    place = place.lower()
    region = region_of(place) if ZONE.fullmatch(place) else place
    if own is not None:
        return _Place(region, len(own) or None) if isinstance(own, list | tuple) else _Place(region, None)
    if cluster is None:
        return _Place(region, None)
    home, others = cluster.get("location"), cluster.get("nodeLocations")
    if not isinstance(home, str) or not (others is None or isinstance(others, list | tuple)):
        return _Place(region, None)
    if ZONE.fullmatch(home.lower()):
        further = [one for one in others or [] if not (isinstance(one, str) and one.lower() == home.lower())]
        return _Place(region, 1 + len(further))
    return (
        _Place(region, len(others)) if others else _Place(region, DEFAULT_ZONES, f"in {DEFAULT_ZONES} zones, as no node location is said")
    )


def _count(pool: Declared, name: str, place: _Place, context: Context) -> Triple | str:
    """Nodes of the pool in all its zones, or why they are not known."""
    scaling = pool.get("autoscaling")
    if scaling is UNKNOWN:
        context.given(name, "nodes")
    if scaling is UNKNOWN or (scaling is not None and not isinstance(scaling, dict)):
        return "its bounds are not known yet"
    if scaling:
        context.given(name, "nodes")
        total = _in_total(scaling)
        found = bounds(*(scaling.get(key) for key in (TOTAL_KEYS if total else ("minNodeCount", "maxNodeCount"))))
        if found is None:
            return "its bounds are not known yet"
        zones = 1 if total else place.zones
        if zones is None:
            return "its bounds hold for each zone, and how many zones it has is not known: say nodeLocations"
        return context.between(name, "nodes", found[0] * zones, found[1] * zones)
    count = pool.get("nodeCount") if pool.get("nodeCount") is not None else pool.get("initialNodeCount")
    if count is None:
        return "it says neither a number of nodes nor the bounds of its autoscaler"
    if not whole(count):
        return "its number of nodes is not known yet"
    if not count:
        return scaled(ALWAYS, 0)
    return "how many zones it has is not known: say nodeLocations" if place.zones is None else scaled(ALWAYS, count * place.zones)


def _in_total(scaling: Any) -> bool:
    """Whether the bounds of an autoscaler hold for all zones together."""
    return isinstance(scaling, dict) and any(scaling.get(key) not in (None, 0) for key in TOTAL_KEYS)


def _private(pool: Declared, cluster: Declared | None) -> Any:
    """Whether nodes have no external address: as the pool says, else as the cluster does; None where nothing is known of the cluster."""
    own = pool.get("networkConfig.enablePrivateNodes")
    if own is not None:
        return own
    return None if cluster is None else _first(cluster.get("privateClusterConfig.enablePrivateNodes"), False)


def _nodes(nodes: Declared, place: _Place, count: Triple, private: Any) -> Iterator[LineItem]:
    machine_type, gpus = _first(nodes.get("machineType"), DEFAULT_MACHINE_TYPE), gpus_of(nodes.get("guestAccelerators"))
    provisioning = _provisioning(nodes)
    if not isinstance(machine_type, str) or gpus is None or provisioning is None:
        yield unknown(nodes.name, "nodes", "their machine type, accelerators or way of buying is not known yet")
        return
    hours = scaled(count, HOURS)
    machine_type, topology = machine_type.rpartition("/")[2], nodes.get("topology")
    slice_of, named = (f"one slice of {topology}", slice_type(machine_type, topology)) if isinstance(topology, str) else ("", "")
    note = joined(_said(count), slice_of, place.note)
    machine = Machine(nodes.name, machine_type, place.region, provisioning, hours, gpus, note, named)
    yield from machine_lines(machine)
    yield from _disk(nodes, machine)
    yield from _local_ssd(nodes, machine)
    if nodes.get("secondaryBootDisks") not in (None, []):
        yield unknown(nodes.name, "secondary boot disks", "their size is that of an image")
    for key in ("nodeGroup", "soleTenantConfig"):
        if nodes.get(key) is not None:
            yield unknown(nodes.name, key, "no price of sole-tenant nodes")
    if private is False:
        item: Item = "external-address-spot" if provisioning == "spot" else "external-address"
        yield listed(nodes.name, "external addresses", item, place.region, hours, "the nodes are not private")
    elif private is not True:
        yield unknown(nodes.name, "external addresses", "whether the nodes are private is not known")


def slice_type(machine_type: str, topology: str) -> str:
    """What a slice of such nodes is called; empty where no table has it."""
    host = tpu.by_machine_type(machine_type)
    found = (one for one in tpu.shapes().values() if host and (one.generation, one.topology) == (host.generation, topology))
    return next((one.accelerator_type for one in found), "")


def _said(count: Triple) -> str:
    low, _, high = (f"{one.normalize():f}" for one in count)
    return f"{low} node{'s' * (low != '1')}" if low == high else f"{low} to {high} nodes"


def _provisioning(nodes: Declared) -> str | None:
    spot, preemptible, flex, queued = (nodes.get(key) for key in ("spot", "preemptible", "flexStart", "queued"))
    reservation = nodes.get("reservationAffinity.consumeReservationType")
    if any(one not in (None, False, True) for one in (spot, preemptible, flex, queued)) or reservation is UNKNOWN:
        return None
    if spot or preemptible:
        return "spot"
    if flex or queued:
        return "flex-start"
    return "reservation" if reservation == "SPECIFIC_RESERVATION" else "on-demand"


def _disk(nodes: Declared, machine: Machine) -> Iterator[LineItem]:
    kind = _first(nodes.get("bootDisk.diskType"), nodes.get("diskType"))
    gib = _first(nodes.get("bootDisk.sizeGb"), nodes.get("diskSizeGb"), DEFAULT_DISK_GIB)
    stand = share_of_month(machine.hours)
    iops, throughput = nodes.get("bootDisk.provisionedIops"), nodes.get("bootDisk.provisionedThroughput")
    if kind is not None or not whole(gib):
        yield from disk_lines(nodes.name, "node disk", Disk(kind, gib, _number(iops), _number(throughput)), machine.region, stand)
        return
    if machine.machine_type.partition("-")[0] not in PD_SERIES:
        yield unknown(nodes.name, "node disk", "its type is not said, and no source tells the default of this machine")
        return
    try:
        standard, balanced = prices.price("pd-standard", machine.region), prices.price("pd-balanced", machine.region)
    except PriceUnknown as error:
        yield unknown(nodes.name, "node disk", str(error))
        return
    note = "no type is said: pd-standard or pd-balanced, the sources disagree on the default"
    yield either(nodes.name, "node disk", scaled(stand, gib), standard, balanced, note)


def _first(*values: Any) -> Any:
    return next((one for one in values if one is not None), None)


def _number(value: Any) -> Any:
    """Whole numbers that this API takes as text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _local_ssd(nodes: Declared, machine: Machine) -> Iterator[LineItem]:
    counts = [0 if (one := nodes.get(key)) is None else one for key in SSD_KEYS]
    if not all(map(whole, counts)):
        yield unknown(nodes.name, "local SSD", "how many there are is not known yet")
    elif sum(counts) and not machine.brings_local_ssd:
        gib = sum(counts) * LOCAL_SSD_GIB
        yield from local_ssd_lines(nodes.name, gib, machine.region, machine.provisioning, share_of_month(machine.hours))


LINES = {CLUSTER: cluster, POOL: node_pool}
