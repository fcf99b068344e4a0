"""What a look at something found: one line with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was looked at."""

    check: str
    level: Level
    message: str
    fix: str = ""
    """Metric, role or command; empty where there is nothing to do."""
