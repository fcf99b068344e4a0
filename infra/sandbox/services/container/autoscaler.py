"""
The autoscaler: gives a pool as many nodes as its pods want, within its limits, and takes away those that nobody wants any more.

`POST /sandbox/loads` says how many nodes pods want, `{"node_pool": "projects/P/locations/L/clusters/C/nodePools/N", "nodes": 3}`. Of a pool
of which nobody says so the pods of its cluster do (`services/kubernetes/scaler.py`). The minimum is what it goes down to; it adds none.
Source: terraform-google-kubernetes-engine issue 1517.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.sandbox.service import Body
from infra.sandbox.services.container import checks, groups, ways
from infra.sandbox.services.container.parts import HOST

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

FACT = "container/loads"
UNNEEDED_SECONDS = 600.0
"""Until a node that nobody wants goes. Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler (2026)."""
BACKOFF_SECONDS = 300.0
"""Until a zone without capacity is tried again. Source: the autoscaler's own documentation (`initial-node-group-backoff-duration`)."""
RESTS = ("RUNNING", "RUNNING_WITH_ERROR")


def declare(cloud: Cloud, sent: Any) -> None:
    """
    Says how many nodes the pods of a pool want, from now on.

    Raises:
        ValueError: There is no such pool, or it is not scaled.
    """
    if set(sent) != {"node_pool", "nodes"}:
        raise ValueError(f"a load of a node pool has node_pool and nodes; got {', '.join(map(str, sent))}")
    name, nodes = cloud.projects.by_id(str(sent["node_pool"])), sent["nodes"]
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 0 <= nodes <= checks.MOST_NODES:
        raise ValueError(f"nodes: {nodes!r} is no whole number from 0 to {checks.MOST_NODES}")
    body = cloud.store.get(HOST, name) if "/nodePools/" in name else None
    if body is None:
        raise ValueError(f"node_pool: there is no node pool {name!r} in the sandbox")
    if not body.get("autoscaling"):
        raise ValueError(f"node_pool: {name} is not scaled: its size is set, and pods do not change it")
    with cloud.store.transaction():
        _keep(cloud, name, {"nodes": nodes})
        _look(cloud, name)


def shown(cloud: Cloud) -> list[Body]:
    """The loads as they are now."""
    return [{"node_pool": name, "nodes": one["nodes"]} for name, one in _loads(cloud).items()]


def clear(cloud: Cloud) -> None:
    """Nobody wants a node any more; those that are there stay."""
    for name in _loads(cloud):
        cloud.store.set_timer(HOST, name, None)
    cloud.store.set_fact(FACT, {})


def is_declared(cloud: Cloud, name: str) -> bool:
    """Whether somebody said how many nodes a pool is to have: what its pods ask for is not looked at then."""
    return name in _loads(cloud)


def settle(cloud: Cloud) -> None:
    for name in list(_loads(cloud)):
        _look(cloud, name)


def wakes(cloud: Cloud, name: str) -> None:
    if name in _loads(cloud):
        _look(cloud, name)


def _loads(cloud: Cloud) -> dict[str, Any]:
    return dict(cloud.store.fact(FACT) or {})


def _keep(cloud: Cloud, name: str, load: Body | None) -> None:
    loads = _loads(cloud)
    loads.pop(name, None)
    cloud.store.set_fact(FACT, loads | ({} if load is None else {name: load}))


def _look(cloud: Cloud, name: str) -> None:
    """Compares what a pool has with what is wanted of it."""
    load, body = _loads(cloud)[name], cloud.store.get(HOST, name)
    if body is None or not body.get("autoscaling"):
        _keep(cloud, name, None)
        return
    if body["status"] not in RESTS or load.get("next", 0.0) > cloud.moment:
        return
    sizes = groups.sizes_of(cloud, body)
    has, wanted = sum(sizes.values()), _wanted(body, load["nodes"])
    if wanted > has:
        short = _grow(cloud, body, wanted)
        _later(cloud, name, load, BACKOFF_SECONDS if short else None)
    elif max(wanted, least(body)) < has:
        if "next" in load:  # it was unneeded for long enough
            groups.resize(cloud, body, _fewer(body, sizes, has - max(wanted, least(body))))
            _later(cloud, name, load, None)
        else:
            _later(cloud, name, load, UNNEEDED_SECONDS)
    elif "next" in load:
        _later(cloud, name, load, None)


def _later(cloud: Cloud, name: str, load: Body, seconds: float | None) -> None:
    at = None if seconds is None else cloud.moment + seconds
    _keep(cloud, name, {"nodes": load["nodes"]} | ({} if at is None else {"next": at}))
    cloud.store.set_timer(HOST, name, at)


def _wanted(body: Body, nodes: int) -> int:
    """Nodes that pods get at most: a slice comes as a whole."""
    shape = ways.slice_of(body)
    if shape is not None:
        return shape.hosts if nodes else 0
    return min(nodes, most(body))


def most(body: Body) -> int:
    """Nodes of a pool at most."""
    scaling = body["autoscaling"]
    return int(scaling.get("totalMaxNodeCount") or scaling.get("maxNodeCount", 0) * len(body["locations"]))


def least(body: Body) -> int:
    """Nodes of a pool that it goes down to."""
    scaling = body["autoscaling"]
    return int(scaling.get("totalMinNodeCount") or scaling.get("minNodeCount", 0) * len(body["locations"]))


def room(body: Body) -> int:
    """Nodes of one zone at most."""
    scaling = body["autoscaling"]
    return int(scaling.get("totalMaxNodeCount") or scaling.get("maxNodeCount", 0))


def _more(body: Body, sizes: dict[str, int], count: int, dry: set[str]) -> dict[str, int]:
    """Zone -> nodes, with some more: where there are fewest, or, with ANY, in the first. Source: NodePoolAutoscaling.locationPolicy."""
    sizes = dict(sizes)
    for _ in range(count):
        zones = [zone for zone in body["locations"] if zone not in dry and sizes[zone] < room(body)]
        if not zones:
            break
        sizes[zones[0] if is_any(body) else min(zones, key=lambda zone: sizes[zone])] += 1
    return sizes


def _fewer(body: Body, sizes: dict[str, int], count: int) -> dict[str, int]:
    """The same with some fewer: where there are most, or, with ANY, in the last."""
    sizes = dict(sizes)
    for _ in range(count):
        zones = [zone for zone, size in sizes.items() if size]
        sizes[zones[-1] if is_any(body) else max(zones, key=lambda zone: sizes[zone])] -= 1
    return sizes


def is_any(body: Body) -> bool:
    """Whether nodes come in any zone, the first of them first."""
    return bool(body["autoscaling"].get("locationPolicy") == "ANY")


def _grow(cloud: Cloud, body: Body, wanted: int) -> bool:
    """Adds nodes; what one zone lacks, the others get. Answers whether some are lacking everywhere."""
    dry: set[str] = set()
    while True:
        sizes = groups.sizes_of(cloud, body)
        more = _more(body, sizes, wanted - sum(sizes.values()), dry)
        if more == sizes:
            return sum(sizes.values()) < wanted
        groups.resize(cloud, body, more)
        dry |= give_up(cloud, body)


def give_up(cloud: Cloud, body: Body) -> set[str]:
    """Takes back what a zone does not have. Answers which zones those are."""
    dry = set()
    for name in groups.managers_of(body):
        if cloud.store.fact(f"lacking/{name}"):
            zone = name.split("/")[3]
            groups.resize(cloud, body, {zone: groups.have(cloud, name)})
            cloud.store.set_fact(f"lacking/{name}", None)
            dry.add(zone)
    return dry
