"""The sandbox as a process of its own: started once, found again, ended when nobody needs it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import catalog
from infra.errors import MachineError

START_SECONDS = 30
STOP_SECONDS = 10
LOOKS_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Running:
    """A sandbox that answers."""

    pid: int
    port: int
    folder: Path
    code: str = ""
    """Which code it runs: see `code`."""
    manual_clock: bool = False

    @property
    def base(self) -> str:
        """Address that every endpoint begins with."""
        return f"http://127.0.0.1:{self.port}"


def holder(folder: Path) -> int | None:
    """The process that holds a folder's lock: its server does for as long as it lives, however it ends. 0: it does not say which it is."""
    path = folder / "lock"
    if not path.exists():
        return None
    with path.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = lock.read(20)
            return int(said) if said.isdigit() else 0
    return None


def running(folder: Path) -> Running | None:
    """The sandbox of a folder; None where none runs, or one that has only just begun."""
    pid = holder(folder)
    said = _said(folder)
    if pid is None or said.get("pid") != pid or not isinstance(said.get("port"), int):
        return None
    return Running(pid, said["port"], folder, said.get("code", ""), said.get("manual_clock", False))


def _said(folder: Path) -> dict[str, Any]:
    """What the last server of a folder wrote about itself."""
    try:
        said = json.loads((folder / "server.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def start(folder: Path, projects: Sequence[str] = (), *, port: int | None = None, manual_clock: bool = False) -> Running:
    """
    Starts the sandbox of a folder, or finds it, with *projects* in it.

    It keeps the port that it had: the engine's state knows the provider by it.

    Raises:
        MachineError: It does not come up, or runs on another port or with another clock than asked for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(folder):
        found = running(folder)
        if holder(folder) is not None and (found is None or found.code != code()):
            stop(folder)  # another version of this project started it, or it does not say where it is
            found = None
        if found is None:
            found = _spawn(folder, port if port is not None else _last_port(folder), manual_clock)
            if port not in (None, 0, found.port):
                stop(folder)
                raise MachineError(f"port {port} is taken\n  fix: name another one, or none: a free one is found")
        elif port not in (None, 0, found.port):
            raise MachineError(f"the sandbox of {folder} runs already, on port {found.port}\n  fix: accelform sandbox stop")
        elif manual_clock and not found.manual_clock:
            raise MachineError(f"the sandbox of {folder} runs already, with a clock that polls move\n  fix: accelform sandbox stop")
    for project in projects:
        ask(found, "POST", "projects", {"project": project})
    return found


def code() -> str:
    """Stands for the code of the sandbox and of what it imports, as it is on the disk."""
    rooms = (Path(__file__).parent, Path(catalog.__file__).parent)
    times = [path.stat().st_mtime_ns for room in rooms for path in room.rglob("*") if path.suffix in (".py", ".csv")]
    return f"{len(times)}-{max(times)}"


def stop(folder: Path) -> bool:
    """
    Ends the sandbox of a folder; what stands in it stays. False where none runs.

    Raises:
        MachineError: It does not say which process it is, or does not end.
    """
    pid = holder(folder)
    if pid is None:
        return False
    if pid <= 1:
        raise MachineError(
            f"a sandbox runs on {folder}, and does not say which process it is\n  fix: end it by hand: fuser -k {folder}/lock"
        )
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + STOP_SECONDS
        while time.monotonic() < until:
            if holder(folder) is None:
                return True
            time.sleep(LOOKS_SECONDS)
    raise MachineError(f"the sandbox of {folder}, process {pid}, does not end\n  fix: end it by hand")


def ask(sandbox: Running, method: str, path: str, body: Any = None) -> dict[str, Any]:
    """
    Asks the sandbox about itself: `ask(running, "GET", "status")`.

    Raises:
        MachineError: It does not answer.
    """
    import httpx

    try:
        url = f"{sandbox.base}/sandbox/{path}"
        # Without `verify=False` each call reads all certificates of this machine first, for plain HTTP: 45 ms.
        answer = httpx.request(method, url, json=body, timeout=START_SECONDS, trust_env=False, verify=False)  # noqa: S501
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise MachineError(f"the sandbox at {sandbox.base} does not answer: {error}\n  fix: accelform sandbox stop") from None
    found: dict[str, Any] = answer.json()
    return found


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    with (folder / "starting").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _last_port(folder: Path) -> int:
    port = _said(folder).get("port")
    return port if isinstance(port, int) and 0 < port < 65536 else 0


def _spawn(folder: Path, port: int, manual_clock: bool) -> Running:
    # -P: what the user's folder holds is no part of this program.
    command = [sys.executable, "-P", "-m", "infra.sandbox.server", str(folder), str(port), *(["--manual-clock"] if manual_clock else [])]
    log = folder / "server.log"
    to_log = (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), to_log, (os.POSIX_SPAWN_DUP2, 1, 2)]
    # In a session of its own: it outlives the command, and an interrupt of the command is not its own.
    pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=files, setsid=True)
    until = time.monotonic() + START_SECONDS
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        found = running(folder)
        if found is not None and found.pid == pid:
            return found
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
        time.sleep(LOOKS_SECONDS)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
    raise MachineError("the sandbox does not come up\n  " + "\n  ".join(said or [f"nothing in {log}"]))
