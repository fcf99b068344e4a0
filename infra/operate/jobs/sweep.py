"""
What nobody works on: machines that belong to no run are taken away, and runs whose runner died are gone on with.

A run whose job the stack file has lost is not gone on with, but given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from infra.job_plan import JobPlan
from infra.operate.jobs import forgotten, records
from infra.operate.jobs.fleet import Fleet
from infra.operate.jobs.machine import Machine
from infra.operate.jobs.runner import ENDED, Runner
from infra.operate.journal import Journal
from infra.operate.rollout import Event
from infra.operate.times import Time
from infra.provider.google import Google
from infra.provider.server import ProviderError

Reach = Callable[[JobPlan], tuple[Google, Time]]
Tell = Callable[[Event], None]
GONE = "the job is not in the stack file any more"


def sweep(plans: Sequence[JobPlan], reach: Reach, tell: Tell, runner_of: Callable[[Google, Time, JobPlan], Runner]) -> Iterator[str]:
    """
    Sweeps jobs, one after the other: machines of no run first, everywhere, since a run that is gone on with may take the night. The sweep
    of the next hour finds that one's lease, and looks after the others.

    Yields:
        What went wrong. One job's trouble is not the next one's.
    """

    def orphans(plan: JobPlan, google: Google, time: Time) -> None:
        _orphans(plan, google, time, tell)

    def dead(plan: JobPlan, google: Google, time: Time) -> None:
        runner_of(google, time, plan).go_on()

    def lost(plan: JobPlan, google: Google, time: Time) -> None:
        _orphans(plan, google, time, tell)
        runner = runner_of(google, time, plan)
        if runner.is_nobodys:
            runner.give_up(GONE, "stopped")

    def every(do: Callable[[JobPlan, Google, Time], None], several: Sequence[JobPlan]) -> Iterator[str]:
        for plan in several:
            yield from _alone(f"job {plan.job}", partial(do, plan), plan, reach, tell)

    found: list[JobPlan] = []

    def look(google: Google, time: Time) -> None:
        found.extend(forgotten.plans(google, plans))

    yield from every(orphans, plans)
    for plan in plans[:1]:
        yield from _alone(f"jobs that stack {plan.stack} has no more", look, plan, reach, tell)
    yield from every(lost, found)
    yield from every(dead, plans)


def _alone(what: str, do: Callable[[Google, Time], None], plan: JobPlan, reach: Reach, tell: Tell) -> Iterator[str]:
    """Does it, and says what went wrong, whatever that was."""
    google, time = reach(plan)
    try:
        do(google, time)
    except Exception as error:  # a journal that somebody wrote by hand, for one: the others' machines cost money meanwhile
        said = str(error) if isinstance(error, ProviderError) else f"{type(error).__name__}: {error}"
        tell(Event("failed", time.now(), f"{what}: {said}", {"job": plan.job}))
        yield f"{what}: {said}"
    finally:
        google.close()


def _orphans(plan: JobPlan, google: Google, time: Time, tell: Tell) -> None:
    """
    Takes away machines of no open run, and those of an earlier try of one: a create that was given up may be done late. Each is seen
    before the journal is read: a run writes that before it makes one, so what is seen and is not the last try's is nobody's.

    Looked at are the job's zones, and those of the last run: somebody may have chosen another one, or the stack file had others then.
    """

    def say(text: str) -> None:
        tell(Event("machine", time.now(), f"job {plan.job}: {text}", {"job": plan.job}))

    def is_the_runs(machine: Machine) -> bool:
        journal = read()
        return journal.is_open and machine.is_of(str(journal.data["id"]), len(journal.data["tries"]))

    def read() -> Journal:
        return Journal(google, records.journal(plan.state), ENDED, "job")

    before = read()
    rows = before.data.get("tries", [])
    zones = [*plan.zones, *before.data.get("zones", []), *(row["zone"] for row in rows)]
    made = [row["form"] for row in rows if before.is_open]
    Fleet(google, plan, zones, time.now, time.wait, say, made=made).clear(is_the_runs)
