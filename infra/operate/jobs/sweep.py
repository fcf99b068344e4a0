"""What nobody works on: machines that belong to no run are taken away, and runs whose runner died are gone on with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from infra.job_plan import JobPlan
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

    for do in (orphans, dead):
        for plan in plans:
            google, time = reach(plan)
            try:
                do(plan, google, time)
            except ProviderError as error:
                tell(Event("failed", time.now(), f"job {plan.job}: {error}", {"job": plan.job}))
                yield f"job {plan.job}: {error}"
            finally:
                google.close()


def _orphans(plan: JobPlan, google: Google, time: Time, tell: Tell) -> None:
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
