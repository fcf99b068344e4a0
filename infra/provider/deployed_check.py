"""What is wrong with deployed models before anything is asked of Google: in the inputs alone, and by the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.catalog import vertex
from infra.errors import nearest
from infra.provider.resource import Failure
from infra.provider.server import ProviderError
from infra.provider.values import Path, Unknown

ENDPOINT = re.compile(r"projects/[^/@\s]+/locations/[^/@\s]+/endpoints/[^/@\s]+")
MODEL = re.compile(r"projects/[^/@\s]+/locations/[^/@\s]+/models/[^/@\s]+@[a-z0-9-]+")
NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
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


def check_id(id: str) -> None:
    """
    Raises:
        ProviderError: It is no endpoint's full name, as an import may give it.
    """
    if not ENDPOINT.fullmatch(id):
        raise ProviderError(f"{id!r} is no endpoint\n  allowed: projects/P/locations/R/endpoints/E")


def failures(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Everything, at once. What is not known yet is not judged."""
    endpoint = inputs.get("endpoint")
    if isinstance(endpoint, str) and not ENDPOINT.fullmatch(endpoint):
        yield Failure(("endpoint",), f"{endpoint!r} is no endpoint's full name\n  allowed: projects/P/locations/R/endpoints/E")
        endpoint = None
    region = endpoint.split("/")[3] if isinstance(endpoint, str) else None
    models = inputs.get("deployedModels")
    if not isinstance(models, Mapping):
        return
    for name, one in models.items():
        path: Path = ("deployedModels", name)
        if not NAME.fullmatch(name):
            yield Failure(path, f"{name!r} is no name\n  allowed: 1 to 63 of a-z, 0-9 and -, a letter first, no - at the end")
        if isinstance(one, Mapping):
            for failure in _one(one, region):
                yield Failure((*path, *failure.path), failure.reason)
    given = [one.get("traffic") if isinstance(one, Mapping) else None for one in models.values()]
    shares = [share for share in given if isinstance(share, int) and 0 <= share <= 100]
    if shares and len(shares) == len(models) and sum(shares) != 100:
        listed = " + ".join(map(str, shares))
        yield Failure(("deployedModels",), f"traffic makes {listed} = {sum(shares)} percent\n  allowed: 100 together, or no model at all")


def _one(one: Mapping[str, Any], region: str | None) -> Iterator[Failure]:
    yield from _forms(one)
    yield from _replicas(one)
    yield from _metrics(one)
    yield from _capacity(one)
    yield from _machine(one, region)


def _forms(one: Mapping[str, Any]) -> Iterator[Failure]:
    share = one.get("traffic")
    if isinstance(share, int) and not 0 <= share <= 100:
        yield Failure(("traffic",), f"{share} is no percentage\n  allowed: 0 to 100")
    for key, form, such_as in (
        ("model", MODEL, "projects/P/locations/R/models/M@champion, or @ and a version: which one is served is written out"),
        ("serviceAccount", EMAIL, "serving@tw-shop-ml.iam.gserviceaccount.com"),
        ("tpuTopology", TOPOLOGY, "2x2, 2x2x1"),
        ("gpuPartitionSize", PARTITION, "1g.10gb"),
    ):
        value = one.get(key)
        if isinstance(value, str) and not form.fullmatch(value):
            yield Failure((key,), f"{value!r} is not of its form\n  allowed: {such_as}")


def _replicas(one: Mapping[str, Any]) -> Iterator[Failure]:
    least, most, required, zero = (one.get(key) for key in ("minReplicas", "maxReplicas", "requiredReplicas", "scaleToZero"))
    if isinstance(least, int):
        if zero is None and least < 1:
            yield Failure(("minReplicas",), f"{least} is too few\n  allowed: 1 and more; 0 with scaleToZero")
        elif isinstance(zero, Mapping) and least != 0:
            yield Failure(("minReplicas",), f"{least} replicas always run, and scaleToZero is set\n  allowed: 0, or no scaleToZero")
    if isinstance(most, int):
        if most < 1:
            yield Failure(("maxReplicas",), f"{most} is too few\n  allowed: 1 and more")
        elif isinstance(least, int) and most < least:
            yield Failure(("maxReplicas",), f"{most} is less than minReplicas\n  allowed: {least} and more")
    if isinstance(required, int) and isinstance(least, int) and not 1 <= required <= least:
        yield Failure(("requiredReplicas",), f"{required} is not among the replicas that always run\n  allowed: 1 to {least}")
    if isinstance(zero, Mapping):
        low, high = IDLE_SECONDS
        for key in ("idleSeconds", "minUpSeconds"):
            value = zero.get(key)
            if isinstance(value, int) and not low <= value <= high:
                yield Failure(("scaleToZero", key), f"{value} is out of range\n  allowed: {low} to {high} seconds")
        initial = zero.get("initialReplicas", 1)
        top = most if isinstance(most, int) else 1
        if isinstance(initial, int) and not isinstance(most, Unknown) and not 1 <= initial <= max(top, 1):
            yield Failure(("scaleToZero", "initialReplicas"), f"{initial} is out of range\n  allowed: 1 to maxReplicas, {max(top, 1)}")


