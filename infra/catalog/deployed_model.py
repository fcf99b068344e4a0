"""
What Vertex AI takes of a deployed model, as far as its discovery document (aiplatform v1beta1, revision 20261106) and the catalogue say.

The provider holds its inputs against it, and a stack file its own words: one judge for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.catalog import vertex
from infra.errors import nearest

MODEL = re.compile(r"projects/[^/@\s]+/locations/[^/@\s]+/models/[^/@\s]+@[a-z0-9-]+")
RESERVATION = re.compile(r"projects/[^/\s]+/zones/[^/\s]+/reservations/[^/\s]+")
PARTITION = re.compile(r"[0-9]+g\.[0-9]+gb")
TOPOLOGY = re.compile(r"[0-9]+(x[0-9]+){1,2}")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
METRICS = {
    "aiplatform.googleapis.com/prediction/online/accelerator/duty_cycle": 100,
    "aiplatform.googleapis.com/prediction/online/cpu/utilization": 100,
    "aiplatform.googleapis.com/prediction/online/request_count": None,
    "pubsub.googleapis.com/subscription/num_undelivered_messages": None,
    "prometheus.googleapis.com/vertex_dcgm_fi_dev_gpu_util": 100,
    "prometheus.googleapis.com/vertex_vllm_gpu_cache_usage_perc": 100,
    "prometheus.googleapis.com/vertex_vllm_num_requests_waiting": None,
}
"""Autoscaling metrics and their highest target, where they count percent. Source: AutoscalingMetricSpec in the discovery document."""
DUTY_CYCLE = "aiplatform.googleapis.com/prediction/online/accelerator/duty_cycle"
IDLE_SECONDS = (300, 28800)
"""Source: DedicatedResourcesScaleToZeroSpec: five minutes to eight hours."""
FLEX_SECONDS = 7 * 24 * 3600
"""Source: FlexStart.maxRuntimeDuration."""
ACCELERATOR_FAMILIES = ("a2", "a3", "a4", "a4x", "g2", "g4", "ct")
"""Machine types of these have accelerators: one that the catalogue does not have is a slip."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that is wrong."""

    path: tuple[str | int, ...]
    message: str
    allowed: str = ""
    fix: str = ""


def wrongs(one: Mapping[str, Any], region: str | None) -> Iterator[Wrong]:
    """
    Everything that is wrong with one, at once. A value of another type is not known yet, and not judged.

    Args:
        one: By the names of the provider's resource `accelform:vertex:DeployedModels`.
        region: Where it is to be deployed, where that is known.
    """
    yield from _forms(one)
    yield from _replicas(one)
    yield from _metrics(one)
    yield from _capacity(one)
    yield from _machine(one, region)


def _forms(one: Mapping[str, Any]) -> Iterator[Wrong]:
    share = one.get("traffic")
    if isinstance(share, int) and not 0 <= share <= 100:
        yield Wrong(("traffic",), f"{share} is no percentage", allowed="0 to 100")
    for key, form, such_as in (
        ("model", MODEL, "projects/P/locations/R/models/M@champion, or @ and a version: which one is served is written out"),
        ("serviceAccount", EMAIL, "serving@tw-shop-ml.iam.gserviceaccount.com"),
        ("tpuTopology", TOPOLOGY, "2x2, 2x2x1"),
        ("gpuPartitionSize", PARTITION, "1g.10gb"),
    ):
        value = one.get(key)
        if isinstance(value, str) and not form.fullmatch(value):
            yield Wrong((key,), f"{value!r} is not of its form", allowed=such_as)


def _replicas(one: Mapping[str, Any]) -> Iterator[Wrong]:
    least, most, required, zero = (one.get(key) for key in ("minReplicas", "maxReplicas", "requiredReplicas", "scaleToZero"))
    if isinstance(least, int):
        if zero is None and least < 1:
            yield Wrong(("minReplicas",), f"{least} is too few", allowed="1 and more; 0 with scaleToZero")
        elif isinstance(zero, Mapping) and least != 0:
            yield Wrong(("minReplicas",), f"{least} replicas always run, and scaleToZero is set", allowed="0, or no scaleToZero")
    if isinstance(most, int):
        if most < 1:
            yield Wrong(("maxReplicas",), f"{most} is too few", allowed="1 and more")
        elif isinstance(least, int) and most < least:
            yield Wrong(("maxReplicas",), f"{most} is less than minReplicas", allowed=f"{least} and more")
    if isinstance(required, int) and isinstance(least, int) and not 1 <= required <= least:
        yield Wrong(("requiredReplicas",), f"{required} is not among the replicas that always run", allowed=f"1 to {least}")
    if isinstance(zero, Mapping):
        low, high = IDLE_SECONDS
        for key in ("idleSeconds", "minUpSeconds"):
            value = zero.get(key)
            if isinstance(value, int) and not low <= value <= high:
                yield Wrong(("scaleToZero", key), f"{value} is out of range", allowed=f"{low} to {high} seconds")
        initial = zero.get("initialReplicas", 1)
        top = most if isinstance(most, int) else 1
        if isinstance(initial, int) and isinstance(most, int | None) and not 1 <= initial <= max(top, 1):
            yield Wrong(("scaleToZero", "initialReplicas"), f"{initial} is out of range", allowed=f"1 to maxReplicas, {max(top, 1)}")


