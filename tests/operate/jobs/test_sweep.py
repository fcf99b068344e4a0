"""The sweep takes away what nobody works on, and leaves alone what somebody does."""

from __future__ import annotations

import pytest

from infra.job_plan import JobPlan
from infra.operate.jobs.lease import Owner
from infra.operate.jobs.runner import Runner
from infra.operate.jobs.sweep import sweep
from infra.operate.times import Time
from infra.provider.google import Google
from infra.provider.json_object import JsonObject
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.jobs.night import NAME, PROJECT, Night, settled


def swept(night: Night, *plans: JobPlan) -> list[str]:
    """What went wrong in one sweep of these jobs."""

    def runner_of(google: Google, time: Time, plan: JobPlan) -> Runner:
        return Runner(google, time, plan, Owner("sweep-1", 0, "sweep-1"), night.events.append)

    return list(sweep(plans or (night.plan,), lambda plan: (night.google(), night), night.events.append, runner_of))


def left(night: Night, run: str = "20270101t000000z", number: int = 1, zone: str = "us-east5-b") -> None:
    """A machine; if nothing else is said, of a run that nobody knows."""
    body = {"name": NAME, "labels": {"accelform-run": run, "accelform-try": str(number)}}
    at = f"compute.googleapis.com/compute/v1/projects/{PROJECT}/zones/{zone}/instances"
    night.ask("POST", at, body, sourceInstanceTemplate=night.template("spot"))
    night.wait(60)


def test_a_machine_of_no_run_is_taken_away() -> None:
    """No journal tells of it: it is gone, and the next sweep has nothing to do."""
    night = Night()
    left(night)
    assert swept(night) == []
    assert night.machines == {}
    assert night.said("machine") == ["job nightly: instance in us-east5-b, RUNNING: is deleted"]
    assert swept(night) == []
    assert len(night.said("machine")) == 1


def test_a_run_that_somebody_works_on_is_left_alone() -> None:
    """The sweep comes while a machine works: neither is touched."""
    night = Night()
    seen: list[bool] = []

    def watch() -> None:
        if night.said("running") and not seen:
            seen.append(True)
            assert swept(night) == []
            assert len(night.machines) == 1

    night.watch = watch
    assert night.run().result == "succeeded"
    assert seen
    settled(night)


def test_a_run_whose_runner_died_is_gone_on_with() -> None:
    """Its lease is over: the sweep waits for the machine's word, and takes it away. Before that it is left alone."""
    night = Night()
    night.kill_at, night.kill_after = 45, True
    with pytest.raises(KilledError):
        night.run()
    night.kill_at = None
    assert swept(night) == []
    assert night.journal["phase"] != "ended"
    night.wait(601)
    assert swept(night) == []
    assert night.journal["result"] == "succeeded"
    settled(night, 601)


def test_the_trouble_of_one_job_is_not_the_next_ones() -> None:
    """The first cannot be looked at, the second is swept."""
    night = Night()
    left(night)
    failed = swept(night, other(night, project="nobodys"), night.plan)
    assert [one.partition(":")[0] for one in failed] == ["job other", "jobs that stack shop has no more"]
    assert failed[0].startswith("job other: googleapi: Error 403")
    assert night.machines == {}


def test_a_journal_that_somebody_wrote_by_hand_is_not_the_next_jobs_trouble() -> None:
    """It is an object, and has nothing of a run: that is said of this job, and the others are swept."""
    night = Night()
    JsonObject(night.google(), f"{other(night).state}/job.json").write({"version": 1, "phase": "running"}, 0)
    left(night)
    failed = swept(night, other(night), night.plan)
    assert [one.partition(":")[0] for one in failed] == ["job other"]
    assert night.machines == {}


def test_a_machine_of_an_earlier_try_of_the_open_run_is_taken_away() -> None:
    """A create that was given up was done late: beside the machine that works, it would stand until its run limit."""
    night = Night()
    seen: list[set[str]] = []

    def watch() -> None:
        if night.said("running") and not seen:
            seen.append(set())
            left(night, night.journal["id"].lower(), number=0)
            assert swept(night) == []
            seen.append(set(night.machines))

    night.watch = watch
    assert night.run().result == "succeeded"
    assert [name.split("/")[3] for name in seen[1]] == ["us-east5-a"]


