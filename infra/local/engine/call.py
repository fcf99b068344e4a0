"""Calls the Pulumi CLI, with nobody to answer its questions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra import translated
from infra.errors import MachineError
from infra.local.engine import find

SECONDS = 1800.0
"""A refresh of a large stack takes minutes; what takes longer hangs."""


def call(
    arguments: Sequence[str], *, engine: find.Engine, env: Mapping[str, str], folder: Path, seconds: float = SECONDS
) -> subprocess.CompletedProcess[str]:
    """`pulumi ARGUMENTS` in a project's folder. Its exit code is the caller's to judge."""
    return subprocess.run(
        [str(engine.path), *arguments, "--non-interactive", "--color", "never"],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
        check=False,
    )


def export(stack: str, *, engine: find.Engine, env: Mapping[str, str], folder: Path) -> dict[str, Any] | None:
    """
    The state of a stack; None where there is no such stack.

    Raises:
        MachineError: The engine cannot read it.
    """
    done = call(["stack", "export", "--stack", stack], engine=engine, env=env, folder=folder)
    if done.returncode == 0:
        state: dict[str, Any] = json.loads(done.stdout)
        return state
    if f"no stack named '{stack}' found" in done.stderr:
        return None
    raise failed(f"stack {stack}: its state cannot be read", done)


def failed(what: str, done: subprocess.CompletedProcess[str]) -> MachineError:
    """An error with what is known of it, and below that what the engine said last."""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
    if _damaged("\n".join(said)):
        return MachineError("\n  ".join([what, *said, "fix: accelform down --force drops the sandbox with all that stands in it"]))
    return MachineError("\n  ".join([what, *translated.told("\n".join(said)).splitlines()]))


def _damaged(said: str) -> bool:
    """Whether the state of our own backend, or its passphrase, is not what it was."""
    return "passphrase" in said or "failed to load checkpoint" in said
