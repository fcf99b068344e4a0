"""A whole night: the machine is made, works and is gone, and then what it trained is registered and judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from googleapiclient.http import MediaInMemoryUpload

from infra.job_plan import RegisterPlan
from infra.operate.jobs.__main__ import _judge
from infra.operate.jobs.runner import run_id
from infra.operate.times import Time
from infra.provider.calls import GoogleError
from infra.provider.json_object import JsonObject
from tests.in_process import KilledError
from tests.operate.jobs.night import PROJECT, REGION, Night

MODEL = f"projects/{PROJECT}/locations/{REGION}/models/recommender"
BUCKET = "shop-prod-shop-trained"


@pytest.mark.parametrize(
    ("report", "outcome", "result"), [(b'{"metrics": {"recall": 0.2}}', "promoted", "succeeded"), (b"", "failed", "failed")]
)
def test_a_night_ends_with_a_verdict(report: bytes, outcome: str, result: str) -> None:
    registers = {"model": MODEL, "display_name": "recommender", "container": {"imageUri": "i"}, "accept_if": "recall > 0.1"}
    night = Night("spot", output=f"gs://{BUCKET}/jobs/nightly", registers=registers)
    night.ask("POST", "storage.googleapis.com/storage/v1/b", {"name": BUCKET, "location": REGION}, project=PROJECT)
    name = f"jobs/nightly/{run_id(night.now())}/report.json"
    media = MediaInMemoryUpload(report, mimetype="application/json")
    night.google(night.answer).call("storage.v1", "objects.insert", bucket=BUCKET, name=name, media_body=media)

    ended = night.runner(judge=_judge(night.google(), night.plan)).run()
    assert (ended.result, night.journal["kept"]["outcome"]) == (result, outcome)
    assert not night.machines


def test_a_job_that_registers_nothing_has_no_judge() -> None:
    night = Night("spot")
    assert _judge(night.google(), night.plan) is None


def test_a_long_deployment_is_waited_for_and_nobody_else_goes_on() -> None:
    """An operation is awaited for up to an hour, in which nothing renews the lease: another runner leaves the run alone."""
    night, seen = Night("spot"), []

    class Patient:
        def advance(self, run: str, kept: Mapping[str, Any]) -> dict[str, Any] | None:
            if kept:
                night.wait(3600)
                seen.append(night.run().result)
            return None if kept else {"outcome": "promoted"}

        def withdraw(self, run: str, kept: Mapping[str, Any]) -> str:
            raise AssertionError("nobody asked for its end")

    night.plan = night.plan.model_copy(update={"registers": RegisterPlan(model=MODEL, display_name="r", container={})})
    assert night.runner(judge=lambda time: Patient()).run().result == "succeeded"
    assert seen == ["skipped"]


class Rolling:
    """A judge whose rollout holds for an hour, and looks every minute; *at* is the phase of it."""

    def __init__(self, time: Time, done: list[str], error: GoogleError | None = None, at: str = "rolling") -> None:
        self._time, self._done, self._error, self._at = time, done, error, at

    def advance(self, run: str, kept: Mapping[str, Any]) -> dict[str, Any] | None:
        if kept.get("outcome"):
            return None
        for _ in range(60 if kept else 0):
            self._time.wait(60)
        return {"phase": self._at} | ({"outcome": "promoted"} if kept else {})

    def withdraw(self, run: str, kept: Mapping[str, Any]) -> str:
        self._done.append(str(kept["phase"]))
        if self._error:
            raise self._error
        return "recommend: returned"


@pytest.mark.parametrize("how", ["stop", "lease"])
def test_one_long_wait_ends_once_somebody_asks_for_it_or_has_the_run(how: str) -> None:
    """It is as long as the night, and looks are few; but whoever asks for the end, or takes the run, need not wait until nine."""
    night, done, asked = Night("spot"), list[str](), list[float]()
    night.plan = night.plan.model_copy(update={"registers": RegisterPlan(model=MODEL, display_name="r", container={})})

    class Waits(Rolling):
        def advance(self, run: str, kept: Mapping[str, Any]) -> dict[str, Any] | None:
            if not kept:
                return {"phase": "rolling"}
            asked.append(night.now())
            self._time.wait(7 * 3600)
            return None

    def watch() -> None:
        if not asked or night.now() < asked[0] + 3600 or len(asked) > 1:
            return
        asked.append(night.now())
        name = f"runs/{night.journal['id']}/stop.json" if how == "stop" else "job.json"
        found = JsonObject(night.google(night.answer), f"{night.plan.state}/{name}")
        generation, data = found.read()
        other = {"lease": {"owner": "another", "until": "2099-01-01T00:00:00Z"}}
        found.write({"who": "somebody", "at": "now"} if how == "stop" else data | other, generation)

    night.watch = watch
    sent = night.sent
    ended = night.runner(judge=lambda time: Waits(time, done)).run()
    assert ended.result == {"stop": "stopped", "lease": "fenced"}[how]
    assert night.now() - asked[1] <= 310
    assert done == (["rolling"] if how == "stop" else [])
    assert night.sent - sent < 150


REFUSED = GoogleError(403, "no permission")


@pytest.mark.parametrize(
    ("error", "at", "result", "said"),
    [
        (None, "rolling", "stopped", "asked for by somebody at now; recommend: returned"),
        (REFUSED, "rolling", "stopped", "its rollout is open still, since that was refused: googleapi: Error 403"),
        (None, "pruning", "succeeded", "it ended well"),
    ],
)
def test_an_end_is_asked_for_while_a_version_is_rolled_out(error: GoogleError | None, at: str, result: str, said: str) -> None:
    """It is seen within minutes, what moved goes back, and the run has ended; what is done already is not undone."""
    night, done, asked = Night("spot"), list[str](), list[float]()
    night.plan = night.plan.model_copy(update={"registers": RegisterPlan(model=MODEL, display_name="r", container={})})

    def watch() -> None:
        if night.said("judged") and not asked and (night.journal["kept"] or {}).get("phase") == at:
            asked.append(night.now())
            found = JsonObject(night.google(night.answer), f"{night.plan.state}/runs/{night.journal['id']}/stop.json")
            found.write({"who": "somebody", "at": "now"}, 0)

    night.watch = watch
    ended = night.runner(judge=lambda time: Rolling(time, done, error, at)).run()
    assert (ended.result, said in ended.reason) == (result, True), ended
    assert done == (["rolling"] if at == "rolling" else [])
    if done:
        assert night.now() - asked[0] <= 120
    assert night.journal["phase"] == "ended"


def test_a_run_that_is_nobodys_and_rolls_out_is_given_up_with_its_rollout() -> None:
    """By `accelform jobs stop`, or since the job has left the stack file."""
    night, done = Night("spot"), list[str]()
    night.plan = night.plan.model_copy(update={"registers": RegisterPlan(model=MODEL, display_name="r", container={})})

    def watch() -> None:
        if night.said("judged") and night.journal["kept"]:
            raise KilledError

    night.watch = watch
    with pytest.raises(KilledError):
        night.runner(judge=lambda time: Rolling(time, done)).run()
    night.watch = None
    night.wait(5000)
    ended = night.runner(judge=lambda time: Rolling(time, done)).give_up("nobody wants it", "stopped")
    assert (ended.result, ended.reason, done) == ("stopped", "nobody wants it; recommend: returned", ["rolling"])
