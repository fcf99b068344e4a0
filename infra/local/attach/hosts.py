"""Machines that were made for a job's container: a local process for each host, until the machine is gone."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from infra.errors import MachineError
from infra.labels import CONTAINER_KEY, RUN_KEY
from infra.local.attach import commands
from infra.local.attach.cloud import Sandbox
from infra.local.attach.commands import ForeignError
from infra.local.attach.lines import Lines, Speaker
from infra.local.attach.process import Process
from infra.operate.jobs.desk import CONTAINER_LOG
from infra.operate.jobs.words import host_word

KINDS = ("instance", "node")
RUNS = ("RUNNING", "READY")
NOT_STARTED = 125
"""Exit code of a container that could not be started, as `docker run` has it."""


@dataclass(slots=True)
class Host:
    """One host of a machine."""

    number: int
    lines: Lines
    process: Process | None = None
    code: int | None = None


@dataclass(slots=True)
class Machine:
    """One time that a machine ran."""

    entry: dict[str, Any]
    container: dict[str, Any]
    run: dict[str, Any]
    count: int
    """Processes that it gets: hosts of a node, one of a machine of Compute Engine."""
    hosts: list[Host] = field(default_factory=list)
    done: bool = False

    @property
    def env(self) -> dict[str, str]:
        """The container's variables, and those of the try over them."""
        both = {**self.container.get("env", {}), **self.run.get("env", {})}
        return {str(name): str(value) for name, value in both.items()}

    @property
    def name(self) -> str:
        return str(self.entry["name"].rpartition("/")[2])


