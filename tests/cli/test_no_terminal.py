"""Without a terminal nothing asks and nothing waits: every command that could ask ends by itself, with what to write instead."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ASKS = re.compile(
    r"typer\.confirm|typer\.prompt|Prompt\.ask|import Prompt|stdin\.read|\binput\(|\bgetpass\.getpass\(|for line in sys\.stdin|of\(sys\.stdin\)"
)
ASKING: dict[str, list[tuple[str, ...]]] = {
    "init": [("init",), ("init", "--stack", "x"), ("init", "--json")],
    "rollout": [("rollout", "shop", "recommend", "--to", "2", "--steps", "10,100", "--hold", "60m", "--guard", "error_rate<=0.01")],
    "up_cloud": [("up", "--cloud"), ("up", "--cloud", "--json")],
    "down_cloud": [("down", "--cloud"), ("down", "--cloud", "--json")],
    "gitops": [("gitops", "plan")],
}
"""Each file of the command line that asks or reads, and how it is called."""


class NobodyThere(io.StringIO):
    """No terminal, and nobody who would ever write into it."""

    def isatty(self) -> bool:
        return False

    def readline(self, *_: Any) -> str:
        raise AssertionError("it waits for an answer")

    read = readline  # type: ignore[assignment]


def test_every_command_that_asks_is_tried_here() -> None:
    found = {path.stem for path in (ROOT / "infra" / "cli").glob("*.py") if ASKS.search(path.read_text(encoding="utf-8"))}
    assert found == set(ASKING)


@pytest.mark.parametrize("words", [words for file, every in ASKING.items() if file != "gitops" for words in every], ids=" ".join)
def test_it_ends_and_says_what_to_write(
    accelform: Any, monkeypatch: pytest.MonkeyPatch, stack_file: Callable[..., Path], base: dict[str, Any], words: tuple[str, ...]
) -> None:
    folder = stack_file(base | {"accelform:endpoints": {"recommend": {"callers": ["group:ml@shop.example"]}}}, "shop").parent
    monkeypatch.setattr(sys, "stdin", NobodyThere())
    ran = accelform(*words, "--stacks", str(folder))
    assert ran.code in (2, 5), ran
    assert "Traceback" not in ran.err
    assert ran.err or ran.out


@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-", "</dev/null"])
def test_a_closed_input_and_a_closed_output_are_no_fault(closed: str) -> None:
    program = f'"{sys.executable}" -c "from infra.cli.app import main; main()" gitops plan {closed}; echo "code $?"'
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.endswith("code 6\n")
