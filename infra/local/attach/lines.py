"""Lines of processes on their way to the sandbox's Cloud Logging: they come from threads, and go in one call a step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Lines:
    """Lines of one process, and whose they are."""

    project: str
    labels: dict[str, str]
    _new: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, line: str) -> None:
        with self._lock:
            self._new.append(line)

    def send(self, log: Callable[[str, dict[str, str], list[str]], None]) -> None:
        """Hands on what came since the last time."""
        with self._lock:
            lines, self._new = self._new, []
        if lines:
            log(self.project, self.labels, lines)
