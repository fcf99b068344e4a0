"""
A ladder of capacity: the same machine, got in one way after the other, in one zone after the other. GKE makes the nodes, in pools of its
own, when a pod names the class, and takes them away when none needs them. It never makes another machine, and none outside the region.

Sources: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes (2026-04-13),
.../docs/reference/crds/computeclass and .../docs/reference/crds/capacityquota, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, model_validator

from infra import names
from infra.catalog import confirmed, gpu_zones, zones
from infra.catalog.accelerator import accelerator
from infra.catalog.fits import Verdict, judge
from infra.catalog.fits_thing import meant
from infra.catalog.nodes import Gpus, Node, Taint
from infra.catalog.nodes import node as pool_node
from infra.catalog.places import region_of
from infra.catalog.tpu import TpuShape
from infra.catalog.wish import Provisioning, Wish
from infra.components import pool_nodes
from infra.components.cluster import ClusterSpec
from infra.components.node_pool import NodePoolSpec
from infra.components.placement import Placement, region_of_file
from infra.components.pool_checks import FAMILIES_BEYOND, FIELD_OF
from infra.components.tpu_offer import FLEX_START_MINUTES, Reservation
from infra.errors import Problem, ProblemsError
from infra.findings import Found
from infra.in_cluster.seat import POOL_LABEL, RESOURCES, Seat
from infra.kubernetes import Object
from infra.spec import Because, Name, Spec, WholeNumber, YesNo, distinct, problem

CLASS = "cloud.google.com/compute-class"
"""Label and taint of every node of a class, with its name."""
SPOT = "cloud.google.com/gke-spot"
"""Taint that GKE puts on the Spot nodes that it makes itself."""
RUNGS_MAX = 10
"""Rungs of one class. GKE tries again after five minutes: of a longer ladder the first are tried again before the last are reached.
Source: google/skills, gke-compute-classes, "List loops", read 2026-11."""
API, QUOTA_API = "cloud.google.com/v1", "autoscaling.x-k8s.io/v1beta1"


class ComputeClassSpec(Spec):
    """One machine or slice, and in which order it is got. Checked in every way and zone before anything is declared."""

    never: ClassVar[dict[str, str]] = {
        "existing": "which machines a class makes decides what fits on it, and only this file says that here",
        "min_nodes": "GKE takes away every node that no pod needs: name a pool of the region's file first, under `node_pools`",
        "partition": "a class has no such field: cut GPUs in a pool of the region's file",
        "sharing": "share GPUs in a pool of the region's file",
        "spot": "say `spot` under `provisioning`",
    }

    accelerator_type: Annotated[str, StringConstraints(strict=True)] | None = None
    """A TPU slice such as `v6e-1`, or a GPU such as `nvidia-l4` beside its machine type. (default: what the machine type has built in)"""
    machine_type: Annotated[str, StringConstraints(strict=True)] | None = None
    """Machine type such as `g2-standard-8`. Of a TPU only where a slice is made of two kinds: `ct6e-standard-4t` for 2x4 of two hosts."""
    count: Annotated[WholeNumber, Field(ge=1, le=16)] | None = None
    """GPUs of one node, on N1 machines. (default: what the machine type has built in)"""
    topology: Annotated[str, StringConstraints(strict=True)] | None = None
    """Chips along each axis of a TPU slice, such as `2x4`. (default: that of the accelerator type)"""
    provisioning: Annotated[list[Provisioning], Field(min_length=1), AfterValidator(distinct)]
    """Ways of getting it, the first choice first: of `reservation`, `flex-start`, `on-demand` and `spot`. Each way is tried in every zone
    before the next."""
    zones: Annotated[list[str], Field(min_length=1), AfterValidator(distinct)] | None = None
    """Zones of the region in the order in which they are tried. (default: all that are known to offer it, and GKE picks)"""
    reservation: Reservation | None = None
    """The reservation that is consumed, with `reservation` under `provisioning` only: its name, or its full one in another project."""
    reservation_zone: Annotated[str, StringConstraints(strict=True)] | None = None
    """Zone of the reservation, which is of one zone. (default: the only zone)"""
    node_pools: Annotated[list[Name], AfterValidator(distinct)] = []
    """Pools of the region's file that are filled before the class makes nodes, in this order. They must be labelled and tainted with the
    class, and be of the same machine."""
    max_nodes: Annotated[WholeNumber, Field(ge=1, le=1000)] | None = None
    """Nodes at most that are there at once, those of `node_pools` included: a CapacityQuota, which is Preview, and needs GKE
    1.36.2-gke.2064000. (default: no limit but those of the cluster and of quotas; what it may cost at most is then unknown)"""
    max_run_minutes: Annotated[WholeNumber, Field(ge=FLEX_START_MINUTES[0], le=FLEX_START_MINUTES[1])] | None = None
    """Minutes after which a flex-start node ends. (default: seven days)"""
    because: Because | None = None
    """Why `on-demand` comes before anything cheaper: a sentence, which such a class must have. (default: none)"""
    move_back: YesNo = False
    """Whether pods are moved to a better rung as soon as it has room: they are ended for it. Not for jobs."""
    driver: Literal["default", "latest"] = "default"
    """Driver of the GPUs that GKE installs."""
    disk_gib: Annotated[WholeNumber, Field(ge=30, le=65536)] = 100
    """Size of each node's boot disk."""

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        if found := list(_problems(self, self._host(), info)):
            raise ProblemsError(found)
        return self

    @cached_property
    def host(self) -> pool_nodes.Host:
        """A node's machine, or the slice that several nodes are."""
        found = self._host()
        assert found is not None, "it was checked"
        return found

    def _host(self) -> pool_nodes.Host | None:
        found, _ = meant(self.wish(self.provisioning[0], ""))
        return found if isinstance(found, pool_nodes.Host) else None

    @property
    def hosts(self) -> int:
        """Nodes that come and go together."""
        return self.host.hosts if isinstance(self.host, TpuShape) else 1

    @property
    def accelerators(self) -> int:
        """Accelerators of one node."""
        return pool_nodes.accelerators(self.host, None, 1)

    def wish(self, way: Provisioning, zone: str) -> Wish:
        """What the catalogue judges, of one way in one zone."""
        return Wish(
            "gke",
            self.accelerator_type or "",
            self.machine_type or "",
            self.count,
            self.topology or "",
            zone=zone,
            provisioning=way,
        )

    def verdicts(self, region: str) -> Iterator[Verdict]:
        """What the catalogue says to each way in each zone."""
        yield from (judge(self.wish(way, zone)) for way in self.provisioning for zone in self._tried(way, region))

    def _tried(self, way: Provisioning, region: str) -> list[str]:
        """Zones in which a way is looked for: those that are said, else those of the region that are known to have the machine."""
        said = self.zones or self._known(region)
        if way != "reservation" or self.reservation_zone is None:
            return said
        return [self.reservation_zone]

    def _known(self, region: str) -> list[str]:
        host = self._host()
        if host is None:
            return []
        rows: Any = zones.offers(host) if isinstance(host, TpuShape) else gpu_zones.offers(host)
        return sorted({row.zone for row in rows if row.trust != "low" and region_of(row.zone) == region})

    def rungs(self, region: str, sure: Sequence[confirmed.Confirmation] = ()) -> tuple[Rung, ...]:
        """
        The ladder: each way in each zone that has it, one after the other where zones are said, else all zones of a way together.

        Args:
            sure: What the file confirms.
        """
        found = []
        for way in self.provisioning:
            able = [zone for zone in self._tried(way, region) if _works(judge(self.wish(way, zone)), sure)]
            found += [Rung(way, (zone,)) for zone in able] if self.zones else [Rung(way, tuple(able))] if able else []
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Rung:
    """One way, in the zones in which it is tried together."""

    way: Provisioning
    zones: tuple[str, ...]


