"""Runs commands as a user does, in this process."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from infra.cli.app import main
from tests.cli.own_pulumi import OwnPulumi


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


@pytest.fixture
def own_pulumi(
    accelform: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: dict[str, Any], write_stack: Callable[..., None]
) -> OwnPulumi:
    """A checkout with the stack `try`, which is the folder that we are in, and a Pulumi CLI of the user's own on PATH."""
    pulumi = OwnPulumi(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(pulumi.folder), prepend=os.pathsep)
    monkeypatch.delenv("PULUMI_OPTION_CWD", raising=False)
    write_stack(base)
    return pulumi


@pytest.fixture
def write_stack(accelform: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes the stack `try` of a checkout in a folder of its own, which is the one that we are in."""
    root = tmp_path / "checkout"
    (root / "stacks").mkdir(parents=True)
    (root / "infra").mkdir()
    for name in ("Pulumi.yaml", "infra/__main__.py"):
        (root / name).touch()
    monkeypatch.chdir(root)

    def write(config: dict[str, Any]) -> None:
        with (root / "stacks" / "Pulumi.try.yaml").open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump({"config": config}, file)

    return write


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Somebody types a line at a terminal."""
    return lambda line: monkeypatch.setattr(sys, "stdin", Terminal(f"{line}\n"))
