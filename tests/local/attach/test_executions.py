"""Executions of Cloud Run jobs, run by local processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.local.attach.conftest import PROJECT, Shop

RUN = "run.googleapis.com/v2"
JOBS = f"projects/{PROJECT}/locations/us-east5/jobs"
JOB = """
import json, os, sys
print("told " + json.dumps({name: os.environ[name] for name in os.environ if name.startswith(("ACCELFORM_", "CLOUD_RUN_TASK_A"))}), flush=True)
sys.exit(int(os.environ["ACCELFORM_JOB"]))
"""


@pytest.fixture
def runner(shop: Shop, tmp_path: Path) -> Shop:
    """With a program that stands for a job's runner."""
    folder = tmp_path / "programs" / "infra" / "operate" / "jobs"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent, folder.parent.parent):
        (place / "__init__.py").write_text("")
    (folder / "__main__.py").write_text(JOB)
    return shop


def started(shop: Shop, code: int, retries: int = 0, **more: Any) -> str:
    """A job whose runner ends with *code*, begun once: the execution's name."""
    container = {
        "image": "runner:1",
        "command": ["python", "-m", "infra.operate.jobs"],
        "env": [{"name": "ACCELFORM_JOB", "value": str(code)}],
    } | more
    body = {"template": {"template": {"containers": [container], "maxRetries": retries, "timeout": "3600s"}}}
    operation = shop.ask("POST", f"{RUN}/{JOBS}", body, jobId="nightly")
    while not operation.get("done"):
        operation = shop.ask("GET", f"{RUN}/{operation['name']}")
    shop.ask("POST", f"{RUN}/{JOBS}/nightly:run", {})
    (execution,) = shop.ask("GET", f"{RUN}/{JOBS}/nightly/executions")["executions"]
    return str(execution["name"])


def ended(shop: Shop, name: str) -> dict[str, int]:
    body = shop.ask("GET", f"{RUN}/{name}")
    return {key: body.get(key, 0) for key in ("succeededCount", "failedCount", "retriedCount")}


def test_runner_of_a_job_is_run_with_the_executions_environment(runner: Shop) -> None:
    """Its lines are in Cloud Logging."""
    name = started(runner, 0)
    with runner.attached() as attached:
        attached.run(once=True)

    assert ended(runner, name) == {"succeededCount": 1, "failedCount": 0, "retriedCount": 0}
    body = {"resourceNames": [f"projects/{PROJECT}"], "filter": f'labels.execution = "{name.rpartition("/")[2]}"'}
    (entry,) = runner.ask("POST", "logging.googleapis.com/v2/entries:list", body)["entries"]
    assert json.loads(entry["textPayload"].removeprefix("told ")) == {"ACCELFORM_JOB": "0", "CLOUD_RUN_TASK_ATTEMPT": "0"}
    assert (entry["labels"]["job"], entry["labels"]["attempt"]) == ("nightly", "0")


def test_runner_that_dies_is_begun_again(runner: Shop) -> None:
    name = started(runner, 3, retries=1)
    with runner.attached() as attached:
        attached.run(once=True)

    assert ended(runner, name)["failedCount"] == 1
    assert [one for one in runner.said if "ended with 3" in one] == [
        f"execution {name.rpartition('/')[2]}, attempt {number} ended with 3" for number in (0, 1)
    ]


@pytest.mark.parametrize("more", [{"command": ["bash"]}, {"command": ["python", "-m", "workloads.entry", "x"]}, {"command": []}])
def test_container_that_is_no_runner_of_ours_fails(runner: Shop, more: dict[str, Any]) -> None:
    name = started(runner, 0, **more)
    with runner.attached() as attached:
        attached.run(once=True)

    assert ended(runner, name)["failedCount"] == 1
    assert "allowed: python -m infra.operate.jobs" in runner.said[0]


def test_runner_is_let_go_of_and_gone_on_with(runner: Shop, tmp_path: Path) -> None:
    """At the end each runner hears of it, and its attempt has failed: the next who is attached begins another."""
    waits = "import time\nprint('waits', flush=True)\nwhile True:\n    time.sleep(0.01)\n"
    program = tmp_path / "programs" / "infra" / "operate" / "jobs" / "__main__.py"
    program.write_text(waits)
    name = started(runner, 0, retries=1)
    with runner.attached() as attached:
        attached.run(until=lambda: any("runs -m" in one for one in runner.said))
    assert ended(runner, name) == {"succeededCount": 0, "failedCount": 0, "retriedCount": 1}

    program.write_text(JOB)
    with runner.attached() as attached:
        attached.run(once=True)
    assert ended(runner, name)["succeededCount"] == 1


def test_attempt_of_hands_that_were_killed_is_begun_again(runner: Shop) -> None:
    """They could not say how it ended: nobody runs it any more."""
    name = started(runner, 0, retries=1)
    runner.ask("POST", "sandbox/executions", {"name": name, "attempt": 0, "state": "running"})
    with runner.attached() as attached:
        attached.run(once=True)

    assert ended(runner, name) == {"succeededCount": 1, "failedCount": 0, "retriedCount": 1}
    assert "has lost whoever ran it" in runner.said[0]


def test_sweeps_that_the_clock_was_moved_over_are_one(runner: Shop) -> None:
    """They would start at one moment and see the same: the last is run, the others are cancelled. Runs of a job are each its own."""
    sweep = {"args": ["--sweep"]}
    name = started(runner, 0, **sweep)
    for _ in range(2):
        runner.ask("POST", f"{RUN}/{JOBS}/nightly:run", {})
    with runner.attached() as attached:
        attached.run(once=True)

    every = runner.ask("GET", f"{RUN}/{JOBS}/nightly/executions")["executions"]
    assert sorted((one.get("succeededCount", 0), one.get("cancelledCount", 0)) for one in every) == [(0, 1), (0, 1), (1, 0)]
    assert ended(runner, name)["succeededCount"] == 0
    assert "the clock was moved over 2 sweeps" in runner.said[0]


def test_runs_that_wait_together_are_each_run(runner: Shop) -> None:
    name = started(runner, 0)
    runner.ask("POST", f"{RUN}/{JOBS}/nightly:run", {})
    with runner.attached() as attached:
        attached.run(once=True)
    assert ended(runner, name)["succeededCount"] == 1
    assert len([one for one in runner.said if "ended with 0" in one]) == 2
