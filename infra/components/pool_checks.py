"""What speaks against a node pool: each thing at the key of the stack file that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationInfo

from infra.catalog import confirmed, gpu_zones, zones
from infra.catalog.fits import Verdict, judge
from infra.catalog.gpu import MAX_SHARED_CLIENTS
from infra.catalog.gpu_machines import GpuMachine
from infra.catalog.places import region_of
from infra.catalog.tpu import TpuShape
from infra.catalog.wish import Reason
from infra.components import pool_nodes
from infra.components.placement import region_of_file
from infra.components.pool_nodes import QUEUED
from infra.components.pool_parts import NODES_MAX
from infra.errors import Problem
from infra.findings import Found

if TYPE_CHECKING:
    from infra.components.node_pool import NodePoolSpec

FAMILIES_BEYOND = ("a4x-highgpu", "a4x-maxgpu")
"""Series whose nodes need networks of their own beside the cluster's, and are of Arm: nothing here makes them."""
FIELD_OF = {"zone": "zones", "placement": "compact", "api": "accelerator_type", "region": "zones"}
"""Keys of the stack file, by the part of a wish that they are."""


def problems(spec: NodePoolSpec, host: pool_nodes.Host | None, info: ValidationInfo) -> Iterator[Problem]:
    """
    Everything at once.

    Args:
        host: None where the names mean none.
    """
    yield from of_one_way(spec)
    yield from of_scale(spec)
    if host is not None:
        yield from of_host(spec, host)
        yield from of_gpus(spec, host)
    yield from of_catalogue(spec, host, info)


def warnings(pools: Mapping[str, NodePoolSpec], allow_replace: Sequence[str]) -> Iterator[Found]:
    """What is allowed, and may be meant otherwise."""
    for name, pool in pools.items():
        if pool.autoscale and pool.autoscale.min:
            words = "raising it adds no node: they come with pods that need them, and the minimum holds when fewer do"
            fix = "where they must stand at once: gcloud container clusters resize, whose number is by the zone"
            yield Found(f"node_pools.{name}.autoscale.min", "warning", words, fix)
        if pool.partition and pool.autoscale and not pool.autoscale.min:
            words = "is 0: Google says that pods which ask for a part get new nodes, and no recorded case shows it where there are none"
            yield Found(f"node_pools.{name}.autoscale.min", "warning", words, "" if pool.provisioning in QUEUED else "1 is sure to do")
        host = pool.host
        if isinstance(host, GpuMachine) and host.gpus < 1:
            words = f"{host.machine_type} has a part of a GPU: GKE has those as Preview, from 1.34.5-gke.1153000 and 1.35.2-gke.1485000 on"
            yield Found(f"node_pools.{name}.machine_type", "warning", words, "g4-standard-48 has a whole one")
        if pool.sharing and pool.sharing.clients > MAX_SHARED_CLIENTS:
            words = f"{pool.sharing.clients} is more than the {MAX_SHARED_CLIENTS} that GKE is said to allow on one GPU, by one weak source"
            yield Found(f"node_pools.{name}.sharing.clients", "warning", words, f"{MAX_SHARED_CLIENTS} or less is sure to do")
    if allow_replace:
        words = f"{', '.join(allow_replace)} may be made anew by any update, and lose their capacity"
        yield Found("allow_replace", "warning", words, "take the names out once it is done")


def of_one_way(spec: NodePoolSpec) -> Iterator[Problem]:
    way = spec.provisioning
    if spec.reservation and way != "reservation":
        fix = "remove it, or set `provisioning: reservation`"
        yield Problem("reservation", f"{way} capacity cannot consume a reservation: a pool is got in one way", fix=fix)
    if way == "reservation" and not spec.reservation:
        yield Problem("reservation", "is missing: the reservation to consume, by name")
    if spec.max_run_minutes and way not in QUEUED:
        yield Problem("max_run_minutes", f"{way} nodes have no limit", fix="remove it, or set `provisioning: flex-start`")
    if way in QUEUED and spec.autoscale is None:
        message = f"is missing: {way} nodes come when there is capacity, from none"
        yield Problem("autoscale", message, "{max: ...}", "say it instead of `nodes`" if spec.nodes else "")
    if way in QUEUED and spec.autoscale and spec.autoscale.min:
        yield Problem("autoscale.min", f"{way} nodes begin with none", "0")
    if way in QUEUED and spec.autoscale and spec.autoscale.location_policy != "any":
        yield Problem("autoscale.location_policy", f"{way} nodes come where the capacity is", "any")
    if way in QUEUED and "upgrade" in spec.model_fields_set:
        yield Problem("upgrade", f"does nothing: {way} nodes are upgraded by being made anew", fix="remove it")


