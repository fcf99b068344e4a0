"""
A pool of nodes with accelerators in a GKE cluster.

The machine, its accelerators, the topology and how many nodes a slice takes follow from the catalogue. Whatever the service would fill
in, and the provider then sees as a change that replaces the pool, is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, model_validator

from infra import gcp, names
from infra.catalog import confirmed, gpu_zones, zones
from infra.catalog.fits import Verdict, judge
from infra.catalog.fits_thing import meant
from infra.catalog.gpu_machines import GpuMachine
from infra.catalog.places import region_of
from infra.catalog.tpu import TpuShape
from infra.catalog.wish import Provisioning, Wish
from infra.components import pool_nodes, tpu_host
from infra.components.cluster import Cluster, ClusterSpec, node_config
from infra.components.placement import Placement, region_of_file
from infra.components.pool_parts import NODES_MAX, AutoscaleSpec, Key, SharingSpec, TaintSpec, UpgradeSpec, Value
from infra.components.tpu_offer import FLEX_START_MINUTES, Reservation
from infra.errors import Problem, ProblemsError
from infra.spec import Name, Spec, WholeNumber, YesNo, distinct, pattern

Way = Literal["on-demand", "spot", "flex-start", "queued-provisioning", "reservation"]
QUEUED = ("flex-start", "queued-provisioning")
"""Ways that wait for capacity. Their nodes end by themselves, are not repaired, and are upgraded by being made anew.
Source: https://cloud.google.com/kubernetes-engine/docs/concepts/dws, read 2026-11."""
FAMILIES_BEYOND = ("a4x-highgpu", "a4x-maxgpu")
"""Series whose nodes need networks of their own beside the cluster's, and are of Arm: nothing here makes them."""
FIELD_OF = {"zone": "zones", "placement": "compact", "api": "accelerator_type", "region": "zones"}
"""Keys of the stack file, by the part of a wish that they are."""


