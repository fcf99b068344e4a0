"""
Starts plugins out of a process that has imported already what each of them would import for itself, in about half a second.

It is forked while the language host has one thread yet: a process that serves gRPC cannot fork. It waits, forks a plugin for each request,
says how each ended, and takes all of them along when the host is gone, however that ended.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, NoReturn, Protocol

from infra.provider.start import without_command_line

REQUEST_BYTES = 1 << 20
PACK = "PulumiPolicy.yaml"
"""File that makes a folder a policy pack."""
SAYS = 3
"""File descriptors of a request: standard output, standard error, and where it is said which process it is and how it ended."""


class Plugin(Protocol):
    """A running plugin."""

    stdout: IO[bytes]
    stderr: IO[bytes]

    def kill(self) -> None:
        """Ends it at once, unless it has ended."""

    def wait(self) -> int:
        """Its exit code, once it has ended; of one that a signal ended, the signal's number below 0."""


def can_fork() -> bool:
    """Whether a process may fork here after it imported what it needs: on macOS, Apple's frameworks crash in what was forked."""
    return sys.platform == "linux"


class Fresh:
    """A plugin as a process that starts anew."""

    def __init__(self, arguments: Sequence[str], folder: str, env: Mapping[str, str]) -> None:
        command = [sys.executable, "-u", *arguments]
        self._process = subprocess.Popen(
            command, cwd=folder, env=os.environ | env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.stdout: IO[bytes] = self._process.stdout
        self.stderr: IO[bytes] = self._process.stderr

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        return self._process.wait()


class Forked:
    """A plugin that was forked."""

    def __init__(self, stdout: int, stderr: int, said: int) -> None:
        self.stdout: IO[bytes] = os.fdopen(stdout, "rb", buffering=0)
        self.stderr: IO[bytes] = os.fdopen(stderr, "rb", buffering=0)
        self._said = os.fdopen(said, "rb")
        self._pid = int(self._said.readline())
        self._code: int | None = None

    def kill(self) -> None:
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._code is None:
            self._code = int(self._said.readline() or -signal.SIGKILL)
            for stream in (self.stdout, self.stderr, self._said):
                stream.close()
        return self._code


class Forks:
    """The host's end. The process that forks is there as soon as this is made, and must be made while there is one thread."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self._requests.close()
            _serve(theirs)
        theirs.close()

    def start(self, arguments: Sequence[str], folder: str, env: Mapping[str, str]) -> Forked:
        """
        Starts a program: `python FOLDER ARGUMENTS`.

        Args:
            arguments: What is run, and what it is told.
            folder: Where it runs.
            env: What its environment has besides the host's.
        """
        pipes = [os.pipe() for _ in range(SAYS)]
        job = json.dumps({"arguments": list(arguments), "folder": folder, "env": dict(env)})
        socket.send_fds(self._requests, [job.encode()], [ours for _, ours in pipes])
        for _, ours in pipes:
            os.close(ours)
        return Forked(*(theirs for theirs, _ in pipes))


def _serve(requests: socket.socket) -> None:
    """Forks, until the host is gone. Comes back in what was forked alone, once the program that it runs has ended."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # the host's output ends with the host
        os.dup2(null, stream)
    for number in (signal.SIGINT, signal.SIGTERM):  # are the host's, who ends all
        signal.signal(number, signal.SIG_IGN)
    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.freeze()  # what was imported stays for ever, and is shared
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([requests.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _bury(running)
        if requests.fileno() not in ready:
            continue
        job, given, _, _ = socket.recv_fds(requests, REQUEST_BYTES, SAYS)
        if not job:
            _end(running)
        asked = json.loads(job)
        if not Path(asked["folder"], PACK).exists():
            _import_what_providers_share()
        out, err, said = given
        pid = os.fork()
        if pid == 0:
            for one in (requests.detach(), ended, wakes, null, said, *running.values()):
                os.close(one)
            _become(asked, out, err)
        os.close(out)
        os.close(err)
        running[pid] = said
        os.write(said, f"{pid}\n".encode())


def _import_what_providers_share() -> None:
    """Once, when the first of them is asked for: two or three are, and a policy pack needs none of it."""
    without_command_line()
    import_module("infra.provider.server")
    import_module("httpx")


def _bury(running: dict[int, int]) -> None:
    """Says how those ended that have."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        said = running.pop(pid)
        with suppress(BrokenPipeError):
            os.write(said, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(said)


def _end(running: Mapping[int, int]) -> NoReturn:
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


def _become(job: Mapping[str, object], out: int, err: int) -> NoReturn:
    """Runs the program in this process, as a Python that was started for it would. How it ends is Python's own way, up through the host."""
    for stream, one in ((1, out), (2, err)):
        os.dup2(one, stream)
        os.close(one)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    arguments, folder, env = job["arguments"], job["folder"], job["env"]
    assert isinstance(arguments, list)
    assert isinstance(folder, str)
    assert isinstance(env, dict)
    os.environ.update(env)
    os.chdir(folder)
    with suppress(OSError):
        Path("/proc/self/comm").write_text(Path(folder).name, encoding="utf-8")  # what `ps` shows
    sys.argv[:] = arguments
    runpy.run_path(arguments[0], run_name="__main__")
    sys.exit()
