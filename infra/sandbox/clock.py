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

    def __init__(
        self,
        *,
        manual: bool = False,
        start: float | None = None,
        ahead: float = 0.0,
        moved: Callable[[float], None] = lambda ahead: None,
        real: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            start: What it shows at first. (default: what real time is, and *ahead*)
            ahead: Seconds by which it was ahead of real time: leases and loads of a sandbox are of the time that they were written at.
            moved: Is told how far it is ahead, whenever it is moved on.
        """
        self.manual = manual
        self._real = real
        self._moved = moved
        self._ahead = ahead if start is None else start - real()
        self._stands = start if start is not None else real() + ahead

    def now(self) -> float:
        return self._stands if self.manual else self._real() + self._ahead

    def advance(self, seconds: float) -> None:
        """Moves on; never back."""
        seconds = max(0.0, seconds)
        self._ahead += seconds
        self._stands += seconds
        if seconds:
            self._moved(self._ahead)


def rfc3339(moment: float) -> str:
    """As most services write a moment."""
    return dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def pacific(moment: float) -> str:
    """As Compute Engine writes one: milliseconds, at Pacific time's offset."""
    return dt.datetime.fromtimestamp(moment, dt.timezone(dt.timedelta(hours=-8))).isoformat(timespec="milliseconds")
