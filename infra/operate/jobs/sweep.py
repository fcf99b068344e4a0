"""What nobody works on: runs whose runner died are gone on with, and machines that belong to no run are taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from infra.job_plan import JobPlan
from infra.operate.jobs.fleet import Fleet
from infra.operate.jobs.lease import Owner
from infra.operate.jobs.machine import Machine
from infra.operate.jobs.runner import ENDED, Judge, Runner
from infra.operate.journal import Journal
from infra.operate.rollout import Event
from infra.operate.times import Time
from infra.provider.google import Google
from infra.provider.server import ProviderError

Reach = Callable[[JobPlan], tuple[Google, Time]]
Judges = Callable[[Google, JobPlan], Callable[[Time], Judge] | None]


def sweep(plans: Sequence[JobPlan], owner: Owner, reach: Reach, tell: Callable[[Event], None], judges: Judges) -> Iterator[str | None]:
    """
    Sweeps jobs, one after the other: machines of no run first, since a run that is gone on with may take the night.

    Yields:
        What went wrong, for each thing that was done; None where nothing did. One job's trouble is not the next one's.
    """
    for plan in plans:
        yield _tried(plan, tell, reach, lambda google, time, plan: _orphans(plan, google, time, tell))
    for plan in plans:
        yield _tried(plan, tell, reach, lambda google, time, plan: Runner(google, time, plan, owner, tell, judges(google, plan)).go_on())


def _tried(plan: JobPlan, tell: Callable[[Event], None], reach: Reach, do: Callable[[Google, Time, JobPlan], Any]) -> str | None:
    google, time = reach(plan)
    try:
        do(google, time, plan)
    except ProviderError as error:
        tell(Event("failed", time.now(), f"job {plan.job}: {error}", {"job": plan.job}))
        return str(error)
    finally:
        google.close()
    return None


def _orphans(plan: JobPlan, google: Google, time: Time, tell: Callable[[Event], None]) -> None:
    """
    Takes away machines of no open run. Each is seen before the journal is read: a run writes that before it makes one, so what is seen
    and is not the open run's is nobody's.
    """

    def say(text: str) -> None:
        tell(Event("machine", time.now(), f"job {plan.job}: {text}", {"job": plan.job}))

    def is_the_runs(machine: Machine) -> bool:
        journal = Journal(google, f"{plan.state}/job.json", ENDED, "job")
        return journal.is_open and machine.run == str(journal.data["id"]).lower()

    Fleet(google, plan, plan.zones, time.now, time.wait, say).clear(is_the_runs)
