"""Quota of GPUs that a region's own list does not tell: newer ones have one metric together, by family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from infra.catalog.gpu import quota_metric
from infra.findings import Found, Level
from infra.operate import consumer_quotas
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed, Need, together
from infra.operate.google import Google
from infra.operate.refused import RefusedError

SERVICE = "compute.googleapis.com"
METRIC = f"{SERVICE}/gpus_per_gpu_family"
FAMILIES = {
    "nvidia-h100-80gb": "NVIDIA_H100",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA",
    "nvidia-h200-141gb": "NVIDIA_H200",
    "nvidia-b200": "NVIDIA_B200",
    "nvidia-rtx-pro-6000": "NVIDIA_RTX_PRO_6000",
}
"""The value of the dimension `gpu_family` by GPU, on demand.
Source: `gcloud beta quotas info describe` of a project in September 2026, as its user printed it (public file 68459799457)."""


def gpu_quotas(google: Google, needs: CloudNeeds, told: Container[str]) -> Iterator[tuple[frozenset[str], Found]]:
    """
    What is found, and the names of what it is about.

    Args:
        told: Metrics that the region's list has.
    """
    check = f"quota, {needs.region}"
    untold = [need for need in needs.gpus if metric_of(need) not in told]
    for metric in sorted({metric_of(need) for need in untold if _family(need) is None}):
        words = f"{metric} is not told: whether there is quota for the GPUs is not known"
        yield frozenset(), Found(check, "unknown", words, console(needs, metric))
    wanted = together(untold, _of_a_family)
    if not wanted:
        return
    try:
        by_family = consumer_quotas.metrics(google, needs.project, SERVICE, "gpus_per_gpu_family").get(METRIC, {})
    except RefusedError as refused:
        yield frozenset(), refused.found(check)
        return
    for family, count in sorted(wanted.items()):
        limits = consumer_quotas.limits(by_family, {"region": needs.region, "gpu_family": family})
        words = f"{METRIC} of {family}: {consumer_quotas.said(limits) or 'is not told'}, wanted {count}"
        enough = all(limit == -1 or limit >= count for _, limit in limits)
        level: Level = "unknown" if not limits else "ok" if enough else "failed"
        names = frozenset(need.name for need in untold if _family(need) == family)
        yield names, Found(check, level, words, "" if level == "ok" else console(needs, f"GPUS_PER_GPU_FAMILY of {family}"))


def metric_of(need: GpuNeed) -> str:
    """The regional metric that it counts against, where the region's list has it."""
    return quota_metric(need.accelerator_type, need.provisioning)


def _family(need: GpuNeed) -> str | None:
    """None where no source names a family: of GPUs that may be taken away, there is none."""
    return None if metric_of(need).startswith("PREEMPTIBLE_") else FAMILIES.get(need.accelerator_type)


def _of_a_family(need: Need) -> Counter[str]:
    assert isinstance(need, GpuNeed)
    return Counter({family: need.machines * need.count} if (family := _family(need)) else {})


def console(needs: CloudNeeds, metric: str) -> str:
    """Where a person asks for more."""
    return f"ask for more {metric}: https://console.cloud.google.com/iam-admin/quotas?project={needs.project}"
