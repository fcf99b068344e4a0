"""A run gets a machine, works, and leaves nothing behind, whatever happens to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import httpx
import pytest

from infra.operate.jobs import lease, records
from infra.operate.jobs.fleet import StaysError
from infra.operate.jobs.handover import HandOver
from infra.operate.jobs.lease import Owner
from infra.operate.jobs.runner import Ended, Wish
from infra.operate.jobs.tries import Try
from infra.operate.jobs.words import Said
from infra.operate.journal import TakenOverError
from infra.operate.times import Time
from infra.provider.calls import GoogleError
from infra.provider.json_object import JsonObject
from infra.provider.server import ProviderError
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.jobs.night import BEGAN, NAME, PROJECT, Night, settled


@pytest.fixture
def night() -> Night:
    """A job with one host, on spot, in two zones."""
    return Night()


def test_a_run_that_goes_well_leaves_no_machine_and_a_record(night: Night) -> None:
    """One try in the first zone, its machine is gone, and what it cost is as long as it stood."""
    ended = night.run()
    assert (ended.result, ended.reason) == ("succeeded", "it ended well")
    settled(night)
    record = night.record()
    (row,) = record["tries"]
    assert (row["zone"], row["provisioning"], row["result"]) == ("us-east5-a", "spot", "succeeded")
    assert record["usd"] == row["usd"]
    assert Decimal(record["usd_at_most"]) > Decimal(record["usd"]) > 0


def stockout(zone: str, code: str = "ZONE_RESOURCE_POOL_EXHAUSTED") -> Fault:
    """A zone without room, as far as creates go by their operation."""
    return Fault(do="fail", path=f"zones/{zone}/instances/", message=f"{code}: does not have enough resources available")


def test_a_zone_without_room_is_no_end_and_the_next_one_is_tried(night: Night) -> None:
    """The first zone is out of machines: the second one has it, and the first try says why not."""
    night.cloud.faults.add(stockout("us-east5-a"))
    assert night.run().result == "succeeded"
    settled(night)
    first, second = night.record()["tries"]
    assert (first["zone"], first["result"]) == ("us-east5-a", "no capacity")
    assert "it is not about your configuration" in first["reason"]
    assert (first["began"], first["usd"]) == ("", "0")
    assert (second["zone"], second["result"]) == ("us-east5-b", "succeeded")


def test_every_way_is_tried_in_every_zone_before_the_next(night: Night) -> None:
    """The order is of the ways first, then of the zones; round after round until the wait is over, and no machine is left."""
    night = Night("spot", "on-demand", wait_minutes=8)
    night.cloud.faults.add(stockout("us-east5-."))
    ended = night.run()
    assert ended.result == "no capacity"
    settled(night)
    record = night.record()
    order = [(row["provisioning"], row["zone"]) for row in record["tries"]]
    assert order[:4] == [("spot", "us-east5-a"), ("spot", "us-east5-b"), ("on-demand", "us-east5-a"), ("on-demand", "us-east5-b")]
    assert len(order) > 4
    assert "try spot, flex-start or a reservation" in ended.reason
    assert record["usd"] == "0"
    assert night.now() - BEGAN - 3600 < 10 * 60


def test_without_a_wait_there_is_one_round(night: Night) -> None:
    """`wait_minutes: 0` looks once."""
    night = Night(wait_minutes=0)
    night.cloud.faults.add(stockout("us-east5-."))
    assert night.run().result == "no capacity"
    assert len(night.record()["tries"]) == 2


def test_what_is_refused_everywhere_ends_the_run_at_once(night: Night) -> None:
    """The account may not: no other zone is asked."""
    night.cloud.faults.add(
        Fault(do="error", method="POST", path="instances$", code=403, message="Required 'compute.instances.create' permission")
    )
    ended = night.run()
    assert ended.result == "failed"
    assert "Google refuses it, and would anywhere" in ended.reason
    assert len(night.record()["tries"]) == 1
    settled(night)


def test_a_zone_and_a_way_may_be_chosen_for_one_run(night: Night) -> None:
    """A run is told another zone than the plan's: only that one is tried."""
    night = Night("spot", "on-demand")
    night.run(wish=Wish.of(night.plan, ["us-east5-b"], ["on-demand"]))
    (row,) = night.record()["tries"]
    assert (row["zone"], row["provisioning"]) == ("us-east5-b", "on-demand")
    with pytest.raises(ValueError, match="is not in the job's region"):
        Wish.of(night.plan, ["us-central1-a"], [])
    with pytest.raises(ValueError, match="'us-east5-zzz' has no v6e-1; allowed: us-east5-a, us-east5-b"):
        Wish.of(night.plan, ["us-east5-zzz"], [])
    with pytest.raises(ValueError, match="allowed: spot, on-demand"):
        Wish.of(night.plan, [], ["flex-start"])


