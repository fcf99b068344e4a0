"""
A custom job of Vertex AI, which makes the machine, runs the container on it and takes it away by itself.

No client can name one: the service numbers them. So a create is sent once a try, and what became of it is found by labels; one that is done
late is of a try that was given up, and is taken away. What is over stays as a record: it is deleted, as machines are, once the run's own
record has what it says.

Sources: discovery document aiplatform v1, revision 20261106; Google's page "Understand the serverless training service", read 2026-11, for
the words of an error.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from infra.job_plan import JobPlan
from infra.labels import JOB_LABEL, STACK_LABEL
from infra.operate.jobs.machine import ZONE, Machine, Order, Phase
from infra.provider.google import Google

API = "aiplatform.v1"
JOBS = "projects.locations.customJobs"
PHASES: Mapping[str, Phase] = {
    "JOB_STATE_QUEUED": "coming",
    "JOB_STATE_PENDING": "coming",
    "JOB_STATE_PAUSED": "coming",
    "JOB_STATE_RUNNING": "running",
    "JOB_STATE_UPDATING": "running",
    "JOB_STATE_CANCELLING": "leaving",
    "JOB_STATE_SUCCEEDED": "ended",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "ended",
    "JOB_STATE_FAILED": "ended",
    "JOB_STATE_CANCELLED": "ended",
    "JOB_STATE_EXPIRED": "ended",
}
"""Another state is `coming`: it may yet run."""
CANCELLED = "JOB_STATE_CANCELLED"
EXITED = re.compile(r"exited with a non-zero status of ([0-9]{1,3})\b")
LEAST_WAIT_SECONDS = 60
"""Of `maxWaitDuration`, where 0 would be without end."""
STOCKOUT = 8
"""RESOURCE_EXHAUSTED: what a job counts as that waited for a machine and is over."""


class CustomJob:
    """Custom jobs with the labels of a stack's job."""

    form = "custom-job"
    named = False

    def __init__(self, google: Google, plan: JobPlan) -> None:
        self._google = google
        self._plan = plan

    def at(self, places: Sequence[str]) -> tuple[str, ...]:
        return tuple(one for one in dict.fromkeys(places) if not ZONE.fullmatch(one))

    def look(self, zone: str) -> Machine | None:
        return max(self.every(zone), key=lambda one: (one.run, len(one.number), one.number), default=None)

    def every(self, zone: str) -> list[Machine]:
        wanted = f"labels.{STACK_LABEL}={self._plan.stack} AND labels.{JOB_LABEL}={self._plan.job}"
        parent = f"projects/{self._plan.project}/locations/{zone}"
        return [_seen(zone, one) for one in self._google.pages(API, f"{JOBS}.list", "customJobs", place=zone, parent=parent, filter=wanted)]

    def make(self, zone: str, order: Order) -> dict[str, Any]:
        body = copy.deepcopy(order.way.custom_job)
        spec = body["jobSpec"]
        for pool in spec["workerPoolSpecs"]:
            container = pool["containerSpec"]
            env = {one["name"]: one["value"] for one in container.get("env", [])} | dict(order.env)
            container["env"] = [{"name": key, "value": value} for key, value in env.items()]
        scheduling = spec.setdefault("scheduling", {})
        scheduling["timeout"] = f"{order.run_seconds}s"
        if order.way.provisioning == "flex-start":
            scheduling["maxWaitDuration"] = f"{max(LEAST_WAIT_SECONDS, order.wait_seconds)}s"
        spec["baseOutputDirectory"] = {"outputUriPrefix": order.output}
        body |= {"displayName": f"{self._plan.machine_name}-{order.run.lower()}-{order.number}"}
        body["labels"] = body.get("labels", {}) | order.labels
        parent = f"projects/{self._plan.project}/locations/{zone}"
        return self._google.call(API, f"{JOBS}.create", place=zone, parent=parent, body=body)

    def failure(self, zone: str, operation: Mapping[str, Any]) -> tuple[int | str, str] | None:
        """Of a job that is over and never ran."""
        found = self._google.found(API, f"{JOBS}.get", place=zone, name=str(operation["name"])) or {}
        state = str(found.get("state", ""))
        if PHASES.get(state) != "ended" or found.get("startTime"):
            return None
        error = found.get("error", {})
        return int(error.get("code") or STOCKOUT), str(error.get("message") or f"it is {state}, and never ran")

    def remove(self, machine: Machine) -> None:
        if machine.phase == "ended":
            self._google.call(API, f"{JOBS}.delete", place=machine.zone, name=machine.name)
        elif machine.phase != "leaving":
            self._google.call(API, f"{JOBS}.cancel", place=machine.zone, name=machine.name, body={}, safe=True)


def _seen(zone: str, job: Mapping[str, Any]) -> Machine:
    state, labels = str(job.get("state", "")), job.get("labels", {})
    seen = Machine.seen("custom-job", zone, state, PHASES.get(state, "coming"), labels, str(job.get("startTime", "")))
    said = str(job.get("error", {}).get("message", ""))
    match = EXITED.search(said)
    code = 0 if state == "JOB_STATE_SUCCEEDED" else int(match[1]) if match and state == "JOB_STATE_FAILED" else None
    return replace(seen, name=str(job["name"]), code=code, why=said, cancelled=state == CANCELLED)