def _metrics(one: Mapping[str, Any]) -> Iterator[Failure]:
    metrics = one.get("metrics")
    if not isinstance(metrics, Mapping):
        return
    for name, target in metrics.items():
        if name not in METRICS:
            like = ", ".join(nearest(name, METRICS)) or ", ".join(METRICS)
            yield Failure(("metrics", name), f"there is no such autoscaling metric\n  allowed: {like}")
            continue
        highest = METRICS[name]
        if isinstance(target, int) and (target < 1 or (highest is not None and target > highest)):
            yield Failure(
                ("metrics", name), f"{target} is no target\n  allowed: 1 {'and more' if highest is None else f'to {highest} percent'}"
            )
        if name == DUTY_CYCLE and one.get("acceleratorType") is None and not _is_tpu(one.get("machineType")):
            yield Failure(("metrics", name), "the machine has no accelerator\n  fix: scale by the CPU, or set acceleratorType")


def _capacity(one: Mapping[str, Any]) -> Iterator[Failure]:
    """Spot, reservations and flex start exclude each other."""
    reservation, flex = one.get("reservation"), one.get("flexStart")
    if isinstance(flex, Mapping):
        seconds = flex.get("maxRunSeconds")
        if isinstance(seconds, int) and not 0 < seconds <= FLEX_SECONDS:
            yield Failure(("flexStart", "maxRunSeconds"), f"{seconds} is out of range\n  allowed: 1 to {FLEX_SECONDS}, seven days")
        if one.get("spot") is True:
            yield Failure(("flexStart",), "is another kind of capacity than spot\n  allowed: one of them")
    if not isinstance(reservation, Mapping):
        return
    affinity, names = reservation.get("affinity"), reservation.get("names")
    if affinity == "SPECIFIC_RESERVATION" and not names:
        yield Failure(("reservation", "names"), "is missing\n  allowed: full names, projects/P/zones/Z/reservations/R")
    elif isinstance(names, list) and names and affinity in ("NO_RESERVATION", "ANY_RESERVATION"):
        yield Failure(("reservation", "names"), f"means nothing with {affinity}\n  fix: SPECIFIC_RESERVATION, or no names")
    for index, name in enumerate(names if isinstance(names, list) else []):
        if isinstance(name, str) and not RESERVATION.match(name):
            yield Failure(("reservation", "names", index), f"{name!r} is no reservation\n  allowed: projects/P/zones/Z/reservations/R")
    if one.get("spot") is True and affinity in ("ANY_RESERVATION", "SPECIFIC_RESERVATION"):
        yield Failure(("reservation",), "spot machines use no reservation\n  fix: one of them")


def _machine(one: Mapping[str, Any], region: str | None) -> Iterator[Failure]:
    """Machine type, accelerator, count and region, as far as the catalogue has them."""
    machine, kind, count = (one.get(key) for key in ("machineType", "acceleratorType", "acceleratorCount"))
    if not isinstance(machine, str) or isinstance(kind, Unknown) or isinstance(count, Unknown):
        return
    if one.get("gpuPartitionSize") is not None and count != 1:
        yield Failure(("gpuPartitionSize",), f"divides one accelerator; acceleratorCount is {count}\n  fix: acceleratorCount 1")
    if _is_tpu(machine):
        for key in ("acceleratorType", "acceleratorCount", "gpuPartitionSize"):
            if one.get(key) is not None:
                yield Failure((key,), f"{machine} is a TPU machine: its type says the accelerator\n  fix: remove it")
        kind, count = "", 0
    elif one.get("tpuTopology") is not None:
        yield Failure(("tpuTopology",), f"{machine} has no TPU\n  fix: remove it")
    if kind is None and count is not None:
        yield Failure(("acceleratorType",), f"is missing: acceleratorCount is {count}\n  fix: say which accelerator, or remove the count")
        return
    if kind and count is None:
        yield Failure(("acceleratorCount",), f"is missing: acceleratorType is {kind}\n  fix: say how many")
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
        key = {"machine": "machineType", "accelerator": "acceleratorType", "count": "acceleratorCount", "region": "machineType"}[
            error.reason
        ]
        if not _is_tpu(machine) or key == "machineType":
            yield Failure((key,), f"{error.got or 'none'}: {error}\n  allowed: {', '.join(error.nearest) or 'none'}")


def _unknown_machine(machine: str) -> Failure:
    like = ", ".join(nearest(machine, vertex.machines()))
    return Failure(
        ("machineType",), f"{machine}: Vertex AI has no such machine with accelerators\n  allowed: {like or 'see the catalogue'}"
    )


def _is_tpu(machine: Any) -> bool:
    choices = vertex.machines().get(machine, ()) if isinstance(machine, str) else ()
    return any(choice.is_tpu for choice in choices)
