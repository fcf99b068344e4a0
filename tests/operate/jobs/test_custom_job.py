"""A run on a custom job of Vertex AI: asked for once a try, found by its labels, and gone at the end."""

from __future__ import annotations

from typing import Any

import pytest

from infra.operate.jobs import forgotten
from infra.operate.jobs.custom_job import CustomJob
from infra.operate.jobs.runner import Wish
from infra.operate.jobs.words import STOP
from infra.provider.json_object import JsonObject
from infra.provider.server import ProviderError
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.jobs.night import BEGAN, PROJECT, REGION, VERTEX, Night, custom_job, settled

AT = f"{VERTEX}/v1/projects/{PROJECT}/locations/{REGION}/customJobs"


def night(*ways: str, **more: Any) -> Night:
    """Its container works for two minutes."""
    one = Night(*ways, form="custom-job", **more)
    one.work_minutes = 2
    return one


def results(one: Night) -> list[str]:
    return [row["result"] for row in one.record()["tries"]]


def test_it_is_told_of_its_run_and_deleted_when_it_is_over() -> None:
    """Its container gets the try's variables over the plan's, Vertex AI's own folders are the run's, and the record has its name."""
    one = night()
    seen: dict[str, Any] = {}

    def watch() -> None:
        seen.update(one.machines)

    one.watch = watch
    assert one.run().reason == "it ended well"
    settled(one)
    ((name, body),) = seen.items()
    container = body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    env = {item["name"]: item["value"] for item in container["env"]}
    assert len(env) == len(container["env"])
    assert (env["WL_CHIPS"], env["WL_ATTEMPT"]) == ("8", "1")
    assert body["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"] == env["WL_OUTPUT"]
    assert body["jobSpec"]["scheduling"] == {"strategy": "SPOT", "disableRetries": True, "timeout": "10800s"}
    assert one.record()["tries"][0]["machine"].rpartition("/")[2] == name.rpartition("/")[2]


def test_it_that_ends_between_two_looks_was_there() -> None:
    """It goes by itself: that it never was seen to run says nothing."""
    one = night()
    one.work_minutes = 0
    assert one.run().result == "succeeded"
    settled(one)


@pytest.mark.parametrize(("code", "tried"), [(143, ["restarted", "succeeded"]), (134, ["failed"])])
def test_its_exit_code_is_read_from_what_vertex_ai_says(code: int, tried: list[str]) -> None:
    """As that of a host: 143 is begun again, anything else has failed."""
    one = night()
    one.exits = lambda number: code if number == 1 else 0
    one.run()
    settled(one)
    assert results(one) == tried
    assert str(code) in one.record()["tries"][0]["reason"]


@pytest.mark.parametrize(("do", "result"), [("stockout", "no capacity"), ("quota", "quota")])
def test_without_room_or_quota_the_next_way_of_buying_is_tried(do: str, result: str) -> None:
    """Vertex AI knows of no quota at once, and of no room once it has looked."""
    one = night("spot", "on-demand")
    one.cloud.faults.add(Fault(do=do, provisioning="spot"))
    assert one.run().result == "succeeded"
    settled(one)
    assert results(one) == [result, "succeeded"]
    assert one.record()["tries"][0]["usd"] == "0"


def test_a_spot_machine_that_is_taken_away_is_sought_anew() -> None:
    """The runner does that, in a try of its own: Vertex AI was told not to."""
    one = night()
    one.exits = lambda number: None if number == 1 else 0
    one.cloud.faults.add(Fault(do="preempt", path="customJobs/", at=4, times=1))
    assert one.run().result == "succeeded"
    settled(one)
    assert results(one) == ["restarted", "succeeded"]
    assert "Resources are insufficient" in one.record()["tries"][0]["reason"]


def test_all_tries_together_have_the_runs_minutes() -> None:
    """The second one is told what the first has left of them."""
    one = night(max_run_minutes=12)
    one.work_minutes = 8
    one.exits = lambda number: 143 if number == 1 else 0
    timeouts: set[int] = set()

    def watch() -> None:
        timeouts.update(int(body["jobSpec"]["scheduling"]["timeout"][:-1]) for body in one.machines.values())

    one.watch = watch
    assert one.run().result == "timed out"
    settled(one)
    least, most = sorted(timeouts)
    assert (most, 120 <= least <= 240) == (720, True)


