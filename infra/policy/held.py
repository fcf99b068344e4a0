"""Accelerators that a resource holds: how they are got, and whether they stand around the clock. Two rules read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret
from infra.planned_jobs import CONTAINER, PATH, RUN_JOB, own_plan
from infra.policy.objects import containers, is_object, pods
from infra.queued_nodes import NODE, QUEUED

INSTANCE = "gcp:compute/instance:Instance"
TEMPLATES = ("gcp:compute/instanceTemplate:InstanceTemplate", "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate")
RESERVATION = "gcp:compute/reservation:Reservation"
POOL = "gcp:container/nodePool:NodePool"
DEPLOYED = "accelform:vertex:DeployedModels"
TPU_MACHINE = re.compile(r"ct\d|tpu")
"""Names of machine types of TPUs, those too that the catalogue does not know."""
ASLEEP = ("TERMINATED", "SUSPENDED")
ON_DEMAND = "on-demand"
CHEAPER = ("spot", "flex-start")
MODELS = {"SPOT": "spot", "FLEX_START": "flex-start", "RESERVATION_BOUND": "reservation"}
"""Ways of buying by `scheduling.provisioningModel` (discovery document compute v1); all else is on demand."""
TIERS = {"spot": "spot", "reservation": "reservation"}
REPLICAS = re.compile(
    r"kubernetes:(?:apps/v1:(?:Deployment|StatefulSet|ReplicaSet)|core/v1:ReplicationController|leaderworkerset\.x-k8s\.io/\w+:LeaderWorkerSet)"
)
RAY = re.compile(r"kubernetes:ray\.io/\w+:RayCluster")
CLASS = re.compile(r"kubernetes:cloud\.google\.com/\w+:ComputeClass")
ASKED = ("nvidia.com/gpu", "google.com/tpu")


@dataclass(frozen=True, slots=True)
class Held:
    """Accelerators of one resource."""

    what: str
    at: str
    """Where the stack file may say why: `tpu_slices.try`."""
    way: str | None = ""
    """How they are got; empty where another resource says it, None where it is not known."""
    way_path: str = ""
    stands: bool | None = False
    """Whether they stand until somebody takes them away; None where it is not known."""
    stands_path: str = ""


def of(resource: Declared) -> Iterator[Held]:
    """What a resource holds. What others own is theirs to decide."""
    if resource.existing:
        return
    if resource.type in READ:
        yield from READ[resource.type](resource)
    elif is_object(resource):
        yield from _of_cluster(resource)


def kind(machine_type: object) -> str:
    """`tpu` or `gpu`, where a machine type has some built in; else empty."""
    from infra.catalog import gpu_machines, tpu

    short = machine_type.rpartition("/")[2] if isinstance(machine_type, str) else ""
    if TPU_MACHINE.match(short) or tpu.by_machine_type(short):
        return "tpu"
    return "gpu" if gpu_machines.by_machine_type(short) else ""


def _may_have(machine_type: object) -> bool:
    """Whether it has accelerators built in; of what is not known yet nobody can say that it has none."""
    return machine_type is UNKNOWN or bool(kind(machine_type))


def way_of_machine(resource: Declared) -> str | None:
    """A reservation is consumed by its affinity: its model says on demand. The old field for spot is `preemptible`."""
    if resource.get("reservationAffinity.type") == "SPECIFIC_RESERVATION":
        return "reservation"
    model, preemptible = resource.get("scheduling.provisioningModel"), resource.get("scheduling.preemptible")
    if model is UNKNOWN or (model is None and preemptible is UNKNOWN):
        return None
    return "spot" if model is None and preemptible is True else MODELS.get(str(model), ON_DEMAND)


def way_of_node(resource: Declared) -> str | None:
    """How a node of the Cloud TPU API is got."""
    spot, preemptible, reserved = (resource.get(f"schedulingConfig.{key}") for key in ("spot", "preemptible", "reserved"))
    if spot is True or preemptible is True:
        return "spot"
    if reserved is True:
        return "reservation"
    return None if any(one is UNKNOWN for one in (spot, preemptible, reserved)) else ON_DEMAND


def way_of_pool(resource: Declared) -> str | None:
    """How nodes of GKE are got."""
    spot, preemptible = resource.get("nodeConfig.spot"), resource.get("nodeConfig.preemptible")
    flex, queued = resource.get("nodeConfig.flexStart"), resource.get("queuedProvisioning.enabled")
    if spot is True or preemptible is True:
        return "spot"
    if flex is True or queued is True:
        return "flex-start"
    if resource.get("nodeConfig.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION":
        return "reservation"
    return None if any(one is UNKNOWN for one in (spot, preemptible, flex, queued)) else ON_DEMAND


def _machine(resource: Declared) -> Iterator[Held]:
    """An instance, or a template that a group makes several of. Those of a job's runs say what its plan says."""
    machine_type, attached = resource.get("machineType"), resource.get("guestAccelerators")
    found = kind(machine_type) if isinstance(machine_type, str) else ""
    if (resource.get(CONTAINER) is not None and resource.type in TEMPLATES) or not (found or attached not in (None, [])):
        return
    seconds = resource.get("scheduling.maxRunDuration.seconds")
    ends = isinstance(seconds, int) and seconds > 0
    yield Held(
        str(machine_type).rpartition("/")[2],
        f"{'tpu_slices' if found == 'tpu' else 'gpu_vms'}.{resource.name}",
        way_of_machine(resource),
        "scheduling.provisioningModel",
        None if seconds is UNKNOWN else not ends and resource.get("desiredStatus") not in ASLEEP,
        "scheduling.maxRunDuration",
    )


