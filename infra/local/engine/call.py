"""Calls the Pulumi CLI, with nobody to answer its questions."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

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


def failed(what: str, done: subprocess.CompletedProcess[str]) -> MachineError:
    """An error with what the engine said last."""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
    fix = ["fix: accelform down --force drops the sandbox with all that stands in it"] if _damaged("\n".join(said)) else []
    return MachineError("\n  ".join([what, *said, *fix]))


def _damaged(said: str) -> bool:
    """Whether the state of our own backend, or its passphrase, is not what it was."""
    return "passphrase" in said or "failed to load checkpoint" in said