def test_one_whose_creation_was_not_heard_of_is_found() -> None:
    """The answer was lost, the job is there: it is not asked for again."""
    one = night()
    one.cloud.faults.add(Fault(do="lost", method="POST", path="customJobs$", at=1))
    assert one.run().result == "succeeded"
    settled(one)
    assert results(one) == ["succeeded"]


def test_one_that_never_arrived_is_asked_for_in_another_try() -> None:
    """Nobody can tell whether it comes yet: so the same try asks for no other one."""
    one = night()
    one.cloud.faults.add(Fault(do="drop", method="POST", path="customJobs$", at=1))
    assert one.run().result == "succeeded"
    settled(one)
    assert results(one) == ["trouble", "succeeded"]


def test_one_that_comes_late_of_an_earlier_try_goes_at_once() -> None:
    """A call that was given up is done after all, while the next try's job works: two of them cost for a minute or so, and no longer."""
    one = night()
    body = custom_job("spot")
    body |= {"displayName": "late", "labels": body["labels"] | {"accelform-run": "20270115t090000z", "accelform-try": "0"}}

    def live() -> None:
        if one.now() > BEGAN + 3600 + 240 and not sent:
            sent.append(one.ask("POST", AT, body)["name"])

    sent: list[str] = []
    one.watch = live
    assert one.run().result == "succeeded"
    assert (one.machines, one.most, len(sent)) == ({}, 2, 1)
    assert results(one) == ["succeeded"]


@pytest.mark.parametrize("state", ["JOB_STATE_PENDING", "JOB_STATE_RUNNING"])
def test_one_that_somebody_cancels_is_not_begun_again(state: str) -> None:
    """By hand, in the console: who did it wants it to end, whether it ran yet or not. What never ran cost nothing."""
    one = night()
    one.exits = lambda number: None
    cancelled: list[str] = []

    def watch() -> None:
        for name, body in one.machines.items():
            if body["state"] == state and not cancelled:
                cancelled.append(name)
                one.ask("POST", f"{VERTEX}/v1/{name}:cancel", {})

    one.watch = watch
    ended = one.run()
    settled(one)
    assert (ended.result, "somebody cancelled it" in ended.reason) == ("stopped", True)
    assert results(one) == ["stopped"]
    assert (one.record()["usd"] == "0") is (state == "JOB_STATE_PENDING")


def test_a_stop_that_was_asked_for_cancels_it_and_waits() -> None:
    """The run ends when the job is gone."""
    one = night()
    one.exits = lambda number: None

    def watch() -> None:
        if any(body["state"] == "JOB_STATE_RUNNING" for body in one.machines.values()):
            said = JsonObject(one.google(one.answer), f"{one.plan.state}/runs/{one.journal['id']}/{STOP}")
            said.change(lambda before: before or {"who": "amy", "at": "now"})

    one.watch = watch
    assert one.run().result == "stopped"
    settled(one)
    states = [event.text for event in one.events if event.kind == "machine"]
    assert ["cancelled" in states[0], "deleted" in states[-1]] == [True, True]


def test_a_price_that_no_source_has_is_not_guessed() -> None:
    """A TPU on Vertex AI: the run says that it does not know what it cost."""
    one = night()
    machine = one.plan.machines[0].custom_job["jobSpec"]["workerPoolSpecs"][0]
    machine["machineSpec"] = {"machineType": "ct6e-standard-1t", "tpuTopology": "1x1"}
    assert one.run().result == "succeeded"
    assert (one.record()["usd"], one.record()["usd_at_most"]) == ("unknown", "unknown")


FAILED = {"state": "JOB_STATE_FAILED"}
EXITED = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error."


SEEN: list[tuple[dict[str, Any], str, bool, int | None]] = [
    ({"state": "JOB_STATE_NEW"}, "coming", False, None),
    ({"state": "JOB_STATE_QUEUED"}, "coming", False, None),
    ({"state": "JOB_STATE_UPDATING"}, "running", True, None),
    ({"state": "JOB_STATE_EXPIRED"}, "ended", False, None),
    ({"state": "JOB_STATE_SUCCEEDED"}, "ended", True, 0),
    (FAILED | {"error": {"code": 3, "message": EXITED}}, "ended", True, 1),
    (FAILED | {"error": {"code": 3, "message": f"The replica ran out of memory and {EXITED[26:]}"}}, "ended", True, 1),
    (FAILED | {"error": {"code": 13, "message": "Internal error occurred for the current attempt"}}, "ended", False, None),
    (FAILED | {"startTime": "2027-01-15T09:00:00Z"}, "ended", True, None),
]


