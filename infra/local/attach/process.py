"""One local process: its lines go somewhere as they come, and it is ended as a machine ends a container."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

LETTERS = 10_000
"""Of a line; the rest of it is cut off."""


class Process:
    """A process in a group of its own, so that what it starts ends with it."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        line: Callable[[str], None],
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            line: Gets each line that it prints, from another thread.
        """
        self._wall = wall
        self._told: float | None = None
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(line,), daemon=True)
        self._reader.start()

    def _read(self, line: Callable[[str], None]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for one in output:
                line(one.decode("utf-8", "replace").rstrip()[:LETTERS])

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def told(self) -> bool:
        """Whether it was told to end."""
        return self._told is not None

    def code(self) -> int | None:
        """Exit code, as a shell has it: 128 and the signal's number where one ended it. None while it runs."""
        found = self._process.poll()
        if found is None:
            return None
        self._reader.join(timeout=5)
        return found if found >= 0 else 128 - found

    def end(self, notice: float) -> None:
        """SIGTERM, and SIGKILL to whoever is there *notice* seconds later. To be called again until it has ended."""
        if self._told is None:
            self._told = self._wall()
            self._signal(signal.SIGTERM)
        elif self._wall() >= self._told + notice:
            self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """At once, and waits for it."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._reader.join(timeout=5)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