def _metrics(one: Mapping[str, Any]) -> Iterator[Wrong]:
    metrics = one.get("metrics")
    if not isinstance(metrics, Mapping):
        return
    for name, target in metrics.items():
        if name not in METRICS:
            like = ", ".join(nearest(name, METRICS)) or ", ".join(METRICS)
            yield Wrong(("metrics", name), "there is no such autoscaling metric", allowed=like)
            continue
        highest = METRICS[name]
        if isinstance(target, int) and (target < 1 or (highest is not None and target > highest)):
            allowed = "1 and more" if highest is None else f"1 to {highest} percent"
            yield Wrong(("metrics", name), f"{target} is no target", allowed)
        if name == DUTY_CYCLE and one.get("acceleratorType") is None and not _is_tpu(one.get("machineType")):
            yield Wrong(("metrics", name), "the machine has no accelerator", fix="scale by the CPU, or set acceleratorType")


def _capacity(one: Mapping[str, Any]) -> Iterator[Wrong]:
    """Spot, reservations and flex start exclude each other."""
    reservation, flex = one.get("reservation"), one.get("flexStart")
    if isinstance(flex, Mapping):
        seconds = flex.get("maxRunSeconds")
        if isinstance(seconds, int) and not 0 < seconds <= FLEX_SECONDS:
            yield Wrong(("flexStart", "maxRunSeconds"), f"{seconds} is out of range", allowed=f"1 to {FLEX_SECONDS}, seven days")
        if one.get("spot") is True:
            yield Wrong(("flexStart",), "is another kind of capacity than spot", allowed="one of them")
    if not isinstance(reservation, Mapping):
        return
    affinity, names = reservation.get("affinity"), reservation.get("names")
    if affinity == "SPECIFIC_RESERVATION" and not names:
        yield Wrong(("reservation", "names"), "is missing", allowed="full names, projects/P/zones/Z/reservations/R")
    elif isinstance(names, list) and names and affinity in ("NO_RESERVATION", "ANY_RESERVATION"):
        yield Wrong(("reservation", "names"), f"means nothing with {affinity}", fix="SPECIFIC_RESERVATION, or no names")
    for index, name in enumerate(names if isinstance(names, list) else []):
        if isinstance(name, str) and not RESERVATION.match(name):
            yield Wrong(("reservation", "names", index), f"{name!r} is no reservation", allowed="projects/P/zones/Z/reservations/R")
    if one.get("spot") is True and affinity in ("ANY_RESERVATION", "SPECIFIC_RESERVATION"):
        yield Wrong(("reservation",), "spot machines use no reservation", fix="one of them")


def _machine(one: Mapping[str, Any], region: str | None) -> Iterator[Wrong]:
    """Machine type, accelerator, count and region, as far as the catalogue has them."""
    machine, kind, count = (one.get(key) for key in ("machineType", "acceleratorType", "acceleratorCount"))
    if not isinstance(machine, str) or not isinstance(kind, str | None) or not isinstance(count, int | None):
        return
    if one.get("gpuPartitionSize") is not None and count != 1:
        yield Wrong(("gpuPartitionSize",), f"divides one accelerator; acceleratorCount is {count}", fix="acceleratorCount 1")
    if _is_tpu(machine):
        for key in ("acceleratorType", "acceleratorCount", "gpuPartitionSize"):
            if one.get(key) is not None:
                yield Wrong((key,), f"{machine} is a TPU machine: its type says the accelerator", fix="remove it")
        kind, count = "", 0
    elif one.get("tpuTopology") is not None:
        yield Wrong(("tpuTopology",), f"{machine} has no TPU", fix="remove it")
    if kind is None and count is not None:
        yield Wrong(("acceleratorType",), f"is missing: acceleratorCount is {count}", fix="say which accelerator, or remove the count")
        return
    if kind and count is None:
        yield Wrong(("acceleratorCount",), f"is missing: acceleratorType is {kind}", fix="say how many")
        return
    choices = vertex.machines().get(machine)
    if kind is None and (choices is None or not any(choice.built_in for choice in choices)):
        if choices is None and machine.partition("-")[0] in ACCELERATOR_FAMILIES:
            yield _unknown_machine(machine)
        return
    if region is None:
        if choices is None:
            yield _unknown_machine(machine)
        return
    try:
        vertex.check(machine, str(kind or ""), int(count or 0), region)
    except vertex.NotOnVertex as error:
        yield _not_on_vertex(machine, error)


def _not_on_vertex(machine: str, error: vertex.NotOnVertex) -> Wrong:
    allowed = ", ".join(error.nearest) or "none"
    if error.reason == "accelerator":
        return Wrong(("acceleratorType",), f"Vertex AI has no {machine} with {error.got or 'no accelerator'}", allowed)
    if error.reason == "count":
        return Wrong(("acceleratorCount",), f"Vertex AI has no {machine} with {error.got} of its accelerators", allowed)
    if error.reason == "region":
        return Wrong(("machineType",), f"Vertex AI serves with no {machine} of these accelerators in {error.got}", allowed)
    return _unknown_machine(machine)


def _unknown_machine(machine: str) -> Wrong:
    like = ", ".join(nearest(machine, vertex.machines()))
    return Wrong(("machineType",), f"Vertex AI has no {machine} with accelerators", like or "a machine of the catalogue")


def _is_tpu(machine: Any) -> bool:
    choices = vertex.machines().get(machine, ()) if isinstance(machine, str) else ()
    return any(choice.is_tpu for choice in choices)