def _node(resource: Declared) -> Iterator[Held]:
    """A node of the Cloud TPU API: it has no run limit."""
    what, at = str(resource.get("acceleratorType")), f"tpu_slices.{resource.name}"
    yield Held(what, at, way_of_node(resource), "schedulingConfig", True, "schedulingConfig")


def _queued(resource: Declared) -> Iterator[Held]:
    """Nodes that come by the queue, and then stand."""
    tier, at = resource.get("tier"), f"tpu_slices.{resource.name}"
    way = None if tier is UNKNOWN else TIERS.get(str(tier), ON_DEMAND)
    yield Held("what it asks for", at, way, "tier", True, "tier")


def _reservation(resource: Declared) -> Iterator[Held]:
    """Reserved machines are paid as if they ran, whether anybody uses them or not."""
    path = "specificReservation.instanceProperties"
    machine_type, attached = resource.get(f"{path}.machineType"), resource.get(f"{path}.guestAccelerators")
    if attached not in (None, []) or _may_have(machine_type):
        ends = [resource.get(key) not in (None, "", {}) for key in ("deleteAtTime", "deleteAfterDuration")]
        what = machine_type if isinstance(machine_type, str) else "what it reserves"
        yield Held(what, f"reservations.{resource.name}", "reservation", "", not any(ends), "specificReservation.count")


def _pool(resource: Declared) -> Iterator[Held]:
    machine_type, attached = resource.get("nodeConfig.machineType"), resource.get("nodeConfig.guestAccelerators")
    if attached in (None, []) and not (isinstance(machine_type, str) and kind(machine_type)):
        return
    path, least = _least(resource)
    stands = None if least is UNKNOWN or least is None else _stays(least)
    yield Held(str(machine_type), f"node_pools.{resource.name}", way_of_pool(resource), "nodeConfig.spot", stands, path)


def _least(resource: Declared) -> tuple[str, Any]:
    """Nodes that stay, with where that is said: a number by the zone, or all together. Whatever is above 0 stays."""
    scale = resource.get("autoscaling")
    keys = ("autoscaling.totalMinNodeCount", "autoscaling.minNodeCount")
    if scale is None:
        keys = ("nodeCount", "initialNodeCount")
        return next(((key, resource.get(key)) for key in keys if resource.get(key) is not None), (keys[0], None))
    said = {key: resource.get(key) for key in keys}
    for key, value in said.items():
        if value is UNKNOWN or (value is not None and _stays(value)):
            return key, value
    return keys[0], UNKNOWN if scale is UNKNOWN else 0


def _stays(count: object) -> bool:
    """Whether a number of nodes is above 0. The provider takes text for a number, too; of what is neither nobody knows that it is 0."""
    if isinstance(count, Secret):
        return False  # what is in it is asked by itself
    try:
        return not float(str(count)) <= 0
    except ValueError:
        return True


def _deployed(resource: Declared) -> Iterator[Held]:
    """Models on an endpoint; machines without accelerators are nobody's business here."""
    models = resource.get("deployedModels")
    for key, one in models.items() if isinstance(models, Mapping) else ():
        if not isinstance(one, Mapping):
            continue
        model = Declared("", "", one)
        said = {key: found for key in ("acceleratorType", "machineType") if (found := model.get(key)) not in (None, "")}
        if "acceleratorType" not in said and not _may_have(said.get("machineType")):
            continue
        flex, least = model.get("flexStart"), model.get("minReplicas")
        stands = None if least is UNKNOWN else least != 0 and model.get("scaleToZero") is None and flex is None
        path = f"deployedModels.{key}"
        what = next((found for found in said.values() if isinstance(found, str)), f"what {key} runs on")
        yield Held(what, f"endpoints.{resource.name}", _way_of_model(model), f"{path}.spot", stands, f"{path}.minReplicas")


def _way_of_model(model: Declared) -> str | None:
    if model.get("spot") is True:
        return "spot"
    if model.get("flexStart") is not None:
        return "flex-start"
    if model.get("reservation.affinity") == "SPECIFIC_RESERVATION":  # any one: on demand where none has room, as of a machine
        return "reservation"
    return None if model.get("spot") is UNKNOWN else ON_DEMAND


