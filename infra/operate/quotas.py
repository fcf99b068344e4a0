"""
Quota in both scopes, regional and project-wide, against what the stack wants.

Quota is not capacity: it says only what may be asked for. What is used already may be the stack's own, so a limit that is large enough but
partly used is a warning, never a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import Any

from infra.catalog.gpu import quota_metric
from infra.components.tpu_host import BOOT_DISK_TYPE
from infra.findings import Found
from infra.operate import tpu_quotas
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed, Need, together
from infra.operate.google import Google
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
        words = f"which metric of Vertex AI {', '.join(needs.vertex_jobs)} counts against is not known"
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
        yield from _lines(region, lines, _regional(needs), needs)
        told = {line["metric"] for line in lines}
        for metric in sorted({_metric(need) for need in needs.gpus} - told):
            yield Found(
                region, "unknown", f"{metric} is not told: whether there is quota for the GPUs is not known", console(needs, metric)
            )
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
        return Counter({"INSTANCES": need.machines, _metric(need): need.machines * need.count, **disks})
    if need.way == "tpu-api":
        return Counter()
    disk = BOOT_DISK_TYPE.get(need.generation, "pd-balanced")  # v3 and v4, in GKE, are older than Hyperdisk
    wanted = Counter({"INSTANCES": need.hosts, DISK_METRIC[disk]: need.hosts * need.boot_disk_gib})
    if need.hosts > 1 and need.way == "compute-engine":  # a managed group, connected as a policy says
        wanted.update(INSTANCE_GROUP_MANAGERS=1, RESOURCE_POLICIES=1)
    return wanted


def _metric(need: GpuNeed) -> str:
    return quota_metric(need.accelerator_type, need.provisioning)


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


def _other_way(metric: str, enough: Container[str], needs: CloudNeeds) -> bool:
    """Whether everything that counts against the metric may be bought in a way whose quota is enough."""
    names = {need.name for need in needs.gpus if _metric(need) == metric}
    return bool(names) and names <= {need.name for need in needs.gpus if _metric(need) in enough}


def _lines(check: str, lines: list[dict[str, Any]], wanted: Counter[str], needs: CloudNeeds) -> Iterator[Found]:
    enough = {line["metric"] for line in lines if float(line.get("limit", 0)) >= wanted[line["metric"]]}
    for line in lines:
        metric, limit, usage = line["metric"], float(line.get("limit", 0)), float(line.get("usage", 0))
        if metric not in wanted:
            continue
        said = f"{metric}: limit {limit:g}, used {usage:g}, wanted {wanted[metric]}"
        if metric not in enough and _other_way(metric, enough, needs):
            yield Found(check, "warning", f"{said}; {OTHER_WAY}", console(needs, metric))
        elif metric not in enough:
            yield Found(check, "failed", said, console(needs, metric))
        elif usage + wanted[metric] > limit:
            yield Found(check, "warning", f"{said}: enough only if what is used is this stack's own", console(needs, metric))
        else:
            yield Found(check, "ok", said)


def console(needs: CloudNeeds, metric: str) -> str:
    """Where a person asks for more."""
    return f"ask for more {metric}: https://console.cloud.google.com/iam-admin/quotas?project={needs.project}"
