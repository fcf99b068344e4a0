"""Cloud Run: jobs, their executions and tasks. Services, worker pools and builds are not here yet."""

from __future__ import annotations

from infra.sandbox.refused import Refused
from infra.sandbox.service import Call, Service
from infra.sandbox.services.run import executions, jobs
from infra.sandbox.services.run.operations import RunOperations
from infra.sandbox.services.run.parts import HOST


def _prepare(call: Call) -> None:
    """Only what is Cloud Run's own is answered: a service that is kept as it was sent would be none."""
    words = call.method.resource.split(".")
    if call.method.resource != "projects.locations.operations" and words[:3] != ["projects", "locations", "jobs"]:
        raise Refused(501, f"The sandbox does not have {call.method.id} yet.", status="UNIMPLEMENTED")


def _not_found(call: Call) -> Refused:
    """The words of the mock that was recorded, 2026-08; the real ones are in no source."""
    return Refused(404, f'{call.method.resource.rpartition(".")[2][:-1]} "{call.target}" not found')


SERVICE = Service(
    host=HOST,
    apis=("run.v2",),
    operations=RunOperations(),
    kinds=(jobs.JOB, executions.EXECUTION, executions.TASK),
    handlers={**jobs.HANDLERS, **executions.HANDLERS},
    prepare=_prepare,
    wakes=executions.time_out,
    not_found=_not_found,
)
