"""
The jobs of a stack as they stand: what their runners would do, how far they are, when they are started next, and what they said.

The plan is read from the Cloud Run job that runs it: so what is told is of what runs, not of a stack file that may have changed since.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from infra import names
from infra.errors import Problem, SpecError, nearest
from infra.job_plan import VARIABLE, JobPlan
from infra.operate.jobs import records
from infra.operate.jobs.runner import ENDED
from infra.operate.jobs.words import STOP
from infra.operate.journal import Journal
from infra.provider.google import Google
from infra.provider.holds import moment
from infra.provider.json_object import JsonObject
from infra.provider.server import ProviderError

RUN = "run.v2"
JOBS = "projects.locations.jobs"
SCHEDULER = "cloudscheduler.v1"
LOGGING = "logging.v2"
CONTAINER_LOG = "gcplogs-docker-driver"
"""Log of a container whose driver is gcplogs. Source: https://docs.docker.com/engine/logging/drivers/gcplogs/, read 2026-11."""
ENTRIES = 1000
"""Entries that are read at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it runs."""

    plan: JobPlan
    task: str
    """Full name of its Cloud Run job."""


class Desk:
    """
    The jobs of one stack.

    Args:
        google: Google's APIs.
        project: Project of the stack.
        region: Region of the stack.
        stack: Its name.
    """

    def __init__(self, google: Google, project: str, region: str, stack: str) -> None:
        self._google = google
        self._at = f"projects/{project}/locations/{region}"
        self._project = project
        self._stack = stack

    def every(self) -> list[Job]:
        """Jobs of the stack, by name."""
        found = [_job(one) for one in self._google.pages(RUN, f"{JOBS}.list", "jobs", parent=self._at)]
        return sorted((one for one in found if one and one.plan.stack == self._stack), key=lambda one: one.plan.job)

    def one(self, name: str) -> Job:
        """
        Raises:
            SpecError: The stack has no such job there.
        """
        jobs = {one.plan.job: one for one in self.every()}
        if name not in jobs:
            allowed = ", ".join(nearest(name, jobs) or jobs) or "none stands there"
            fix = "" if jobs else "accelform up, or pulumi up: a job is there once its stack is"
            raise SpecError(f"stack {self._stack}", [Problem(f"jobs.{name}", "there is no such job in the cloud", allowed, fix)])
        return jobs[name]

    def open_or_last(self, job: Job) -> dict[str, Any]:
        """The run that is open, else the one that was last; nothing where there was none. With `open`, and until when it is worked on."""
        journal = Journal(self._google, records.journal(job.plan.state), ENDED, "job")
        if not journal.data:
            return {}
        found = records.shown(job.plan, journal.data, self._google.time())
        lease = journal.data.get("lease", {}) if journal.is_open else {}
        return found | {"open": journal.is_open, "lease": lease, "events": journal.data.get("events", [])}

    def run(self, job: Job, id: str) -> dict[str, Any]:
        """
        One run, open or ended.

        Raises:
            SpecError: There is none.
        """
        found = self.open_or_last(job)
        if found.get("run") == id:
            return found
        if ended := records.read(self._google, job.plan.state, id):
            return ended | {"open": False, "lease": {}, "events": []}
        ids = self.runs(job)
        allowed = ", ".join(nearest(id, ids) or ids[-5:]) or "it had none yet"
        raise SpecError(f"job {job.plan.job}", [Problem("RUN", f"{id!r} is none of its runs", allowed)])

    def runs(self, job: Job) -> list[str]:
        """Ids of those that have ended or were skipped, oldest first."""
        return records.every(self._google, job.plan.state)

    def clock(self, job: Job) -> str:
        """Full name of the Cloud Scheduler job that starts it; empty where it has no schedule."""
        return str(self._clock(job).get("name", ""))

    def _clock(self, job: Job) -> dict[str, Any]:
        name = f"{self._at}/jobs/{names.resource(self._stack, 'job', job.plan.job)}"
        return self._google.found(SCHEDULER, f"{JOBS}.get", name=name) or {}

    def next_start(self, job: Job) -> str:
        """When the clock starts it next; `paused`, or empty where it has no schedule."""
        if not (found := self._clock(job)):
            return ""
        return "paused" if found.get("state") == "PAUSED" else str(found.get("scheduleTime", ""))

    def start(self, job: Job, zones: Sequence[str], provisioning: Sequence[str]) -> str:
        """Starts a run as the clock would, and says the execution."""
        words = [word for zone in zones for word in ("--zone", zone)] + [word for way in provisioning for word in ("--provisioning", way)]
        body = {"overrides": {"containerOverrides": [{"args": words}]}} if words else {}
        operation = self._google.call(RUN, f"{JOBS}.run", name=job.task, body=body)
        return str(operation.get("metadata", {}).get("name", ""))

    def execution_ended(self, execution: str) -> str:
        """How an execution ended, in words; empty while it runs, or where it is not known."""
        found = self._google.found(RUN, f"{JOBS}.executions.get", name=execution)
        if found is None or "completionTime" not in found:
            return ""
        said = [str(one["message"]) for one in found.get("conditions", []) if one.get("type") == "Completed" and one.get("message")]
        return said[0] if said else ("succeeded" if not found.get("failedCount") else "failed")

    def ask_to_stop(self, job: Job, run: str, who: str) -> None:
        """Says that a run is to end: its runner sees it within a minute, or the next one does."""
        at = moment(self._google.time())
        JsonObject(self._google, f"{records.folder(job.plan.state, run)}/{STOP}").change(lambda before: before or {"who": who, "at": at})

    def logs(self, job: Job, began: str, until: str = "", tries: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, str]]:
        """
        What runner and machines said from a moment on, oldest first.

        Args:
            tries: Those of the run: a custom job is known by what Vertex AI called it.

        Raises:
            ProviderError: The logs cannot be read.
        """
        task = job.task.rpartition("/")[2]
        every = {job.plan.machine_name, *(way.base_instance_name for way in job.plan.machines if way.base_instance_name)}
        hosts = sorted(one for one in every if not any(other != one and other in one for other in every))
        log = f'logName="projects/{self._project}/logs/{CONTAINER_LOG}"'
        chosen = [f'resource.type="cloud_run_job" AND resource.labels.job_name="{task}"']
        chosen += [f'{log} AND jsonPayload.instance.name:"{host}"' for host in hosts]
        ids = {str(one["machine"]).rpartition("/")[2] for one in tries if one["form"] == "custom-job" and one.get("began")}
        chosen += [f'resource.type="ml_job" AND resource.labels.job_id="{id}"' for id in sorted(ids)]
        within = f' AND timestamp>="{began}"' + (f' AND timestamp<="{until}"' if until else "")
        # A call each: the sandbox reads comparisons that AND joins.
        return sorted((one for words in chosen for one in self._entries(words + within)), key=lambda one: one["at"])

    def _entries(self, chosen: str) -> list[dict[str, str]]:
        body: dict[str, Any] = {
            "resourceNames": [f"projects/{self._project}"],
            "filter": chosen,
            "orderBy": "timestamp asc",
            "pageSize": ENTRIES,
        }
        found: list[dict[str, str]] = []
        while True:
            answer = self._google.call(LOGGING, "entries.list", safe=True, body=body)
            found += [_entry(one) for one in answer.get("entries", [])]
            if not answer.get("nextPageToken"):
                return found
            body = body | {"pageToken": answer["nextPageToken"]}


def _job(task: dict[str, Any]) -> Job | None:
    """A Cloud Run job that is a job's runner; None of any other."""
    containers = task.get("template", {}).get("template", {}).get("containers", [{}])
    text = next((one.get("value", "") for one in containers[0].get("env", []) if one.get("name") == VARIABLE), "")
    if not text:
        return None
    try:
        return Job(JobPlan.model_validate_json(text), str(task["name"]))
    except ValidationError as error:
        raise ProviderError(f"{task['name']}: {VARIABLE} is of another version of accelform: {error}\n  fix: accelform up") from None


def _entry(entry: dict[str, Any]) -> dict[str, str]:
    """Moment, who said it and what, of one entry."""
    payload = entry.get("jsonPayload", {})
    text = entry["textPayload"] if "textPayload" in entry else payload.get("message", json.dumps(payload, sort_keys=True))
    labels = entry.get("resource", {}).get("labels", {})
    who = payload.get("instance", {}).get("name") or labels.get("job_name") or labels.get("task_name", "")
    return {"at": str(entry.get("timestamp", "")), "who": str(who), "text": str(text).rstrip("\n")}
