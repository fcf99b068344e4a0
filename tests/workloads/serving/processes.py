"""Servers as processes of their own, asked over loopback."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from workloads.files import Folder

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 60
"""How long a server may take for what it does at once on a machine that has nothing else to do."""


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    """A server."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS)

    def until_listening(self) -> None:
        """Until a connection can be made."""
        self._until(self.listens)

    def until_health(self, route: str, status: int) -> None:
        """Until health says so."""
        self.until_listening()
        self._until(lambda: httpx.get(f"http://127.0.0.1:{self.port}{route}", timeout=PATIENCE_SECONDS).status_code == status)

    def until_refusing(self) -> None:
        """Until no connection is made any more."""
        self._until(lambda: not self.listens())

    def listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS):
            return True
        return False

    def ended(self) -> tuple[int, str, str]:
        """Exit code and what was said on stdout and stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, out, err

    def _until(self, true: object) -> None:
        begun = time.monotonic()
        while not true():  # type: ignore[operator]
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() - begun < PATIENCE_SECONDS
            time.sleep(0.01)


@contextlib.contextmanager
def running(command: list[str], environment: dict[str, str], port: int | None = None) -> Iterator[Running]:
    """A server that is killed at the end, if it has not ended by itself."""
    port = port or free_port()
    given = {name: text for name, text in os.environ.items() if not name.startswith(("WL_", "AIP_"))}
    given |= {"PYTHONPATH": str(ROOT), "AIP_HTTP_PORT": str(port)} | environment
    process = subprocess.Popen([sys.executable, *command], env=given, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    server = Running(process, port)
    try:
        yield server
    finally:
        server.http.close()
        if process.poll() is None:
            process.kill()
            process.communicate()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


ECHO = [str(Path(__file__).with_name("program.py"))]


def echo_model(folder: Path, version: str = "11") -> Path:
    """A folder that the echo program reads, with its checksums."""
    source = folder / "source"
    source.mkdir()
    (source / "version.txt").write_text(version)
    Folder(str(folder / "model")).upload(source)
    return folder / "model"


def waiting_model(folder: Path) -> Path:
    """The same, whose loading waits until somebody writes `11` to its file."""
    model = echo_model(folder)
    (model / "version.txt").unlink()
    os.mkfifo(model / "version.txt")
    return model
