"""`run-limit`: a machine that is made for a run ends by itself, though nobody is left who would take it away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.declared import Declared
from infra.planned_jobs import CONTAINER, PATH, custom_jobs
from infra.policy.objects import is_object
from infra.policy.rule import Broken, Rule

SECONDS = "scheduling.maxRunDuration.seconds"
ACTION = "scheduling.instanceTerminationAction"
TIMEOUT = "jobSpec.scheduling.timeout"
SECONDS_TEXT = re.compile(r"[1-9][0-9]*s")
DEADLINE = "activeDeadlineSeconds"
"""Of a Job of Kubernetes, from its start: one that a queue holds back has not started. A deadline of its pods stops nothing: its controller
makes others. Source: https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup, read 2026-11."""
HELD = {"batch/v1:Job": "spec", "batch/v1:CronJob": "spec.jobTemplate.spec", "ray.io/v1:RayJob": "spec"}
"""Where kinds of Kubernetes that end say it. A JobSet says it for each of its jobs."""
JOB_SET = re.compile(r"kubernetes:jobset\.x-k8s\.io/\w+:JobSet")


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """
    Custom jobs without a timeout; templates of a job's machines without a run limit, or that only stop there: a stopped one costs its disks
    until somebody sees it. Jobs of Kubernetes without a deadline: their pods keep nodes.
    """
    if is_object(resource):
        yield from _of_kubernetes(resource)
        return
    for way, job in custom_jobs(resource):
        if not SECONDS_TEXT.fullmatch(str(job.get(TIMEOUT))):
            yield Broken(PATH, f"the custom job as {way}: {TIMEOUT} must be stated: else it may run for seven days")
    if resource.get(CONTAINER) is None:
        return
    seconds = resource.get(SECONDS)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        yield Broken(SECONDS, "must be stated, and known at preview: else the machine of a run that died stands, and costs, for ever")
    if resource.get(ACTION) != "DELETE":
        yield Broken(ACTION, "must be DELETE: a machine that is only stopped keeps its disk, and its name")


def _of_kubernetes(resource: Declared) -> Iterator[Broken]:
    held = HELD.get(resource.type.removeprefix("kubernetes:"))
    if held:
        yield from _deadline(f"{held}.{DEADLINE}", resource.get(f"{held}.{DEADLINE}"))
    elif JOB_SET.fullmatch(resource.type):
        jobs = resource.get("spec.replicatedJobs")
        if not isinstance(jobs, list):
            yield Broken("spec.replicatedJobs", "must be stated, and known at preview")
            return
        for index, job in enumerate(jobs):
            path = f"template.spec.{DEADLINE}"
            said = Declared("", "", job).get(path) if isinstance(job, Mapping) else None
            yield from _deadline(f"spec.replicatedJobs[{index}].{path}", said)


def _deadline(path: str, seconds: Any) -> Iterator[Broken]:
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        yield Broken(path, "must be stated, and known at preview: else pods that hang keep their nodes for ever")


RULE = Rule(
    name="run-limit",
    description="Every machine, custom job and job of Kubernetes that is made for a run ends after a stated time; TPU nodes have no limit.",
    remediation="set scheduling: {maxRunDuration: {seconds: N}, instanceTerminationAction: DELETE}; of Kubernetes activeDeadlineSeconds: N",
    severity="high",
    find=find,
)