def test_a_machine_that_is_taken_away_is_made_again_and_goes_on_in_the_same_folder(night: Night) -> None:
    """Gone without a word: a restart, with the same checkpoints and the next attempt."""
    folders = []
    night.exits = lambda number: None if number == 1 else 0

    def watch() -> None:
        for name, body in night.machines.items():
            told = json.loads(next(item["value"] for item in body["metadata"]["items"] if item["key"] == "accelform-run"))
            if told["env"]["WL_CHECKPOINTS"] not in folders:
                folders.append(told["env"]["WL_CHECKPOINTS"])
            if told["env"]["WL_ATTEMPT"] == "1" and body["status"] == "RUNNING" and night.said("running") and night.now() > BEGAN + 3900:
                night.take(name)

    night.watch = watch
    assert night.run().result == "succeeded"
    settled(night)
    record = night.record()
    assert [row["result"] for row in record["tries"]] == ["restarted", "succeeded"]
    assert "the machine was taken away: it is gone" in record["tries"][0]["reason"]
    assert record["restarts"] == 1
    assert folders == [f"gs://shop-prod-shop-models/jobs/nightly/{record['run']}/checkpoints"]


def test_a_program_that_wants_to_be_begun_again_is_and_not_without_end(night: Night) -> None:
    """143 each time: as many restarts as allowed, then it has failed."""
    night.work_minutes = 5
    night.exits = lambda number: 143
    ended = night.run()
    assert ended.result == "failed"
    assert "2 restarts allowed, and 2 used" in ended.reason
    assert [row["result"] for row in night.record()["tries"]] == ["restarted", "restarted", "failed"]
    settled(night)


@pytest.mark.parametrize(("code", "words"), [(1, "host 0 ended with 1"), (78, "does not see the devices that are declared")])
def test_a_program_that_fails_is_not_begun_again(night: Night, code: int, words: str) -> None:
    """Any other exit code is the end: to begin again would not help."""
    night.work_minutes = 5
    night.exits = lambda number: code
    ended = night.run()
    assert ended.result == "failed"
    assert words in ended.reason
    settled(night)


def test_the_minutes_are_of_all_tries_together(night: Night) -> None:
    """A program that hangs is ended when they are used up; the second machine's own limit is what is left of them."""
    night = Night(max_run_minutes=60)
    night.work_minutes, limits = 40, []
    night.exits = lambda number: 143 if number == 1 else None

    def watch() -> None:
        for body in night.machines.values():
            limit = int(body["scheduling"]["maxRunDuration"]["seconds"])
            if limit not in limits:
                limits.append(limit)

    night.watch = watch
    ended = night.run()
    assert ended.result == "timed out"
    assert "the 60 min of machine are used up" in ended.reason
    settled(night)
    assert limits[0] == 3600
    assert 0 < limits[1] < 1300
    minutes = sum(Try.read(row).machine_seconds(0) for row in night.record()["tries"]) / 60
    assert 59 < minutes < 62


def test_a_state_that_nobody_knows_is_waited_for_and_then_it_counts_as_lost(night: Night) -> None:
    """A machine that ran is in another state for a quarter of an hour: it is taken for lost, and the log says so."""
    night.exits = lambda number: None if number == 1 else 0

    def watch() -> None:
        for name, body in night.machines.items():
            if body["status"] == "RUNNING" and body["labels"]["accelform-try"] == "1" and night.said("running"):
                night.cloud.store.put("compute.googleapis.com", name, {**body, "status": "REPAIRING"})

    night.watch = watch
    assert night.run().result == "succeeded"
    first = night.record()["tries"][0]
    assert first["result"] == "restarted"
    assert "REPAIRING for 15 min" in first["reason"]
    assert "still waiting" in night.said("odd")[0]
    settled(night)