def of_scale(spec: NodePoolSpec) -> Iterator[Problem]:
    if spec.nodes is not None and spec.autoscale is not None:
        message = "is said beside autoscale: two would decide how many there are"
        yield Problem("nodes", message, "one of the two", "remove it; or remove autoscale, for a fixed number")


def of_host(spec: NodePoolSpec, host: pool_nodes.Host) -> Iterator[Problem]:
    """
    How many nodes there may be of what it is.

    Sources: of slices vllm-project/ci-infra pull request 545; queues are for GPUs:
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest, and AI-Hypercomputer/xpk, src/xpk/utils/kueue.py, which
    has them for GPUs only. All read 2026-11.
    """
    scale = spec.autoscale
    if isinstance(host, TpuShape) and not host.single_host:
        if scale and scale.min:
            yield Problem("autoscale.min", f"is not for {_named(host)}: it has all of its {host.hosts} nodes, or none", "0")
        if scale and scale.max not in (None, host.hosts):
            words = f"{scale.max} is not the nodes of {_named(host)}: a pool is one slice of {host.hosts}"
            yield Problem("autoscale.max", words, f"{host.hosts}, or nothing", "more slices are more pools")
        if scale and scale.location_policy != "any":
            yield Problem("autoscale.location_policy", "would part a slice: it stands in one zone", "any")
    elif scale is None and spec.nodes is None and spec.provisioning not in QUEUED:
        yield Problem("autoscale", "is missing, and so is nodes: how many there are", "{min: 0, max: ...}, or nodes: ...")
    elif scale and scale.max is None:
        yield Problem("autoscale.max", "is missing: nodes at most, all zones together", f"1 to {NODES_MAX}")
    elif scale and scale.max is not None and scale.max < scale.min:
        yield Problem("autoscale.max", f"{scale.max} is below min", f"{scale.min} or more")
    if spec.provisioning == "queued-provisioning" and isinstance(host, TpuShape):
        yield Problem("provisioning", "queued-provisioning is for GPUs", "flex-start, spot, on-demand, reservation")


def of_gpus(spec: NodePoolSpec, host: pool_nodes.Host) -> Iterator[Problem]:
    """Source of what goes with a part of a GPU: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus, read 2026-11."""
    if isinstance(host, TpuShape):
        for key in ("driver", "sharing", "local_ssds"):
            if key in spec.model_fields_set:
                yield Problem(key, f"is for GPUs, and {_named(host)} is a TPU", fix="remove it")
        return
    if host.series in FAMILIES_BEYOND:
        words = f"{host.machine_type} needs networks of its own beside the cluster's, which are not made here"
        yield Problem("machine_type", words, "machines whose GPUs do with one network, up to A4")
    if host.gpus < 1:
        for key in ("partition", "sharing"):
            if getattr(spec, key):
                yield Problem(key, f"{host.machine_type} has a part of a GPU, which GKE neither cuts nor shares", fix="remove it")
    allowed = pool_nodes.local_ssds(host)
    if spec.local_ssds and spec.local_ssds not in allowed:
        words = f"{spec.local_ssds} is not how many local SSDs {host.machine_type} has"
        yield Problem("local_ssds", words, ", ".join(map(str, allowed)) or "none")


