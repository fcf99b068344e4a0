"""`accelform status`: by people, by machines, and where nothing is up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.cli import status
from infra.errors import MachineError
from infra.operate.status import Seen

OK = Seen("budgets.monthly", "ok", "350 USD", "spent: unknown here", facts={"amount": "350 USD"})
GONE = Seen("tpu_slices.eval", "failed", "is not there", "projects/p/zones/z/instances/i", "accelform up")
UNKNOWN = Seen("jobs", "unknown", "unknown", "cannot be read: you lack run.jobs.list", "grant it")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    """What a look finds; the cloud is not asked."""
    found: list[Seen] = []

    @contextmanager
    def reached(project: str, sandbox: str) -> Iterator[tuple[Any, Any]]:
        yield None, type("Time", (), {"now": lambda self: 0.0})()

    monkeypatch.setattr(status, "reached", reached)
    monkeypatch.setattr(status, "stack_sandbox", lambda stack, *, cloud: "" if cloud else "http://sandbox.test")
    monkeypatch.setattr("infra.operate.status.look", lambda *given: list(found))
    return found


@pytest.fixture
def folder(stack_file: Callable[..., Path], base: dict[str, Any]) -> str:
    return str(stack_file(base, "shop").parent)


@pytest.mark.parametrize(
    ("found", "code"), [([OK], 0), ([UNKNOWN, OK], 6), ([GONE, UNKNOWN, OK], 3), ([Seen("queue", "warning", "SUSPENDED"), OK], 3), ([], 0)]
)
def test_the_exit_code_is_of_the_worst(accelform: Any, seen: list[Seen], folder: str, found: list[Seen], code: int) -> None:
    seen.extend(found)
    ran = accelform("status", "--stacks", folder, "--json")
    assert ran.code == code
    (stack,) = ran.data["stacks"]
    assert ran.data["exit_code"] == code
    assert (stack["stack"], stack["up"]) == ("shop", True)
    assert [one["thing"] for one in stack["seen"]] == [one.path for one in found]


def test_people_see_what_needs_them_first_with_its_fix(accelform: Any, seen: list[Seen], folder: str) -> None:
    seen.extend([GONE, UNKNOWN, OK])
    lines = accelform("status", "--stacks", folder, "--cloud").out.splitlines()
    assert lines[0] == "shop: 1 of 3 well"
    assert lines[2].startswith("!!  tpu_slices.eval")
    assert lines[3].strip() == "fix: accelform up"
    assert lines[4].startswith("?   jobs")
    assert lines[6].startswith("    budgets.monthly")


def test_a_stack_that_is_not_up_is_one_line(accelform: Any, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    def down(stack: str, *, cloud: bool) -> str:
        raise MachineError(f"stack {stack} is not up on this machine\n  fix: accelform up {stack}; or --cloud, for the one in Google Cloud")

    monkeypatch.setattr(status, "stack_sandbox", down)
    ran = accelform("status", "shop", "--stacks", folder)
    assert (ran.code, ran.out) == (0, "shop: is not up on this machine: accelform up shop; or --cloud, for the one in Google Cloud\n")


def test_a_stack_of_which_nothing_stands_is_one_line(accelform: Any, seen: list[Seen], folder: str) -> None:
    seen.append(GONE)
    ran = accelform("status", "--stacks", folder, "--cloud")
    assert (ran.code, ran.out) == (0, "shop: nothing of it stands in tw-shop-ml: pulumi up\n")


@pytest.mark.parametrize("name", ["nosuch", "", "x" * 300, "../..", "東京"])
def test_a_stack_that_there_is_not_is_a_sentence(accelform: Any, folder: str, name: str) -> None:
    ran = accelform("status", name, "--stacks", folder)
    assert ran.code == 2
    assert "Traceback" not in ran.err
