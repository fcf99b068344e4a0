"""Quota as Service Usage has it: a metric, limits by place and family, and the buckets of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.operate.google import Google

Limits = list[tuple[str, int]]
"""Scope (`zone`, `region` or `project`) and effective value of each limit of a metric; -1 is unlimited."""


def metrics(google: Google, project: str, service: str, word: str) -> dict[str, dict[str, Any]]:
    """Quota metrics of a service whose name has the word. `FULL` shows every place, not only those whose limit was changed."""
    parent = f"projects/{project}/services/{service}"
    every = google.items(
        "serviceusage", "v1beta1", "services.consumerQuotaMetrics.list", "metrics", parent=parent, view="FULL", pageSize=500
    )
    return {one["metric"]: one for one in every if word in one["metric"].rpartition("/")[2].lower()}


def limits(metric: Mapping[str, Any], here: Mapping[str, str | None]) -> Limits:
    """
    What holds of a metric at a place.

    The most specific bucket holds, and comes last; one without a value is 0, as every zero of these APIs is left out.
    Source: discovery document serviceusage v1beta1, `ConsumerQuotaLimit.quotaBuckets`.

    Args:
        here: Dimensions of what counts: `zone`, `region`, `tpu_family`, `gpu_family`.
    """
    found = []
    for limit in metric.get("consumerQuotaLimits", []):
        unit = limit.get("unit", "")
        scope = "zone" if "{zone}" in unit else "region" if "{region}" in unit else "project"
        holding = [one for one in limit.get("quotaBuckets", []) if here.items() >= one.get("dimensions", {}).items()]
        if holding:
            narrowest = max(reversed(holding), key=lambda one: len(one.get("dimensions", {})))
            found.append((scope, int(narrowest.get("effectiveLimit", 0))))
    return found


def said(found: Limits) -> str:
    """Limits for people."""
    return ", ".join(f"limit {'unlimited' if limit == -1 else limit} per {scope}" for scope, limit in found)
