"""
What shops report of what they showed: a line of JSON each, on stdout for Cloud Logging, or in files of a folder.

A model says what a report of its shop is: `row` makes the line's fields of what was sent, so that training reads them as they are.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from workloads.contract import CLICKS_TO_STDOUT
from workloads.serving.engine import InstanceError

Row = Callable[[object, float], Mapping[str, object]]
"""Fields of a report that came at a time (seconds since 1970). Raises `InstanceError`."""


class ClickLog:
    """A log of reports. A file is begun every hour, so that those of past hours are whole."""

    def __init__(self, target: str, row: Row) -> None:
        """
        Args:
            target: `stdout`, or a folder.

        Raises:
            OSError: The folder cannot be made or written to.
        """
        self._folder = None if target == CLICKS_TO_STDOUT else Path(target)
        self._row = row
        self._lock = threading.Lock()
        self._hour = ""
        self._file: IO[str] | None = None
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            probe = self._folder / f".{os.getpid()}"
            probe.touch()
            probe.unlink()

    def write(self, reports: Sequence[object], served: Mapping[str, object]) -> dict[int, str]:
        """
        Logs reports, and answers why some were not, by their place.

        Args:
            served: What is added to each line: which variant and version got the report.

        Raises:
            OSError: The folder cannot be written to.
        """
        now, lines, problems = time.time(), [], {}
        for place, report in enumerate(reports):
            try:
                fields = {**self._row(report, now), **served}
            except InstanceError as wrong:
                problems[place] = str(wrong)
                continue
            # Cloud Logging reads a line of JSON as a payload whose `severity` and `message` are its own.
            said = fields if self._folder else {"severity": "INFO", "message": "click", "click": fields}
            lines.append(json.dumps(said, ensure_ascii=False, allow_nan=False) + "\n")
        with self._lock:
            file = self._opened(now)
            file.write("".join(lines))
            file.flush()
        return problems

    def close(self) -> None:
        """Ends the file."""
        if self._file is not None:
            self._file.close()

    def _opened(self, now: float) -> IO[str]:
        if self._folder is None:
            return sys.stdout
        hour = time.strftime("%Y%m%dT%HZ", time.gmtime(now))
        if self._file is None or hour != self._hour:
            self.close()
            path = self._folder / f"clicks-{hour}-{socket.gethostname()}-{os.getpid()}.jsonl"
            self._file, self._hour = path.open("a", encoding="utf-8"), hour
        return self._file
