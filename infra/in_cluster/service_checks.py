"""What services say of the cluster that they are in: keys that must be there, and nodes that must hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from infra.catalog.nodes import Node
from infra.catalog.pods import PodNeed, reasons, taken
from infra.catalog.tpu import TpuShape
from infra.components.cluster import ClusterSpec
from infra.components.node_pool import NodePoolSpec
from infra.errors import Problem, nearest
from infra.in_cluster import compute_class, mounts, service_objects
from infra.in_cluster.compute_class import ComputeClassSpec
from infra.in_cluster.mounts import Mountable
from infra.in_cluster.namespace import NamespaceSpec
from infra.in_cluster.seat import NOWHERE, SPOT_SECONDS, Seat, seat
from infra.in_cluster.service import ServiceSpec
from infra.in_cluster.service_objects import Manifest, Place

ZONE = "topology.kubernetes.io/zone"
SYSTEM_ZONES = 3
"""Zones of the nodes without accelerators, which are in all of a region's, as far as anybody knows.
Source: https://cloud.google.com/kubernetes-engine/docs/concepts/regional-clusters, read 2026-11."""


@dataclass(frozen=True, slots=True)
class Around:
    """What of a stack's files its services are held against."""

    region: str
    region_stack: str
    cluster: ClusterSpec
    pools: Mapping[str, NodePoolSpec]
    """Pools of the cluster."""
    classes: Mapping[str, ComputeClassSpec]
    nodes: tuple[Node, ...]
    """One of each pool in each of its zones."""
    namespaces: Mapping[str, NamespaceSpec]
    images: Mapping[str, str]
    models_bucket: str
    mountable: Mountable

    def seat(self, spec: ServiceSpec) -> Seat:
        """Where its pods sit."""
        if spec.compute_class:
            return compute_class.seat(spec.compute_class, self.classes[spec.compute_class], self.pools)
        return seat(spec.node_pool, self.pools[spec.node_pool], self.region_stack) if spec.node_pool else NOWHERE

    def nodes_max(self, spec: ServiceSpec) -> int:
        """How many nodes there may be for it; 0 where nothing limits them."""
        if spec.compute_class:
            return self.classes[spec.compute_class].max_nodes or 0
        return self.pools[spec.node_pool].bounds()[1] if spec.node_pool else 0

    def zones(self, spec: ServiceSpec) -> int:
        """Zones that its nodes may stand in."""
        where = self.seat(spec).selector
        known = {node.labels.get(ZONE) for node in self.nodes if where and where.items() <= node.labels.items()}
        return len(known) or SYSTEM_ZONES

    def place(self, name: str, spec: ServiceSpec) -> Place:
        """Where a service stands, of which `keys` has nothing to say."""
        return replace(self._place(spec), spare=not self.nodes_max(spec) or self.held(name, spec) > spec.most)

    def _place(self, spec: ServiceSpec) -> Place:
        return Place(
            spec.image or (self.images[spec.program.image] if spec.program else ""),
            self.models_bucket,
            self.seat(spec),
            self.zones(spec),
            restricted=self.namespaces[spec.namespace].pod_security == "restricted",
            mountable=self.mountable,
        )

    def held(self, name: str, spec: ServiceSpec) -> int:
        """How many copies of it its nodes hold where nothing else is on them; 0 where nothing limits them."""
        place, nodes = self._place(spec), self.nodes_max(spec)
        if not nodes:
            return 0
        pod = PodNeed.of(service_objects.pod(name, spec, place))
        wanted = place.seat.selector.items()
        each = max((_on_one(pod, node) for node in self.nodes if wanted <= node.labels.items()), default=0)
        return nodes * each // service_objects.hosts(spec, place.seat)


def _on_one(pod: PodNeed, node: Node) -> int:
    count = 0
    while not reasons(pod, node):
        node, count = taken(node, [pod]), count + 1
    return count


def groups(services: Mapping[str, ServiceSpec], around: Around) -> set[str]:
    """Services whose copies are several pods."""
    return {name for name, spec in services.items() if service_objects.hosts(spec, around.seat(spec)) > 1}


def pods(services: Mapping[str, ServiceSpec], around: Around) -> Iterator[tuple[str, Manifest]]:
    """Every pod that services ask for, with the key that it is of."""
    for name, spec in services.items():
        yield f"services.{name}", service_objects.pod(name, spec, around.place(name, spec))


def problems(services: Mapping[str, ServiceSpec], around: Around) -> Iterator[Problem]:
    """What services say of the cluster that is not so."""
    held: dict[str, int] = {}
    for name, spec in services.items():
        found = list(_keys(spec, around))
        if not found:
            found = [*_of_seat(spec, around.seat(spec), around), *_of_cluster(spec, around)]
        if not found:
            held[name] = around.held(name, spec)
            found = list(_too_many(spec, around, held[name]))
        yield from (replace(one, path=f"services.{name}.{one.path}") for one in found)
    yield from _together({name: services[name] for name, many in held.items() if many}, held)


