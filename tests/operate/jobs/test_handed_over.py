"""A whole night: the machine is made, works and is gone, and then what it trained is registered and judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from googleapiclient.http import MediaInMemoryUpload

from infra.job_plan import RegisterPlan
from infra.operate.jobs.__main__ import _judge
from infra.operate.jobs.runner import run_id
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

    night.plan = night.plan.model_copy(update={"registers": RegisterPlan(model=MODEL, display_name="r", container={})})
    assert night.runner(judge=lambda time: Patient()).run().result == "succeeded"
    assert seen == ["skipped"]