def test_what_stands_there_of_an_earlier_run_is_gone_first(night: Night) -> None:
    """A machine of that name in the other zone, and one that is being deleted: never two."""
    body = {"name": NAME, "labels": {"accelform-run": "20270101t000000z", "accelform-try": "3"}}
    night.ask(
        "POST",
        f"compute.googleapis.com/compute/v1/projects/{PROJECT}/zones/us-east5-b/instances",
        body,
        sourceInstanceTemplate=night.template("spot"),
    )
    night.wait(3600)
    assert night.run().result == "succeeded"
    assert "instance in us-east5-b, RUNNING: is deleted" in night.said("machine")
    settled(night)


def test_a_machine_that_was_gone_when_it_was_told_to_go_is_no_trouble(night: Night) -> None:
    """404 on a delete is what was wanted, and is said."""
    night.cloud.faults.add(Fault(do="error", method="DELETE", code=404, message="was not found", times=1))
    assert night.run().result == "succeeded"
    assert any("was gone already" in said for said in night.said("machine"))
    settled(night)


def test_a_delete_that_is_refused_in_a_state_is_waited_for_and_the_state_is_named(night: Night) -> None:
    """It cannot go now: it is tried until it can; and where it never can, the error names the state and what comes next."""
    night.cloud.faults.add(Fault(do="error", method="DELETE", code=400, message="The resource is not ready", times=3))
    assert night.run().result == "succeeded"
    assert any("cannot go yet, and is waited for" in said for said in night.said("machine"))
    settled(night)
    stuck = Night()
    stuck.cloud.faults.add(Fault(do="error", method="DELETE", code=400, message="The resource is not ready"))
    with pytest.raises(StaysError, match=r"instance in us-east5-a, RUNNING, is there 30 min after it was told to go"):
        stuck.run()
    stuck.cloud.faults.clear()
    stuck.wait(600)
    assert stuck.run().result == "succeeded"
    settled(stuck)


def test_lost_answers_do_no_harm() -> None:
    """Every answer to what changes something is lost once: each is looked for, and nothing is there twice."""
    night = Night()
    for method in ("POST", "DELETE"):
        for at in range(1, 40, 2):
            night.cloud.faults.add(Fault(do="lost", method=method, at=at))
    assert night.run().result == "succeeded"
    assert [row["result"] for row in night.record()["tries"]] == ["succeeded"]
    settled(night)


def silent(night: Night, method: str, path: str, since: str, times: int = 5) -> None:
    """From an event on the cloud does not answer some calls, as often as one call is sent: some eight seconds."""
    answer = night.answer

    def answered(request: httpx.Request) -> httpx.Response:
        nonlocal times
        if times and night.said(since) and request.method == method and path in str(request.url):
            times -= 1
            return httpx.Response(503, json={"error": {"code": 503, "message": "backend"}})
        return answer(request)

    night.answer = answered  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("method", "path", "since"),
    [("GET", "/instances/", "coming"), ("GET", "/instances/", "running"), ("POST", "/storage/v1/", "running"), ("GET", "/b/", "making")],
    ids=["while it comes", "while it works", "at a renewal of the lease", "at the look for a stop"],
)
def test_some_seconds_without_an_answer_cost_no_night(night: Night, method: str, path: str, since: str) -> None:
    """The machine is left alone meanwhile: there is one try."""
    silent(night, method, path, since)
    assert night.run().result == "succeeded"
    assert [row["result"] for row in night.record()["tries"]] == ["succeeded"]
    settled(night)


def test_without_an_answer_before_there_is_a_machine_the_next_place_is_tried(night: Night) -> None:
    """What passes is no end of a run."""
    silent(night, "GET", "/instances/", "making")
    assert night.run().result == "succeeded"
    first, second = night.record()["tries"]
    assert (first["result"], second["result"]) == ("trouble", "succeeded")
    settled(night)


def test_a_runner_that_slept_deletes_nothing_of_the_one_that_works(night: Night) -> None:
    """It wakes when it is about to delete: by then another one has a machine of that name."""
    taken: list[str] = []

    def watch() -> None:
        if night.said("clearing") and not taken:
            taken.append("")
            night.watch = None
            night.wait(1000)
            other = night.runner()
            other.journal.note(lease=Owner("other").lease(night.now()))

    night.watch = watch
    assert night.run().result == "fenced"
    assert taken
    assert [body["status"] for body in night.machines.values()] == ["RUNNING"]


