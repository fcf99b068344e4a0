"""
Quota in both scopes, regional and project-wide, against what the stack wants.

Quota is not capacity: it says only what may be asked for. What is used already may be the stack's own, so a limit that is large enough but
partly used is a warning, never a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from infra.catalog.gpu import quota_metric
from infra.components.tpu_host import BOOT_DISK_TYPE
from infra.findings import Found
from infra.operate import tpu_quotas
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed
from infra.operate.google import Google
from infra.operate.refused import RefusedError, each

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
    if not needs.machines:
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
    wanted = Counter(IN_USE_ADDRESSES=1)
    for need in needs.tpus:
        if need.way == "compute-engine":
            wanted["INSTANCES"] += need.hosts
            wanted[DISK_METRIC[BOOT_DISK_TYPE[need.generation]]] += need.hosts * need.boot_disk_gib
            if need.hosts > 1:  # a managed group, connected as a policy says
                wanted.update(INSTANCE_GROUP_MANAGERS=1, RESOURCE_POLICIES=1)
    for gpu in needs.gpus:
        wanted["INSTANCES"] += 1
        wanted[DISK_METRIC[gpu.boot_disk_type]] += gpu.boot_disk_gib
        wanted[_metric(gpu)] += gpu.count
    return wanted


def _metric(need: GpuNeed) -> str:
    return quota_metric(need.accelerator_type, need.provisioning)


def _project(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    lines = google.call("compute", "v1", "projects.get", project=needs.project).get("quotas", [])
    wanted = Counter(PROJECT_METRICS)
    for need in needs.tpus:
        if need.hosts > 1:  # each slice has a rule that lets its hosts reach each other
            wanted.update(FIREWALLS=1, INSTANCE_TEMPLATES=int(need.way == "compute-engine"))
    if needs.gpus:
        wanted[ACCELERATORS] = sum(need.count for need in needs.gpus)
    yield from _lines("quota, project", lines, wanted, needs)
    if not needs.gpus and any(line.get("metric") == ACCELERATORS and not line.get("limit") for line in lines):
        yield Found("quota, project", "warning", f"{ACCELERATORS} {ACCELERATORS_SHUT}", console(needs, ACCELERATORS))


def _lines(check: str, lines: list[dict[str, Any]], wanted: Counter[str], needs: CloudNeeds) -> Iterator[Found]:
    for line in lines:
        metric, limit, usage = line["metric"], float(line.get("limit", 0)), float(line.get("usage", 0))
        if metric not in wanted:
            continue
        said = f"{metric}: limit {limit:g}, used {usage:g}, wanted {wanted[metric]}"
        if limit < wanted[metric]:
            yield Found(check, "failed", said, console(needs, metric))
        elif usage + wanted[metric] > limit:
            yield Found(check, "warning", f"{said}: enough only if what is used is this stack's own", console(needs, metric))
        else:
            yield Found(check, "ok", said)


def console(needs: CloudNeeds, metric: str) -> str:
    """Where a person asks for more."""
    return f"ask for more {metric}: https://console.cloud.google.com/iam-admin/quotas?project={needs.project}"
