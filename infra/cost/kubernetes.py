"""What is billed of what lives in a cluster: nodes that a class makes, disks, load balancers, and on Autopilot what pods ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from infra.catalog.places import region_of
from infra.catalog.prices import Item
from infra.catalog.quantities import BadQuantity, quantity
from infra.cost import network
from infra.cost.context import Context, short, whole
from infra.cost.disks import LOCAL_SSD_GIB, Disk, disk_lines, local_ssd_lines, share_of_month
from infra.cost.gke import slice_type
from infra.cost.line import ALWAYS, MONTH, LineItem, Triple, columns, free, joined, listed, others_pay, scaled, unknown
from infra.cost.machine import Machine, gpus_of, machine_lines
from infra.cost.pods import Pods, pods_of
from infra.cost.usage import HOURS
from infra.declared import UNKNOWN, Declared

CLASS = "cloud.google.com/compute-class"
QUOTA = "kubernetes:autoscaling.x-k8s.io/v1beta1:CapacityQuota"
STORAGE = "kubernetes:storage.k8s.io/v1:StorageClass"
GIB = Decimal(1 << 30)
IN_CLUSTER = "is in the cluster: its nodes are billed where they are declared"
OWN_CLASSES = {"standard": "pd-standard", "standard-rwo": "pd-balanced", "premium-rwo": "pd-ssd", "standard-rwx": "filestore"}
"""Storage classes that every cluster of GKE has.
Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/storage-overview, read 2026-11."""
DEFAULT_CLASS = "standard-rwo"
POD_ITEMS: Mapping[str, tuple[str, Item, Item]] = {
    "cpu": ("vCPUs", "autopilot-vcpu", "autopilot-vcpu-spot"),
    "memory": ("memory", "autopilot-memory", "autopilot-memory-spot"),
}
INTERNAL_GATEWAYS = ("gke-l7-rilb", "gke-l7-cross-regional-internal-managed-mc")


# Nodes of a class.


def compute_class(resource: Declared, context: Context) -> Iterator[LineItem]:
    """
    The nodes that GKE makes for a class: none at least. Of several rungs the first is expected, and the dearest is the high column.
    Pools that are rungs are billed where they are declared.
    """
    name, rungs = resource.get("metadata.name"), resource.get("spec.priorities")
    rungs = rungs if isinstance(rungs, list) and all(isinstance(one, dict) for one in rungs) else None
    count = _nodes(resource, str(name), context)
    if rungs is None or isinstance(count, str):
        context.machines.append(None)
        yield unknown(resource.name, "nodes", count if isinstance(count, str) else "its rungs are not known yet")
        return
    made = [Declared("", "", one) for one in rungs if "nodepools" not in one]
    if not made:
        yield free(resource.name, short(resource), "makes no nodes: its pools are billed where they are declared")
        return
    context.stand(count, MONTH)
    low, _, high = (f"{one.normalize():f}" for one in count)
    note = f"{low} to {high} nodes"
    yield from _of_rungs(resource.name, [_machine(resource.name, one, count, note) for one in made])
    first = _machine(resource.name, made[0], count, note)
    if first is not None:
        disk = Disk(made[0].get("storage.bootDiskType"), made[0].get("storage.bootDiskSize"))
        yield from disk_lines(resource.name, "node disk", disk, first.region, share_of_month(first.hours))
        ssds = made[0].get("storage.localSSDCount")
        if ssds is not None and not whole(ssds):
            yield unknown(resource.name, "local SSD", "how many there are is not known yet")
        elif ssds and not first.brings_local_ssd:
            yield from local_ssd_lines(resource.name, ssds * LOCAL_SSD_GIB, first.region, first.provisioning, share_of_month(first.hours))
    if resource.get("spec.nodePoolConfig.ipType") != "private":
        yield unknown(resource.name, "external addresses", "whether the nodes are private is not known")
    if context.autopilot:
        yield unknown(resource.name, "premium of Autopilot", "no source says what Autopilot adds to nodes of a class")


def _nodes(resource: Declared, name: str, context: Context) -> Triple | str:
    """Nodes of a class: to its quota, else to the pods that name it; else as the stack file says, or why nobody knows."""
    most = _quota(name, context)
    if most is None:
        most = _pods_that_name(name, context)
    if most is not None:
        return context.between(resource.name, "nodes", Decimal(0), Decimal(most))
    said = context.given(resource.name, "nodes")
    if said is not None:
        return columns(said)
    return f"nothing here limits them: say max_nodes of the class, or usage.resources.{resource.name}.nodes"


def _quota(name: str, context: Context) -> int | None:
    found = [
        one.get("spec.limits.resources.nodes")
        for one in context.resources
        if one.type == QUOTA and one.get("spec.selector") == {"matchLabels": {CLASS: name}}
    ]
    return min((one for one in found if whole(one)), default=None)


def _pods_that_name(name: str, context: Context) -> int | None:
    """Pods of this stack that name a class, each of which takes a node at most; None where none does: then they come from elsewhere."""
    total = 0
    for one in context.resources:
        pods = pods_of(one, context.resources)
        if pods is None:
            return None
        total += sum(some.most for some in pods if _class_of(some) == name)
    return total or None


def _class_of(pods: Pods) -> Any:
    selector = pods.spec.get("nodeSelector")
    return selector.get(CLASS) if isinstance(selector, Mapping) else None


def _machine(name: str, rung: Declared, count: Triple, note: str) -> Machine | None:
    """The machine of a rung; None where it is not said which, or where."""
    machine_type, zones = rung.get("machineType"), rung.get("location.zones")
    reserved = rung.get("reservations.specific")
    if isinstance(reserved, list) and reserved and isinstance(reserved[0], dict):
        zones = reserved[0].get("zones")
    if not isinstance(machine_type, str) or not isinstance(zones, list) or not zones or not isinstance(zones[0], str):
        return None
    gpu, topology, way = rung.get("gpu"), rung.get("tpu.topology"), _way(rung)
    accelerators = gpus_of([] if gpu is None else [gpu])
    if accelerators is None or way is None:
        return None
    named = slice_type(machine_type, topology) if isinstance(topology, str) else ""
    return Machine(name, machine_type, region_of(zones[0].lower()), way, scaled(count, HOURS), accelerators, note, named)


def _way(rung: Declared) -> str | None:
    """None where it is not known."""
    spot, flex, affinity = rung.get("spot"), rung.get("flexStart.enabled"), rung.get("reservations.affinity")
    if spot not in (None, False, True) or flex not in (None, False, True) or not isinstance(affinity, str | None):
        return None
    if spot or flex:
        return "spot" if spot else "flex-start"
    return "reservation" if affinity == "Specific" else "on-demand"


def _of_rungs(name: str, machines: list[Machine | None]) -> Iterator[LineItem]:
    """One line for each part of the machine, over all rungs."""
    known = [one for one in machines if one is not None]
    if len(known) < len(machines):
        yield unknown(name, "nodes", "a rung says not which machine it is, or where")
        return
    if len({(one.machine_type, one.gpus, one.slice_type) for one in known}) > 1:
        yield unknown(name, "nodes", "its rungs are of several machines, and no telling how many of which")
        return
    ways = list(dict.fromkeys(one.provisioning for one in known))
    by_way = {way: list(machine_lines(next(one for one in known if one.provisioning == way))) for way in ways}
    for lines in zip(*by_way.values(), strict=True):
        what = lines[0].what.removesuffix(f" {ways[0]}")
        line = replace(lines[0], what=f"{what} {', '.join(ways)}")
        if lost := next((one for one in lines if one.unit_usd is None), None):
            yield unknown(name, line.what, f"{lost.what}: {lost.note}")
            continue
        prices = [one.unit_usd for one in lines if one.unit_usd is not None]
        unit = (min(one[0] for one in prices), prices[0][1], max(one[2] for one in prices))
        if len(ways) > 1:
            dearest = max(lines, key=lambda one: one.unit_usd[2] if one.unit_usd else Decimal(0))
            note = joined(line.note, f"expected: as {ways[0]}; high: the dearest rung")
            line = replace(line, unit_usd=unit, status="bounded", ceiling=dearest.ceiling or dearest.price, note=note)
        yield line


# Disks.


def claim(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A claim: the disk that is made for it. One that names a volume has it from elsewhere."""
    yield from _claim(resource, resource.get("spec"), ALWAYS, context)