class NodePoolSpec(Spec):
    """What one node pool is. Checked before anything is declared."""

    never: ClassVar[dict[str, str]] = {
        "total_max": "say `autoscale: {max: ...}`: it counts all zones together, and for a slice of several hosts it is its hosts",
        "node_count": "say `nodes`, all zones together",
        "spot": "say `provisioning: spot`",
    }

    cluster: Name
    """The cluster that it is in: a key of `clusters:`."""
    accelerator_type: Annotated[str, StringConstraints(strict=True)] | None = None
    """A TPU slice such as `v5litepod-16`: machine type, topology and nodes follow from it. A GPU such as `nvidia-l4` beside its machine
    type. (default: what the machine type has built in)"""
    machine_type: Annotated[str, StringConstraints(strict=True)] | None = None
    """Machine type such as `g2-standard-8`. Of a TPU only where a slice is made of two kinds: `ct5lp-hightpu-4t` for 2x4 of two hosts."""
    count: Annotated[WholeNumber, Field(ge=1, le=16)] | None = None
    """GPUs of one node, on N1 machines. (default: what the machine type has built in)"""
    topology: Annotated[str, StringConstraints(strict=True)] | None = None
    """Chips along each axis of a TPU slice, such as `2x4`. (default: that of the accelerator type)"""
    zones: Annotated[list[str], Field(min_length=1), AfterValidator(distinct)] | None = None
    """Zones of the stack's region. (default: all that are known to offer it; of several, a slice of several hosts and what is reserved
    or compact need one named)"""
    provisioning: Way
    """How the capacity is got: one way for a pool. `flex-start` and `queued-provisioning` wait for it, and end by themselves; with the
    second, pods ask by a ProvisioningRequest and get all nodes at once."""
    reservation: Reservation | None = None
    """The reservation that is consumed, with `provisioning: reservation` only: its name, or its full one in another project."""
    max_run_minutes: Annotated[WholeNumber, Field(ge=FLEX_START_MINUTES[0], le=FLEX_START_MINUTES[1])] | None = None
    """Minutes after which a node ends, with `flex-start` and `queued-provisioning` only. (default: seven days)"""
    nodes: Annotated[WholeNumber, Field(ge=1, le=NODES_MAX)] | None = None
    """A fixed number of nodes, all zones together. Of a TPU slice of several hosts it is computed, and not said."""
    autoscale: AutoscaleSpec | None = None
    """Nodes as pods ask for them, from none up. One of `nodes` and `autoscale` is said."""
    driver: pool_nodes.Driver = "default"
    """Driver of the GPUs that GKE installs. A change makes the pool anew."""
    partition: Annotated[str, StringConstraints(strict=True)] | None = None
    """Size of the parts that each GPU is cut into, such as `1g.5gb`."""
    sharing: SharingSpec | None = None
    """Several containers on one GPU. (default: one each)"""
    compact: YesNo = False
    """Whether nodes stand close to each other, for jobs over many nodes with GPUs. Slices of TPUs always do."""
    disk_gib: Annotated[WholeNumber, Field(ge=30, le=65536)] = 100
    """Size of each node's boot disk."""
    local_ssds: Annotated[WholeNumber, Field(ge=1, le=32)] | None = None
    """Local SSDs of 375 GiB that a node keeps temporary files on. (default: none, or those that come with the machine)"""
    image_cache: (
        Annotated[str, pattern(r"projects/[a-z0-9-]+/global/images/[a-z0-9-]+", "is no disk image", "projects/shop/global/images/models-1")]
        | None
    ) = None
    """A disk image with container images or models, from which each node gets a disk when it boots."""
    labels: dict[Key, Value] = {}
    """Labels of the nodes in Kubernetes."""
    taints: list[TaintSpec] = []
    """Taints beside that of the accelerator, which every pool has."""
    upgrade: UpgradeSpec = UpgradeSpec()

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        problems = [*self._of_one_way(), *self._of_scale()]
        host = self._host()
        if host is not None:
            problems += [*self._of_host(host), *self._of_gpus(host)]
        problems += self._of_catalogue(host, info)
        if problems:
            raise ProblemsError(problems)
        return self

    # What it is.

    @cached_property
    def host(self) -> pool_nodes.Host:
        """A node's machine, or the slice that all nodes are."""
        found = self._host()
        assert found is not None, "it was checked"
        return found

    def _host(self) -> pool_nodes.Host | None:
        found, _ = meant(self.wish(""))
        return found if isinstance(found, pool_nodes.Host) else None

    @property
    def several_hosts(self) -> bool:
        """Whether all nodes together are one TPU slice."""
        return isinstance(self.host, TpuShape) and not self.host.single_host

    @property
    def way(self) -> Provisioning:
        """How it is sold: what waits in a queue is flex-start."""
        return "flex-start" if self.provisioning == "queued-provisioning" else self.provisioning

    def wish(self, zone: str) -> Wish:
        """What the catalogue judges, in one zone."""
        return Wish(
            "gke",
            self.accelerator_type or "",
            self.machine_type or "",
            self.count,
            self.topology or "",
            zone=zone,
            provisioning=self.way,
            placement="compact" if self.compact else "",
            nodes=None if self.nodes == 1 else self.nodes,
            partition=self.partition or "",
        )

    def verdicts(self, region: str) -> Iterator[Verdict]:
        """What the catalogue says to it, in each of its zones."""
        yield from (judge(self.wish(zone)) for zone in self.zones_in(region))

    def zones_in(self, region: str) -> list[str]:
        """Its zones: those that are said, else those of the region that are known to offer it."""
        if self.zones:
            return sorted(self.zones)
        host = self._host()
        if host is None:
            return []
        rows = zones.offers(host) if isinstance(host, TpuShape) else gpu_zones.offers(host)
        able = sorted(row.zone for row in rows if row.trust != "low" and region_of(row.zone) == region)
        return [zone for zone in able if not any(one.part in ("zone", "provisioning") for one in judge(self.wish(zone)).reasons)]

    def bounds(self) -> tuple[int, int]:
        """Nodes at least and at most, all zones together."""
        if self.several_hosts:
            hosts = cast(TpuShape, self.host).hosts
            return (0 if self.autoscale else hosts, hosts)
        if self.autoscale:
            assert self.autoscale.max is not None, "it was checked"
            return self.autoscale.min, self.autoscale.max
        assert self.nodes is not None, "it was checked"
        return self.nodes, self.nodes

    # What speaks against it.

    def _of_one_way(self) -> Iterator[Problem]:
        way = self.provisioning
        if self.reservation and way != "reservation":
            fix = "remove it, or set `provisioning: reservation`"
            yield Problem("reservation", f"{way} capacity cannot consume a reservation: a pool is got in one way", fix=fix)
        if way == "reservation" and not self.reservation:
            yield Problem("reservation", "is missing: the reservation to consume, by name")
        if self.max_run_minutes and way not in QUEUED:
            yield Problem("max_run_minutes", f"{way} nodes have no limit", fix="remove it, or set `provisioning: flex-start`")
        if way in QUEUED and self.autoscale is None:
            message = f"is missing: {way} nodes come when there is capacity, from none"
            yield Problem("autoscale", message, "{max: ...}", "say it instead of `nodes`" if self.nodes else "")
        if way in QUEUED and self.autoscale and self.autoscale.min:
            yield Problem("autoscale.min", f"{way} nodes begin with none", "0")
        if way in QUEUED and self.autoscale and self.autoscale.location_policy != "any":
            yield Problem("autoscale.location_policy", f"{way} nodes come where the capacity is", "any")
        if way in QUEUED and "upgrade" in self.model_fields_set:
            yield Problem("upgrade", f"does nothing: {way} nodes are upgraded by being made anew", fix="remove it")

    def _of_scale(self) -> Iterator[Problem]:
        if self.nodes is not None and self.autoscale is not None:
            message = "is said beside autoscale: two would decide how many there are"
            yield Problem("nodes", message, "one of the two", "remove it; or remove autoscale, for a fixed number")

    def _of_host(self, host: pool_nodes.Host) -> Iterator[Problem]:
        scale = self.autoscale
        if isinstance(host, TpuShape) and not host.single_host:
            if scale and scale.min:
                yield Problem("autoscale.min", f"is not for {_named(host)}: it has all of its {host.hosts} nodes, or none", "0")
            if scale and scale.max not in (None, host.hosts):
                words = f"{scale.max} is not the nodes of {_named(host)}: a pool is one slice of {host.hosts}"
                yield Problem("autoscale.max", words, f"{host.hosts}, or nothing", "more slices are more pools")
            if scale and scale.location_policy != "any":
                yield Problem("autoscale.location_policy", "would part a slice: it stands in one zone", "any")
        elif scale is None and self.nodes is None and self.provisioning not in QUEUED:
            yield Problem("autoscale", "is missing, and so is nodes: how many there are", "{min: 0, max: ...}, or nodes: ...")
        elif scale and scale.max is None:
            yield Problem("autoscale.max", "is missing: nodes at most, all zones together", f"1 to {NODES_MAX}")
        elif scale and scale.max is not None and scale.max < scale.min:
            yield Problem("autoscale.max", f"{scale.max} is below min", f"{scale.min} or more")
        if self.provisioning == "queued-provisioning" and isinstance(host, TpuShape):
            yield Problem("provisioning", "queued-provisioning is for GPUs", "flex-start, spot, on-demand, reservation")

    def _of_gpus(self, host: pool_nodes.Host) -> Iterator[Problem]:
        if isinstance(host, TpuShape):
            for key in ("driver", "sharing", "local_ssds"):
                if key in self.model_fields_set:
                    yield Problem(key, f"is for GPUs, and {_named(host)} is a TPU", fix="remove it")
            return
        if host.series in FAMILIES_BEYOND:
            words = f"{host.machine_type} needs networks of its own beside the cluster's, which are not made here"
            yield Problem("machine_type", words, "machines whose GPUs do with one network, up to A4")
        if isinstance(host, GpuMachine) and host.gpus != int(host.gpus):
            yield Problem("machine_type", f"{host.machine_type} has a part of a GPU: no source tells how GKE counts it", "g4-standard-48")
        allowed = pool_nodes.local_ssds(host)
        if self.local_ssds and self.local_ssds not in allowed:
            words = f"{self.local_ssds} is not how many local SSDs {host.machine_type} has"
            yield Problem("local_ssds", words, ", ".join(map(str, allowed)) or "none that a source tells")
        if self.partition and self.autoscale and not self.autoscale.min:
            words = "is 0: no recorded case shows that a pool of GPUs that are cut into parts comes back from none"
            yield Problem("autoscale.min", words, "1 or more, or nodes: ...")
        if self.partition and self.sharing and self.sharing.strategy == "mps":
            yield Problem("sharing.strategy", "mps does not go with GPUs that are cut into parts", "time-sharing")

    def _of_catalogue(self, host: pool_nodes.Host | None, info: ValidationInfo) -> Iterator[Problem]:
        region = region_of_file(info)
        if self.zones and region and (outside := [one for one in self.zones if region_of(one) != region]):
            yield Problem("zones", f"{', '.join(outside)}: not in the stack's region", f"zones of {region}")
            return
        there = self.zones_in(region) if region else self.zones or []
        verdicts = [judge(self.wish(zone)) for zone in there or [""]]
        sure = (info.context or {}).get("confirmed", ())
        seen: set[tuple[str, str]] = set()
        for verdict in verdicts:
            if confirmed.covers(sure, verdict):
                continue
            for reason in verdict.reasons:
                if reason.part == "zone" and not verdict.wish.zone:
                    continue  # said below
                found = _as_problem(self, verdict, reason.part)
                if (found.path, found.message) not in seen:
                    seen.add((found.path, found.message))
                    yield found
        if host is None:
            return
        if region and not there:
            yield self._nowhere(host, region)
        yield from self._of_one_zone(host, there)

    def _nowhere(self, host: pool_nodes.Host, region: str) -> Problem:
        rows: Any = zones.offers(host) if isinstance(host, TpuShape) else gpu_zones.offers(host)
        others = ", ".join(sorted({row.region for row in rows if row.trust != "low"}))
        words = f"no zone of {region} is known to offer {_named(host)} as {self.provisioning}"
        fix = f"write a stack file for one of these regions; or name zones and say under `confirmed` how you know: what {_named(host)}"
        return Problem("zones", words, others, fix)

    def _of_one_zone(self, host: pool_nodes.Host, there: list[str]) -> Iterator[Problem]:
        if len(there) > 1:
            why = ""
            if isinstance(host, TpuShape) and not host.single_host:
                why = f"{_named(host)} is one slice, and a slice stands in one zone"
            elif self.provisioning == "reservation":
                why = "a reservation is of one zone"
            elif self.compact:
                why = "compact nodes stand in one zone"
            if why:
                yield Problem("zones", why, f"one of {', '.join(there)}")
            elif self.nodes and self.nodes % len(there):
                words = f"{self.nodes} do not part evenly over {len(there)} zones ({', '.join(there)}), and GKE counts nodes by the zone"
                yield Problem("nodes", words, f"a multiple of {len(there)}, or one zone under `zones`")


