"""`run-limit`: a machine that is made for a run ends by itself, though nobody is left who would take it away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.declared import Declared
from infra.planned_jobs import CONTAINER, PATH, custom_jobs
from infra.policy.rule import Broken, Rule

SECONDS = "scheduling.maxRunDuration.seconds"
ACTION = "scheduling.instanceTerminationAction"
TIMEOUT = "jobSpec.scheduling.timeout"
SECONDS_TEXT = re.compile(r"[1-9][0-9]*s")


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """
    Custom jobs without a timeout; templates of a job's machines without a run limit, or that only stop there: a stopped one costs its disks
    until somebody sees it.
    """
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


RULE = Rule(
    name="run-limit",
    description="Every machine of Compute Engine and every custom job that a run makes ends after a stated time; nodes have no limit.",
    remediation="set scheduling: {maxRunDuration: {seconds: N}, instanceTerminationAction: DELETE}",
    severity="high",
    find=find,
)
