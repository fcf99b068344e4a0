"""actionlint, built once from its pinned module into the user's cache folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

VERSION = "v1.7.12"


def built() -> Path:
    """The program; skips where Go or its module proxy is not to be had."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accelform" / f"actionlint-{VERSION}"
    program = folder / "actionlint"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go on this machine")
    env = os.environ | {"GOBIN": str(folder)}
    done = subprocess.run(
        [go, "install", f"github.com/rhysd/actionlint/cmd/actionlint@{VERSION}"], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"actionlint cannot be built here: {done.stderr.strip().splitlines()[-1:]}")
    return program


def run(program: Path, folder: Path) -> str:
    """What it finds in the workflows of a folder, which must be a repository."""
    (folder / ".git").mkdir(exist_ok=True)
    done = subprocess.run([str(program), "-no-color"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