def _named(host: pool_nodes.Host) -> str:
    """What a host is called: a slice by its type and topology."""
    if isinstance(host, TpuShape):
        return f"{host.accelerator_type} ({host.topology})" if host.topology else host.accelerator_type
    return host.machine_type if isinstance(host, GpuMachine) else f"{host.accelerator_type} on {host.machine_type}"


def _as_problem(spec: NodePoolSpec, verdict: Verdict, part: str) -> Problem:
    """A reason of the catalogue, at the key of the stack file that it is about."""
    reason = next(one for one in verdict.reasons if one.part == part)
    path = FIELD_OF.get(part, part)
    where = f"{verdict.wish.zone}: " if verdict.wish.zone and part in ("zone", "provisioning") else ""
    got = {"zone": verdict.wish.zone, "provisioning": spec.provisioning}.get(part) or getattr(spec, path, None)
    words = f"{where}{got} {reason.message}" if got and part != "zone" else f"{where}{reason.message}"
    allowed = ", ".join(reason.allowed)
    if part in ("zone", "provisioning") and not allowed:
        allowed = ", ".join(dict.fromkeys(near.wish.zone for near in verdict.nearest[:5]))
    fix = ""
    if reason.kind in ("unknown", "unconfirmed"):
        what = verdict.wish.accelerator_type or verdict.wish.machine_type
        fix = f"if you know it, write `accelform:confirmed: [{{what: {what}, zone: {verdict.wish.zone}, because: how you know}}]`"
    return Problem(path, words, allowed, fix)


