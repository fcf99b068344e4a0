"""
Compute classes: pods that select one get nodes of its priorities, in their order.

A priority names node pools that stand, or says what nodes are like; then a pool is made for it (`nap-...`) where the class lets pools be
made, and goes when it has no nodes. What a class says beside `priorities`, `nodePoolAutoCreation`, `nodePoolConfig` and `priorityDefaults`
is kept and does nothing here: pods are not moved to a better priority later, and where none has capacity they wait.

Source: https://docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass, read 2026-11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.catalog import gpu_machines
from infra.catalog.accelerator import accelerators
from infra.catalog.fits_tpu import machines as tpu_machines
from infra.catalog.machine_size import GIB_PER_VCPU, UnknownSize, size
from infra.catalog.nodes import GPU, OF_GOOGLE, TPU, Node
from infra.catalog.pods import PodNeed, reasons
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body
from infra.sandbox.services.container import groups, parts, pools
from infra.sandbox.services.kubernetes import kinds, nodes
from infra.sandbox.services.kubernetes.objects import at

if TYPE_CHECKING:
    from infra.sandbox.services.kubernetes.scaler import Scaler

COMPUTE_CLASS = kinds.named("cloud.google.com", "ComputeClass")
LABEL = "cloud.google.com/compute-class"
MADE = "nap-"
"""How the names of pools begin that Google makes. Source: names in public issue threads."""
MOST = 1000
VCPUS = (2, 4, 8, 16, 30, 32, 44, 48, 60, 64, 80, 88, 96, 112, 128, 176, 208, 224)
"""Sizes of machines that a family may have; those that no table knows are passed over."""
EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}


def chosen(pod: Body) -> str:
    """The class that a pod selects; empty for none."""
    selector = pod["spec"].get("nodeSelector")
    return str(selector.get(LABEL) or "") if isinstance(selector, dict) else ""


def more(scaler: Scaler, pod: Body, need: PodNeed, name: str) -> dict[str, Node]:
    """New machines for a pod of a class, of the first priority that has some."""
    body = scaler.view.get(COMPUTE_CLASS, "", name)
    if body is None:
        return {}
    spec = body["spec"]
    creates = bool(at(spec, "nodePoolAutoCreation", "enabled")) or bool(at(spec, "autopilot", "enabled"))
    for rung in spec.get("priorities") or []:
        if not isinstance(rung, dict):
            continue
        standing = scaler.pools()
        if rung.get("nodepools"):
            prefix = f"{scaler.view.cluster.name}/nodePools/"
            new = next(
                (
                    new
                    for one in rung["nodepools"]
                    if (pool := standing.get(f"{prefix}{one}")) and (new := scaler.grow(f"{prefix}{one}", pool, need))
                ),
                {},
            )
        elif creates:
            new = _made(scaler, name, spec, rung, need)
        else:
            new = {}
        if new:
            return new
    return {}


def automatic(scaler: Scaler, pod: Body, need: PodNeed) -> dict[str, Node]:
    """
    New machines for a pod of no class, where the cluster makes pools by itself: in Autopilot always. Of machines without accelerators those
    of the family E2 are taken, unless the pod selects another one; limits of the whole cluster are not looked at.

    Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/node-auto-provisioning, read 2026-11.
    """
    if not at(scaler.view.cluster.body, "autoscaling", "enableNodeAutoprovisioning"):
        return {}
    selector = pod["spec"].get("nodeSelector") or {}
    rung: Body = {"spot": selector.get(f"{OF_GOOGLE}gke-spot") == "true"}
    for field, key in (("machineFamily", f"{OF_GOOGLE}machine-family"), ("machineType", "node.kubernetes.io/instance-type")):
        if key in selector:
            rung[field] = selector[key]
    if count := int(need.requests.get(GPU, 0)):
        rung["gpu"] = {"type": selector.get(f"{OF_GOOGLE}gke-accelerator"), "count": count}
    if count := int(need.requests.get(TPU, 0)):
        kind, topology = selector.get(f"{OF_GOOGLE}gke-tpu-accelerator"), selector.get(f"{OF_GOOGLE}gke-tpu-topology")
        rung["tpu"] = {"type": kind, "topology": topology, "count": count}
    return _made(scaler, "", {}, rung, need)


def _made(scaler: Scaler, name: str, spec: Body, rung: Body, need: PodNeed) -> dict[str, Node]:
    """New machines of a pool that is made for a priority, or of one that was."""
    for machine in _machines(rung):
        wanted = pool_body(scaler, name, spec, rung, machine)
        full = f"{scaler.view.cluster.name}/nodePools/{wanted['name']}"
        if found := scaler.pools().get(full):
            if new := scaler.grow(full, found, need):
                return new
            continue
        if not any((offered := nodes.template(wanted, zone)) and not reasons(need, offered) for zone in wanted["locations"]):
            continue
        if all(f"{full} {zone}" in scaler.dry for zone in wanted["locations"]):
            return {}
        if (made := _make(scaler, full, wanted)) is None:
            return {}
        if new := scaler.grow(full, made, need):
            return new
        _remove(scaler, full, made)
    return {}


def _machines(rung: Body) -> list[str]:
    """Machine types that a priority takes, the smallest first."""
    if rung.get("machineType"):
        return [str(rung["machineType"])]
    if gpu := rung.get("gpu"):
        kind, count = gpu.get("type"), gpu.get("count")
        built = [one for one in gpu_machines.machines().values() if one.accelerator_type == kind and one.counted == count]
        found = sorted(built, key=lambda one: (one.vcpus, one.memory_gib))
        names = [one.machine_type for one in found] or [f"n1-standard-{count}" for count in VCPUS]
        return [name for name in names if name.startswith(str(rung.get("machineFamily") or ""))]
    if tpu := rung.get("tpu"):
        wanted = next((name for name, one in accelerators().items() if one.gke_label == tpu.get("type")), None)
        return [
            machine
            for machine, shapes in tpu_machines().items()
            for shape in shapes
            if shape.sold_as == wanted and shape.topology == tpu.get("topology") and shape.chips_per_host == tpu.get("count")
        ][:1]
    family, least = str(rung.get("machineFamily") or "e2"), (int(rung.get("minCores") or 0), int(rung.get("minMemoryGb") or 0))
    forms = list(GIB_PER_VCPU.get(family, {"standard": 4}))
    found_sizes = []
    for name in (f"{family}-{form}-{count}" for form in forms for count in VCPUS):
        try:
            machine = size(name)
        except UnknownSize:
            continue
        if machine.vcpus >= least[0] and machine.memory_gib >= least[1]:
            found_sizes.append((machine.vcpus, machine.memory_gib, name))
    return [name for _, _, name in sorted(found_sizes)]


def pool_body(scaler: Scaler, name: str, spec: Body, rung: Body, machine: str) -> Body:
    """The pool that Google makes for a priority. A name is as long as a pool's may be."""
    cluster = scaler.view.cluster.body
    own = spec.get("nodePoolConfig") or {}
    labels = {**(own.get("nodeLabels") or {})} | ({LABEL: name} if name else {})
    taints = [{"key": LABEL, "value": name, "effect": "NO_SCHEDULE"}] if name else []
    taints += [
        {"key": one["key"], "value": one.get("value", ""), "effect": EFFECTS.get(one["effect"], "")} for one in own.get("taints") or []
    ]
    config: Body = {"machineType": machine, "labels": labels, "taints": taints}
    if gpu := rung.get("gpu"):
        config["accelerators"] = [{"acceleratorType": gpu["type"], "acceleratorCount": str(gpu["count"])}]
        if gpu.get("driverVersion"):
            config["accelerators"][0]["gpuDriverInstallationConfig"] = {"gpuDriverVersion": gpu["driverVersion"].upper()}
    elif built := gpu_machines.by_machine_type(machine):
        config["accelerators"] = [{"acceleratorType": built.accelerator_type, "acceleratorCount": str(built.counted)}]
    if rung.get("spot"):
        config["spot"] = True
    if at(rung, "flexStart", "enabled"):
        config["flexStart"] = True
        if rung.get("maxRunDurationSeconds"):
            config["maxRunDuration"] = f"{rung['maxRunDurationSeconds']}s"
    if names := [str(one["name"]) for one in at(rung, "reservations", "specific") or [] if isinstance(one, dict) and "name" in one]:
        key = "compute.googleapis.com/reservation-name"
        config["reservationAffinity"] = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": key, "values": names}
    elif config.get("flexStart"):
        config["reservationAffinity"] = {"consumeReservationType": "NO_RESERVATION"}
    for field, of in (("diskType", "bootDiskType"), ("diskSizeGb", "bootDiskSize")):
        if value := at(rung, "storage", of):
            config[field] = value
    if own.get("serviceAccount"):
        config["serviceAccount"] = own["serviceAccount"]
    if at(own, "imageStreaming", "enabled"):
        config["gcfsConfig"] = {"enabled": True}
    places = at(rung, "location", "zones") or at(spec, "priorityDefaults", "location", "zones") or cluster["locations"]
    count = MOST
    body: Body = {
        "config": config,
        "locations": list(places),
        "initialNodeCount": 0,
        "management": {"autoRepair": True, "autoUpgrade": True},
    }
    topology = at(rung, "tpu", "topology")
    hosts = next((one.hosts for one in tpu_machines().get(machine, ()) if one.topology == topology), 1)
    if hosts > 1:
        body |= {"placementPolicy": {"type": "COMPACT", "tpuTopology": topology}, "locations": list(places)[:1]}
        count = hosts
    policy = at(rung, "location", "locationPolicy") or "ANY"
    limits = {"maxNodeCount": count} if count != MOST else {"totalMaxNodeCount": count}
    body["autoscaling"] = {"enabled": True, "autoprovisioned": True, "locationPolicy": policy, **limits}
    tail = parts.digest(f"{scaler.view.cluster.name}{name}{rung}{machine}", 8)
    body["name"] = f"{MADE}{machine[: 40 - len(MADE) - 9]}-{tail}"
    return body


def _make(scaler: Scaler, full: str, wanted: Body) -> Body | None:
    """Makes a pool; None where GKE refuses it."""
    cloud = scaler.view.cluster.cloud
    call = cloud.inside(cloud.services[parts.HOST], f"container.{parts.POOLS}.create", full, "v1beta1")
    try:
        with cloud.store.transaction():
            pools.make(call, full, scaler.view.cluster.body, wanted)
            cloud.store.put(parts.HOST, full, {**wanted, "status": "RUNNING"})
    except Refused:
        return None
    return cloud.store.get(parts.HOST, full)


def _remove(scaler: Scaler, full: str, body: Body) -> None:
    cloud = scaler.view.cluster.cloud
    groups.remove(cloud, body)
    cloud.remove(parts.HOST, full)
    scaler.view.resized()


def clear(scaler: Scaler) -> None:
    """Pools that were made here go when they have no nodes."""
    has: set[Any] = {machine.pool for machine in scaler.view.machines()}
    for name, body in scaler.pools().items():
        if body["autoscaling"].get("autoprovisioned") and name not in has:
            _remove(scaler, name, body)
