"""
What nobody works on: machines that belong to no run are taken away, and runs whose runner died are gone on with.

Who goes on is the job's own Cloud Run job, started once more: it has the whole plan, and the time that a run takes. Where it cannot be
started, or was so often that something else is wrong, the run is ended here, and its machine with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from infra import names
from infra.job_plan import JobPlan
from infra.operate.jobs.fleet import Fleet
from infra.operate.jobs.lease import Owner
from infra.operate.jobs.machine import Machine
from infra.operate.jobs.runner import ENDED, Runner
from infra.operate.journal import Journal, TakenOverError
from infra.operate.rollout import Event
from infra.operate.times import Time
from infra.provider.calls import GoogleError
from infra.provider.google import Google
from infra.provider.server import ProviderError

REVIVALS = 3
"""How often a run is gone on with that is found dead."""

Reach = Callable[[JobPlan], tuple[Google, Time]]
Tell = Callable[[Event], None]


def sweep(plans: Sequence[JobPlan], owner: Owner, reach: Reach, tell: Tell) -> Iterator[str]:
    """
    Sweeps jobs, one after the other.

    Yields:
        What went wrong. One job's trouble is not the next one's.
    """
    for plan in plans:
        google, time = reach(plan)
        for do in (_orphans, _dead):
            try:
                do(plan, google, time, owner, tell)
            except TakenOverError as error:
                tell(Event("fenced", time.now(), f"job {plan.job}: {error}", {"job": plan.job}))
            except ProviderError as error:
                tell(Event("failed", time.now(), f"job {plan.job}: {error}", {"job": plan.job}))
                yield f"job {plan.job}: {error}"
        google.close()


def _orphans(plan: JobPlan, google: Google, time: Time, owner: Owner, tell: Tell) -> None:
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


def _dead(plan: JobPlan, google: Google, time: Time, owner: Owner, tell: Tell) -> None:
    """Goes on with a run whose lease is over."""
    runner = Runner(google, time, plan, owner, tell)
    if not runner.is_nobodys:
        return
    data, revived = runner.journal.data, int(runner.journal.data.get("revived", 0)) + 1
    left = f"run {data['id']} was left in {runner.journal.phase} by {data['lease']['owner']}"
    runner.journal.note(lease=owner.lease(time.now()), revived=revived)
    if revived > REVIVALS:
        runner.give_up(f"{left}, for the {revived}th time")
        return
    runner.release()
    task = f"projects/{plan.project}/locations/{plan.region}/jobs/{names.run_job(plan.stack, 'job', plan.job)}"
    try:
        google.call("run.v2", "projects.locations.jobs.run", name=task, body={})
    except GoogleError as error:
        runner.give_up(f"{left}, and {task} cannot be started: {error}")
        return
    tell(Event("revived", time.now(), f"job {plan.job}: {left}; {task} is started, and goes on", {"job": plan.job}))
