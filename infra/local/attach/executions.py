"""Executions of Cloud Run jobs: a local process for each attempt of a runner of this project."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from infra.errors import MachineError
from infra.local.attach import commands
from infra.local.attach.cloud import Sandbox
from infra.local.attach.commands import ForeignError
from infra.local.attach.hosts import NOT_STARTED
from infra.local.attach.lines import Lines, Speaker
from infra.local.attach.process import Process

NOTICE_SECONDS = 10.0
"""Between SIGTERM and SIGKILL. Source: https://cloud.google.com/run/docs/container-contract, "job termination", read 2026-11."""

SWEEPS = "--sweep"
"""Argument of a runner that looks after all jobs."""
LOOKS_SECONDS = 0.05
KILLED = 137


@dataclass(slots=True)
class Attempt:
    said: dict[str, Any]
    process: Process
    lines: Lines


class Executions:
    """Attempts that wait for somebody to run them."""

    def __init__(self, sandbox: Sandbox, say: Callable[[str], None], heard: Callable[[Speaker, str], None]) -> None:
        self._heard = heard
        self._sandbox = sandbox
        self._say = say
        self._running: dict[tuple[str, int, int], Attempt] = {}
        self._ended = False
        self._first = True

    @property
    def busy(self) -> bool:
        """Whether one runs, or has ended since the last look: Cloud Run may begin it again."""
        return bool(self._running) or self._ended

    def step(self) -> None:
        self._ended = False
        waiting = {(one["name"], one["task"], one["attempt"]): one for one in self._sandbox.own("GET", "executions")["executions"]}
        self._leave_out(waiting)
        for key, said in waiting.items():
            if key not in self._running and said["state"] == "pending":
                self._start(key, said)
            elif self._first and said["state"] == "running":
                self._say(f"{_short(said)} has lost whoever ran it: Cloud Run begins it again")
                self._moved(said, "failed", exit_code=KILLED, message="who ran it was ended")
                self._ended = True
        self._first = False
        for key, attempt in list(self._running.items()):
            attempt.lines.send(self._sandbox.log)
            if key not in waiting:  # cancelled, or over its time: nobody waits for it
                attempt.process.end(NOTICE_SECONDS)
            if (code := attempt.process.code()) is not None:
                attempt.lines.send(self._sandbox.log)
                del self._running[key]
                self._ended = True
                self._say(f"{_short(attempt.said)} ended with {code}")
                if key in waiting:
                    self._moved(attempt.said, "failed" if code else "succeeded", exit_code=code)

    def _leave_out(self, waiting: dict[tuple[str, int, int], dict[str, Any]]) -> None:
        """
        Cancels sweeps that would begin at one real moment, as the clock was moved over their hours: the last one sees all that they would.
        """
        sweeps: dict[str, list[tuple[str, int, int]]] = {}
        for key, said in waiting.items():
            if said["state"] == "pending" and SWEEPS in said["args"]:
                sweeps.setdefault(said["name"].rpartition("/executions/")[0], []).append(key)
        for *others, _ in sweeps.values():
            for key in others:
                self._sandbox.cancel(waiting.pop(key)["name"])
            if others:
                self._say(f"the clock was moved over {len(others)} sweeps, which are cancelled: the last one sees what they would have")

    def _start(self, key: tuple[str, int, int], said: dict[str, Any]) -> None:
        try:
            command = commands.local(said, commands.RUNNERS)
            if said.get("secret_env"):
                raise ForeignError(f"{_short(said)} wants secrets, and the sandbox has none: {', '.join(said['secret_env'])}")
        except ForeignError as error:
            self._say(str(error))
            self._moved(said, "failed", exit_code=NOT_STARTED, message=str(error))
            return
        words = said["name"].split("/")
        resource = {"type": "cloud_run_job", "labels": {"project_id": words[1], "location": words[3], "job_name": words[5]}}
        labels = {"job": words[5], "execution": words[-1], "attempt": str(said["attempt"])}
        lines = Lines(Speaker(words[1], "run.googleapis.com/stdout", resource, labels), self._heard)
        environment = commands.environment(os.environ, said["env"], self._sandbox.base)
        self._moved(said, "running")
        self._running[key] = Attempt(said, Process(command, environment, lines.add), lines)
        self._say(f"{_short(said)} runs {' '.join(command[2:])}")

    def _moved(self, said: dict[str, Any], state: str, **more: Any) -> None:
        self._sandbox.own("POST", "executions", {**{key: said[key] for key in ("name", "task", "attempt")}, "state": state, **more})

    def close(self) -> None:
        """Ends all of them as Cloud Run does, and says that they failed: another attempt goes on once somebody is attached again."""
        until = time.monotonic() + NOTICE_SECONDS
        for attempt in self._running.values():
            attempt.process.end(NOTICE_SECONDS)
        while any(attempt.process.code() is None for attempt in self._running.values()) and time.monotonic() < until:
            time.sleep(LOOKS_SECONDS)
        for attempt in self._running.values():
            attempt.process.kill()
            with suppress(MachineError):  # it is over by now, or the sandbox is gone
                self._moved(attempt.said, "failed", exit_code=attempt.process.code() or KILLED, message="who ran it was ended")


def _short(said: dict[str, Any]) -> str:
    return f"execution {said['name'].rpartition('/')[2]}, attempt {said['attempt']}"
