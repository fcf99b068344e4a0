"""A series of values that are so at a moment, sampled each minute, as those of accelerators are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MINUTE = 60
"""Seconds between samples. Source: Google's lists of metrics, "Sampled every 60 seconds"."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One series of Monitoring, and what it is at any moment."""

    identity: dict[str, Any]
    """Its metric and monitored resource, and the labels of what it is of."""
    value_type: str
    unit: str
    since: float
    """What it is of begins then, in seconds since 1970."""
    until: float
    """And ends then; infinite while it is there."""
    at: Callable[[float], bool | int | float | None]
    """Its value at a moment; None: it has none."""
    kind: str = "GAUGE"

    def points(self, start: float, end: float) -> list[dict[str, Any]]:
        """Samples after *start* and not after *end*, oldest first."""
        found = []
        moment = math.floor(max(start, self.since) / MINUTE) * MINUTE
        while (moment := moment + MINUTE) <= end and moment < self.until:
            if (value := self.at(moment)) is not None:
                found.append({"start": moment, "end": moment, "value": self._typed(value)})
        return found

    def _typed(self, value: bool | int | float) -> dict[str, Any]:
        if self.value_type == "BOOL":
            return {"boolValue": bool(value)}
        return {"int64Value": str(round(value))} if self.value_type == "INT64" else {"doubleValue": float(value)}