def stateful_set(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A StatefulSet makes claims of its own, one of each for each copy, and leaves them when copies go."""
    templates = resource.get("spec.volumeClaimTemplates")
    found = pods_of(resource, context.resources)
    if templates not in (None, []):
        if not isinstance(templates, list) or not found:
            yield unknown(resource.name, "disks", "how many copies, or which disks, is not known yet")
        else:
            count = (Decimal(found[0].least), Decimal(found[0].least), Decimal(found[0].most))
            for template in templates:
                yield from _claim(resource, Declared("", "", template).get("spec"), count, context)
    yield from workload(resource, context)


def _claim(resource: Declared, spec: Any, count: Triple, context: Context) -> Iterator[LineItem]:
    one = Declared("", "", spec if isinstance(spec, Mapping) else {})
    volume = one.get("volumeName")
    if volume is UNKNOWN:
        yield unknown(resource.name, "volume", "whether there is one already is not known yet")
        return
    if volume:
        yield others_pay(resource.name, "volume", "is not made here: its owner pays for it")
        return
    kind, size = _storage(one.get("storageClassName"), context), one.get("resources.requests.storage")
    try:
        gib = -(-quantity(size) // GIB)
    except BadQuantity:
        gib = Decimal(0)
    if gib < 1:
        yield unknown(resource.name, "volume", "its size is not known yet")
        return
    if kind == "filestore":
        yield listed(resource.name, "Filestore Basic HDD", "filestore-basic-hdd", context.region, scaled(count, gib))
    elif kind is None:
        yield unknown(resource.name, "volume", f"what its storage class {one.get('storageClassName')} is, is not known")
    else:
        regional = kind.startswith("regional ")
        disk = Disk(kind.removeprefix("regional "), int(gib))
        yield from disk_lines(resource.name, "volume", disk, context.region, count, regional=regional)


def _storage(name: Any, context: Context) -> str | None:
    """What a storage class makes: one that is declared beside it, else one that every cluster has; None where nobody knows."""
    for one in context.resources:
        if one.type == STORAGE and one.get("metadata.name") == name:
            parameters = one.get("parameters")
            parameters = parameters if isinstance(parameters, Mapping) else {"type": parameters}
            if one.get("provisioner") == "filestore.csi.storage.gke.io":
                return "filestore" if parameters.get("tier", "standard") in ("standard", "basic-hdd") else None
            kind = parameters.get("type", "pd-standard")
            return f"regional {kind}" if parameters.get("replication-type") == "regional-pd" else str(kind)
    return OWN_CLASSES.get(DEFAULT_CLASS if name is None else name) if isinstance(name, str | None) else None


# Load balancers.


def service(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A Service: only one of type LoadBalancer has a load balancer of its own."""
    kind = resource.get("spec.type")
    if kind is UNKNOWN:
        yield unknown(resource.name, short(resource), "its type is not known yet")
    elif kind != "LoadBalancer":
        yield free(resource.name, short(resource), IN_CLUSTER)
    else:
        said = _annotation(resource, "networking.gke.io/load-balancer-type"), _annotation(resource, "cloud.google.com/load-balancer-type")
        inside = "Internal" in said
        yield from _rules(resource, 1, "INTERNAL" if inside else "EXTERNAL", context)


def gateway(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A Gateway: a load balancer with a forwarding rule for each port that it hears."""
    kind, listeners = resource.get("spec.gatewayClassName"), resource.get("spec.listeners")
    if not isinstance(kind, str) or not isinstance(listeners, list):
        yield unknown(resource.name, short(resource), "its class or its listeners are not known yet")
        return
    ports = {repr(one.get("port")) for one in listeners if isinstance(one, dict)}
    scheme = "INTERNAL_MANAGED" if kind in INTERNAL_GATEWAYS else "EXTERNAL_MANAGED"
    yield from _rules(resource, max(1, len(ports)), scheme, context, everywhere="global" in kind)


def ingress(resource: Declared, context: Context) -> Iterator[LineItem]:
    """An Ingress: a global load balancer, where it is of GKE's own class."""
    kind = resource.get("spec.ingressClassName")
    kind = _annotation(resource, "kubernetes.io/ingress.class") if kind is None else kind
    if kind in (None, "gce"):
        yield from _rules(resource, 1, "EXTERNAL_MANAGED", context, everywhere=True)
    elif kind == "gce-internal":
        yield from _rules(resource, 1, "INTERNAL_MANAGED", context)
    elif isinstance(kind, str):
        yield free(resource.name, short(resource), "is of a controller in the cluster")
    else:
        yield unknown(resource.name, short(resource), "its class is not known yet")


def _annotation(resource: Declared, key: str) -> Any:
    """An annotation, whose key has dots of its own."""
    found = resource.get("metadata.annotations")
    return found.get(key) if isinstance(found, Mapping) else found


def _rules(resource: Declared, many: int, scheme: str, context: Context, *, everywhere: bool = False) -> Iterator[LineItem]:
    """Forwarding rules as if they were declared by themselves; the data that passes once."""
    kind = network.GLOBAL_RULE if everywhere else "gcp:compute/forwardingRule:ForwardingRule"
    rule = Declared(kind, resource.name, {"loadBalancingScheme": scheme, "region": context.region})
    for number in range(many):
        for line in network.rule(rule, context):
            if number == 0 or line.what != "balanced data":
                yield line


# Pods of Autopilot.


def workload(resource: Declared, context: Context) -> Iterator[LineItem]:
    """Whatever makes pods: billed by what they ask for on Autopilot, by nodes elsewhere."""
    if not context.autopilot:
        yield free(resource.name, short(resource), IN_CLUSTER)
        return
    found = pods_of(resource, context.resources)
    if found is None:
        yield unknown(resource.name, "pods", "Autopilot bills what they ask for, and how many there are is not known")
        return
    for pods in found:
        named = _class_of(pods)
        if named is UNKNOWN:
            yield unknown(resource.name, "pods", "whether they are of a class is not known yet")
        elif isinstance(named, str):
            yield free(resource.name, "pods", "are billed with the nodes of their class")
        else:
            yield from _asked(resource, pods, context)


def _asked(resource: Declared, pods: Pods, context: Context) -> Iterator[LineItem]:
    hours: Triple | None = MONTH
    if pods.ends:
        said = context.given(resource.name, "hours_month")
        hours = None if said is None else columns(said)
    if hours is None:
        why = f"they end by themselves: say usage.resources.{resource.name}.hours_month"
        yield unknown(resource.name, "pods", f"Autopilot bills what they ask for, and {why}")
        return
    low, high = Decimal(pods.least), Decimal(pods.most)
    stand = (low * hours[0], low * hours[1], high * hours[2])
    totals = _requests(pods)
    selector = pods.spec.get("nodeSelector")
    spot = isinstance(selector, Mapping) and selector.get("cloud.google.com/gke-spot") == "true"
    if totals is None or any("/" in one for one in totals):
        yield unknown(resource.name, "pods", "no price of what they ask for on Autopilot")
        return
    note = "general-purpose pods; Autopilot raises what is below its least"
    for key, (what, item, on_spot) in POD_ITEMS.items():
        if key not in totals:
            yield unknown(resource.name, f"pods' {what}", "nothing is asked for, and Autopilot puts in what it thinks right")
        else:
            amount = totals[key] if key == "cpu" else totals[key] / GIB
            yield listed(resource.name, f"pods' {what}", on_spot if spot else item, context.region, scaled(stand, amount), note)


def _requests(pods: Pods) -> dict[str, Decimal] | None:
    """What all containers of a pod ask for; limits stand for requests that are not said. None where it is not known."""
    from infra.catalog.pods import PodNeed

    try:
        return dict(PodNeed.of(pods.spec).requests)
    except (BadQuantity, TypeError):
        return None


WORKLOADS = {
    "core/v1": ("Pod",),
    "apps/v1": ("Deployment", "DaemonSet", "ReplicaSet"),
    "batch/v1": ("Job", "CronJob"),
    "jobset.x-k8s.io/v1alpha2": ("JobSet",),
    "leaderworkerset.x-k8s.io/v1": ("LeaderWorkerSet",),
    "ray.io/v1": ("RayCluster", "RayJob", "RayService"),
}
LINES = {
    "kubernetes:cloud.google.com/v1:ComputeClass": compute_class,
    "kubernetes:core/v1:PersistentVolumeClaim": claim,
    "kubernetes:apps/v1:StatefulSet": stateful_set,
    "kubernetes:core/v1:Service": service,
    "kubernetes:gateway.networking.k8s.io/v1:Gateway": gateway,
    "kubernetes:networking.k8s.io/v1:Ingress": ingress,
    **{f"kubernetes:{api}:{kind}": workload for api, kinds in WORKLOADS.items() for kind in kinds},
}
