"""The plugins of the official providers: official where they can be, else the stand-ins, and always said."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from infra.local.engine import find, plugin
from infra.local.engine.plugin import EVERY, GCP, Plugin, installed, placed


class Machine:
    """A machine with an engine that installs the official plugin, or does not."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.user = folder / "user"
        self.stand_in = folder / "stand-in"
        self.engine = find.Engine(folder / "pulumi", find.VERSION, "built here")
        self.calls = folder / "calls"
        self.site = ""
        self.home.mkdir()
        self.stand_in.mkdir()
        (self.stand_in / "PulumiPlugin.yaml").write_text("runtime: python\n", encoding="utf-8")
        (self.stand_in / "__main__.py").write_text("one", encoding="utf-8")
        self.installs("exit 1")

    def installs(self, script: str) -> None:
        self.engine.path.write_text(f'#!/bin/sh\necho "$@" >> {self.calls}\n{script}\n', encoding="utf-8")
        self.engine.path.chmod(0o755)

    def place(self) -> Plugin:
        return placed(GCP, self.home, self.engine, site=self.site, stand_in=self.stand_in)

    @property
    def folder(self) -> Path:
        return self.home / "plugins" / GCP.folder


OFFICIAL = f"mkdir -p $PULUMI_HOME/plugins/{GCP.folder} && touch $PULUMI_HOME/plugins/{GCP.folder}/pulumi-resource-gcp"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(tmp_path)
    monkeypatch.setenv("PULUMI_HOME", str(made.user))
    monkeypatch.delenv("ACCELFORM_OFFLINE", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        made.site = f"http://127.0.0.1:{server.getsockname()[1]}"
        yield made


@pytest.fixture
def network(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network has the official site."""
    monkeypatch.setattr(plugin.fetch, "reach", lambda *_, **__: "")


def official(home: Path) -> Path:
    folder = home / "plugins" / GCP.folder
    folder.mkdir(parents=True)
    (folder / "pulumi-resource-gcp").write_text("official", encoding="utf-8")
    return folder


def test_without_a_network_the_stand_in_is_placed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is said; the engine is not asked to install anything."""
    monkeypatch.setattr(plugin, "REACH_SECONDS", 0.05)
    placed = machine.place()
    assert placed.kind == "stand-in"
    assert placed.why.startswith("the official one cannot be fetched: ")
    assert sorted(path.name for path in machine.folder.iterdir()) == ["PulumiPlugin.yaml", "__main__.py"]
    assert list(machine.folder.parent.iterdir()) == [machine.folder]
    assert not machine.calls.exists()


@pytest.mark.parametrize(("base", "named"), [("/elsewhere", True), (sys.prefix, False)])
def test_the_stand_in_is_started_by_this_python(base: str, named: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this is a virtual environment, the settings name it; the official host for Python programs would look for another."""
    monkeypatch.setenv("ACCELFORM_OFFLINE", "1")
    monkeypatch.setattr(sys, "base_prefix", base)
    machine.place()
    runtime = YAML(typ="safe", pure=True).load((machine.folder / "PulumiPlugin.yaml").read_text(encoding="utf-8"))["runtime"]
    assert runtime == ({"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}} if named else "python")


def test_offline_is_obeyed(machine: Machine, network: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ACCELFORM_OFFLINE the stand-in is placed without a question."""
    monkeypatch.setenv("ACCELFORM_OFFLINE", "1")
    assert machine.place() == Plugin("stand-in", "the official one cannot be fetched: ACCELFORM_OFFLINE is set")
    assert not machine.calls.exists()


def test_with_a_network_the_engine_installs_the_official_one(machine: Machine, network: None) -> None:
    """By its own command, into our home; the next time it is there."""
    machine.installs(OFFICIAL)
    assert machine.place() == Plugin("official", f"fetched from {machine.site}")
    assert machine.place() == Plugin("official", str(machine.folder))
    assert machine.calls.read_text(encoding="utf-8").startswith("plugin install resource gcp 10.2.0 ")
    assert len(machine.calls.read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(("script", "said"), [("echo no disk >&2; exit 1", "no disk"), ("exit 0", "it is not there afterwards")])
def test_an_install_that_fails_is_said(script: str, said: str, machine: Machine, network: None) -> None:
    """The stand-in is placed instead, with what the engine said."""
    machine.installs(script)
    placed = machine.place()
    assert (placed.kind, said in placed.why) == ("stand-in", True)


def test_an_install_that_hangs_is_given_up(machine: Machine, network: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is placed after the time that is given."""
    monkeypatch.setattr(plugin, "INSTALL_SECONDS", 0.05)
    machine.installs("exec sleep 60")
    assert "did not end within 0.05 s" in machine.place().why


def test_a_stand_in_stays_as_this_version_has_it(machine: Machine, network: None) -> None:
    """A network that comes changes nothing; a new content does, and what was removed goes."""
    machine.installs("exit 1")
    machine.place()
    machine.installs(OFFICIAL)
    (machine.folder / "__pycache__").mkdir()
    before = (machine.folder / "__main__.py").stat().st_ino
    assert machine.place().kind == "stand-in"
    assert (machine.folder / "__main__.py").stat().st_ino == before
    (machine.stand_in / "__main__.py").write_text("two", encoding="utf-8")
    (machine.folder / "old.py").touch()
    assert machine.place().kind == "stand-in"
    assert sorted(path.name for path in machine.folder.iterdir()) == ["PulumiPlugin.yaml", "__main__.py"]
    assert (machine.folder / "__main__.py").read_text(encoding="utf-8") == "two"


def test_the_user_s_official_one_is_linked(machine: Machine) -> None:
    """It is used before any stand-in, costs no disk, and stays when ours is removed."""
    theirs = official(machine.user)
    assert machine.place() == Plugin("official", f"found in {machine.user}")
    assert (machine.folder / "pulumi-resource-gcp").stat().st_ino == (theirs / "pulumi-resource-gcp").stat().st_ino


def test_a_half_installed_one_does_not_count(machine: Machine) -> None:
    """The engine marks what it has not finished."""
    folder = official(machine.user)
    folder.with_name(f"{folder.name}.partial").touch()
    assert installed(GCP, machine.user) is None


@pytest.mark.parametrize("package", EVERY, ids=lambda package: package.name)
def test_each_has_its_stand_in(package: plugin.Package, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is put where the engine looks for the SDK's version, and is what this project ships."""
    monkeypatch.setenv("ACCELFORM_OFFLINE", "1")
    assert placed(package, machine.home, machine.engine).kind == "stand-in"
    folder = machine.home / "plugins" / f"resource-{package.name}-v{plugin.metadata.version(f'pulumi-{package.name}')}"
    assert (folder / "__main__.py").read_bytes() == (package.stand_in / "__main__.py").read_bytes()
