"""Lines of processes on their way to the sandbox's Cloud Logging: they come from threads, and go in one call a step."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whose lines they are, as Google's own logs say it."""

    project: str
    log: str
    """Id of the log."""
    resource: Mapping[str, Any]
    labels: Mapping[str, str]
    instance: Mapping[str, str] | None = None
    """Machine of a container whose driver is gcplogs: what each of its lines names. That driver sends a line as it is."""

    def entry(self, line: str) -> dict[str, Any]:
        """One entry. A line that is an object of JSON is read as Google's agents do: `severity` says how bad it is."""
        if self.instance is not None:
            return {"jsonPayload": {"message": line, "instance": dict(self.instance)}}
        said = _object(line)
        if said is None:
            return {"textPayload": line, "severity": "DEFAULT"}
        severity = said.pop("severity", "DEFAULT")
        return {"jsonPayload": said, "severity": severity if isinstance(severity, str) else "DEFAULT"}


@dataclass(slots=True)
class Lines:
    """Lines of one process."""

    speaker: Speaker
    heard: Callable[[Speaker, str], None] = lambda speaker, line: None
    """Gets each line besides, from the thread that reads it."""
    _new: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, line: str) -> None:
        with self._lock:
            self._new.append(line)
        self.heard(self.speaker, line)

    def send(self, log: Callable[[Speaker, list[str]], None]) -> None:
        """Hands on what came since the last time."""
        with self._lock:
            lines, self._new = self._new, []
        if lines:
            log(self.speaker, lines)


def _object(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "message" in found else None
