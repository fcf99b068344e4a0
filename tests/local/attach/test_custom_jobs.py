"""Custom jobs of Vertex AI, and the local processes that run for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.sandbox.services.aiplatform.custom_jobs import CANCEL_SECONDS, COMES_SECONDS
from tests.local.attach.conftest import PROJECT, Shop

VERTEX = "aiplatform.googleapis.com/v1"
OUTPUT = "gs://shop-models/jobs/nightly/R1"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, str]]:
    """What goes to Cloud Logging: who says it, and the line."""
    found: list[tuple[Any, str]] = []
    monkeypatch.setattr("infra.local.attach.cloud.Sandbox.log", lambda _, speaker, said: found.extend((speaker, one) for one in said))
    return found


def made(shop: Shop, *words: str, module: str = "workloads.entry") -> str:
    """A custom job that runs `python -m workloads.entry train_recommender WORDS`, once its machine is there."""
    container = {
        "imageUri": "us-east5-docker.pkg.dev/shop-prod/images/train:1",
        "command": ["python", "-m", module, "train_recommender"],
        "args": list(words),
        "env": [{"name": "WL_CHIPS", "value": "4"}, {"name": "WL_NOTE", "value": "costs $$(USD)"}],
    }
    machine = {"machineType": "ct6e-standard-4t", "tpuTopology": "2x2"}
    spec = {"workerPoolSpecs": [{"machineSpec": machine, "replicaCount": "1", "containerSpec": container}]}
    body = {"displayName": "nightly", "jobSpec": spec | {"baseOutputDirectory": {"outputUriPrefix": OUTPUT}}}
    name = shop.ask("POST", f"{VERTEX}/projects/{PROJECT}/locations/us-east5/customJobs", body)["name"]
    shop.cloud.clock.advance(COMES_SECONDS)
    return str(name)


def test_it_runs_its_program_and_ends_as_that_does(shop: Shop, lines: list[Any]) -> None:
    """Told what Vertex AI tells it besides; its lines are those of a custom job."""
    name = made(shop, "exit", "143")
    with shop.attached() as attached:
        attached.run(once=True)

    over = shop.ask("GET", f"{VERTEX}/{name}")
    assert (over["state"], "non-zero status of 143" in over["error"]["message"]) == ("JOB_STATE_FAILED", True)
    speaker, line = lines[0]
    assert (speaker.resource["type"], speaker.resource["labels"]["job_id"]) == ("ml_job", name.rpartition("/")[2])
    told = json.loads(line.removeprefix("told "))
    assert (told["WL_NOTE"], told["AIP_MODEL_DIR"], told["XLA_FLAGS"][-2:]) == ("costs $(USD)", f"{OUTPUT}/model/", "=4")


def test_one_that_is_cancelled_has_its_program_told(shop: Shop, lines: list[Any], tmp_path: Path) -> None:
    """It may save: SIGTERM while it is CANCELLING. That it was heard changes nothing of its state."""
    name = made(shop, "saves", str(tmp_path / "go"))
    with shop.attached() as attached:
        attached.run(until=lambda: any(line == "waits" for _, line in lines))
        assert attached.busy
        shop.ask("POST", f"{VERTEX}/{name}:cancel", {})
        attached.run(once=True)

    shop.cloud.clock.advance(CANCEL_SECONDS)
    assert shop.ask("GET", f"{VERTEX}/{name}")["state"] == "JOB_STATE_CANCELLED"
    assert f"custom job {name.rpartition('/')[2]}: its container ended with 143" in shop.said


def test_a_program_that_is_not_ours_is_never_started(shop: Shop, lines: list[Any]) -> None:
    """It fails as a container that cannot be run."""
    name = made(shop, module="http.server")
    with shop.attached() as attached:
        attached.run(once=True)

    assert "non-zero status of 125" in shop.ask("GET", f"{VERTEX}/{name}")["error"]["message"]
