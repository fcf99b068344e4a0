"""Folders and files that are there whole or not at all: made beside their place, then renamed. Killed at any moment, no half counts."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def made_beside(final: Path, doing: str) -> Iterator[Path]:
    """
    A folder to work in, on the same disk as *final*; gone afterwards unless it was renamed.

    Args:
        doing: First word of its name. What killed processes left under that word is cleared.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    for left in final.parent.glob(f"{doing}-*"):
        if not alive(left.name.rpartition("-")[2]):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{doing}-", suffix=f"-{os.getpid()}", dir=final.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(folder: Path, final: Path) -> None:
    """Renames; where somebody else was faster, theirs stays."""
    try:
        folder.rename(final)
    except OSError:
        if not final.is_dir():
            raise


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Writes a file, and its folder where there is none; nobody but its owner reads it before it has *mode*."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.touch(mode=0o600)
    beside.write_text(text, encoding="utf-8")
    beside.chmod(mode)
    beside.replace(path)


def alive(pid: int | str) -> bool:
    """Whether a process of this machine has that number."""
    try:
        number = int(pid)
        if number <= 0:  # would be a group of processes
            return False
        os.kill(number, 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