class ComputeClass(pulumi.ComponentResource):
    """A class of nodes, and how many there may be."""

    compute_class: Object

    def __init__(
        self,
        name: str,
        spec: ComputeClassSpec,
        *,
        placement: Placement,
        region_stack: str,
        cluster: str,
        cluster_spec: ClusterSpec,
        sure: Sequence[confirmed.Confirmation] = (),
        pools: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            pools: Names of pools in the cluster, by key. (default: as the region's stack names its own)
            cluster: Its key in the region's file: the account of its nodes is named after it.
            sure: What the file confirms.
        """
        super().__init__("accelform:compute_class:ComputeClass", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        labels = {**placement.labels, "app.kubernetes.io/name": name}
        made = spec_of(spec, region=placement.region, region_stack=region_stack, sure=sure, named=pools)
        made["nodePoolConfig"] = {
            "serviceAccount": names.service_account_email(placement.project, region_stack, f"gke-{cluster}"),
            "imageStreaming": {"enabled": cluster_spec.image_streaming},
            "ipType": "private",
        }
        metadata = {"name": name, "labels": labels}
        if spec.max_nodes:
            Object(quota(name, spec.max_nodes, labels), child)
        self.compute_class = Object({"apiVersion": API, "kind": "ComputeClass", "metadata": metadata, "spec": made}, child)
        self.register_outputs({})


def spec_of(
    spec: ComputeClassSpec,
    *,
    region: str,
    region_stack: str,
    sure: Sequence[confirmed.Confirmation],
    named: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The ladder as GKE has it. A pod that no rung can hold waits: no other machine is ever made for it."""
    pools = [{"nodepools": [(named or {}).get(pool) or names.cluster(region_stack, pool)]} for pool in spec.node_pools]
    return {
        "priorities": [*pools, *(_priority(spec, rung) for rung in spec.rungs(region, sure))],
        "nodePoolAutoCreation": {"enabled": True},
        "activeMigration": {"optimizeRulePriority": spec.move_back},
        "whenUnsatisfiable": "DoNotScaleUp",
    }


def _priority(spec: ComputeClassSpec, rung: Rung) -> dict[str, Any]:
    """
    One rung. Zones of a reservation are said with it: beside it, GKE refuses them. Local SSDs that come with a machine are said, since GKE
    finds no reservation of it otherwise.

    Sources: the page on classes, "Auto-create node pools to consume reservations"; vllm-project/ci-infra pull request 522, which ran.
    """
    host = spec.host
    made: dict[str, Any] = {
        "machineType": host.machine_type,
        "storage": {"bootDiskType": pool_nodes.boot_disk(host), "bootDiskSize": spec.disk_gib},
        "spot": rung.way == "spot",
    }
    if isinstance(host, TpuShape):
        label = accelerator(host.sold_as).gke_label
        made["tpu"] = {"type": label, "count": host.chips_per_host, "topology": host.topology}
    else:
        made["gpu"] = {"type": host.accelerator_type, "count": pool_nodes.gpus_of(host), "driverVersion": spec.driver}
        if ssds := pool_nodes.bundled_ssds(host):
            made["storage"]["localSSDCount"] = ssds
    if rung.way == "flex-start":
        made["flexStart"] = {"enabled": True}
        if spec.max_run_minutes:
            made["maxRunDurationSeconds"] = spec.max_run_minutes * 60
    if rung.way == "reservation":
        *owner, reservation = (spec.reservation or "").removeprefix("projects/").split("/reservations/")
        one: dict[str, Any] = {"name": reservation, "zones": list(rung.zones)}
        made["reservations"] = {"affinity": "Specific", "specific": [one | ({"project": owner[0]} if owner else {})]}
    else:
        made["location"] = {"zones": list(rung.zones)}
    return made


def quota(name: str, nodes: int, labels: Mapping[str, str]) -> dict[str, Any]:
    """
    How many nodes of a class there may be. GKE may go over it for a moment, where what it knows is old.

    Source: kubernetes/autoscaler, `CapacityQuotaLimits` of v1beta1: "nodes key can be used to limit the number of existing nodes".
    """
    return {
        "apiVersion": QUOTA_API,
        "kind": "CapacityQuota",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"selector": {"matchLabels": {CLASS: name}}, "limits": {"resources": {"nodes": nodes}}},
    }


def seat(name: str, spec: ComputeClassSpec, pools: Mapping[str, NodePoolSpec]) -> Seat:
    """
    The seat that a class is, as pods see it. Labels of the machine are not asked for: GKE refuses pods that name a class and those.

    Args:
        pools: Pools of the region's file, of which the class may have some.
    """
    host = spec.host
    kind = "tpu" if isinstance(host, TpuShape) else "gpu"
    spot = "spot" in spec.provisioning or any(pools[one].provisioning == "spot" for one in spec.node_pools if one in pools)
    tolerations: list[dict[str, Any]] = [
        {"key": CLASS, "operator": "Equal", "value": name, "effect": "NoSchedule"},
        {"key": pool_nodes.TAINTS[kind], "operator": "Exists", "effect": "NoSchedule"},
    ]
    if spot:
        tolerations.append({"key": SPOT, "operator": "Equal", "value": "true", "effect": "NoSchedule"})
    return Seat(name, {CLASS: name}, tuple(tolerations), RESOURCES[kind], spec.accelerators, spec.hosts, spot, host.accelerator_type)


def nodes(
    name: str, spec: ComputeClassSpec, region: str, sure: Sequence[confirmed.Confirmation] = (), *, image_streaming: bool = True
) -> tuple[Node, ...]:
    """
    The nodes that GKE makes for a class: one for each way in each zone, in pools whose names nobody knows before.

    Args:
        sure: What the file confirms.
        image_streaming: Of the cluster; it costs memory.
    """
    host = spec.host
    taint = pool_nodes.TAINTS["tpu" if isinstance(host, TpuShape) else "gpu"]
    found = []
    for way, zone in dict.fromkeys((rung.way, zone) for rung in spec.rungs(region, sure) for zone in rung.zones):
        made = pool_node(
            f"compute class {name}",
            machine_type=host.machine_type,
            pool="",
            zone=zone,
            disk_gib=spec.disk_gib,
            disk_type=pool_nodes.boot_disk(host),
            gpus=None if isinstance(host, TpuShape) else Gpus(host.accelerator_type, pool_nodes.gpus_of(host), driver=spec.driver),
            topology=host.topology if isinstance(host, TpuShape) else "",
            local_ssds=0 if isinstance(host, TpuShape) else pool_nodes.bundled_ssds(host),
            image_streaming=image_streaming,
            provisioning=way,
            reservation=(spec.reservation or "") if way == "reservation" else "",
            labels={CLASS: name},
            taints=[Taint(CLASS, name), Taint(taint, "present"), *([Taint(SPOT, "true")] if way == "spot" else [])],
        )
        known = {key: value for key, value in made.labels.items() if key != POOL_LABEL}
        found.append(replace(made, labels=MappingProxyType(known), undecided=made.undecided | {POOL_LABEL}))
    return tuple(found)


# What speaks against it.


def class_name(value: str) -> str:
    """Names that GKE keeps for itself are refused."""
    if value.startswith(("gke", "autopilot")) or value == "default":
        raise problem("is a name that GKE keeps for itself", allowed="one that begins with neither gke nor autopilot, and is not default")
    return value


def warnings(classes: Mapping[str, ComputeClassSpec], region: str, sure: Sequence[confirmed.Confirmation] = ()) -> Iterator[Found]:
    """What is allowed, and may be meant otherwise."""
    for name, spec in classes.items():
        rungs = spec.rungs(region, sure)
        for way in spec.provisioning:
            there = {zone for rung in rungs if rung.way == way for zone in rung.zones}
            lacks = [zone for zone in spec.zones or () if zone not in there and way != "reservation"]
            if lacks:
                words = f"{way} has no rung in {', '.join(lacks)}: it is not known to be sold so there"
                yield Found(f"compute_classes.{name}.zones", "warning", words)
        if spec.max_nodes is None:
            words = "is not said: nothing but the cluster and quotas limits the nodes that GKE makes, and what they may cost is unknown"
            yield Found(f"compute_classes.{name}.max_nodes", "warning", words)


def against_pools(name: str, spec: ComputeClassSpec, pools: Mapping[str, NodePoolSpec], cluster: ClusterSpec) -> Iterator[Problem]:
    """What speaks against the pools that are its first rungs."""
    if spec.node_pools and not cluster.own_nodes:
        yield Problem("node_pools", "does nothing: the cluster is Autopilot, which makes its nodes itself", fix="remove it")
        return
    if cluster.existing and all(pool.existing for pool in pools.values()):
        words = "its machines would have no account: the region's file has no node pool of its own in the cluster, which is existing"
        yield Problem("provisioning", words, fix="write a pool of its own into the region's file; or let pods name the owner's own class")
    for number, key in enumerate(spec.node_pools):
        path = f"node_pools.{number}"
        pool = pools.get(key)
        if pool is None:
            yield Problem(path, f"{key} is no node pool of the cluster", ", ".join(pools) or "none: the region's file has no pool of it")
            continue
        if (pool.host.accelerator_type, pool.host.machine_type) != (spec.host.accelerator_type, spec.host.machine_type):
            words = f"{key} is of {pool.host.machine_type} with {pool.host.accelerator_type}, and a class is of one machine"
            yield Problem(path, words, f"a pool of {spec.host.machine_type}")
        is_tainted = any((one.key, one.value, one.effect) == (CLASS, name, "no-schedule") for one in pool.taints)
        if pool.labels.get(CLASS) != name or not is_tainted:
            words = f"{key} does not carry the class: GKE scales up no pool for it that has not its label and its taint"
            fix = f"in the region's file: labels: {{{CLASS}: {name}}}, taints: [{{key: {CLASS}, value: {name}}}]"
            yield Problem(path, words, fix=fix)
        if not pool.autoscale:
            yield Problem(path, f"{key} has a fixed number of nodes, and is no rung", "a pool with autoscale")


def _works(verdict: Verdict, sure: Sequence[confirmed.Confirmation]) -> bool:
    return verdict.kind == "works" or confirmed.covers(sure, verdict)


def _problems(spec: ComputeClassSpec, host: pool_nodes.Host | None, info: ValidationInfo) -> Iterator[Problem]:
    """Everything at once."""
    yield from _of_ways(spec)
    if host is not None:
        yield from _of_host(spec, host)
    region = region_of_file(info)
    if region and spec.zones and (outside := [one for one in spec.zones if region_of(one) != region]):
        yield Problem("zones", f"{', '.join(outside)}: not in the cluster's region", f"zones of {region}")
        return
    if region and spec.reservation_zone and region_of(spec.reservation_zone) != region:
        yield Problem("reservation_zone", f"{spec.reservation_zone} is not in the cluster's region", f"a zone of {region}")
        return
    sure = (info.context or {}).get("confirmed", ())
    yield from _of_catalogue(spec, host, region, sure)
    if region and host is not None:
        yield from _of_rungs(spec, region, sure)


def _of_ways(spec: ComputeClassSpec) -> Iterator[Problem]:
    ways = spec.provisioning
    if "reservation" in ways and not spec.reservation:
        yield Problem("reservation", "is missing: the reservation to consume, by name")
    for key in ("reservation", "reservation_zone"):
        if getattr(spec, key) and "reservation" not in ways:
            yield Problem(key, "does nothing: no rung consumes a reservation", fix="remove it, or put `reservation` under provisioning")
    if spec.max_run_minutes and "flex-start" not in ways:
        yield Problem("max_run_minutes", "is for flex-start, which is no rung", fix="remove it, or put `flex-start` under provisioning")


def _of_host(spec: ComputeClassSpec, host: pool_nodes.Host) -> Iterator[Problem]:
    if isinstance(host, TpuShape):
        if "driver" in spec.model_fields_set:
            yield Problem("driver", f"is for GPUs, and {host.accelerator_type} is a TPU", fix="remove it")
        if spec.max_nodes and spec.max_nodes % host.hosts:
            yield Problem("max_nodes", f"{spec.max_nodes} cuts a slice: it is {host.hosts} nodes", f"a multiple of {host.hosts}")
        if not host.topology:
            yield Problem("topology", f"of {host.accelerator_type} is not known, and a class must say it", fix="name another slice")
    elif host.series in FAMILIES_BEYOND:
        yield Problem("machine_type", f"{host.machine_type} needs networks of its own beside the cluster's, which are not made here")


def _of_catalogue(
    spec: ComputeClassSpec, host: pool_nodes.Host | None, region: str | None, sure: Sequence[confirmed.Confirmation]
) -> Iterator[Problem]:
    """What the catalogue says: of a way that no zone has, all of it; of a zone that has no way, what speaks against the first choice."""
    seen: set[tuple[str, str]] = set()
    works: set[str] = set()
    for way in spec.provisioning:
        there = spec._tried(way, region) if region else spec.zones or []
        verdicts = [judge(spec.wish(way, zone)) for zone in there or [""]]
        works |= {one.wish.zone for one in verdicts if _works(one, sure)}
        if any(_works(one, sure) for one in verdicts):
            continue
        for verdict in verdicts:
            for reason in verdict.reasons:
                if (reason.part == "zone" and not verdict.wish.zone) or (reason.part, reason.message) in seen:
                    continue
                seen.add((reason.part, reason.message))
                yield _as_problem(spec, verdict, reason)
    if host is None:
        return
    if region and not spec.zones and not spec._known(region):
        rows: Any = zones.offers(host) if isinstance(host, TpuShape) else gpu_zones.offers(host)
        others = ", ".join(sorted({row.region for row in rows if row.trust != "low"}))
        words = f"no zone of {region} is known to offer {host.accelerator_type}"
        yield Problem(
            "zones", words, others, "name zones, and say under `confirmed` of the region's file how you know" if not others else ""
        )
    for zone in (spec.zones or []) if works else []:
        if zone not in works:
            verdict = judge(spec.wish(spec.provisioning[0], zone))
            words = "; ".join(reason.message for reason in verdict.reasons) or "is the zone of no rung"
            yield Problem("zones", f"{zone} {words}", ", ".join(sorted(works)), "remove it")


def _of_rungs(spec: ComputeClassSpec, region: str, sure: Sequence[confirmed.Confirmation]) -> Iterator[Problem]:
    rungs = spec.rungs(region, sure)
    reserved = [zone for rung in rungs if rung.way == "reservation" for zone in rung.zones]
    if len(reserved) > 1:
        yield Problem("reservation_zone", "is missing: a reservation is of one zone", ", ".join(reserved))
    many = len(rungs) + len(spec.node_pools)
    if many > RUNGS_MAX:
        words = f"makes {many} rungs with the ways and pools: the first are tried again before the last are reached"
        yield Problem("zones", words, f"{RUNGS_MAX} rungs at most", "name fewer zones or ways; without zones, all of a way are one rung")


def _as_problem(spec: ComputeClassSpec, verdict: Verdict, reason: Any) -> Problem:
    """A reason of the catalogue, at the key of the file that it is about."""
    zone, way = verdict.wish.zone, verdict.wish.provisioning
    is_reserved = way == "reservation" and spec.reservation_zone is not None
    path = "reservation_zone" if reason.part == "zone" and is_reserved else FIELD_OF.get(reason.part, reason.part)
    got = {"zone": zone, "provisioning": way}.get(reason.part) or getattr(spec, path, None)
    words = reason.message if got is None or isinstance(got, list | bool) else f"{got} {reason.message}"
    allowed = ", ".join(reason.allowed)
    if reason.part == "zone" and not allowed:
        allowed = ", ".join(dict.fromkeys(near.wish.zone for near in verdict.nearest[:5]))
    fix = ""
    if reason.kind in ("unknown", "unconfirmed"):
        what = verdict.wish.accelerator_type or verdict.wish.machine_type
        fix = f"if you know it, write `accelform:confirmed: [{{what: {what}, zone: {zone or 'a zone'}, because: ...}}]`"
    return Problem(path, words, allowed, fix)
