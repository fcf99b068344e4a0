"""Moments that a night on this machine waits for: the sandbox's clock is moved to each, and that is said, so that nobody waits."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

KEYS = ("begins", "until")
"""What an event of a runner has its next moment under, in seconds since 1970: when a rollout begins, or when a step of it ends."""
LEAST_SECONDS = 60.0
"""A shorter wait is left to the runner, which moves the clock by itself as it waits."""

Own = Callable[[str, str, Any], Any]


class Moments:
    """
    Moves the clock on.

    Args:
        own: Asks the sandbox its own things: `own("POST", "clock", {"seconds": 60})`.
        say: Gets a sentence each time.
        timezone: In which the times are told; empty for UTC.
    """

    def __init__(self, own: Own, say: Callable[[str], None], timezone: str) -> None:
        self._own = own
        self._say = say
        self._zone = ZoneInfo(timezone or "UTC")
        self._next: float | None = None
        self._lock = threading.Lock()
        self.moved: list[dict[str, str]] = []
        """Each time: `from` and `to`, in the job's time zone."""

    def heard(self, event: Mapping[str, Any]) -> None:
        """An event of the runner: it waits for a moment now, or for none. From any thread."""
        found = next((float(event[key]) for key in KEYS if isinstance(event.get(key), int | float)), None)
        with self._lock:
            self._next = found

    def step(self) -> None:
        """Moves the clock, where a moment is waited for; later, while the clock is held since something runs in real time."""
        if (until := self._next) is None:
            return
        now = self._time(0)
        if until - now < LEAST_SECONDS:
            self._done(until)
            return
        if self._time(until - now) < until - 1:  # it is told by the microsecond
            return  # held
        self._done(until)
        before, after = (dt.datetime.fromtimestamp(one, self._zone).replace(microsecond=0) for one in (now, until))
        self.moved.append({"from": before.isoformat(), "to": after.isoformat()})
        told = f"it is {before:%H:%M} on the sandbox's clock ({self._zone.key}); moved to {after:%H:%M}"
        self._say(f"{told}: what a night waits for, nobody does here")

    def _done(self, until: float) -> None:
        """The runner may have gone on by now, and said what it waits for next."""
        with self._lock:
            if self._next == until:
                self._next = None

    def _time(self, seconds: float) -> float:
        """The sandbox's time, after it was moved so far, if that may be."""
        return dt.datetime.fromisoformat(self._own("POST", "clock", {"seconds": seconds})["time"]).timestamp()