def _job(resource: Declared) -> Iterator[Held]:
    """A job's machine goes with its run."""
    if plan := own_plan(resource):
        way = dearest([one.provisioning for one in plan.machines])
        yield Held(plan.accelerator_type or plan.machine_type, f"jobs.{plan.job}", way, PATH)


def dearest(ways: Sequence[str | None]) -> str | None:
    """On demand, where nothing cheaper is tried before it; else the first way."""
    for way in ways:
        if way in (*CHEAPER, ON_DEMAND, None):
            return way
    return ways[0] if ways else ""


READ: Mapping[str, Callable[[Declared], Iterator[Held]]] = {
    INSTANCE: _machine,
    **dict.fromkeys(TEMPLATES, _machine),
    NODE: _node,
    QUEUED: _queued,
    RESERVATION: _reservation,
    POOL: _pool,
    DEPLOYED: _deployed,
    RUN_JOB: _job,
}


def _of_cluster(resource: Declared) -> Iterator[Held]:
    """Copies that keep nodes with accelerators, and classes that make some. How a copy's node is got, its pool or its class says."""
    if CLASS.fullmatch(resource.type):
        yield from _class(resource)
    elif REPLICAS.fullmatch(resource.type):
        if asked := _asked(pods(resource)):
            said = resource.get("spec.replicas")
            stands = None if said is UNKNOWN else said != 0
            yield Held(asked, f"services.{_name(resource)}", stands=stands, stands_path="spec.replicas")
    elif RAY.fullmatch(resource.type):
        if asked := _asked((at, pod) for at, pod in pods(resource) if at.startswith("spec.headGroupSpec.")):
            yield Held(asked, f"ray_clusters.{_name(resource)}", stands=True, stands_path="spec.headGroupSpec")
        groups = resource.get("spec.workerGroupSpecs")
        for index, group in enumerate(groups if isinstance(groups, list) else []):
            path = f"spec.workerGroupSpecs[{index}]"
            if asked := _asked((at, pod) for at, pod in pods(resource) if at.startswith(f"{path}.")):
                # What does not scale has its replicas, and no less than its minimum.
                keys = ("minReplicas",) if resource.get("spec.enableInTreeAutoscaling") is True else ("replicas", "minReplicas")
                found = {key: UNKNOWN if group.get(key) is UNKNOWN else group.get(key) not in (None, 0) for key in keys}
                key = next(
                    (key for key, one in found.items() if one is True), next((k for k, one in found.items() if one is UNKNOWN), keys[0])
                )
                stands = None if found[key] is UNKNOWN else bool(found[key])
                yield Held(asked, f"ray_clusters.{_name(resource)}", stands=stands, stands_path=f"{path}.{key}")


def _class(resource: Declared) -> Iterator[Held]:
    """The rungs with accelerators, of which the first that is got counts."""
    rungs = resource.get("spec.priorities")
    ways: dict[int, str | None] = {}
    for index, rung in enumerate(rungs if isinstance(rungs, list) else []):
        one = Declared("", "", rung) if isinstance(rung, Mapping) else None
        if one and (any(one.get(key) not in (None, {}) for key in ("gpu", "tpu")) or _may_have(one.get("machineType"))):
            ways[index] = _way_of_rung(one)
    way = dearest(list(ways.values()))
    if ways:
        index = next(index for index, one in ways.items() if one == way)
        parts = [rungs[index].get(key) for key in ("machineType", "gpu", "tpu")]
        what = next((str(one) for one in parts if one not in (None, "", {}) and one is not UNKNOWN), f"rung {index}")
        yield Held(what, f"compute_classes.{_name(resource)}", way, f"spec.priorities[{index}].spot")


def _way_of_rung(rung: Declared) -> str | None:
    if rung.get("spot") is True:
        return "spot"
    if rung.get("flexStart.enabled") is True:
        return "flex-start"
    if rung.get("reservations.affinity") == "Specific":  # any, by best effort: on demand where none has room
        return "reservation"
    unknown = any(rung.get(key) is UNKNOWN for key in ("spot", "flexStart.enabled", "reservations.affinity"))
    return None if unknown else ON_DEMAND


def _asked(found: Iterator[tuple[str, Mapping[str, Any]]]) -> str:
    """What a container asks for; empty where none asks for an accelerator."""
    for path, pod in found:
        for _, one in containers(path, pod):
            for key in ("limits", "requests"):
                amounts = Declared("", "", one).get(f"resources.{key}")
                for name in ASKED if isinstance(amounts, Mapping) else ():
                    if amounts.get(name) not in (None, 0, "0"):
                        return name
    return ""


def _name(resource: Declared) -> str:
    """The key of the stack file, which its objects carry; else the object's own name."""
    metadata = resource.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    said = labels.get("app.kubernetes.io/name") if isinstance(labels, Mapping) else None
    return said if isinstance(said, str) else resource.name
