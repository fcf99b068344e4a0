"""Who waits: on Google Cloud the clock on the wall; on the sandbox its own clock, which is moved, so that an hour is over at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import httpx

from infra.provider.google import Google
from infra.provider.server import ProviderError

SECONDS = 30.0


class Time(Protocol):
    """A clock, and patience."""

    def now(self) -> float:
        """Seconds since 1970."""

    def wait(self, seconds: float) -> None:
        """Comes back after that time."""


class WallTime:
    """This machine's."""

    def now(self) -> float:
        return time.time()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


class SandboxTime:
    """
    The sandbox's.

    Args:
        google: Its APIs.
        base: Its address.
        wall: Real seconds, for a wait while the clock is held.
    """

    def __init__(self, google: Google, base: str, wall: Callable[[], float] = time.monotonic) -> None:
        self._google = google
        self._wall = wall
        self._url = f"{base.rstrip('/')}/sandbox/clock"

    def now(self) -> float:
        return self._google.time()

    def wait(self, seconds: float) -> None:
        """At once; while a process that is attached to the sandbox works, as long as that takes, or those seconds."""
        until = self._wall() + seconds
        left = seconds
        while self._move(left) and (left := until - self._wall()) > 0:
            pass

    def _move(self, seconds: float) -> bool:
        """Asks for the clock to be moved. True where it was not: it is held, and the answer took some real time."""
        try:
            # Without `verify=False` each call reads all certificates of this machine first, for plain HTTP: 45 ms.
            answer = httpx.post(self._url, json={"seconds": seconds}, timeout=SECONDS, trust_env=False, verify=False)  # noqa: S501
            answer.raise_for_status()
        except httpx.HTTPError as error:
            raise ProviderError(f"the sandbox's clock cannot be moved: {error or type(error).__name__}") from None
        return bool(answer.json().get("held"))