def test_a_second_runner_finds_a_live_lease_and_ends(night: Night) -> None:
    """A schedule that falls due while a run is open is skipped, and that is on record with the reason; the run goes on."""
    second = []

    def watch() -> None:
        if night.said("running") and not second:
            second.append(None)
            night.watch = None
            second.append(night.run())
            night.watch = watch

    night.watch = watch
    ended = night.run()
    assert ended.result == "succeeded"
    assert second[1].result == "skipped"
    assert f"run {ended.run} is worked on by " in second[1].reason
    found = [records.read(night.google(), night.plan.state, run) for run in records.every(night.google(), night.plan.state)]
    assert [(one["result"], one["usd"] == "0") for one in found] == [("succeeded", False), ("skipped", True)]
    settled(night)


def test_a_runner_that_lost_its_lease_does_nothing_more(night: Night) -> None:
    """It slept for too long, and another one works: it makes nothing, deletes nothing and writes nothing."""
    taken = []

    def watch() -> None:
        if night.said("making") and not taken:
            night.watch = None
            night.wait(1000)
            taken.append(night.run())

    night.watch = watch
    first = night.run()
    assert first.result == "fenced"
    assert taken[0].result == "succeeded"
    settled(night)
    assert [row["result"] for row in night.record()["tries"]] == ["succeeded"]


def test_the_same_execution_goes_on_at_once_and_another_one_waits_for_the_lease(night: Night) -> None:
    """Cloud Run begins a second attempt only when the first has ended; one that ended its run before it died begins no other."""
    night.kill_at, night.kill_after = 40, True
    with pytest.raises(KilledError):
        night.run(Owner("nightly-1", 0, "nightly-1"))
    night.kill_at = None
    assert night.run(Owner("nightly-2", 0, "nightly-2")).result == "skipped"
    ended = night.run(Owner("nightly-1", 1, "nightly-1"))
    assert ended.result == "succeeded"
    sent = night.sent
    assert night.run(Owner("nightly-1", 2, "nightly-1")) == ended
    assert night.sent - sent <= 3
    settled(night)


def test_a_word_of_a_host_that_there_is_not_says_nothing_for_another() -> None:
    """Two hosts: one of them has ended well, and an object of number 7 stands there."""
    assert Said({0: 0, 7: 0}).verdict(2) == "unheard"
    assert Said({0: 0, 1: 0}).verdict(2) == "succeeded"


def test_a_stop_is_seen_and_leaves_nothing(night: Night) -> None:
    """Somebody asks for the end: the machine goes, and the record says who."""

    def watch() -> None:
        if night.said("running"):
            night.watch = None
            folder = records.folder(night.plan.state, night.journal["id"])
            JsonObject(night.google(night.answer), f"{folder}/stop.json").write({"who": "ann", "at": "2027-01-15T09:10:00Z"}, 0)

    night.watch = watch
    ended = night.run()
    assert (ended.result, ended.reason) == ("stopped", "stop was asked for by ann at 2027-01-15T09:10:00Z")
    settled(night)


