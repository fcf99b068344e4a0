"""Quota in both scopes, and what the stack's zones have at this moment. Quota is not capacity: it says only what may be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, TpuNeed
from infra.operate.google import Google, RefusedError

NOT_CAPACITY = "quota is not capacity: the zone may be sold out all the same"

FAMILY = {"v5e": "CT5LP", "v5p": "CT5P", "v6e": "CT6E"}
METRICS = {
    ("v6e", False): ("compute.googleapis.com/tpus_per_tpu_family",),
    ("v6e", True): ("compute.googleapis.com/preemptible_tpu_v6e", "compute.googleapis.com/tpus_per_tpu_family"),
    ("v5e", False): ("compute.googleapis.com/tpu_lite_podslice_v5",),
    ("v5e", True): ("compute.googleapis.com/preemptible_tpu_lite_podslice_v5",),
}
"""Compute Engine's quota metric by generation, and by whether spot or flex-start (both spend the preemptible one). Seen by operators as
quota ids `TPUS-PER-TPU-FAMILY-per-project-region`, `PREEMPTIBLE-TPU-V6E-per-project-region` and `...TPU-LITE-PODSLICE-V5-per-project-zone`
in August 2026; of other generations, and of the Cloud TPU API, no source names one."""

REGION_METRICS = {"CPUS": 0, "SSD_TOTAL_GB": 100, "INSTANCES": 1, "IN_USE_ADDRESSES": 1}
"""Regional quotas that a machine with its boot disk and the NAT's address count against, and how much of each."""


