"""`up`, `down`, `env`, `recover` and `sandbox`, as far as they need no engine. With it: tests/engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local.home import Home
from infra.sandbox import process

Accelform = Callable[..., Any]


@pytest.fixture(autouse=True)
def elsewhere(accelform: Accelform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is no checkout."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def checkout(elsewhere: Path) -> Path:
    """Looks like one."""
    (elsewhere / "infra").mkdir()
    for name in ("Pulumi.yaml", "infra/__main__.py"):
        (elsewhere / name).touch()
    return elsewhere


@pytest.mark.parametrize(
    "command", [["up"], ["env"], ["recover"], ["down"], ["sandbox", "start"], ["sandbox", "status"], ["sandbox", "stop"]]
)
def test_fails_outside_a_checkout_and_leaves_nothing(command: list[str], accelform: Accelform, elsewhere: Path) -> None:
    ran = accelform(*command)
    assert ran.code == 5
    assert "is not in a checkout of this project" in ran.err
    assert not (elsewhere / ".accelform").exists()


def test_fails_on_a_wrong_stack_file_before_anything_starts(
    accelform: Accelform, checkout: Path, base: dict[str, Any], stack_file: Callable[..., Path]
) -> None:
    """The same problems, with the same code, as `check` has them."""
    file = stack_file(base | {"accelform:regoin": "us-east5"})
    ran = accelform("up", str(file))
    assert ran.code == 2
    assert "regoin" in ran.err
    assert process.running(Home.of(checkout).sandbox) is None


def test_fails_on_a_month_over_its_budget_before_anything_starts(
    accelform: Accelform, checkout: Path, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Callable[..., Path]
) -> None:
    """The engine sees no whole stack before it has made it."""
    base["accelform:budgets"] = {"monthly": {"amount": "350 USD"}}
    ran = accelform("up", str(stack_file(base | {"accelform:tpu_slices": {"eval": a_slice}})))
    assert ran.code == 3
    assert "stack try: a rule does not hold, and nothing was made" in ran.err
    assert "monthly: within-budget: budgets.monthly.amount: 946." in ran.err
    assert process.running(Home.of(checkout).sandbox) is None


def test_down_of_nothing_is_done_at_once(accelform: Accelform, checkout: Path) -> None:
    ran = accelform("down")
    assert ran.code == 0
    assert "nothing is left" in ran.out


def test_down_of_what_is_not_up_is_refused(accelform: Accelform, checkout: Path) -> None:
    ran = accelform("down", "nope")
    assert ran.code == 2
    assert "nope: there is no such stack in the sandbox" in ran.err


def test_the_sandbox_starts_tells_and_stops(accelform: Accelform, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any folder of the checkout."""
    monkeypatch.chdir(checkout / "infra")
    assert accelform("sandbox", "status", "--json").data == {"running": False}
    started = accelform("sandbox", "start", "--project", "shop-prod", "--json").data
    try:
        assert started["environment"]["GOOGLE_TPU_V2_CUSTOM_ENDPOINT"] == f"{started['base']}/tpu.googleapis.com/v2/"
        said = accelform("sandbox", "status", "--json").data
        assert (said["running"], said["base"], said["projects"]) == (True, started["base"], ["shop-prod"])
        assert "tpu.googleapis.com" in accelform("sandbox", "status").out
        assert accelform("sandbox", "clusters", "--json").data == {"running": True, "clusters": []}
        assert "no cluster stands" in accelform("sandbox", "clusters").out
    finally:
        assert accelform("sandbox", "stop", "--json").data == {"stopped": True}
    assert accelform("sandbox", "stop").out == "it does not run\n"
    assert (
        accelform("sandbox", "clusters").out
        == accelform("sandbox", "status").out
        == "the sandbox does not run; start it: accelform sandbox start\n"
    )


@pytest.mark.parametrize(
    "arguments", [["--port", "0"], ["--port", "99999"], ["--project", "Bad Project!"], ["--project", ""], ["--prot", "1"]]
)
def test_fails_on_what_no_sandbox_can_be_started_with(arguments: list[str], accelform: Accelform, checkout: Path) -> None:
    ran = accelform("sandbox", "start", *arguments, "--json")
    assert ran.code == 2
    assert ran.data["problems"][0]["message"]
    assert process.running(Home.of(checkout).sandbox) is None