class Hosts:
    """Every machine with a job's container."""

    def __init__(self, sandbox: Sandbox, say: Callable[[str], None], notice: float, heard: Callable[[Speaker, str], None]) -> None:
        self._sandbox = sandbox
        self._heard = heard
        self._say = say
        self._notice = notice
        self._known: dict[str, Machine] = {}

    @property
    def busy(self) -> bool:
        """Whether a process runs, or is to run."""
        return any(not machine.done for machine in self._known.values())

    @property
    def done(self) -> list[str]:
        """Keys of those whose containers have ended."""
        return [key for key, machine in self._known.items() if machine.done]

    def step(self, entries: list[dict[str, Any]]) -> None:
        """
        Starts what is to start, ends what is to end, and says how it ended.

        Args:
            entries: The sandbox's ledger.
        """
        every = {entry["key"]: entry for entry in entries if entry["container"] and entry["kind"] in KINDS}
        there = {key: entry for key, entry in every.items() if entry["ended"] is None}
        for key, entry in there.items():
            if key not in self._known and (body := self._sandbox.machine(entry)) is not None:
                self._known[key] = self._read(entry, body)
        for together in self._slices():
            self._start(together)
        for key, machine in self._known.items():
            if not machine.done:
                self._follow(machine, there.get(key))

    def _read(self, entry: dict[str, Any], body: dict[str, Any]) -> Machine:
        metadata = body.get("metadata", {})
        if entry["kind"] == "instance":
            metadata = {item["key"]: item.get("value", "") for item in metadata.get("items", [])}
        count = len(body.get("networkEndpoints", [])) if entry["kind"] == "node" else 1
        try:
            container, run = json.loads(metadata[CONTAINER_KEY]), json.loads(metadata.get(RUN_KEY, "{}"))
            if not isinstance(container, dict) or not isinstance(run, dict):
                raise ValueError("not an object")
        except ValueError as error:
            self._say(f"{entry['name']}: its metadata is no JSON that says a container: {error}")
            return Machine(entry, {}, {}, count, done=True)
        return Machine(entry, container, run, count)

    def _slices(self) -> Iterator[list[Machine]]:
        """Machines that begin together: all hosts of a try, once all of them are there."""
        waiting: dict[str, list[Machine]] = {}
        for key, machine in self._known.items():
            if not machine.hosts and not machine.done:
                waiting.setdefault(str(machine.run.get("state", "")) or key, []).append(machine)
        for together in waiting.values():
            wanted = together[0].env.get("WL_HOSTS", "1")
            if sum(machine.count for machine in together) >= (int(wanted) if wanted.isdigit() else 1):
                yield sorted(together, key=lambda machine: machine.name)

    def _start(self, together: list[Machine]) -> None:
        several = sum(machine.count for machine in together) > 1
        peers = {"WL_COORDINATOR": f"127.0.0.1:{free_port()}"} if several else {}
        number = 0
        for machine in together:
            for _ in range(machine.count):
                labels = {"machine": machine.name, "zone": machine.entry["zone"], "host": str(number), **machine.entry["labels"]}
                host = Host(number, Lines(_speaker(machine.entry, machine.name, labels), self._heard))
                machine.hosts.append(host)
                self._run(machine, host, peers | ({"WL_PROCESS_ID": str(number)} if several else {}))
                number += 1

    def _run(self, machine: Machine, host: Host, peers: dict[str, str]) -> None:
        try:
            command = commands.local(machine.container, commands.MACHINES)
            own = machine.env
            own |= commands.simulated(own) | peers
        except ForeignError as error:
            self._say(f"{machine.name}: {error}")
            host.lines.add(str(error))
            self._ended(machine, host, NOT_STARTED)
            return
        host.process = Process(command, commands.environment(os.environ, own, self._sandbox.base), host.lines.add)
        what = machine.entry.get("accelerator_type") or machine.entry.get("machine_type")
        chips = f"{own['WL_CHIPS']} devices of this machine's processor stand for the chips of {what}"
        self._say(f"{machine.name}: host {host.number} runs {' '.join(command[2:])}; {chips}")

    def _follow(self, machine: Machine, entry: dict[str, Any] | None) -> None:
        """Until every process has ended. A machine that is leaving has its processes told; one that is gone says nothing any more."""
        if entry is None and not machine.hosts:
            machine.done = True
        for host in machine.hosts:
            host.lines.send(self._sandbox.log)
            if host.process is None or host.code is not None:
                continue
            if entry is None or entry["state"] not in RUNS:
                host.process.end(self._notice)
            if (code := host.process.code()) is not None:
                host.lines.send(self._sandbox.log)
                self._ended(machine, host, code, silent=entry is None)
        if machine.hosts and all(host.code is not None for host in machine.hosts):
            machine.done = True

    def _ended(self, machine: Machine, host: Host, code: int, *, silent: bool = False) -> None:
        """Writes what the host's start script writes: `host-K.json` in the folder of the try."""
        host.code = code
        self._say(f"{machine.name}: host {host.number} ended with {code}{', after its machine was gone' if silent else ''}")
        folder = str(machine.run.get("state", ""))
        if silent or not folder:
            return
        ended = self._sandbox.own("GET", "status")["time"]
        try:
            self._sandbox.write(f"{folder.rstrip('/')}/{host_word(host.number)}", {"host": host.number, "exit_code": code, "ended": ended})
        except MachineError as error:
            self._say(f"{machine.name}: how host {host.number} ended could not be written: {error}")

    def kill(self) -> None:
        """Ends every process at once."""
        for machine in self._known.values():
            for host in machine.hosts:
                if host.process is not None and host.code is None:
                    host.process.kill()


def _speaker(entry: dict[str, Any], name: str, labels: dict[str, str]) -> Speaker:
    """As the driver of a host's container writes. Source: https://docs.docker.com/engine/logging/drivers/gcplogs/, read 2026-11."""
    project, zone = entry["project"], entry["zone"]
    resource = {"type": "gce_instance", "labels": {"project_id": project, "zone": zone, "instance_id": name}}
    return Speaker(project, CONTAINER_LOG, resource, labels, {"name": name, "zone": zone})


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
