"""A job of the tests: the processes that a machine's hosts would run."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST_SECONDS = 900
"""What a job of the tests takes at most, on a machine that others use too."""
ROOT = Path(__file__).parent.parent.parent
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""For XLA: most of the time of a small job is that of compiling it."""


def finished(processes: list[subprocess.Popen[str]]) -> list[subprocess.CompletedProcess[str]]:
    """Each process at its end; none outlives its test."""
    try:
        said = [process.communicate(timeout=LONGEST_SECONDS)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return [subprocess.CompletedProcess([], process.returncode, "", text) for process, text in zip(processes, said, strict=True)]


def taken_away(process: subprocess.Popen[str], step: int) -> subprocess.CompletedProcess[str]:
    """A process at its end, which it was told of when it said that it had done *step*."""
    assert process.stderr is not None
    read: list[str] = []
    try:
        read += itertools.takewhile(lambda line: not line.startswith(f"step {step} of"), process.stderr)
        process.send_signal(signal.SIGTERM)
    finally:
        (ended,) = finished([process])
    # Of a program that failed before, this is all there is to say why.
    ended.stderr = "".join(read) + ended.stderr
    return ended


@dataclass
class Job:
    """One run, of one or more tries."""

    place: Path
    compiled: Path
    """Folder of what JAX compiled, shared by all jobs of the tests."""
    accelerator_type: str = "cpu"
    chips: int = 1
    simulated: bool = False
    save_every: int = 8
    data: Path | None = None
    workload: str = "train_recommender"

    @property
    def output(self) -> Path:
        return self.place / "output"

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.output / "report.json").read_bytes())
        return found

    def start(self, *arguments: str, hosts: int = 1) -> list[subprocess.Popen[str]]:
        """A process for each host."""
        command = [sys.executable, "-m", "workloads.entry", self.workload, *arguments]
        return [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for environment in self.environments(hosts)
        ]

    def environments(self, hosts: int) -> list[dict[str, str]]:
        """What each host's process is told."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        return [self._environment(host, hosts, port) for host in range(hosts)]

    def run(self, *arguments: str, hosts: int = 1) -> subprocess.CompletedProcess[str]:
        """To the end: what the first host said."""
        return finished(self.start(*arguments, hosts=hosts))[0]

    def _environment(self, host: int, hosts: int, port: int) -> dict[str, str]:
        found = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        found |= {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
        found |= {"JAX_COMPILATION_CACHE_DIR": str(self.compiled), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        found |= {"XLA_FLAGS": QUICK}
        found |= {"WL_RUN_ID": "20261201T180000Z", "WL_OUTPUT": str(self.output), "WL_CHECKPOINTS": str(self.place / "checkpoints")}
        found |= {"WL_ACCELERATOR_TYPE": self.accelerator_type, "WL_CHIPS": str(self.chips), "WL_SAVE_EVERY_STEPS": str(self.save_every)}
        found |= {"WL_SIMULATED_TPU": "1"} if self.simulated else {}
        if self.data is not None:
            found |= {"WL_DATA_CLICKS": str(self.data / "clicks"), "WL_DATA_PICTURES": str(self.data / "pictures")}
        if hosts > 1:
            found |= {"WL_HOSTS": str(hosts), "WL_COORDINATOR": f"127.0.0.1:{port}", "WL_PROCESS_ID": str(host)}
        return found
