"""How much may go out of a state without a word. By the real engine: tests/engine/test_refreshed.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.errors import MachineError
from infra.local import refreshed
from infra.local.engine import events
from infra.local.refreshed import GONE_MAX, GoneError, Looked, refresh

BUCKET = "gcp:storage/bucket:Bucket"


def urn(name: str, kind: str = BUCKET) -> str:
    return f"urn:pulumi:try::p::{kind}::{name}"


def step(name: str, op: str, *, done: bool = True, kind: str = BUCKET) -> events.Step:
    return events.Step(op, kind, name, done, urn=urn(name, kind))


def looked(gone: int, there: int) -> Looked:
    found = Looked()
    for number in range(gone):
        found.take(step(f"g{number}", "refresh", done=False))
        found.take(step(f"g{number}", "delete"))
    for number in range(there):
        found.take(step(f"t{number}", "same"))
    found.take(step("stack", "same", kind="pulumi:pulumi:Stack"))
    found.take(step("one", "same", kind="accelform:storage:Storage"))
    return found


@pytest.mark.parametrize(
    ("gone", "there", "too_much"),
    [
        (0, 0, False),
        (0, 5, False),
        (1, 0, False),
        (1, 9, False),
        (2, 0, True),
        (GONE_MAX, 50, False),
        (GONE_MAX + 1, 50, True),
        (60, 0, True),
    ],
)
def test_how_much_may_go_without_a_word(gone: int, there: int, too_much: bool) -> None:
    found = looked(gone, there)
    assert (len(found.gone), len(found.asked)) == (gone, gone + there)
    assert found.too_much is too_much


class Called:
    """The engine, which tells what the test says and notes what it was asked for."""

    def __init__(self, found: Looked, code: int = 0) -> None:
        self.found, self.code = found, code
        self.asked: list[list[str]] = []

    def run(self, arguments: list[str], *, step: Any, **_: Any) -> events.Outcome:
        self.asked.append(arguments)
        for one in self.found.every:
            step(step_of(one, self.found))
        return events.Outcome(code=self.code, errors=["gcp:x y: Error reading: googleapi: Error 403: The caller does not have permission"])

    def call(self, arguments: list[str], **_: Any) -> Any:
        self.asked.append(arguments)
        return type("Done", (), {"returncode": 0})()


def step_of(one: str, found: Looked) -> events.Step:
    return events.Step("delete" if one in found.gone else "same", one.split("::")[2], one.split("::")[3], True, urn=one)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def be(found: Looked, code: int = 0) -> Called:
        called = Called(found, code)
        monkeypatch.setattr(refreshed.events, "run", called.run)
        monkeypatch.setattr(refreshed, "call", called.call)
        return called

    return be


SETTINGS: dict[str, Any] = {"engine": None, "env": {}, "folder": Path()}


def test_where_much_is_gone_nothing_is_written_and_it_is_said(engine: Any) -> None:
    called = engine(looked(12, 3))
    with pytest.raises(GoneError) as refused:
        refresh("try", **SETTINGS)
    assert [one[:2] for one in called.asked] == [["refresh", "--preview-only"]]
    text = str(refused.value)
    assert "12 of its 15 resources are not found, and its state stays as it is" in text
    assert "  and 2 more\n" in text
    assert "--allow-gone" in text


def test_who_says_so_may_take_all_of_it_out(engine: Any) -> None:
    called = engine(looked(12, 3))
    refresh("try", **SETTINGS, allow_gone=True)
    assert called.asked == [["refresh", "--yes", "--skip-preview", "--stack", "try"]]


def test_little_that_is_gone_goes(engine: Any) -> None:
    called = engine(looked(1, 3))
    found = refresh("try", **SETTINGS)
    assert found.gone == {urn("g0")}
    assert len(called.asked) == 2


def test_what_may_not_be_looked_at_is_no_reason_to_write(engine: Any) -> None:
    called = engine(looked(0, 3), 1)
    with pytest.raises(MachineError, match="cannot be looked at, and its state stays as it is\n  gcp:x y: Error reading"):
        refresh("try", **SETTINGS)
    assert len(called.asked) == 1
