"""Who holds the lock of a stack, as the engine tells it: for the file backend and for buckets the words are the same."""

from __future__ import annotations

import datetime as dt
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOLDER = re.compile(
    r"(?P<path>\S*?/locks/\S*?/(?P<stack>[^/\s]+)/[^/\s]+?\.json)(?:\?\S*)?:? *"
    r"created by (?P<user>\S*)@(?P<host>\S+) \(pid (?P<pid>-?\d+)\) at (?P<since>\S+)"
)
"""A line of the engine's refusal. Source: pulumi 3.274.1, `pkg/backend/diy/lock.go`, and a run against a held lock."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who works on a stack, or did."""

    stack: str
    user: str
    host: str
    pid: int
    since: str
    """RFC 3339."""
    path: str = ""
    """File or address of the lock."""

    @property
    def state(self) -> str:
        """`alive`, `dead` or `on another host`: of a process elsewhere nobody here can tell."""
        if self.host != socket.gethostname():
            return "on another host"
        return "alive" if is_pulumi(self.pid) else "dead"

    def __str__(self) -> str:
        return f"{self.user} at {self.host} since {self._since()}, process {self.pid} ({self.state})"

    def line(self) -> str:
        """For people, with the stack."""
        return f"stack {self.stack} is locked by {self}"

    def fix(self) -> str:
        """The way out: `accelform recover` lifts what a dead process of this machine left in the backend of a checkout, and no other."""
        cancel = f"pulumi cancel --stack {self.stack}, then try again"
        if self.state == "alive":
            return "wait for it, or end it with ^C, then try again"
        if self.state == "dead":
            lift = "accelform recover" if "/.accelform/state/" in self.path else cancel
            return f"{lift}: it left its lock behind, and nobody works on the stack"
        return f"wait for it; only where that process is known to be dead: {cancel}"

    def _since(self) -> str:
        try:
            began = dt.datetime.fromisoformat(self.since)
        except ValueError:
            return self.since
        began = began if began.tzinfo else began.replace(tzinfo=dt.UTC)
        minutes = max(0, int((dt.datetime.now(dt.UTC) - began).total_seconds() // 60))
        return f"{began.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC ({minutes} min ago)"


def holders(text: str) -> Iterator[Holder]:
    """Everybody whom the engine's refusal names."""
    for match in HOLDER.finditer(text):
        yield Holder(match["stack"], match["user"], match["host"], int(match["pid"]), match["since"], match["path"])


def is_pulumi(pid: int) -> bool:
    """
    Whether a process of this machine is an engine. Numbers of processes come again: the one that has it now may be anything. One that is
    dead and not yet buried does not count.
    """
    if not 0 < pid < 2**31:  # would be a group of processes, or none that there can be
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").partition("(")
        name, _, state = rest.rpartition(") ")
    except OSError:  # no such folder on this system
        done = subprocess.run(["ps", "-o", "state=,comm=", "-p", str(pid)], capture_output=True, text=True, check=False)
        state, _, name = done.stdout.strip().partition(" ")
    return not state.startswith("Z") and os.path.basename(name.strip()).startswith("pulumi")
