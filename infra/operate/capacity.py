"""What the stack's zones offer at this moment, asked of the API that would make the machine. An offer is not capacity either."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog import tpu
from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed, Need, TpuNeed
from infra.operate.google import Google
from infra.operate.refused import each

PAGE = 500


def accelerator_types(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """Whether each zone has the stack's types, and where the Cloud TPU API makes the machine, its runtime."""
    for need in needs.tpus:
        offer = f"{need.accelerator_type} in {need.zone}"
        if need.way != "tpu-api":
            yield from each([(offer, _machine(offer, google, needs, need))])
        else:
            runtime = f"runtime {need.runtime_version} in {need.zone}"
            yield from each([(offer, _node(offer, google, needs, need)), (runtime, _runtime(runtime, google, needs, need))])
    for gpu in needs.gpus:
        offer = f"{gpu.machine_type} with {gpu.count} x {gpu.accelerator_type} in {gpu.zone}"
        yield from each([(offer, _gpus(offer, google, needs, gpu))])
    if not needs.machines:
        yield Found("accelerator types", "ok", "the stack has no machine")


def _machine(check: str, google: Google, needs: CloudNeeds, need: TpuNeed) -> Iterator[Found]:
    families = sorted({name.partition("-")[0] for name in tpu.single_hosts()})
    only = f'name eq "({"|".join(families)})-.*"'
    every = google.items("compute", "v1", "machineTypes.list", "items", project=needs.project, zone=need.zone, filter=only, maxResults=PAGE)
    yield _offered(check, need.machine_type, {str(one["name"]) for one in every}, needs, need)


def _gpus(check: str, google: Google, needs: CloudNeeds, need: GpuNeed) -> Iterator[Found]:
    """Of GPUs that are attached, the zone's list of accelerators tells; of those that are built in, its list of machine types."""
    where = {"project": needs.project, "zone": need.zone, "maxResults": PAGE}
    if need.attached:
        every, wanted = google.items("compute", "v1", "acceleratorTypes.list", "items", **where), need.accelerator_type
    else:
        family = need.machine_type.partition("-")[0]
        only = f'name eq "{family}-.*"'
        every, wanted = google.items("compute", "v1", "machineTypes.list", "items", filter=only, **where), need.machine_type
    yield _offered(check, wanted, {str(one["name"]) for one in every}, needs, need)


def _node(check: str, google: Google, needs: CloudNeeds, need: TpuNeed) -> Iterator[Found]:
    parent = f"projects/{needs.project}/locations/{need.zone}"
    every = google.items("tpu", "v2", "projects.locations.acceleratorTypes.list", "acceleratorTypes", parent=parent, pageSize=PAGE)
    yield _offered(check, need.accelerator_type, {str(one["type"]) for one in every}, needs, need)


def _runtime(check: str, google: Google, needs: CloudNeeds, need: TpuNeed) -> Iterator[Found]:
    parent = f"projects/{needs.project}/locations/{need.zone}"
    every = google.items("tpu", "v2", "projects.locations.runtimeVersions.list", "runtimeVersions", parent=parent, pageSize=PAGE)
    offered = {str(one["version"]) for one in every}
    if need.runtime_version in offered:
        yield Found(check, "ok", "is there now")
    else:
        yield Found(check, "failed", f"is not there now; the zone has {', '.join(sorted(offered)) or 'none'}")


def _offered(check: str, wanted: str, offered: set[str], needs: CloudNeeds, need: Need) -> Found:
    if wanted in offered:
        return Found(check, "ok", f"{wanted} is there now")
    has = ", ".join(sorted(offered)) or ("no TPU" if isinstance(need, TpuNeed) else "none")
    fix = f"accelform explain {need.key}; set another zone of {needs.region}"
    return Found(check, "failed", f"{wanted} is not there now; the zone has {has}", fix)
