"""
Custom jobs: a container on machines that Vertex AI makes for it, and takes away after it.

Nothing runs by itself: a job comes, runs until its `timeout`, and ends when somebody attached says how its container ended (`ended`).

Sources: the discovery document aiplatform v1, revision 20261106, for fields and states; Google's pages "Understand the serverless training
service", "Use Spot VMs with training" and "Schedule training jobs based on resource availability", 2026, for what becomes of them and the
words of their errors. No source says in which state a job ends that ran into its timeout: users tell that theirs was cancelled
(tensorflow/tfx, issue 6223). Nor does one say whether `disableRetries` holds for a Spot machine that was taken away: here it does.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from infra.catalog import vertex
from infra.catalog.vertex import NotOnVertex
from infra.sandbox import verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, rpc_error
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.aiplatform import parts

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

RESOURCE = "projects.locations.customJobs"
WORD = "customJobs"
PENDING, RUNNING, CANCELLING = "JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_CANCELLING"
SUCCEEDED, FAILED, CANCELLED = "JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED"
OVER = (SUCCEEDED, FAILED, CANCELLED)
COMES_SECONDS = 230.0
"""From PENDING to RUNNING. Source: the times of the answer in "Use Spot VMs with training"."""
CANCEL_SECONDS = 30.0
"""Virtual seconds that a job is CANCELLING: no source has a figure."""
LOOKS_SECONDS = 60.0
"""Between two looks for capacity of a job that waits for it."""
TIMEOUT_SECONDS = 7 * 24 * 3600.0
WAIT_SECONDS = 24 * 3600.0
"""What `timeout` and `maxWaitDuration` are by themselves."""
SPOT_RETRIES = 6
"""So often a Spot machine that was taken away is sought anew. Source: "Use Spot VMs with training"."""
WAYS = {"SPOT": "spot", "FLEX_START": "flex-start"}
STOCKOUT = "Resources are insufficient in region: {region}. Try a different region or use a different accelerator."
EXITED = "The replica workerpool0-0 exited with a non-zero status of {code}. Termination reason: Error."


def provisioning(body: Body) -> str:
    """How its machines are bought."""
    spec = body.get("jobSpec", {})
    affinity = machine_of(body).get("reservationAffinity", {}).get("reservationAffinityType")
    return WAYS.get(_scheduling(spec).get("strategy", ""), "reservation" if affinity == "SPECIFIC_RESERVATION" else "on-demand")


def machine_of(body: Body) -> Body:
    """The machine of its first pool, as it was asked for."""
    pools = body.get("jobSpec", {}).get("workerPoolSpecs") or [{}]
    return dict(pools[0].get("machineSpec", {}))


def _fill(call: Call, body: Body) -> None:
    parts.required(body, {"displayName": "custom_job.display_name", "jobSpec": "custom_job.job_spec"})
    pools = body["jobSpec"].get("workerPoolSpecs") or []
    if not pools:
        raise parts.found_errors([("custom_job.job_spec.worker_pool_specs", "Required field is not set.")])
    for number, pool in enumerate(pools):
        at = f"custom_job.job_spec.worker_pool_specs[{number}]"
        needed = {"machineSpec.machineType": f"{at}.machine_spec.machine_type"}
        if "pythonPackageSpec" not in pool:
            needed["containerSpec.imageUri"] = f"{at}.container_spec.image_uri"
        parts.required(pool, needed)
        _check_machine(call, pool["machineSpec"], at)
    parts.fill(call, body)
    region, way = call.word("locations"), provisioning(body)
    found = call.cloud.faults.lacks(f"{parts.HOST}/{call.target}", region, way)
    if found == "quota":
        raise Refused(429, f"The following quota metrics exceed quota limits: {_metric(machine_of(body), way)}")
    body |= {"state": PENDING, "_lacks": found == "stockout", "_until": call.now + _waits(body), "_retries": 0}
    call.cloud.store.set_timer(parts.HOST, call.target, call.now + COMES_SECONDS * call.cloud.faults.slowness)


def _check_machine(call: Call, spec: Body, at: str) -> None:
    """
    Refuses what the catalogue says is impossible; a machine without accelerators is not in its tables.

    Words: no source has them.
    """
    kind, accelerator = spec["machineType"], spec.get("acceleratorType", "")
    if kind not in vertex.machines() and not accelerator:
        return
    try:
        vertex.check(kind, accelerator, int(spec.get("acceleratorCount", 0)), call.word("locations"), "training")
    except NotOnVertex as error:
        raise parts.found_errors([(f"{at}.machine_spec", str(error))]) from None


def _metric(machine: Mapping[str, Any], way: str) -> str:
    """
    Name of the quota that is used up.

    Source: Google's page on Dynamic Workload Scheduler for GPUs, and `preemptible` of Spot and flex-start; users' errors for CPUs.
    """
    accelerator = str(machine.get("acceleratorType", "")).lower()
    what = f"{accelerator.replace('_tesla', '').replace('_80gb', '')}_gpus" if accelerator else "cpus"
    return f"{parts.HOST}/custom_model_training_{'preemptible_' if way in ('spot', 'flex-start') else ''}{what}"


def _scheduling(spec: Body) -> Body:
    return dict(spec.get("scheduling", {}))


def _seconds(text: str, default: float) -> float:
    return float(text.removesuffix("s")) if text else default


def _waits(body: Body) -> float:
    """Seconds that it may wait for capacity: none, but of flex-start; there 0 is without end."""
    scheduling = _scheduling(body["jobSpec"])
    if scheduling.get("strategy") != "FLEX_START":
        return 0.0
    return _seconds(scheduling.get("maxWaitDuration", ""), WAIT_SECONDS) or float("1e12")


def wakes(cloud: Cloud, name: str) -> None:
    """A job that was coming is there, or has no room; one that ran into its timeout, or was cancelled, is over."""
    body = cloud.store.get(parts.HOST, name)
    if body is None:
        return
    if body["state"] == PENDING:
        _come(cloud, name, body)
    elif body["state"] in (RUNNING, CANCELLING):
        _end(cloud, name, body, CANCELLED, rpc_error("CANCELLED", "CANCELED"))


def _come(cloud: Cloud, name: str, body: Body) -> None:
    region, now = name.split("/")[3], cloud.moment
    if body["_lacks"]:
        if now < body["_until"]:
            lacks = bool(cloud.faults.lacks(f"{parts.HOST}/{name}", region, provisioning(body)))
            cloud.store.put(parts.HOST, name, body | {"_lacks": lacks})
            cloud.store.set_timer(parts.HOST, name, now + (LOOKS_SECONDS if lacks else COMES_SECONDS))
        else:
            _end(cloud, name, body, FAILED, rpc_error("RESOURCE_EXHAUSTED", STOCKOUT.format(region=region)))
        return
    started = {"startTime": body.get("startTime", rfc3339(now)), "updateTime": rfc3339(now)}
    cloud.store.put(parts.HOST, name, body | started | {"state": RUNNING})
    cloud.store.set_timer(parts.HOST, name, now + _seconds(_scheduling(body["jobSpec"]).get("timeout", ""), TIMEOUT_SECONDS))


def _end(cloud: Cloud, name: str, body: Body, state: str, error: Body | None) -> None:
    now = rfc3339(cloud.moment)
    said = {"error": {key: error[key] for key in ("code", "message")}} if error else {}
    cloud.store.set_timer(parts.HOST, name, None)
    cloud.store.put(parts.HOST, name, body | {"state": state, "endTime": now, "updateTime": now} | said)


def settle(cloud: Cloud) -> None:
    """Spot machines that a fault takes away now: their job fails, or is begun anew where it may be."""
    for name, body in cloud.store.of_kind(parts.HOST, WORD):
        if body["state"] != RUNNING or provisioning(body) != "spot" or not cloud.faults.preempts(f"{parts.HOST}/{name}"):
            continue
        if _scheduling(body["jobSpec"]).get("disableRetries") or body["_retries"] >= SPOT_RETRIES:
            _end(cloud, name, body, FAILED, rpc_error("RESOURCE_EXHAUSTED", STOCKOUT.format(region=name.split("/")[3])))
        else:
            cloud.store.put(parts.HOST, name, body | {"state": PENDING, "_retries": body["_retries"] + 1})
            cloud.store.set_timer(parts.HOST, name, cloud.moment + COMES_SECONDS)


def ended(cloud: Cloud, sent: Any) -> None:
    """
    The container of a job that runs has ended: `{"name": JOB, "exit_code": 0}`.

    Raises:
        ValueError: It is not said so, or no such job runs.
    """
    if not isinstance(sent, dict) or set(sent) != {"name", "exit_code"}:
        raise ValueError(f"an end has name and exit_code; got {sent!r}")
    name, code = str(sent["name"]), sent["exit_code"]
    if not isinstance(code, int) or isinstance(code, bool) or not 0 <= code <= 255:
        raise ValueError(f"exit_code: {code!r} is none of 0 to 255")
    body = cloud.store.get(parts.HOST, name)
    if body is None or body.get("state") not in (RUNNING, CANCELLING):
        raise ValueError(f"name: no custom job {name!r} runs")
    if body["state"] == RUNNING:
        _end(cloud, name, body, *((FAILED, rpc_error("INVALID_ARGUMENT", EXITED.format(code=code))) if code else (SUCCEEDED, None)))


def _cancel(call: Call) -> Any:
    """POST `:cancel`: begins to end a job that is not over."""
    body = verbs.opened(call)
    if body["state"] in OVER:
        raise parts.precondition(f"The CustomJob is in the state {body['state']} and cannot be cancelled.")
    if body["state"] != CANCELLING:
        call.cloud.store.put(parts.HOST, call.target, body | {"state": CANCELLING, "updateTime": rfc3339(call.now)})
        call.cloud.store.set_timer(parts.HOST, call.target, call.now + CANCEL_SECONDS * call.cloud.faults.slowness)
    return {}


def _shown(call: Call, body: Body) -> Body:
    return {key: value for key, value in copy.deepcopy(body).items() if not key.startswith("_")}


def _release(call: Call, body: Body) -> None:
    """No source says what a delete does to a job that is not over: nobody is to rely on it."""
    if body["state"] not in OVER:
        raise parts.precondition(f"The CustomJob is in the state {body['state']}; cancel it first.")


CUSTOM_JOB = Kind(
    RESOURCE,
    id_from="server:number",
    fill=_fill,
    show=_shown,
    release=_release,
)
HANDLERS = {f"{RESOURCE}.cancel": _cancel}
