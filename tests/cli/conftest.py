"""Runs commands as a user does, in this process."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from infra.cli.app import main


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def accelform(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Ran]]:
    """`accelform ARGUMENTS`, from the project's own folder."""
    monkeypatch.chdir(Path(__file__).parents[2])

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["accelform", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    yield run
    gc.unfreeze()
    gc.enable()
