"""
Lives of a training: each host of each try is a process of its own, which takes real signals and dies of them.

They are begun from one process that has imported all that training needs: to import it takes longer than a try of the tests.
"""

from __future__ import annotations

import atexit
import io
import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, forkserver
from multiprocessing.connection import Connection

from tests.workloads.jobs import LONGEST_SECONDS, Job

IMPORTS = (
    "workloads.recommender.loop",
    "workloads.recommender.train",
    "workloads.recommender.serve",
    "orbax.checkpoint",
    "grain",
    "jax.export",
)
STEP = "step "
PACE_SECONDS = 0.1
"""A step takes as long after a notice. JAX looks once in a second whether there was one, and steps of the tests take a thousandth of that."""


@dataclass
class Host:
    """One process."""

    process: multiprocessing.process.BaseProcess
    said: io.TextIOBase
    """What it writes."""
    goes: Connection
    """It waits for a word after each step that it tells of."""
    heard: list[str]

    @property
    def code(self) -> int | None:
        """As `subprocess` has it: negative where a signal ended it."""
        return self.process.exitcode

    @property
    def text(self) -> str:
        return "".join(self.heard)

    def until(self, step: int) -> bool:
        """Lets it work until *step* is done, and then it waits. No where it ended before."""
        allowed = False
        for line in self.said:
            self.heard.append(line)
            if line.startswith(f"{STEP}{step} of"):
                return True
            if line.startswith(STEP) and not allowed:
                self.go(step - int(line.split()[1]))
                allowed = True
        return False

    def go(self, steps: int = 1) -> None:
        """Lets it do so many steps more. That it may be gone is not for this place to judge."""
        with suppress(OSError):
            for _ in range(steps):
                self.goes.send_bytes(b"go")

    def signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def end(self) -> None:
        """Lets it work to its end, a step each `PACE_SECONDS`."""
        for line in self.said:
            self.heard.append(line)
            if line.startswith(STEP):
                connection.wait([self.process.sentinel], PACE_SECONDS)
                self.go()
        self.process.join(LONGEST_SECONDS)


@contextmanager
def begun(job: Job, *arguments: str, hosts: int = 1) -> Iterator[list[Host]]:
    """A process for each host; none outlives its test."""
    context = multiprocessing.get_context("forkserver")
    with ExitStack() as stack:
        found = []
        for environment in job.environments(hosts):
            ours, theirs = context.Pipe(duplex=False)
            their_goes, goes = context.Pipe(duplex=False)
            process = context.Process(target=_live, args=(environment, (job.workload, *arguments), theirs, their_goes))
            process.start()
            theirs.close()
            their_goes.close()
            said = stack.enter_context(os.fdopen(os.dup(ours.fileno()), encoding="utf-8", errors="replace"))
            ours.close()
            stack.callback(goes.close)
            stack.callback(_gone, process)
            found.append(Host(process, said, goes, []))
        yield found


def prepare() -> None:
    """Begins the one that all come from."""
    os.environ.setdefault("KERAS_BACKEND", "jax")  # which is chosen at an import
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(IMPORTS))
    forkserver.ensure_running()


def _gone(process: multiprocessing.process.BaseProcess) -> None:
    process.kill()
    process.join()


def _live(environment: Mapping[str, str], arguments: Sequence[str], said: Connection, goes: Connection) -> None:
    """As `python -m workloads.entry` does it, but that each step is told of, and waits."""
    os.dup2(said.fileno(), sys.stderr.fileno())
    said.close()
    os.environ.update(environment)
    import jax

    # JAX has looked at its own variables already.
    jax.config.update("jax_compilation_cache_dir", environment["JAX_COMPILATION_CACHE_DIR"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    from workloads import entry, tries
    from workloads.say import say

    def told(text: str) -> None:
        say(text)
        if text.startswith(STEP):
            goes.recv_bytes()

    tries.LOG_EVERY = 1
    tries.say = told  # type: ignore[attr-defined]
    try:
        code = entry.main(arguments)
    finally:
        atexit._run_exitfuncs()  # multiprocessing leaves without
    sys.exit(code)