def test_what_is_seen_of_it() -> None:
    """A state that Google adds may yet run; what has an exit code ran, whether anybody saw it run or not."""
    one = night()
    one.ask("POST", AT, custom_job("spot") | {"displayName": "x"})
    ((name, body),) = one.machines.items()
    for change, phase, came, code in SEEN:
        one.cloud.store.put(VERTEX, name, body | change)
        (seen,) = CustomJob(one.google(), one.plan).every(REGION)
        assert (seen.phase, seen.came, seen.code) == (phase, came, code), change


def test_fails_a_zone_of_one_run() -> None:
    """Vertex AI chooses it."""
    with pytest.raises(ValueError, match=r"cannot be chosen: Vertex AI chooses one in us-east5"):
        Wish.of(night().plan, ["us-east5-a"], [])


def test_one_that_nobody_may_look_at_any_more_is_not_said_to_be_gone() -> None:
    """
    The stack file puts the job on Compute Engine while its custom job works, and takes the role for Vertex AI from its runner. That is
    told, and the run stays open, until somebody who may takes it away.
    """
    from infra.operate.jobs.lease import Owner
    from infra.operate.jobs.sweep import sweep

    one = night()
    one.exits = lambda number: None
    one.kill_at = 40
    with pytest.raises(KilledError):
        one.run()
    one.kill_at = None
    one.wait(1200)
    one.plan = one.planned(("spot",), "instance")
    one.cloud.faults.add(Fault(do="error", path="customJobs", code=403, message="Permission 'aiplatform.customJobs.list' denied"))
    with pytest.raises(ProviderError, match=r"customJobs\.list"):
        one.runner().go_on()
    one.wait(1200)
    reach = lambda plan: (one.google(), one)  # noqa: E731
    found = list(sweep([one.plan], reach, one.events.append, lambda google, time, plan: one.runner(Owner.here({}))))
    assert all("customJobs.list" in said for said in found), found
    assert [len(found), len(one.machines), one.journal["phase"]] == [2, 1, "clearing"]

    one.cloud.faults.clear()
    one.wait(1200)
    assert one.runner().go_on() is not None
    assert (one.machines, one.journal["phase"]) == ({}, "ended")


@pytest.mark.parametrize(("form", "jobs"), [("custom-job", ("nightly", "lost")), ("instance", ("lost",))])
def test_an_orphan_is_taken_away_by_the_sweep(form: str, jobs: tuple[str, ...]) -> None:
    """One of no open run, of this job or of one that the stack file has lost; also where no job that is left uses Vertex AI."""
    from infra.operate.jobs.lease import Owner
    from infra.operate.jobs.runner import Runner
    from infra.operate.jobs.sweep import sweep

    one = night()
    for job in jobs:
        body = custom_job("spot")
        one.ask("POST", AT, body | {"displayName": job, "labels": body["labels"] | {"accelform-job": job}})
    one.wait(600)
    one.plan = one.planned(("spot",), form)
    reach = lambda plan: (one.google(), one)  # noqa: E731
    found = sweep(
        [one.plan], reach, one.events.append, lambda google, time, plan: Runner(google, time, plan, Owner.here({}), one.events.append)
    )
    assert (list(found), one.machines) == ([], {})


def test_a_stack_that_does_not_use_it_is_not_troubled() -> None:
    """That its API is off says that nothing is there, as no answer does not; in a region that trains nothing on it nobody is asked."""
    one = Night("spot")
    away = one.plan.model_copy(update={"region": "africa-south1"})
    one.cloud.faults.add(Fault(do="error", path="customJobs", code=403, message="Vertex AI API has not been used in project before"))
    assert forgotten.plans(one.google(), [one.plan]) == []
    one.cloud.faults.clear()
    one.cloud.faults.add(Fault(do="error", path="customJobs", code=503))
    assert forgotten.plans(one.google(), [away]) == []
    with pytest.raises(ProviderError, match="503"):
        forgotten.plans(one.google(), [one.plan])
