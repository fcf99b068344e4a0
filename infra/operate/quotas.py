"""
Quota in both scopes, regional and project-wide, against what the stack wants.

Quota is not capacity: it says only what may be asked for. What is used already may be the stack's own, so a limit that is large enough but
partly used is a warning, never a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Any

from infra.catalog.tpu import BOOT_DISK_TYPE
from infra.findings import Found
from infra.operate import gpu_quotas, tpu_quotas
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed, Need, together
from infra.operate.google import Google
from infra.operate.gpu_quotas import console, metric_of
from infra.operate.refused import RefusedError, each
from infra.operate.tpu_quotas import OTHER_WAY

DISK_METRIC = {"pd-balanced": "SSD_TOTAL_GB", "hyperdisk-balanced": "HDB_TOTAL_GB"}
"""Regional quota that a boot disk counts against, by its type (`Quota.metric` in discovery document compute v1)."""

PROJECT_METRICS = {"NETWORKS": 1, "ROUTERS": 1, "FIREWALLS": 1}
"""What a stack with a network of its own makes at least one of."""

ACCELERATORS = "GPUS_ALL_REGIONS"
ACCELERATORS_SHUT = (
    "is 0: Google's TPU Builders guide says that such a project gets no accelerator, TPUs included, whatever their own quota"
)
"""What counts all GPUs of a project together.

Source: Google's guide to its TPU Builders Program, "The GPUS_ALL_REGIONS Block", read 2026-11. No reference page says so: a warning."""


def quota(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """Regional and project-wide limits, then each TPU metric."""
    if needs.vertex_jobs:
        words = f"Vertex AI's quota of custom model training, which {', '.join(needs.vertex_jobs)} counts against, is not looked at"
        yield Found("quota of custom jobs", "unknown", words, console(needs, "custom model training"))
    if not needs.machines:
        if not needs.vertex_jobs:
            yield Found("quota", "ok", "the stack has no machine")
        return
    region = f"quota, {needs.region}"
    used: dict[str, float] = {}
    try:
        lines = google.call("compute", "v1", "regions.get", project=needs.project, region=needs.region).get("quotas", [])
        used = {line["metric"]: float(line.get("usage", 0)) for line in lines}
        wanted = _regional(needs)
        families = list(gpu_quotas.gpu_quotas(google, needs, used))
        enough = {line["metric"] for line in lines if float(line.get("limit", 0)) >= wanted[line["metric"]]}
        served = {need.name for need in needs.gpus if metric_of(need) in enough}
        served |= {name for names, one in families if one.level == "ok" for name in names}
        yield from _lines(region, lines, wanted, needs, served)
        for names, one in families:
            yield _spared(one) if one.level == "failed" and names <= served else one
    except RefusedError as refused:
        yield refused.found(region)
    yield from each([("quota, project", _project(google, needs))])
    yield from tpu_quotas.tpu_quotas(google, needs, used)


def _regional(needs: CloudNeeds) -> Counter[str]:
    """How much of each regional metric machines and NAT want. What nodes of the Cloud TPU API count against is not known."""
    return Counter(IN_USE_ADDRESSES=1) + together([*needs.tpus, *needs.gpus], _of_the_region)


def _of_the_region(need: Need) -> Counter[str]:
    if isinstance(need, GpuNeed):
        disks = {DISK_METRIC[need.boot_disk_type]: need.machines * need.boot_disk_gib}
        return Counter({"INSTANCES": need.machines, metric_of(need): need.machines * need.count, **disks})
    if need.way == "tpu-api":
        return Counter()
    disk = BOOT_DISK_TYPE.get(need.generation, "pd-balanced")  # v3 and v4, in GKE, are older than Hyperdisk
    wanted = Counter({"INSTANCES": need.hosts, DISK_METRIC[disk]: need.hosts * need.boot_disk_gib})
    if need.hosts > 1 and need.way == "compute-engine":  # a managed group, connected as a policy says
        wanted.update(INSTANCE_GROUP_MANAGERS=1, RESOURCE_POLICIES=1)
    return wanted


def _project(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    lines = google.call("compute", "v1", "projects.get", project=needs.project).get("quotas", [])
    wanted = Counter(PROJECT_METRICS) + together([*needs.tpus, *needs.gpus], _of_the_project)
    yield from _lines("quota, project", lines, wanted, needs)
    if not needs.gpus and any(line.get("metric") == ACCELERATORS and not line.get("limit") for line in lines):
        yield Found("quota, project", "warning", f"{ACCELERATORS} {ACCELERATORS_SHUT}", console(needs, ACCELERATORS))


def _of_the_project(need: Need) -> Counter[str]:
    if isinstance(need, GpuNeed):
        return Counter({ACCELERATORS: need.machines * need.count})
    if need.hosts > 1 and need.way != "gke":  # each slice has a rule that lets its hosts reach each other
        return Counter(FIREWALLS=1, INSTANCE_TEMPLATES=int(need.way == "compute-engine"))
    return Counter()


def _lines(
    check: str, lines: list[dict[str, Any]], wanted: Counter[str], needs: CloudNeeds, served: Set[str] = frozenset()
) -> Iterator[Found]:
    """*served*: names of what may be bought in a way whose quota is enough."""
    for line in lines:
        metric, limit, usage = line["metric"], float(line.get("limit", 0)), float(line.get("usage", 0))
        if metric not in wanted:
            continue
        said = f"{metric}: limit {limit:g}, used {usage:g}, wanted {wanted[metric]}"
        if limit < wanted[metric]:
            names = {need.name for need in needs.gpus if metric_of(need) == metric}
            one = Found(check, "failed", said, console(needs, metric))
            yield _spared(one) if names and names <= served else one
        elif usage + wanted[metric] > limit:
            yield Found(check, "warning", f"{said}: enough only if what is used is this stack's own", console(needs, metric))
        else:
            yield Found(check, "ok", said)


def _spared(one: Found) -> Found:
    return replace(one, level="warning", message=f"{one.message}; {OTHER_WAY}")