def quota(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """Regional and project-wide limits, and the TPU metrics, against what the stack wants."""
    if not needs.tpus:
        yield Found("quota", "ok", "the stack has no machine")
        return
    region = google.call("compute", "v1", "regions.get", project=needs.project, region=needs.region)
    for line in region.get("quotas", []):
        per_machine = REGION_METRICS.get(line.get("metric"))
        if per_machine:
            wanted = per_machine * (1 if line["metric"] == "IN_USE_ADDRESSES" else len(needs.tpus))
            yield _line(f"quota, {needs.region}", line, wanted, needs)
    project = google.call("compute", "v1", "projects.get", project=needs.project)
    for line in project.get("quotas", []):
        if line.get("metric") in ("NETWORKS", "ROUTERS", "FIREWALLS"):
            yield _line("quota, project", line, 1, needs)
    yield from _tpu_quotas(google, needs)


def _line(check: str, line: dict[str, Any], wanted: int, needs: CloudNeeds) -> Found:
    limit, usage = float(line.get("limit", 0)), float(line.get("usage", 0))
    said = f"{line['metric']}: limit {limit:g}, used {usage:g}, wanted {wanted}"
    if usage + wanted > limit:
        return Found(check, "failed", said, f"https://console.cloud.google.com/iam-admin/quotas?project={needs.project}")
    return Found(check, "ok", said)


def _tpu_quotas(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    by_service: dict[str, dict[str, dict[str, Any]]] = {}
    for need in needs.tpus:
        service = "compute.googleapis.com" if need.way == "compute-engine" else "tpu.googleapis.com"
        if service not in by_service:
            try:
                by_service[service] = _metrics(google, needs.project, service)
            except RefusedError as refused:
                yield refused.found(f"quota of {need.accelerator_type}")
                continue
        yield _tpu_quota(need, by_service[service], needs)


def _metrics(google: Google, project: str, service: str) -> dict[str, dict[str, Any]]:
    """Quota metrics of a service whose name speaks of TPUs."""
    found: dict[str, dict[str, Any]] = {}
    token: str | None = None
    while True:
        page: dict[str, Any] = {"pageToken": token} if token else {}
        answer = google.call(
            "serviceusage", "v1beta1", "services.consumerQuotaMetrics.list", parent=f"projects/{project}/services/{service}", **page
        )
        found |= {one["metric"]: one for one in answer.get("metrics", []) if "tpu" in str(one.get("metric", "")).lower()}
        token = answer.get("nextPageToken")
        if not token:
            return found


def _tpu_quota(need: TpuNeed, metrics: dict[str, dict[str, Any]], needs: CloudNeeds) -> Found:
    check = f"quota of {need.accelerator_type}"
    preemptible = need.provisioning in ("spot", "flex-start")
    known = METRICS.get((need.generation, preemptible), ()) if need.way == "compute-engine" else ()
    limits = [(metric, limit) for metric in known if metric in metrics and (limit := _limit(metrics[metric], need)) is not None]
    if not limits:
        names = ", ".join(sorted(metrics)) or "none"
        said = f"which metric it counts against is not known; metrics with TPU in their name: {names}"
        return Found(check, "unknown", said, f"https://console.cloud.google.com/iam-admin/quotas?project={needs.project}")
    metric, limit = max(limits, key=lambda one: float("inf") if one[1] < 0 else one[1])
    said = f"{metric} in {need.zone}: limit {'none' if limit < 0 else limit} chips, wanted {need.chips}; {NOT_CAPACITY}"
    if 0 <= limit < need.chips:
        return Found(
            check,
            "failed",
            said,
            f"ask for {need.chips} of {metric} in {needs.region}: https://console.cloud.google.com/iam-admin/quotas?project={needs.project}",
        )
    return Found(check, "ok", said)


def _limit(metric: dict[str, Any], need: TpuNeed) -> int | None:
    """Effective limit in chips for the machine's place: of its zone before its region before everywhere; -1 is unlimited."""
    best: tuple[int, int] | None = None
    for limit in metric.get("consumerQuotaLimits", []):
        for bucket in limit.get("quotaBuckets", []):
            dimensions = dict(bucket.get("dimensions", {}))
            family = dimensions.pop("tpu_family", None)
            if family is not None and family != FAMILY.get(need.generation):
                continue
            places = [need.zone, need.zone.rpartition("-")[0]]
            if any(value not in places for value in dimensions.values()):
                continue
            rank = 2 if need.zone in dimensions.values() else 1 if dimensions else 0
            rank += 1 if family else 0
            if "effectiveLimit" in bucket and (best is None or rank > best[0]):
                best = (rank, int(bucket["effectiveLimit"]))
    return best[1] if best else None


def accelerator_types(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """Whether each zone has the stack's type at this moment, by the API that would make it."""
    for need in needs.tpus:
        check = f"{need.accelerator_type} in {need.zone}"
        try:
            offered = _machine_types(google, needs, need) if need.way == "compute-engine" else _node_types(google, needs, need)
        except RefusedError as refused:
            yield refused.found(check)
            continue
        wanted = need.machine_type if need.way == "compute-engine" else need.accelerator_type
        if wanted in offered:
            yield Found(check, "ok", f"{wanted} is there now")
        else:
            has = ", ".join(sorted(offered)) or "no TPU"
            yield Found(
                check,
                "failed",
                f"{wanted} is not there now; the zone has {has}",
                f"accelform explain tpu_slices.zone; set another zone of {needs.region}",
            )
        if need.way == "tpu-api":
            yield from _runtime(google, needs, need)
    if not needs.tpus:
        yield Found("accelerator types", "ok", "the stack has no machine")


def _machine_types(google: Google, needs: CloudNeeds, need: TpuNeed) -> set[str]:
    """TPU machine types of a zone: those whose name begins as one of the catalogue does."""
    from infra.catalog import tpu

    families = {name.partition("-")[0] for name in tpu.single_hosts()}
    pattern = "|".join(sorted(families))
    answer = google.call(
        "compute", "v1", "machineTypes.list", project=needs.project, zone=need.zone, filter=f'name eq "({pattern})-.*"', maxResults=500
    )
    return {str(one["name"]) for one in answer.get("items", [])}


def _node_types(google: Google, needs: CloudNeeds, need: TpuNeed) -> set[str]:
    answer = google.call(
        "tpu", "v2", "projects.locations.acceleratorTypes.list", parent=f"projects/{needs.project}/locations/{need.zone}", pageSize=500
    )
    return {str(one["type"]) for one in answer.get("acceleratorTypes", [])}


def _runtime(google: Google, needs: CloudNeeds, need: TpuNeed) -> Iterator[Found]:
    check = f"runtime {need.runtime_version} in {need.zone}"
    try:
        answer = google.call(
            "tpu", "v2", "projects.locations.runtimeVersions.list", parent=f"projects/{needs.project}/locations/{need.zone}", pageSize=500
        )
    except RefusedError as refused:
        yield refused.found(check)
        return
    offered = {str(one.get("version")) for one in answer.get("runtimeVersions", [])}
    if need.runtime_version in offered:
        yield Found(check, "ok", "is there now")
    else:
        yield Found(check, "failed", f"is withdrawn; the zone has {', '.join(sorted(offered)) or 'none'}", "")