class NodePool(pulumi.ComponentResource):
    """Nodes with accelerators in *cluster*, without external addresses, under the account of the cluster's nodes."""

    pool: gcp.container.NodePool

    def __init__(
        self,
        name: str,
        spec: NodePoolSpec,
        *,
        placement: Placement,
        cluster: Cluster,
        cluster_spec: ClusterSpec,
        may_replace: bool = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            may_replace: Whether a change may make it anew, or take it away, where data is protected too.
        """
        super().__init__("accelform:node_pool:NodePool", name, None, opts)
        there = spec.zones_in(placement.region)
        physical = names.cluster(placement.stack, name)
        child = pulumi.ResourceOptions(
            parent=self,
            depends_on=cluster.ready,
            delete_before_replace=True,  # its name is fixed, and the capacity may not be there twice
            protect=placement.protects_data and not may_replace,
            ignore_changes=["initialNodeCount"] if spec.autoscale else None,  # once made it means nothing, and a change would replace
        )
        queued = spec.provisioning in QUEUED
        self.pool = gcp.container.NodePool(
            name,
            name=physical,
            project=cluster.project,
            location=cluster.location,
            cluster=cluster.cluster.name,
            node_locations=there,
            **_scale(spec, len(there)),
            management={"auto_repair": not queued, "auto_upgrade": True},
            upgrade_settings=None
            if queued
            else {"max_surge": spec.upgrade.max_surge, "max_unavailable": spec.upgrade.max_unavailable, "strategy": "SURGE"},
            placement_policy=self._placement(name, physical, spec, placement),
            queued_provisioning={"enabled": True} if spec.provisioning == "queued-provisioning" else None,
            network_config={"enable_private_nodes": True},
            node_config=_nodes(spec, cluster, cluster_spec, placement),
            opts=child,
        )
        low, high = spec.bounds()
        self.register_outputs({"pool": self.pool.id, "min_nodes": low, "max_nodes": high})

    def _placement(self, name: str, physical: str, spec: NodePoolSpec, placement: Placement) -> dict[str, Any] | None:
        """
        A slice of one host takes none: sent with one it is refused. TPU7x takes a policy by name, and the kind of it is left empty: the
        service keeps none, and another one would make the pool anew at every update.

        Sources: AI-Hypercomputer/xpk pull requests 595 and 822; vllm-project/ci-infra pull request 547.
        """
        host = spec.host
        if not isinstance(host, TpuShape):
            return {"type": "COMPACT"} if spec.compact else None
        if host.single_host:
            return None
        if host.generation != "tpu7x":
            return {"type": "COMPACT", "tpu_topology": host.topology}
        policy = tpu_host.workload_policy(name, physical, host, placement=placement, opts=pulumi.ResourceOptions(parent=self))
        return {"type": "", "policy_name": policy.name}


def _scale(spec: NodePoolSpec, zones: int) -> Mapping[str, Any]:
    """
    How many nodes: fixed, or as the autoscaler says, never both.

    Of a slice of several hosts the limit is by zone, and all of its hosts: GKE holds the slice against that, and a total leaves it at 0.
    Source: vllm-project/ci-infra pull request 545.
    """
    low, high = spec.bounds()
    if not spec.autoscale:
        return {"node_count": high // zones}
    if spec.several_hosts:
        return {
            "initial_node_count": 0,
            "autoscaling": {"min_node_count": 0, "max_node_count": high, "location_policy": "ANY"},
        }
    first = -(-low // zones)
    return {
        "initial_node_count": first if first * zones <= high else low // zones,
        "autoscaling": {
            "total_min_node_count": low,
            "total_max_node_count": high,
            "location_policy": spec.autoscale.location_policy.upper(),
        },
    }


def _nodes(spec: NodePoolSpec, cluster: Cluster, cluster_spec: ClusterSpec, placement: Placement) -> dict[str, Any]:
    host = spec.host
    kind = "tpu" if isinstance(host, TpuShape) else "gpu"
    made = node_config(
        cluster.account,
        machine_type=host.machine_type,
        disk={"size_gb": spec.disk_gib, "disk_type": pool_nodes.boot_disk(host)},
        placement=placement,
        image_streaming=cluster_spec.image_streaming,
    )
    made |= {
        "spot": spec.provisioning == "spot",
        "flex_start": spec.provisioning in QUEUED,
        "max_run_duration": f"{spec.max_run_minutes * 60}s" if spec.max_run_minutes else None,
        "reservation_affinity": {
            "consume_reservation_type": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [spec.reservation],
        }
        if spec.reservation
        else {"consume_reservation_type": "NO_RESERVATION"},
        "labels": dict(sorted(spec.labels.items())),
        "taints": [
            {"key": pool_nodes.TAINTS[kind], "value": "present", "effect": "NO_SCHEDULE"},
            *({"key": one.key, "value": one.value, "effect": pool_nodes.EFFECTS[one.effect]} for one in spec.taints),
        ],
    }
    if not isinstance(host, TpuShape):
        sharing = (spec.sharing.strategy, spec.sharing.clients) if spec.sharing else None
        made["guest_accelerators"] = pool_nodes.guest_accelerators(host, spec.driver, spec.partition, sharing)
        if ssds := spec.local_ssds or pool_nodes.bundled_ssds(host):
            made["ephemeral_storage_local_ssd_config"] = {"local_ssd_count": ssds}
    if spec.image_cache:
        made["secondary_boot_disks"] = [{"disk_image": spec.image_cache, "mode": "CONTAINER_IMAGE_CACHE"}]
    return made
