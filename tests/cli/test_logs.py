"""`accelform logs` and `accelform open`: one thing, found by its name in the stack file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.cli import logs, open_page

ENTRY = {"at": "2026-12-01T08:00:00Z", "id": "1", "severity": "ERROR", "who": "shop-tpu-eval", "text": "no chips"}


@pytest.fixture
def folder(stack_file: Callable[..., Path], base: dict[str, Any], a_slice: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """A stack file with a slice, in a sandbox that is not asked."""

    @contextmanager
    def reached(project: str, sandbox: str) -> Iterator[tuple[Any, Any]]:
        yield None, type("Time", (), {"now": lambda self: 1_796_040_000.0})()

    monkeypatch.setattr(logs, "reached", reached)
    for module in (logs, open_page):
        monkeypatch.setattr(module, "stack_sandbox", lambda stack, *, cloud: "" if cloud else "http://127.0.0.1:8085")
    monkeypatch.setattr("infra.operate.logs.filters", lambda google, thing: [f'x="{thing.id}"'])
    return str(stack_file(base | {"accelform:tpu_slices": {"eval": a_slice, "monthly-2": a_slice}}, "shop").parent)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str]]:
    """What was read: filters, and since when."""
    every: list[tuple[list[str], str]] = []

    def read(google: Any, project: str, filters: list[str], since: str) -> list[dict[str, str]]:
        every.append((filters, since))
        return [ENTRY] if len(every) == 1 else [ENTRY, ENTRY | {"id": "2", "severity": "INFO", "text": "ends"}]

    monkeypatch.setattr("infra.operate.logs.read", read)
    return every


def test_entries_are_lines(accelform: Any, folder: str, asked: list[Any]) -> None:
    ran = accelform("logs", "eval", "--stacks", folder)
    assert (ran.code, ran.out) == (0, "2026-12-01T08:00:00Z  shop-tpu-eval  ERROR  no chips\n")
    assert asked == [(['x="shop-tpu-eval"'], "2026-11-30T11:50:00+00:00")]


def test_for_machines_each_is_json(accelform: Any, folder: str, asked: list[Any]) -> None:
    ran = accelform("logs", "tpu_slices.eval", "--stacks", folder, "--last", "2h", "--json")
    assert json.loads(ran.out) == ENTRY
    assert asked[0][1] == "2026-11-30T10:00:00+00:00"


def test_what_is_followed_is_told_once_and_from_the_last_on(
    accelform: Any, folder: str, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(seconds: float) -> None:
        if len(asked) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(logs.time, "sleep", sleep)
    ran = accelform("logs", "eval", "--stacks", folder, "--follow")
    assert ran.code == 130
    assert [line.split("  ")[-1] for line in ran.out.splitlines()] == ["no chips", "ends"]
    assert asked[1][1] == ENTRY["at"]


@pytest.mark.parametrize("last", ["0m", "", "-1h", "ten", "31d", "1.5h", "99999999m", "10 years", "1\u0660m"])
def test_a_time_that_is_none_is_a_sentence(accelform: Any, folder: str, last: str) -> None:
    ran = accelform("logs", "eval", "--stacks", folder, "--last", last)
    assert ran.code == 2
    assert "is no time" in ran.err


@pytest.mark.parametrize("command", ["logs", "open"])
@pytest.mark.parametrize("word", ["evil", "", "x" * 4000, "東京", "shop/shop"])
def test_a_thing_that_there_is_not_is_a_sentence_with_the_nearest(accelform: Any, folder: str, command: str, word: str) -> None:
    ran = accelform(command, word, "--stacks", folder)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    if word == "evil":
        assert "tpu_slices.eval" in ran.err


def test_the_page_is_printed_where_there_is_no_terminal(accelform: Any, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    ran = accelform("open", "eval", "--stacks", folder, "--cloud")
    page = "https://console.cloud.google.com/compute/instancesDetail/zones/us-east5-a/instances/shop-tpu-eval?project=tw-shop-ml"
    assert (ran.code, ran.out) == (0, f"{page}\n")
    here = accelform("open", "eval", "--stacks", folder, "--json").data
    assert here["exit_code"] == 0
    assert here["url"] == (
        "http://127.0.0.1:8085/compute.googleapis.com/compute/v1/projects/tw-shop-ml/zones/us-east5-a/instances/shop-tpu-eval"
    )
    assert not opened


def test_at_a_terminal_it_is_opened_unless_it_is_only_to_be_printed(accelform: Any, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    accelform("open", "eval", "--stacks", folder, "--cloud", "--print")
    assert not opened
    accelform("open", "eval", "--stacks", folder, "--cloud")
    assert len(opened) == 1
