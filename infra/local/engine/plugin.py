"""The plugins of the official providers: each the official one where it is or can be fetched, else our stand-in; which one is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from infra.local.engine import call, fetch, find
from infra.local.engine.atomic import made_beside, put

SETTINGS = "PulumiPlugin.yaml"
"""What the stand-in's folder holds."""
REACH_SECONDS = 3.0
INSTALL_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Package:
    """A provider that has a stand-in."""

    name: Literal["gcp", "kubernetes"]

    @property
    def version(self) -> str:
        """Of the SDK: it chooses the plugin."""
        return metadata.version(f"pulumi-{self.name}")

    @property
    def folder(self) -> str:
        """As the engine names it."""
        return f"resource-{self.name}-v{self.version}"

    @property
    def program(self) -> str:
        """What the official plugin's folder holds."""
        return f"pulumi-resource-{self.name}"

    @property
    def stand_in(self) -> Path:
        """The folder of the stand-in."""
        return Path(__file__).parents[1] / self.name / "plugin"


GCP, KUBERNETES = Package("gcp"), Package("kubernetes")
EVERY = (GCP, KUBERNETES)


@dataclass(frozen=True, slots=True)
class Plugin:
    """The plugin that the engine will start."""

    kind: Literal["official", "stand-in"]
    why: str


def user_home() -> Path:
    """PULUMI_HOME of the user's own runs."""
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")


def installed(package: Package, home: Path) -> Plugin | None:
    """The plugin that a PULUMI_HOME holds."""
    folder = home / "plugins" / package.folder
    if (folder / package.program).is_file() and not folder.with_name(f"{folder.name}.partial").exists():
        return Plugin("official", f"{folder}")
    return Plugin("stand-in", f"{folder}") if (folder / SETTINGS).is_file() else None


def placed(package: Package, home: Path, engine: find.Engine, *, site: str = fetch.SITE, stand_in: Path | None = None) -> Plugin:
    """
    Puts a plugin into a PULUMI_HOME of ours, once, and says which one it is and why.

    A stand-in that is there stays, and is kept as this version has it: the plugin of a stack does not change because a network came.
    """
    here, ours = installed(package, home), stand_in or package.stand_in
    if here is not None and here.kind == "official":
        return here
    final = home / "plugins" / package.folder
    theirs = installed(package, user_home())
    if theirs is not None and theirs.kind == "official":
        _link(user_home() / "plugins" / package.folder, final)
        return Plugin("official", f"found in {user_home()}")
    if here is not None:
        _place(ours, final)
        return Plugin("stand-in", f"it is here already; for the official one, remove {final}")
    try:
        _install(package, home, engine, site)
    except fetch.NotFetchedError as error:
        _place(ours, final)
        return Plugin("stand-in", f"the official one cannot be fetched: {error}")
    return Plugin("official", f"fetched from {site}")


def _install(package: Package, home: Path, engine: find.Engine, site: str) -> None:
    """By the engine's own command, where the network answers."""
    if fetch.offline():
        raise fetch.NotFetchedError(f"{fetch.OFFLINE} is set")
    fetch.reach(f"{site}/", REACH_SECONDS, method="HEAD")
    env: Mapping[str, str] = os.environ | {"PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = call.call(
            ["plugin", "install", "resource", package.name, package.version],
            engine=engine,
            env=env,
            folder=home,
            seconds=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise fetch.NotFetchedError(f"pulumi plugin install did not end within {INSTALL_SECONDS:g} s") from None
    there = installed(package, home)
    if done.returncode or there is None or there.kind != "official":
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["it is not there afterwards"]
        raise fetch.NotFetchedError(f"pulumi plugin install: {said[0]}")


def _place(stand_in: Path, final: Path) -> None:
    """The stand-in, started by the Python that runs this: the official host for Python programs would take any, ours takes it anyhow."""
    wanted = _content(stand_in)
    if sys.prefix != sys.base_prefix:
        settings = {"runtime": {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}}
        wanted[SETTINGS] = json.dumps(settings, indent=2).encode()  # JSON is YAML
    if final.is_dir() and _content(final) == wanted:
        return
    with _replaced(final) as new:
        new.mkdir()
        for name, data in wanted.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(data)


def _link(source: Path, final: Path) -> None:
    """The official plugin of another home: it has some 200 MB, and linked it costs nothing, where the disk allows."""

    def link(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:
            shutil.copy2(one, other)

    with _replaced(final) as new:
        shutil.copytree(source, new, copy_function=link)


@contextmanager
def _replaced(final: Path) -> Iterator[Path]:
    """A folder that takes the place of *final* when it is made: whole or not at all."""
    with made_beside(final, "placing") as folder:
        new = folder / "new"
        yield new
        if final.exists():
            final.rename(folder / "old")
        put(new, final)


def _content(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
