"""A stack's state is read as the engine wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.errors import MachineError
from infra.local.engine import call, find, state
from infra.local.home import Home


def put(folder: Path, text: str, name: str = "try.json") -> None:
    path = folder / ".pulumi" / "stacks" / "accelform" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_what_stands_there_is_what_an_export_has(tmp_path: Path) -> None:
    """A stack that nothing was made of yet has an empty deployment; a backup and another stack of a like name are none of it."""
    put(tmp_path, '{"version": 3, "checkpoint": {"stack": "organization/accelform/try", "latest": {"resources": [1]}}}')
    put(tmp_path, "no json", "try.json.bak")
    put(tmp_path, '{"version": 3, "checkpoint": {"latest": null}}', "try-apps.json")
    assert state.read(tmp_path, "try") == {"version": 3, "deployment": {"resources": [1]}}
    assert state.read(tmp_path, "try-apps") == {"version": 3, "deployment": {}}
    assert state.read(tmp_path, "tr") is None
    assert state.read(tmp_path / "nowhere", "try") is None


@pytest.mark.parametrize(
    "text", ["", '{"x', "[]", "null", '{"version": 3}', '{"checkpoint": {}}', '{"version": 3, "checkpoint": 1}', "\x00"]
)
def test_fails_on_what_the_engine_did_not_write(text: str, tmp_path: Path) -> None:
    put(tmp_path, text)
    with pytest.raises(MachineError, match="stack try: its state cannot be read") as caught:
        state.read(tmp_path, "try")
    assert "accelform down --force" in str(caught.value)


def test_the_engine_writes_it_there(tmp_path: Path) -> None:
    """The real one: what it exports is what is read."""
    engine = find.find()
    if engine is None:
        pytest.skip("there is no engine on this machine: python -m infra.local.engine.build")
    home = Home(tmp_path)
    home.prepare()
    (tmp_path / "Pulumi.yaml").write_text("name: folder\nruntime: python\n", encoding="utf-8")
    made = call.call(["stack", "init", "try"], engine=engine, env=home.env(engine), folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert state.read(home.state, "try") is not None
    exported = call.call(["stack", "export", "--stack", "try"], engine=engine, env=home.env(engine), folder=tmp_path)
    read, said = state.read(home.state, "try"), json.loads(exported.stdout)
    assert read is not None
    assert (read["version"], read["deployment"].get("resources")) == (said["version"], said["deployment"].get("resources"))
