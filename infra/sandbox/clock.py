"""Virtual time: it flows as time does, and is moved on by whoever waits, so that nobody does."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable


class Clock:
    """
    Seconds since 1970 in the sandbox.

    `automatic`: time flows, and jumps to the end of an operation that somebody asks after: clients that poll, the official provider
    among them, wait one round. `manual`: time stands until it is moved.
    """

    def __init__(self, *, manual: bool = False, start: float | None = None, real: Callable[[], float] = time.time) -> None:
        self.manual = manual
        self._real = real
        self._ahead = 0.0 if start is None else start - real()
        self._stands = start if start is not None else real()

    def now(self) -> float:
        return self._stands if self.manual else self._real() + self._ahead

    def advance(self, seconds: float) -> None:
        """Moves on; never back."""
        seconds = max(0.0, seconds)
        self._ahead += seconds
        self._stands += seconds


def rfc3339(moment: float) -> str:
    """As most services write a moment."""
    return dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def pacific(moment: float) -> str:
    """As Compute Engine writes one: milliseconds, at Pacific time's offset."""
    return dt.datetime.fromtimestamp(moment, dt.timezone(dt.timedelta(hours=-8))).isoformat(timespec="milliseconds")
