"""`python -m infra.operate.jobs`: what it is told, and the exit code that Cloud Run sees."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from infra.job_plan import PLANS_VARIABLE, VARIABLE
from infra.operate.jobs import __main__ as runner
from infra.sandbox.faults import Fault
from tests.operate.jobs.night import Night, settled


@pytest.fixture
def night(monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    """A job whose runner reaches the sandbox in this process."""
    found = Night()
    monkeypatch.setattr(runner, "_reach", lambda plan: (found.google(), found))
    before = signal.getsignal(signal.SIGTERM)
    yield found
    signal.signal(signal.SIGTERM, before)


def test_a_run_that_ends_well_is_0_and_each_line_is_an_entry_of_the_log(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan comes from the environment, the zone from the command line."""
    assert runner.main(["--zone", "us-east5-b"], {VARIABLE: night.plan.model_dump_json()}) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"severity", "message", "event", "run"} <= lines[0].keys()
    assert lines[-1]["event"] == "ended"
    assert night.record()["tries"][0]["zone"] == "us-east5-b"
    settled(night)


@pytest.mark.parametrize(
    ("code", "fault", "exit_code"), [(1, None, 3), (0, Fault(do="error", path="storage", code=403), 6)], ids=["3", "6"]
)
def test_another_end_makes_the_execution_a_failed_one(night: Night, code: int, fault: Fault | None, exit_code: int) -> None:
    """3: the run did not end well. 6: the cloud refused, and the next attempt goes on."""
    night.exits = lambda number: code
    if fault:
        night.cloud.faults.add(fault)
    assert runner.main([], {VARIABLE: night.plan.model_dump_json()}) == exit_code


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ([], {}),
        ([], {VARIABLE: "{"}),
        ([], {VARIABLE: "[]"}),
        ([], {VARIABLE: '{"version": 2}'}),
        (["--sweep"], {PLANS_VARIABLE: "7"}),
        (["--sweep"], {PLANS_VARIABLE: '{"a": 1}'}),
    ],
)
def test_what_is_no_plan_is_said(arguments: list[str], environment: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence with the variable's name, and exit code 2."""
    assert runner.main(arguments, environment) == 2
    assert "holds no plan" in capsys.readouterr().err


def test_a_zone_of_another_region_is_refused(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is done."""
    assert runner.main(["--zone", "europe-west4-a"], {VARIABLE: night.plan.model_dump_json()}) == 2
    assert "is not in the job's region; allowed: zones of us-east5" in capsys.readouterr().err
    assert night.journal == {}


def test_a_runner_that_is_told_to_end_lets_go_of_its_run(night: Night) -> None:
    """SIGTERM: the lease is over at once, so that the next attempt, or the sweep, goes on."""

    def watch() -> None:
        if night.said("x") or night.machines:
            night.watch = None
            signal.raise_signal(signal.SIGTERM)

    night.watch = watch
    plan = night.plan.model_dump_json()
    assert runner.main([], {VARIABLE: plan}) == 130
    assert night.journal["phase"] == "making"
    assert runner.main(["--sweep"], {PLANS_VARIABLE: f"[{plan}]"}) == 0
    assert night.journal["result"] == "succeeded"
    settled(night)
