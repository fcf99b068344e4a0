"""Processes that run side by side on the sandbox's clock, in this one: each runs until it waits, and the clock moves when all of them wait."""

from __future__ import annotations

import threading
from collections.abc import Callable


class _DroppedError(BaseException):
    """The world ends before this process does."""


class Actor:
    """One process, on a thread that runs only in its turn."""

    def __init__(self, work: Callable[[], None], wakes: float) -> None:
        self.wakes = wakes
        self.error: BaseException | None = None
        self.ended = False
        self._dropped = False
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._turn.acquire()
        try:
            if not self._dropped:
                self._work()
        except _DroppedError:
            pass
        except BaseException as error:
            self.error = error
        self.ended = True
        self._back.release()

    def wait(self, until: float) -> None:
        """Called by the process itself: others have their turns until that moment."""
        self.wakes = until
        self._back.release()
        self._turn.acquire()
        if self._dropped:
            raise _DroppedError

    def step(self) -> None:
        """
        Its turn: until it waits, or has ended.

        Raises:
            BaseException: What the process did not catch.
        """
        self._turn.release()
        self._back.acquire()
        if self.ended:
            self._thread.join()
        if self.error is not None:
            raise self.error

    def drop(self) -> None:
        """Ends it where it waits."""
        if not self.ended:
            self._dropped = True
            self.step()