def _keys(spec: ServiceSpec, around: Around) -> Iterator[Problem]:
    """Keys that it names, and that nobody wrote."""
    for key, value, where, known in (
        ("namespace", spec.namespace, "namespaces", list(around.namespaces)),
        ("node_pool", spec.node_pool, f"node_pools of this cluster in stack {around.region_stack}", list(around.pools)),
        ("compute_class", spec.compute_class, "compute_classes", list(around.classes)),
    ):
        if value is not None and value not in known:
            allowed = ", ".join(nearest(value, known) or known) or "there is none"
            yield Problem(key, f"{value} is no key of the {where}", allowed, "" if known else "write one")
    yield from _of_mounts(spec, around)
    if spec.program and not spec.image and spec.program.image not in around.images:
        image = spec.program.image
        yield Problem("workload", f"runs in the image {image}, and images has none", fix=f"build it: accelform image build {image}")


def _of_mounts(spec: ServiceSpec, around: Around) -> Iterator[Problem]:
    pool, ladder = around.pools.get(spec.node_pool or ""), around.classes.get(spec.compute_class or "")
    own = pool or ladder
    several = max(1, spec.most) * max(1, spec.hosts or 1, own.host.hosts if own and isinstance(own.host, TpuShape) else 1)
    yield from mounts.problems(
        spec.volumes,
        spec.secrets,
        around.mountable,
        namespace=spec.namespace,
        copies=several,
        host=own.host if own else None,
        zones=pool.zones_in(around.region) if pool else ladder.zones or [] if ladder else [],
    )


def _of_seat(spec: ServiceSpec, where: Seat, around: Around) -> Iterator[Problem]:
    most = 1 if where.divided else where.accelerators
    if spec.accelerators and where.resource and spec.accelerators > most:
        why = "is cut or shared, and a container gets one part" if where.divided else f"has {most} on a node"
        yield Problem("accelerators", f"{spec.accelerators} are more than a copy can have: {where.name} {why}", f"1 to {most}")
    if where.hosts > 1 and spec.hosts not in (None, where.hosts):
        yield Problem("hosts", f"{spec.hosts} is not what the slice of {where.name} has", str(where.hosts), "remove it")
    if where.hosts > 1 and spec.workload:
        yield Problem(
            "node_pool", f"{where.name} is one slice of {where.hosts} hosts, and {spec.workload} answers from one", "another pool"
        )
    if where.spot and (grace := spec.grace_seconds(True)) > SPOT_SECONDS:
        key = "lameduck_seconds" if spec.drain_seconds is None else "drain_seconds"
        message = f"makes {grace} s from the order to end until the end, and a Spot node gives {SPOT_SECONDS}"
        yield Problem(key, message, f"lameduck_seconds and drain_seconds of {SPOT_SECONDS - 1} together at most")
    security = around.namespaces[spec.namespace].pod_security
    if where.host_ipc and security != "privileged":
        message = f"{where.name} shares GPUs by mps: its pods share their node's memory, and {spec.namespace} is {security}"
        yield Problem("node_pool", message, "a pool that shares by time-sharing", "or set the namespace's pod_security to privileged")


def _of_cluster(spec: ServiceSpec, around: Around) -> Iterator[Problem]:
    if spec.node_pool and around.pools[spec.node_pool].provisioning == "queued-provisioning":
        message = f"{spec.node_pool} gives nodes to a ProvisioningRequest only: to what waits in a queue"
        yield Problem("node_pool", message, "a pool of another provisioning")
    cluster = around.cluster
    if spec.folders and cluster.own_nodes and not cluster.existing and "gcs-fuse" not in cluster.addons:
        yield Problem("folders", "need the add-on gcs-fuse, which the cluster does not have", fix="add gcs-fuse to its `addons`")


def _too_many(spec: ServiceSpec, around: Around, held: int) -> Iterator[Problem]:
    """More copies than its pool holds; where it holds not even one, the pod itself is refused elsewhere."""
    where, nodes = around.seat(spec), around.nodes_max(spec)
    if not 0 < held < spec.most:
        return
    whose = "the region's file" if spec.node_pool else "`compute_classes`"
    fix = f"make {where.name} larger in {whose}: {-(-spec.most * nodes // held)} nodes"
    if spec.node_pool and where.hosts > 1:
        fix = "make another pool of such a slice in the region's file, with a service of its own"
    key = "min_replicas" if spec.max_replicas is None else "max_replicas"
    yield Problem(key, f"{spec.most} copies are more than {where.name} holds on its {nodes} nodes", f"at most {held}", fix)


def _together(services: Mapping[str, ServiceSpec], held: Mapping[str, int]) -> Iterator[Problem]:
    """Services that each fit their pool, and that together fill more of it than there is, with the least number of copies already."""
    for pool in dict.fromkeys(_nodes_of(spec) for spec in services.values()):
        names = [name for name, spec in services.items() if _nodes_of(spec) == pool]
        if len(names) > 1 and sum(services[name].min_replicas / held[name] for name in names) > 1.000001:
            parts = ", ".join(f"{name} {services[name].min_replicas} of {held[name]}" for name in names)
            message = f"leaves no room in {pool} for the least of all its services: {parts}"
            yield Problem(
                f"services.{names[-1]}.min_replicas", message, "less, all together", f"or make {pool} larger in the region's file"
            )


def _nodes_of(spec: ServiceSpec) -> str | None:
    return spec.node_pool or spec.compute_class
