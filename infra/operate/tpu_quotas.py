"""Which quota a TPU machine counts against, and whether it is enough. Each API has metrics of its own, and says nothing of the other's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from infra.findings import Found
from infra.operate import consumer_quotas
from infra.operate.doctor_cloud import CloudNeeds, Need, TpuNeed, together
from infra.operate.google import Google
from infra.operate.refused import RefusedError

NOT_CAPACITY = "quota is not capacity: the zone may be sold out all the same"

OTHER_WAY = "what wants it may be bought in another way, whose quota is enough"

SERVICE = {"compute-engine": "compute.googleapis.com", "tpu-api": "tpu.googleapis.com"}
API = {"gke": "compute-engine"}
"""Nodes of GKE count against Compute Engine's quota, and take none of TPUs where they consume a reservation.
Source: https://docs.cloud.google.com/kubernetes-engine/docs/troubleshooting/tpus, read 2026-11 up to its table: a footnote was not."""

STANDARD = {
    ("compute-engine", "v5e"): "compute.googleapis.com/tpu_lite_podslice_v5",
    ("compute-engine", "v5p"): "compute.googleapis.com/tpu_v5p",
    ("compute-engine", "v6e"): "compute.googleapis.com/tpus_per_tpu_family",
    ("tpu-api", "v5e"): "tpu.googleapis.com/tpu-v5s-litepod",
    ("tpu-api", "v6e"): "tpu.googleapis.com/tpu-v6e",
}
PREEMPTIBLE = {
    ("compute-engine", "v5e"): "compute.googleapis.com/preemptible_tpu_lite_podslice_v5",
    ("compute-engine", "v5p"): "compute.googleapis.com/preemptible_tpu_v5p",
    ("compute-engine", "v6e"): "compute.googleapis.com/preemptible_tpu_v6e",
    ("tpu-api", "v5e"): "tpu.googleapis.com/tpu-v5s-litepod-preemptible",
    ("tpu-api", "v6e"): "tpu.googleapis.com/tpu-v6e-preemptible",
}
"""
Quota metric in chips, by API and generation. What is not here is unknown, not absent: of v4 users name two metrics, and the Cloud TPU
API counts v4 and v5p in chips or in TensorCores (https://cloud.google.com/tpu/docs/quota).

Sources: Google's guide to its TPU Builders Program and its diagnostic program (v5p and v6e on Compute Engine, v5e on the Cloud TPU API);
`Quota.metric` in discovery document compute v1 (v5e on Compute Engine); quota lists that users printed in 2026 (the Cloud TPU API).
"""

SERVING = {
    "on-demand": "tpu.googleapis.com/tpu-v5s-litepod-serving",
    "spot": "tpu.googleapis.com/tpu-v5s-litepod-serving-preemptible",
    "reservation": "tpu.googleapis.com/tpu-v5s-litepod-serving-reserved",
}
SERVING_CHIPS = 8
"""The Cloud TPU API counts nodes of v5e up to so many chips (v5litepod-1, -4 and -8) against metrics of their own, as those for serving.
Source: https://cloud.google.com/tpu/docs/quota, read 2026-11."""

POOLS: Mapping[str, tuple[Mapping[tuple[str, str], str], ...]] = {
    "on-demand": (STANDARD,),
    "spot": (PREEMPTIBLE,),
    "flex-start": (PREEMPTIBLE, STANDARD),
}
"""
The pools that a way of provisioning counts against: one that is large enough will do. Flex-start takes standard quota where preemptible
quota is lacking, spot does not. A reservation is absent: no source says what it counts against.
Source: https://docs.cloud.google.com/compute/docs/instances/provisioning-models, as users quoted it in August 2026.
"""

FAMILY = {"v6e": "CT6E"}
"""The value of the dimension `tpu_family` by generation, as users saw it in August 2026."""


