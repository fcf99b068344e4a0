"""
A pool of nodes with accelerators in a GKE cluster.

The machine, its accelerators, the topology and how many nodes a slice takes follow from the catalogue. Whatever the service would fill
in, and the provider then sees as a change that replaces the pool, is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self, cast

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, model_validator

from infra import gcp, names
from infra.catalog import gpu_zones, zones
from infra.catalog.fits import Verdict, judge
from infra.catalog.fits_thing import meant
from infra.catalog.places import region_of
from infra.catalog.tpu import TpuShape
from infra.catalog.wish import Provisioning, Wish
from infra.components import pool_checks, pool_nodes, tpu_host
from infra.components.cluster import WAITS, Cluster, ClusterSpec, node_config
from infra.components.existing import FullName, MayExist
from infra.components.placement import Placement
from infra.components.pool_nodes import QUEUED, Way
from infra.components.pool_parts import NODES_MAX, AutoscaleSpec, Key, SharingSpec, TaintSpec, UpgradeSpec, Value
from infra.components.tpu_offer import FLEX_START_MINUTES, Reservation
from infra.errors import ProblemsError
from infra.spec import Because, Name, WholeNumber, YesNo, distinct, pattern

POOL = FullName(
    "a node pool",
    ("projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{name}",),
    "projects/tw-shop-ml/locations/asia-east1/clusters/shop/nodePools/gpus",
    name=r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?",
)


class NodePoolSpec(MayExist):
    """What one node pool is; or what one is that others own, for whatever sits on it. Checked before anything is declared."""

    owners: ClassVar[tuple[str, ...]] = ("max_run_minutes", "driver", "compact", "disk_gib", "local_ssds", "image_cache", "upgrade")

    never: ClassVar[dict[str, str]] = {
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
    because: Because | None = None
    """Why its nodes are got on demand, or some of them always stand: a sentence, which such a pool must have. (default: none)"""
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
    """A disk image with container images, from which each node gets a disk when it boots. The cluster must stream images."""

    # Source: terraform-google-kubernetes-engine pull request 2580.
    labels: dict[Key, Value] = {}
    """Labels of the nodes in Kubernetes."""
    taints: list[TaintSpec] = []
    """Taints beside that of the accelerator, which every pool has."""
    upgrade: UpgradeSpec = UpgradeSpec()
    existing: Annotated[str, POOL.validator] | None = None
    """A pool that others own, in a cluster that they own, by its full name: it is read, and what its machines are is held against what
    this file says."""

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        if found := list(pool_checks.problems(self, self._host(), info)):
            raise ProblemsError(found)
        return self

    # What it is.

    def physical(self, stack: str, name: str) -> str:
        """Name of the pool in its cluster."""
        return POOL.parts(self.existing)["name"] if self.existing else names.cluster(stack, name)

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
            nodes=self.nodes,
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
        anyway = {one.message for one in judge(self.wish("")).reasons}  # what is wrong wherever it stands takes no zone away
        return [
            zone
            for zone in able
            if not any(one.part in ("zone", "provisioning") and one.message not in anyway for one in judge(self.wish(zone)).reasons)
        ]

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
        if spec.existing:
            self.pool = self._read(name, spec, spec.existing, cluster)
            self.register_outputs({"pool": self.pool.id})
            return
        there = spec.zones_in(placement.region)
        physical = spec.physical(placement.stack, name)
        child = pulumi.ResourceOptions(
            parent=self,
            depends_on=cluster.ready,
            delete_before_replace=True,  # its name is fixed, and the capacity may not be there twice
            custom_timeouts=WAITS,
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

    def _read(self, name: str, spec: NodePoolSpec, existing: str, cluster: Cluster) -> gcp.container.NodePool:
        found = POOL.parts(existing)
        opts = pulumi.ResourceOptions(parent=self, depends_on=[cluster.cluster])
        where = {"project": found["project"], "location": found["location"], "cluster": found["cluster"], "name": found["name"]}
        pool = gcp.container.NodePool.get(name, existing, opts=opts, **where)
        pool.node_config.apply(lambda config: check_machine(name, spec.host.machine_type, config))
        return pool

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


def check_machine(name: str, said: str, config: Any) -> None:
    """
    Holds what the file says against a pool of others.

    Raises:
        RunError: Its machines are others.
    """
    there = getattr(config, "machine_type", None)
    if there and there != said:
        raise pulumi.RunError(
            f"node_pools.{name}: its machines are {there}, and the file says {said}: what sits on them would be placed wrongly\n"
            "  fix: say in the file what the pool is"
        )


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
