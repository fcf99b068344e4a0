"""The engine is built once, whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from infra.errors import MachineError
from infra.local.engine import build, find


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on PATH but the shell's own tools, and an empty cache."""
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ACCELFORM_OFFLINE", "1")
    if shutil.which("go") or shutil.which("pulumi"):
        pytest.skip("this machine has go or pulumi among the system's own tools")
    return tools


def tool(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_builds_once_with_a_host_beside_it(machine: Path) -> None:
    """What go makes is kept with the launcher of our language host; the next time nothing is built."""
    tool(machine, "go", "test -f go.mod && test -f go.sum && echo engine > pulumi")
    engine = build.ensure()
    assert (engine.built_here, engine.version, engine.path.parent) == (True, find.VERSION, find.cache())
    assert sorted(path.name for path in find.cache().iterdir()) == ["pulumi", "pulumi-language-python"]
    assert os.access(find.cache() / "pulumi-language-python", os.X_OK)
    tool(machine, "go", "exit 1")
    assert build.ensure() == engine


def test_fails_whole_where_go_fails(machine: Path) -> None:
    """A failed build is told with what go said, and leaves nothing behind."""
    tool(machine, "go", "echo half > pulumi; echo no such module >&2; exit 1")
    with pytest.raises(MachineError, match="no such module"):
        build.ensure()
    assert [path.suffix for path in find.cache().parent.iterdir()] == [".not-fetched"]


def test_fails_with_the_ways_out_where_there_is_no_go(machine: Path) -> None:
    """Without Go and without an engine, both ways out are named."""
    with pytest.raises(MachineError, match=r"(?s)pulumi\.com.*go\.dev"):
        build.ensure()


def test_clears_what_a_killed_build_left(machine: Path) -> None:
    """A folder of a build that no longer runs goes; one of a build that does stays."""
    dead, alive = (find.cache().parent / f"building-x-{pid}" for pid in (2**22 + 1, os.getpid()))
    dead.mkdir(parents=True)
    alive.mkdir()
    tool(machine, "go", "echo engine > pulumi")
    build.ensure()
    assert (dead.exists(), alive.exists()) == (False, True)


def test_an_official_engine_is_used_before_ours(machine: Path) -> None:
    """The one on PATH wins, unless it is too old to be used."""
    tool(machine, "go", "echo engine > pulumi")
    build.ensure()
    tool(machine, "pulumi", "echo v3.300.0")
    assert find.find() == find.Engine(machine / "pulumi", "3.300.0", "on PATH")
    tool(machine, "pulumi", "echo v3.100.0")
    engine = find.find()
    assert engine is not None
    assert engine.built_here


def test_the_pinned_module_is_the_version_that_is_said() -> None:
    """`go.mod` and the version that the engine is told to be are one."""
    text = (Path(build.__file__).parent / "go.mod").read_text(encoding="utf-8")
    assert re.search(r"github\.com/pulumi/pulumi/pkg/v3 v(\S+)", text)[1] == find.VERSION  # type: ignore[index]