def test_a_zone_that_the_stack_file_has_no_more_is_looked_at_as_long_as_the_last_run_had_it() -> None:
    """The zones were changed since; what came late in the old one is found."""
    night = Night()
    night.run()
    left(night)
    assert swept(night, night.plan.model_copy(update={"zones": ("us-east5-a",)})) == []
    assert night.machines == {}


def other(night: Night, **more: object) -> JobPlan:
    """The job that is left in the stack file."""
    state = night.plan.state.replace("nightly", "other")
    return night.plan.model_copy(update={"job": "other", "machine_name": "shop-job-other", "state": state, **more})


def killed(night: Night, phase: str) -> None:
    """A run whose runner dies in a phase; its lease is live still."""

    def watch() -> None:
        if night.said(phase):
            raise KilledError

    night.watch = watch
    with pytest.raises(KilledError):
        night.run()
    night.watch = None


@pytest.mark.parametrize("form", ["instance", "node"])
def test_the_machine_of_a_job_that_the_stack_file_has_lost_is_taken_away(form: str) -> None:
    """No plan has it: its journal tells where it stands. As long as its runner may live, it is left alone; a node would stand for ever."""
    night = Night(form=form)
    night.exits = lambda number: None
    killed(night, "running")
    assert swept(night, other(night)) == []
    assert len(night.machines) == 1
    night.wait(700)
    assert swept(night, other(night)) == []
    settled(night, 700)
    assert (night.journal["result"], night.journal["reason"]) == ("stopped", "the job is not in the stack file any more")
    sent = night.sent
    assert swept(night, other(night)) == []
    assert night.sent - sent < 20, "a run that has ended is not looked for in all zones every hour"


def test_a_lost_job_whose_machine_was_taken_away_gets_no_other_one() -> None:
    """The runner died while it cleared up, and would have looked for the next machine."""
    night = Night("spot")

    def watch() -> None:
        if night.said("running") and night.machines and not night.said("clearing"):
            night.take(next(iter(night.machines)))
        if night.said("clearing"):
            raise KilledError

    night.watch = watch
    with pytest.raises(KilledError):
        night.run()
    night.watch = None
    assert night.journal["after"] == "seeking"
    night.wait(700)
    assert swept(night, other(night)) == []
    assert (night.journal["result"], len(night.journal["tries"])) == ("stopped", 1)
    assert night.machines == {}


def test_a_labelled_machine_of_a_lost_job_is_taken_away_without_a_journal() -> None:
    """Only its labels tell of it; one that merely has the labels, and another name, is somebody's own."""
    night = Night()
    at = f"compute.googleapis.com/compute/v1/projects/{PROJECT}/zones/us-east5-b/instances"
    for name in (NAME, "own"):
        labels = {"accelform-stack": "shop", "accelform-job": "nightly"}
        night.ask("POST", at, {"name": name, "labels": labels}, sourceInstanceTemplate=night.template("spot"))
    night.wait(60)
    assert swept(night, other(night)) == []
    assert night.machines == {}
    assert night.ask("GET", f"{at}/own")["name"] == "own"


def test_a_lost_jobs_journal_that_tells_of_another_place_is_not_believed() -> None:
    """Somebody wrote the plan in it: the sweep looks under the job's own name, in the stack's own project."""
    night = Night()
    killed(night, "running")
    found = JsonObject(night.google(), f"{night.plan.state}/job.json")
    found.change(lambda data: data | {"plan": data["plan"] | {"project": "nobodys", "machine_name": "own"}})
    night.wait(700)
    assert swept(night, other(night)) == []
    assert night.machines == {}
    assert night.record()["usd_at_most"] == "unknown"


def test_what_does_not_go_is_said() -> None:
    """The machine stays: the sweep ends with what it could not do."""
    night = Night(zones=["us-east5-b"])
    left(night)
    night.cloud.faults.add(Fault(do="error", method="DELETE", code=400, message="not ready"))
    assert "is there 30 min after it was told to go" in swept(night)[0]
