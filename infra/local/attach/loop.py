"""The loop that looks at the sandbox, and starts and ends processes for what it sees."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from infra.errors import MachineError
from infra.local.attach.cloud import Sandbox
from infra.local.attach.custom_jobs import CustomJobs
from infra.local.attach.executions import Executions
from infra.local.attach.hosts import Hosts
from infra.local.attach.lines import Speaker
from infra.local.attach.models import Answers, Models

HOLD_SECONDS = 15.0
"""Real seconds for which each look says that somebody is here: the sandbox's clock is not moved on while a job's container runs, or a
deployed model's server is on its way."""
LOOKS_SECONDS = 0.1
NOTICE_SECONDS = 30.0
"""From SIGTERM to SIGKILL. Source: https://cloud.google.com/compute/docs/instances/spot: a shutdown period of up to 30 seconds."""


class Attached:
    """
    Hands for one sandbox, until it is closed; then all its processes end.

    Args:
        base: Address of the sandbox, such as `http://127.0.0.1:9555`.
        say: Gets a sentence for each thing that happens. (default: nobody hears it)
        heard: Gets each line that a machine's container or a runner prints, from another thread.
        met: Gets each deployed model whose server answers, before the sandbox knows of it: until then its clock is held.
        notice: Real seconds from SIGTERM to SIGKILL.

    Raises:
        MachineError: The address is not of this machine.
    """

    def __init__(
        self,
        base: str,
        say: Callable[[str], None] = lambda text: None,
        *,
        heard: Callable[[Speaker, str], None] = lambda speaker, line: None,
        met: Callable[[Answers], None] = lambda answers: None,
        notice: float = NOTICE_SECONDS,
    ) -> None:
        self._sandbox = Sandbox(base)
        self._holder = f"attach-{os.getpid()}-{id(self)}"
        self.hosts = Hosts(self._sandbox, say, notice, heard)
        self.custom_jobs = CustomJobs(self._sandbox, say, notice, heard)
        self.executions = Executions(self._sandbox, say, heard)
        self.models = Models(self._sandbox, say, met)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def busy(self) -> bool:
        """Whether something is left to do."""
        return self.hosts.busy or self.custom_jobs.busy or self.executions.busy or self.models.busy

    def step(self) -> None:
        """
        One look at everything.

        Raises:
            MachineError: The sandbox does not answer.
        """
        self._hold(HOLD_SECONDS)
        entries = self._sandbox.own("GET", "machines")["machines"]
        self.hosts.step(entries)
        self.custom_jobs.step(entries)
        self._hold(HOLD_SECONDS)
        self.executions.step()
        self.models.step()

    def _hold(self, seconds: float) -> None:
        done = [*self.hosts.done, *self.custom_jobs.done, *self.models.done]
        self._sandbox.own("POST", "busy", {"holder": self._holder, "seconds": seconds, "done": done})

    def run(self, *, once: bool = False, until: Callable[[], bool] = lambda: False) -> None:
        """Goes on until *until*; with *once*, until nothing is left to do."""
        while True:
            self.step()
            if until() or (once and not self.busy):
                return
            time.sleep(LOOKS_SECONDS)

    def close(self) -> None:
        """Ends every process: runners let go of their runs, the others end at once."""
        self.hosts.kill()
        self.custom_jobs.kill()
        self.executions.close()
        self.models.kill()
        with suppress(MachineError):  # the sandbox is gone
            self._hold(0)
        self._sandbox.close()