def of_catalogue(spec: NodePoolSpec, host: pool_nodes.Host | None, info: ValidationInfo) -> Iterator[Problem]:
    region = region_of_file(info)
    if spec.zones and region and (outside := [one for one in spec.zones if region_of(one) != region]):
        yield Problem("zones", f"{', '.join(outside)}: not in the stack's region", f"zones of {region}")
        return
    there = spec.zones_in(region) if region else spec.zones or []
    verdicts = [judge(spec.wish(zone)) for zone in there or [""]]
    sure = (info.context or {}).get("confirmed", ())
    seen: set[tuple[str, str]] = set()
    for verdict in verdicts:
        if confirmed.covers(sure, verdict):
            continue
        for reason in verdict.reasons:
            if reason.part == "zone" and not verdict.wish.zone:
                continue  # said below
            if (reason.part, reason.message) not in seen:
                seen.add((reason.part, reason.message))
                yield _as_problem(spec, verdict, reason)
    if host is None:
        return
    if region and not there:
        yield _nowhere(spec, host, region, verdicts[0])
    yield from _of_one_zone(spec, host, there)


def _nowhere(spec: NodePoolSpec, host: pool_nodes.Host, region: str, verdict: Verdict) -> Problem:
    rows: Any = zones.offers(host) if isinstance(host, TpuShape) else gpu_zones.offers(host)
    others = ", ".join(sorted({row.region for row in rows if row.trust != "low"}))
    words = f"no zone of {region} is known to offer {_named(host)} as {spec.provisioning}"
    fix = f"name zones, and say under `confirmed` how you know: `{{what: {_what(verdict)}, zone: ..., because: ...}}`"
    if others:
        fix = f"write a stack file for one of these regions; or {fix}"
    return Problem("zones", words, others, fix)


def _of_one_zone(spec: NodePoolSpec, host: pool_nodes.Host, there: list[str]) -> Iterator[Problem]:
    if len(there) > 1:
        why = ""
        if isinstance(host, TpuShape) and not host.single_host:
            why = f"{_named(host)} is one slice, and a slice stands in one zone"
        elif spec.provisioning == "reservation":
            why = "a reservation is of one zone"
        elif spec.compact:
            why = "compact nodes stand in one zone"
        if why:
            yield Problem("zones", why, f"one of {', '.join(there)}")
        elif spec.nodes and not spec.autoscale and spec.nodes % len(there):
            words = f"{spec.nodes} do not part evenly over {len(there)} zones ({', '.join(there)}), and GKE counts nodes by the zone"
            yield Problem("nodes", words, f"a multiple of {len(there)}, or one zone under `zones`")


def _named(host: pool_nodes.Host) -> str:
    """What a host is called: a slice by its type and topology."""
    if isinstance(host, TpuShape):
        return f"{host.accelerator_type} ({host.topology})" if host.topology else host.accelerator_type
    return host.machine_type if isinstance(host, GpuMachine) else f"{host.accelerator_type} on {host.machine_type}"


def _as_problem(spec: NodePoolSpec, verdict: Verdict, reason: Reason) -> Problem:
    """A reason of the catalogue, at the key of the stack file that it is about."""
    part, zone = reason.part, verdict.wish.zone
    path = FIELD_OF.get(part, part)
    got = {"zone": zone, "provisioning": spec.provisioning}.get(part) or getattr(spec, path, None)
    where = f"{zone}: " if part == "provisioning" and zone and zone in reason.message else ""
    words = f"{where}{reason.message}" if got in (None, True) else f"{where}{got} {reason.message}"
    allowed = ", ".join(reason.allowed)
    if part == "zone" and not allowed:
        allowed = ", ".join(dict.fromkeys(near.wish.zone for near in verdict.nearest[:5]))
    fix = ""
    if reason.kind in ("unknown", "unconfirmed"):
        fix = f"if you know it, write `accelform:confirmed: [{{what: {_what(verdict)}, zone: {zone or 'a zone'}, because: how you know}}]`"
    return Problem(path, words, allowed, fix)


def _what(verdict: Verdict) -> str:
    """How a confirmation names it."""
    return verdict.wish.accelerator_type or verdict.wish.machine_type
