"""Kills the engine at one HTTP call of an update, and sees that our next command makes all of it good."""

from __future__ import annotations

import subprocess
from typing import Any

from infra.local.engine import find
from tests.engine.region import SECONDS, STACK, Region


def calls_of(region: Region, *arguments: str) -> int:
    """How many HTTP calls an undisturbed `pulumi ARGUMENTS` makes."""
    shell = region.shell()
    region.ask("DELETE", "calls")
    assert _pulumi(region, shell, arguments).wait(SECONDS) == 0
    return len(region.ask("GET", "calls")["calls"])


def killed_at(region: Region, shell: dict[str, str], call: int, moment: str, *arguments: str, path: str = "") -> bool:
    """Runs `pulumi ARGUMENTS` and kills it with -9 before or after a call, of those to *path* alone. False where it ended before."""
    region.ask("DELETE", "faults")
    process = _pulumi(region, shell, arguments)
    region.ask("POST", "faults", {"do": moment, "at": call, "pid": process.pid, "path": path})
    code = process.wait(SECONDS)
    region.ask("DELETE", "faults")
    return code == -9


def _pulumi(region: Region, shell: dict[str, str], arguments: tuple[str, ...]) -> subprocess.Popen[Any]:
    engine = find.find()
    assert engine is not None
    return subprocess.Popen(
        [str(engine.path), *arguments, "--yes", "--skip-preview", "--stack", STACK, "--non-interactive"],
        cwd=region.folder,
        env=shell,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
