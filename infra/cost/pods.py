"""How many pods the objects of a cluster ask for, at least and at most, and what each is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.cost.context import whole
from infra.declared import Declared

SCALERS = ("kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "kubernetes:autoscaling/v1:HorizontalPodAutoscaler")
RUNS_ONCE = ("Job", "JobSet", "CronJob", "RayJob")
"""Kinds whose pods end by themselves."""


@dataclass(frozen=True, slots=True)
class Pods:
    """Alike pods of one object."""

    spec: Mapping[str, Any]
    """As in its manifest."""
    least: int
    most: int
    ends: bool
    """Whether they end by themselves, so that nobody knows how long they stand."""


def kind_of(resource: Declared) -> str:
    """The kind of an object; empty of what is none."""
    return resource.type.rpartition(":")[2] if resource.type.startswith("kubernetes:") else ""


def pods_of(resource: Declared, resources: Sequence[Declared]) -> list[Pods] | None:
    """
    Pods of an object; none where its kind has none, None where how many there are, or what they are, is not known.

    Args:
        resources: What is declared beside it: an autoscaler says how many copies there are.
    """
    kind = kind_of(resource)
    ends = kind in RUNS_ONCE
    found = []
    for spec, counts in _templates(kind, resource, resources):
        if not isinstance(spec, Mapping) or not isinstance(spec.get("containers"), list) or counts is None:
            return None
        found.append(Pods(spec, *counts, ends))
    return found


Counts = tuple[int, int] | None
"""Least and most; None where it is not known."""


def _templates(kind: str, resource: Declared, resources: Sequence[Declared]) -> Iterator[tuple[Any, Counts]]:
    match kind:
        case "Pod":
            yield resource.get("spec"), (1, 1)
        case "Deployment" | "StatefulSet" | "ReplicaSet":
            yield resource.get("spec.template.spec"), _copies(resource, resources)
        case "DaemonSet":
            yield resource.get("spec.template.spec"), None
        case "Job":
            yield resource.get("spec.template.spec"), _both(resource.get("spec.parallelism"))
        case "CronJob":
            yield resource.get("spec.jobTemplate.spec.template.spec"), _both(resource.get("spec.jobTemplate.spec.parallelism"))
        case "LeaderWorkerSet":
            copies, size = _copies(resource, resources), _both(resource.get("spec.leaderWorkerTemplate.size"))
            yield resource.get("spec.leaderWorkerTemplate.workerTemplate.spec"), _times(copies, size)
        case "JobSet":
            yield from _of_set(resource.get("spec.replicatedJobs"))
        case "RayCluster" | "RayJob" | "RayService":
            at = {"RayCluster": "spec", "RayJob": "spec.rayClusterSpec", "RayService": "spec.rayClusterConfig"}[kind]
            yield from _of_ray(resource, at)


def _of_set(jobs: Any) -> Iterator[tuple[Any, Counts]]:
    if not isinstance(jobs, list):
        yield None, None
        return
    for job in jobs:
        one = Declared("", "", job if isinstance(job, Mapping) else {})
        yield one.get("template.spec.template.spec"), _times(_both(one.get("replicas")), _both(one.get("template.spec.parallelism")))


def _of_ray(resource: Declared, at: str) -> Iterator[tuple[Any, Counts]]:
    yield resource.get(f"{at}.headGroupSpec.template.spec"), (1, 1)
    groups = resource.get(f"{at}.workerGroupSpecs")
    groups = [] if groups is None else groups
    if not isinstance(groups, list):
        yield None, None
        return
    for group in groups:
        one = Declared("", "", group if isinstance(group, Mapping) else {})
        least, most = one.get("minReplicas"), one.get("maxReplicas")
        between = _both(one.get("replicas")) if least is None and most is None else _between(0 if least is None else least, most)
        yield one.get("template.spec"), _times(between, _both(one.get("numOfHosts")))


def _copies(resource: Declared, resources: Sequence[Declared]) -> Counts:
    """As an autoscaler of its name says, else as it says itself."""
    name, namespace = resource.get("metadata.name"), resource.get("metadata.namespace")
    for one in resources:
        at = (one.get("spec.scaleTargetRef.kind"), one.get("spec.scaleTargetRef.name"), one.get("metadata.namespace"))
        if one.type in SCALERS and at == (kind_of(resource), name, namespace):
            least, most = one.get("spec.minReplicas"), one.get("spec.maxReplicas")
            return _between(1 if least is None else least, most)
    return _both(resource.get("spec.replicas"))


def _both(value: Any) -> Counts:
    """A number that is said; 1 where nothing is."""
    value = 1 if value is None else value
    return (value, value) if whole(value) else None


def _between(least: Any, most: Any) -> Counts:
    return (least, most) if whole(least) and whole(most) and least <= most else None


def _times(one: Counts, other: Counts) -> Counts:
    return None if one is None or other is None else (one[0] * other[0], one[1] * other[1])