def tpu_quotas(google: Google, needs: CloudNeeds, used: Mapping[str, float]) -> Iterator[Found]:
    """*used*: chips in use by Compute Engine's regional metric, such as `TPU_LITE_PODSLICE_V5`, where it tells."""
    found = list(_each(google, needs, used))
    had = {need.name for need, one in found if one.level == "ok"}
    for need, one in found:
        if one.level == "failed" and need.name in had:
            yield replace(one, level="warning", message=f"{one.message}. {OTHER_WAY.capitalize()}, or stand elsewhere")
        else:
            yield one


def _each(google: Google, needs: CloudNeeds, used: Mapping[str, float]) -> Iterator[tuple[TpuNeed, Found]]:
    by_service: dict[str, dict[str, dict[str, Any]]] = {}
    for need in needs.tpus:
        check = f"quota of {need.accelerator_type}"
        if need.way == "gke" and need.provisioning == "reservation":
            yield need, Found(check, "ok", f"{need.name} consumes a reservation: GKE needs no quota of TPUs for it")
            continue
        service = SERVICE[_api(need)]
        try:
            if service not in by_service:
                by_service[service] = consumer_quotas.metrics(google, needs.project, service, "tpu")
        except RefusedError as refused:
            yield need, refused.found(check)
            continue
        yield need, _tpu_quota(check, need, needs, by_service[service], used)


def _tpu_quota(check: str, need: TpuNeed, needs: CloudNeeds, metrics: Mapping[str, dict[str, Any]], used: Mapping[str, float]) -> Found:
    where = f"https://console.cloud.google.com/iam-admin/quotas?project={needs.project}"
    there = {metric: limits for metric, one in sorted(metrics.items()) if (limits := consumer_quotas.limits(one, _here(need)))}
    known = [metric for metric in _pools(need) if metric in there]
    if not known:
        expected = " or ".join(_pools(need))
        why = f"{expected} is not told" if expected else f"which metric {need.provisioning} {need.generation} counts against is not known"
        every = "; ".join(f"{metric}: {consumer_quotas.said(limits)}" for metric, limits in there.items())
        return Found(check, "unknown", f"{why}; TPU metrics in {need.zone}: {every or 'none'}", where)
    chips, metric = together(needs.tpus, _chips), _pools(need)[0]
    wanted = {"zone": chips[metric, need.zone], "region": chips[metric, ""], "project": chips[metric, ""]}
    # A limit that is unlimited speaks for nothing: v6e's by zone is, wherever the region has none.
    verdicts = [[limit >= wanted[scope] for scope, limit in there[metric] if limit != -1] for metric in known]
    lines = [f"{metric} in {need.zone}: {consumer_quotas.said(there[metric])}{_used(metric, used)}" for metric in known]
    said = f"{' or '.join(lines)}; chips wanted {wanted['region']}; {NOT_CAPACITY}"
    ask = f"ask for {wanted['region']} of {known[0]} in {needs.region}: {where}"
    if any(all(verdict) for verdict in verdicts):
        return Found(check, "ok", said)
    if any(any(verdict) for verdict in verdicts):
        return Found(check, "warning", f"{said}. The limits disagree, and no source says which one holds", ask)
    return Found(check, "failed", said, ask)


def _chips(need: Need) -> Counter[tuple[str, str]]:
    """Chips by metric and zone, and by metric alone, where the zone is empty."""
    assert isinstance(need, TpuNeed)
    return Counter({(metric, zone): need.chips for metric in _pools(need)[:1] for zone in (need.zone, "")})


def _api(need: TpuNeed) -> str:
    return API.get(need.way, need.way)


def _pools(need: TpuNeed) -> list[str]:
    """The metrics that a machine counts against, the first one first."""
    if need.way == "tpu-api" and need.generation == "v5e" and need.chips <= SERVING_CHIPS:
        return [SERVING[need.provisioning]]
    made = _api(need), need.generation
    return [pool[made] for pool in POOLS.get(need.provisioning, ()) if made in pool]


def _here(need: TpuNeed) -> dict[str, str | None]:
    return {"zone": need.zone, "region": need.zone.rpartition("-")[0], "tpu_family": FAMILY.get(need.generation)}


def _used(metric: str, used: Mapping[str, float]) -> str:
    name = metric.rpartition("/")[2].upper()
    return f", used {used[name]:g} in the region" if name in used else ""
