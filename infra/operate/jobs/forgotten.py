"""
Jobs of a stack that its stack file has lost, and of which something may stand: the sweep's plans are of the jobs that are left.

They are known by their journals, and by the labels of machines. Such a machine is taken away only where it has its job's name as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from infra import names
from infra.catalog import vertex
from infra.job_plan import JobPlan
from infra.labels import JOB_LABEL, STACK_LABEL
from infra.operate.jobs import custom_job, instance, node
from infra.operate.jobs.fleet import NOT_USED
from infra.operate.jobs.runner import ENDED
from infra.operate.journal import Journal
from infra.provider.calls import TRANSIENT, GoogleError
from infra.provider.google import Google


def plans(google: Google, known: Sequence[JobPlan]) -> list[JobPlan]:
    """
    Plans of the stack's other jobs that have an open run, or a machine: as the run was begun, else what can be said without it.

    Args:
        known: Plans of the jobs that the stack file has; at least one.

    Raises:
        ProviderError: That cannot be told.
    """
    of = {plan.job for plan in known}
    machines: dict[str, set[str]] = {}
    for job, zone in [*_instances(google, known[0]), *_nodes(google, known), *_custom_jobs(google, known)]:
        machines.setdefault(job, set()).add(zone)
    found = []
    for job in sorted({*machines, *_journals(google, known[0])} - of):
        state = names.job_state(urlsplit(known[0].state).netloc, known[0].stack, job)
        journal = Journal(google, f"{state}/job.json", ENDED, "job")
        if journal.is_open or job in machines:
            plan = _plan(known[0], job, state, journal.data.get("plan"))
            found.append(plan.model_copy(update={"zones": tuple(dict.fromkeys([*plan.zones, *sorted(machines.get(job, ()))]))}))
    return found


def _plan(beside: JobPlan, job: str, state: str, kept: object) -> JobPlan:
    """As its last run was begun; a journal that tells of another place than its own is not believed."""
    try:
        plan = JobPlan.model_validate(kept)
    except ValidationError:
        plan = None
    if plan and (plan.project, plan.stack, plan.job, plan.state) == (beside.project, beside.stack, job, state):
        return plan
    other = {"job": job, "machine_name": names.resource(beside.stack, "job", job), "state": state, "registers": None}
    return beside.model_copy(update={**other, "accelerator_type": "unknown", "workload": "unknown"})


def _journals(google: Google, plan: JobPlan) -> list[str]:
    """Jobs that ever ran."""
    parts = urlsplit(plan.state)
    prefix = f"{parts.path.strip('/').rpartition('/')[0]}/"
    found = google.pages("storage.v1", "objects.list", "prefixes", bucket=parts.netloc, prefix=prefix, delimiter="/")
    return [str(one).removeprefix(prefix).rstrip("/") for one in found]


def _instances(google: Google, plan: JobPlan) -> Iterator[tuple[str, str]]:
    """Job and zone of each machine of Compute Engine that is labelled as the stack's; those of a group have its template's labels."""
    page: dict[str, Any] = {}
    wanted = f"labels.{STACK_LABEL}={plan.stack}"
    while True:
        answer = google.call(instance.API, "instances.aggregatedList", project=plan.project, filter=wanted, **page)
        for scope, inside in answer.get("items", {}).items():
            for one in inside.get("instances", []):
                if job := one.get("labels", {}).get(JOB_LABEL):
                    yield str(job), str(scope).removeprefix("zones/")
        if not answer.get("nextPageToken"):
            return
        page = {"pageToken": answer["nextPageToken"]}


def _nodes(google: Google, known: Sequence[JobPlan]) -> Iterator[tuple[str, str]]:
    """The same of the Cloud TPU API, whose list has no filter."""
    try:
        found = google.pages(node.API, f"{node.NODES}.list", "nodes", parent=f"projects/{known[0].project}/locations/-")
    except GoogleError as error:
        _unless_unused(error, used=any(way.form == "node" for plan in known for way in plan.machines))
        return
    for one in found:
        labels = one.get("labels", {})
        if labels.get(STACK_LABEL) == known[0].stack and labels.get(JOB_LABEL):
            yield str(labels[JOB_LABEL]), str(one["name"]).split("/")[3]


def _custom_jobs(google: Google, known: Sequence[JobPlan]) -> Iterator[tuple[str, str]]:
    """Job and region of each custom job. A stack whose region trains nothing on Vertex AI never had one, and nobody may answer there."""
    used = any(plan.uses_vertex for plan in known)
    if not used and not any(one.training for one in vertex.regions() if one.region == known[0].region):
        return
    parent = f"projects/{known[0].project}/locations/{known[0].region}"
    wanted = f"labels.{STACK_LABEL}={known[0].stack}"
    try:
        found = google.pages(custom_job.API, f"{custom_job.JOBS}.list", "customJobs", place=known[0].region, parent=parent, filter=wanted)
    except GoogleError as error:
        _unless_unused(error, used=used)
        return
    for one in found:
        if job := one.get("labels", {}).get(JOB_LABEL):
            yield str(job), known[0].region


def _unless_unused(error: GoogleError, *, used: bool) -> None:
    """
    Args:
        used: Whether a job of the stack file uses the API: then no refusal of it is taken for "nothing is there".

    Raises:
        GoogleError: It does not say that the API is not in use.
    """
    if used or error.code not in NOT_USED or error.code in TRANSIENT:
        raise error
