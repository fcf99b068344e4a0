"""Which engine this machine has: the official one on PATH, else the official one that was fetched, else the one that was built here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

VERSION = "3.274.1"
"""Version that is fetched or built. The same as in `go.mod` beside this file; a test holds it."""
OLDEST = (3, 208, 0)
"""Oldest official engine that is used: it reads every option from the environment too, and prepared shells need that."""
SECONDS = 20


@dataclass(frozen=True, slots=True)
class Engine:
    """A Pulumi CLI."""

    path: Path
    version: str
    origin: Literal["on PATH", "fetched", "built here"]

    @property
    def built_here(self) -> bool:
        """Whether it was built from Go: then our language host stands beside it."""
        return self.origin == "built here"


def cache() -> Path:
    """Folder of what was built: one for all checkouts of a user, by version."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # so the specification of these variables has it
        base = Path.home() / ".cache"
    return base / "accelform" / f"pulumi-v{VERSION}"


def fetched_folder() -> Path:
    """Folder of the official engine that was fetched."""
    return cache().with_name(f"pulumi-official-v{VERSION}")


def find() -> Engine | None:
    """The engine to use; None where there is none yet."""
    return official() or fetched() or built()


def official() -> Engine | None:
    """The one on PATH, where it says its version and is not too old."""
    path = on_path()
    version = version_of(path) if path else None
    if path is None or version is None or as_numbers(version) < OLDEST:
        return None
    return Engine(path, version, "on PATH")


def on_path() -> Path | None:
    """The `pulumi` of the user: not what a prepared shell put on PATH, our own engines and the `pulumi` of a checkout that calls one."""
    own = (str(cache()), str(fetched_folder()))
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    theirs = [folder for folder in folders if folder not in own and Path(folder).parts[-2:] != (".accelform", "bin")]
    path = shutil.which("pulumi", path=os.pathsep.join(theirs))
    return Path(path) if path else None


def fetched() -> Engine | None:
    """The official one that was fetched."""
    path = fetched_folder() / "pulumi"
    return Engine(path, VERSION, "fetched") if path.is_file() else None


def built() -> Engine | None:
    """The one that was built here."""
    path = cache() / "pulumi"
    return Engine(path, VERSION, "built here") if path.is_file() else None


def version_of(path: Path) -> str | None:
    """What an engine says its version is; None where it does not."""
    try:
        done = subprocess.run([path, "version"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.fullmatch(r"v?(\d+\.\d+\.\d+)\S*", done.stdout.strip())
    return match[1] if match else None


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