def test_a_fault_of_the_runner_itself_leaves_no_machine(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised while a machine works, it is gone before the run ends."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("infra.operate.jobs.words.Words.of_try", broken)
    ended = night.run()
    assert ended.result == "failed"
    assert "ZeroDivisionError: a fault" in ended.reason
    settled(night)


def test_an_unknown_price_makes_the_total_unknown(night: Night) -> None:
    """Nothing is guessed, and nothing is 0."""
    night = Night(accelerator_type="v99-8")
    assert night.run().result == "succeeded"
    record = night.record()
    assert (record["usd"], record["usd_at_most"], record["tries"][0]["usd"]) == ("unknown", "unknown", "unknown")


T4 = {"machineType": "n1-standard-8", "guestAccelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]}


def a_gpu(*ways: str) -> Night:
    """A night of a job on a T4 of Taiwan."""
    said = {"machine_type": "n1-standard-8", "accelerator_type": "nvidia-tesla-t4", "chips": 1}
    return Night(*ways, machine=T4, region="asia-east1", zones=["asia-east1-a", "asia-east1-c"], **said)


def test_a_job_on_a_gpu_is_tried_in_its_zones_at_the_price_of_machine_and_gpu() -> None:
    """The first zone has no room, the second takes it: a machine of N1 with its T4, billed as Spot; and nothing stays."""
    night = a_gpu("spot", "on-demand")
    night.cloud.faults.add(stockout("asia-east1-a"))
    seen: list[Any] = []
    night.watch = lambda: seen.extend(body.get("guestAccelerators") for body in night.machines.values())
    assert night.run().result == "succeeded"
    settled(night)
    record = night.record()
    assert [(row["zone"], row["provisioning"], row["result"]) for row in record["tries"]] == [
        ("asia-east1-a", "spot", "no capacity"),
        ("asia-east1-c", "spot", "succeeded"),
    ]
    (kind,) = {one["acceleratorType"].rpartition("/")[2] for gpus in seen for one in gpus}
    assert kind == "nvidia-tesla-t4"
    assert Decimal(record["tries"][1]["usd_per_hour"]) == Decimal("0.08608") + Decimal("0.1664")
    assert Decimal(record["usd_at_most"]) == (3 * (Decimal("0.439996") + Decimal("0.35"))).quantize(Decimal("0.0001"))


def test_a_job_on_a_gpu_may_be_wished_elsewhere_in_its_region() -> None:
    """Where the catalogue has that GPU on that machine, and nowhere else."""
    plan = a_gpu("spot").plan
    assert Wish.of(plan, ["asia-east1-c"], []).zones == ("asia-east1-c",)
    with pytest.raises(ValueError, match="zone 'asia-east1-b' has no nvidia-tesla-t4; allowed: asia-east1-a, asia-east1-c"):
        Wish.of(plan, ["asia-east1-b"], [])


def test_a_flex_start_machine_is_waited_for_as_long_as_the_wait_lasts() -> None:
    """It waits for room in the queue of the first zone, and comes when there is some; the request says how long it may wait."""
    night = Night("flex-start")
    night.cloud.faults.add(Fault(do="stockout", times=3))
    states: set[str] = set()

    def watch() -> None:
        states.update(body["status"] for body in night.machines.values())

    night.watch = watch
    assert night.run().result == "succeeded"
    assert "PENDING" in states
    assert [row["result"] for row in night.record()["tries"]] == ["succeeded"]
    settled(night)


def test_a_flex_start_machine_that_never_comes_gives_way_to_the_next_way() -> None:
    """Its wait is over: the next way is tried, though the time to look is, too."""
    night = Night("flex-start", "on-demand", wait_minutes=5)
    night.cloud.faults.add(Fault(do="stockout", provisioning="flex-start"))
    assert night.run().result == "succeeded"
    rows = night.record()["tries"]
    assert [(row["provisioning"], row["result"]) for row in rows][-1] == ("on-demand", "succeeded")
    assert {row["result"] for row in rows[:-1]} == {"no capacity"}
    settled(night)


REGISTERS = {
    "model": f"projects/{PROJECT}/locations/us-east5/models/recommender",
    "display_name": "recommender",
    "container": {"imageUri": "us-docker.pkg.dev/p/r/i"},
}


class Slow:
    """Three steps, of which the second waits for three hours."""

    def __init__(self, time: Time) -> None:
        self._time = time

    def advance(self, run: str, kept: Mapping[str, Any]) -> dict[str, Any] | None:
        step = int(kept.get("step", 0))
        if step == 1:
            self._time.wait(3 * 3600)
        if step == 3:
            return None
        return {"step": step + 1, "outcome": "promoted", "why": "better", "version": "7", "accepted": True, "reason": "0.3 > 0.2"}


def test_what_becomes_of_the_model_is_kept_step_by_step_under_the_lease() -> None:
    """The machine is gone by then; the lease never ends while a rollout holds, and a second runner goes on with the step that was kept."""
    night = Night(registers=REGISTERS)
    left: list[float] = []

    def watch() -> None:
        if night.said("judged"):
            assert night.machines == {}
            left.append(lease.ends(night.journal["lease"]) - night.now())

    night.watch = watch
    assert night.runner(judge=Slow).run().result == "succeeded"
    assert len(left) > 5
    assert min(left) > 0
    settled(night)
    record = night.record()
    assert (record["model_version"], record["outcome"], record["gate"]["reason"]) == ("7", "promoted", "0.3 > 0.2")


def test_a_rollout_that_somebody_else_works_on_is_no_end_of_the_run() -> None:
    """The run is this runner's still: it ends badly, so that Cloud Run begins it again, and does not say that another one has it."""
    night = Night(registers=REGISTERS)

    class Busy(Slow):
        def advance(self, run: str, kept: Mapping[str, Any]) -> dict[str, Any] | None:
            raise TakenOverError("another run works on this rollout now")

    with pytest.raises(TakenOverError, match="this rollout"):
        night.runner(Owner("nightly-1", 0, "nightly-1"), judge=Busy).run()
    assert night.journal["phase"] == "judged"
    assert night.runner(Owner("nightly-1", 1, "nightly-1"), judge=Slow).run().result == "succeeded"
    settled(night)


def test_a_night_that_went_on_with_an_earlier_run_is_on_record(night: Night) -> None:
    """The run of the night before was nobody's: this one ends it, and begins none of its own, which is told."""
    night.kill_at, night.kill_after = 40, True
    with pytest.raises(KilledError):
        night.run(Owner("nightly-1", 0, "nightly-1"))
    night.kill_at = None
    night.wait(24 * 3600)
    ended = night.run(Owner("nightly-2", 0, "nightly-2"))
    first, second = (records.read(night.google(), night.plan.state, run) for run in records.every(night.google(), night.plan.state))
    assert (first["run"], second["result"]) == (ended.run, "skipped")
    assert second["reason"] == f"run {ended.run} was open and nobody's, and was gone on with instead"


def test_what_is_refused_for_a_day_ends_the_run() -> None:
    """Somebody may mend it before that. Were the run open for ever, each night would go on with it, and train nothing."""
    night = Night(registers=REGISTERS)
    night.cloud.faults.add(Fault(do="error", path="report.json", code=403, message="does not have storage.objects.get access"))

    def run() -> Ended:
        return night.runner(judge=lambda time: HandOver(night.google(), night.plan, time, night.events.append)).run()

    with pytest.raises(GoogleError):
        run()
    night.wait(23 * 3600)
    with pytest.raises(GoogleError):
        run()
    night.wait(3600)
    ended = run()
    assert ended.result == "failed"
    assert "the machine is gone for 24 h, and what it made is still refused: googleapi: Error 403" in ended.reason
    settled(night)


@pytest.mark.parametrize(
    "written",
    [
        {"phase": "odd", "id": "20270115T080000Z", "lease": {}, "tries": []},
        {"phase": "running"},
        {"phase": "making", "id": "x", "lease": {"owner": "a", "until": "yesterday"}, "tries": []},
        {"phase": "making", "tries": [{"number": 1}]},
    ],
)
def test_a_journal_of_no_run_is_said(night: Night, written: dict[str, Any]) -> None:
    """Somebody wrote it by hand: nothing is done, and what to do is told."""
    JsonObject(night.google(), f"{night.plan.state}/job.json").write({"version": 1, **written}, 0)
    with pytest.raises(ProviderError, match="is no journal of a run"):
        night.run()


def test_what_could_not_be_written_is_not_in_the_journal(night: Night) -> None:
    """A lease that is not in the bucket is none, whatever its runner thinks."""
    night.run()
    journal = night.runner().journal
    before = journal.data
    night.cloud.faults.add(Fault(do="error", method="POST", path="storage", code=503))
    with pytest.raises(ProviderError):
        journal.note(lease={"owner": "a", "until": "2030-01-01T00:00:00Z"})
    assert journal.data == before


def test_a_machine_that_may_not_be_deleted_is_named(night: Night) -> None:
    """Nobody else would know which one costs money."""
    night.cloud.faults.add(Fault(do="error", method="DELETE", code=403, message="Required permission"))
    with pytest.raises(ProviderError, match="Error 403"):
        night.run()
    assert "instance in us-east5-a, RUNNING: stays, and costs money" in night.said("machine")[-1]


def test_a_run_without_a_report_registers_nothing_and_has_failed() -> None:
    """The program ended well and left no metrics: that is no success."""
    night = Night(registers=REGISTERS)
    ended = night.runner(judge=lambda time: HandOver(night.google(), night.plan, time, night.events.append)).run()
    assert ended.result == "failed"
    assert "there is no report" in ended.reason
    settled(night)
