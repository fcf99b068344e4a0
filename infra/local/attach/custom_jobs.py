"""Custom jobs of Vertex AI: a local process for each that runs a program of this project, until the job is over."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
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
from infra.sandbox.services.aiplatform.custom_jobs import RUNNING

KIND = "custom-job"
TASK = "workerpool0-0"
FOLDERS = {"AIP_MODEL_DIR": "model", "AIP_CHECKPOINT_DIR": "checkpoints", "AIP_TENSORBOARD_LOG_DIR": "logs"}
"""Variables that Vertex AI sets, and the folder below the job's own that each names. Source: `CustomJobSpec.baseOutputDirectory`."""


@dataclass(slots=True)
class Running:
    """The process of a job; none where it could not be started, or has ended."""

    name: str
    lines: Lines
    process: Process | None = None


class CustomJobs:
    """Every custom job that runs. One whose process has ended is over at once."""

    def __init__(self, sandbox: Sandbox, say: Callable[[str], None], notice: float, heard: Callable[[Speaker, str], None]) -> None:
        self._sandbox = sandbox
        self._heard = heard
        self._say = say
        self._notice = notice
        self._known: dict[str, Running] = {}

    @property
    def busy(self) -> bool:
        """Whether a process runs."""
        return any(one.process is not None for one in self._known.values())

    @property
    def done(self) -> list[str]:
        """Keys of those whose processes have ended."""
        return [key for key, one in self._known.items() if one.process is None]

    def step(self, entries: list[dict[str, Any]]) -> None:
        """
        Starts what is to start, ends what is to end, and says how it ended.

        Args:
            entries: The sandbox's ledger.
        """
        there = {entry["key"]: entry for entry in entries if entry["kind"] == KIND and entry["ended"] is None}
        for key, entry in there.items():
            if key not in self._known and entry["state"] == RUNNING and (job := self._sandbox.machine(entry)) is not None:
                self._known[key] = self._start(entry, job)
        for key, one in self._known.items():
            if one.process is not None:
                self._follow(one, one.process, there.get(key))

    def _start(self, entry: dict[str, Any], job: Mapping[str, Any]) -> Running:
        spec, id = job["jobSpec"], entry["name"].rpartition("/")[2]
        container = spec["workerPoolSpecs"][0].get("containerSpec", {})
        resource = {"type": "ml_job", "labels": {"project_id": entry["project"], "job_id": id, "task_name": TASK}}
        one = Running(entry["name"], Lines(Speaker(entry["project"], TASK, resource, entry["labels"]), self._heard))
        own = {item["name"]: item["value"].replace("$$(", "$(") for item in container.get("env", [])} | {"CLOUD_ML_JOB_ID": id}
        if folder := spec.get("baseOutputDirectory", {}).get("outputUriPrefix", ""):
            own |= {name: f"{folder.rstrip('/')}/{below}/" for name, below in FOLDERS.items()}
        try:
            command = commands.local(container | {"image": container.get("imageUri", "")}, commands.MACHINES)
            own |= commands.simulated(own)
        except ForeignError as error:
            self._say(f"custom job {id}: {error}")
            one.lines.add(str(error))
            one.lines.send(self._sandbox.log)
            self._ended(one, NOT_STARTED)
            return one
        one.process = Process(command, commands.environment(os.environ, own, self._sandbox.base), one.lines.add)
        self._say(f"custom job {id} runs {' '.join(command[2:])}, on this machine's processor in the place of {entry['machine_type']}")
        return one

    def _follow(self, one: Running, process: Process, entry: dict[str, Any] | None) -> None:
        """Until the process has ended: that of a job that is cancelled, or is over, is told to."""
        one.lines.send(self._sandbox.log)
        if entry is None or entry["state"] != RUNNING:
            process.end(self._notice)
        if (code := process.code()) is not None:
            one.lines.send(self._sandbox.log)
            one.process = None
            self._ended(one, code)

    def _ended(self, one: Running, code: int) -> None:
        self._say(f"custom job {one.name.rpartition('/')[2]}: its container ended with {code}")
        with suppress(MachineError):  # the job is over: nobody asks any more how its container ended
            self._sandbox.own("POST", "custom-jobs", {"name": one.name, "exit_code": code})

    def kill(self) -> None:
        """Ends every process at once."""
        for one in self._known.values():
            if one.process is not None:
                one.process.kill()
