"""Deployed models: a local server for each whose container is a program of this project."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from infra.errors import MachineError
from infra.local.attach import commands
from infra.local.attach.cloud import Sandbox
from infra.local.attach.commands import ForeignError
from infra.local.attach.hosts import free_port
from infra.local.attach.lines import Lines, Speaker
from infra.local.attach.process import Process
from infra.sandbox.servers import served

NOTICE_SECONDS = 30.0
LOOKS_SECONDS = 0.5
HEALTH_SECONDS = 2.0
"""How long a look at a server's health may take."""


@dataclass(slots=True)
class Server:
    base: str
    health: str
    predict: str
    process: Process
    lines: Lines
    ready: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """A deployed model whose server answers."""

    endpoint: str
    id: str
    url: str
    """Where the server itself is asked for predictions."""


class Models:
    """Servers by endpoint and id of the deployed model. One that ended is not started again: its model is deployed anew for that."""

    def __init__(
        self,
        sandbox: Sandbox,
        say: Callable[[str], None],
        met: Callable[[Answers], None],
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self._met = met
        self._sandbox = sandbox
        self._say = say
        self._servers: dict[tuple[str, str], Server | None] = {}
        self._leaving: list[Server] = []
        self._wall = wall
        self._next = 0.0

    @property
    def done(self) -> list[str]:
        """Those that nobody answers for here, and that nobody need wait for."""
        return [served(*key) for key, server in self._servers.items() if server is None]

    @property
    def busy(self) -> bool:
        """Whether one is on its way."""
        return any(server is not None and not server.ready for server in self._servers.values())

    def step(self) -> None:
        """One look, at most every half second: all that stands is read for it."""
        if self._wall() < self._next:
            return
        self._next = self._wall() + LOOKS_SECONDS
        deployed = {(one["name"], item["id"]): item for one in self._sandbox.endpoints() for item in one["deployedModels"]}
        for key, item in deployed.items():
            if key not in self._servers:
                self._servers[key] = self._start(key, item)
        for key in [key for key in self._servers if key not in deployed]:
            if (gone := self._servers.pop(key)) is not None:
                self._tell(key, "")
                self._leaving.append(gone)
        for key, server in self._servers.items():
            if server is not None:
                self._follow(key, server)
        for server in self._leaving:
            server.process.end(NOTICE_SECONDS)
        self._leaving = [server for server in self._leaving if server.process.code() is None]

    def _start(self, key: tuple[str, str], deployed: dict[str, Any]) -> Server | None:
        version = self._sandbox.version(deployed)
        spec = version.get("containerSpec", {})
        try:
            command = commands.local({**spec, "image": spec.get("imageUri", "")}, commands.MODELS)
        except ForeignError as error:
            self._say(f"deployed model {key[1]} is not served here: {error}")
            return None
        port = free_port()
        routes = {"AIP_HEALTH_ROUTE": spec.get("healthRoute") or "/health", "AIP_PREDICT_ROUTE": spec.get("predictRoute") or "/predict"}
        own = {one["name"]: one.get("value", "") for one in spec.get("env", [])} | routes
        own |= {"AIP_HTTP_PORT": str(port), "AIP_STORAGE_URI": version.get("artifactUri", ""), "JAX_PLATFORMS": "cpu"}
        own |= {"AIP_DEPLOYED_MODEL_ID": key[1], "AIP_ENDPOINT_ID": key[0].rpartition("/")[2]}
        words = key[0].split("/")
        labels = {"endpoint_id": words[-1], "deployed_model_id": key[1]}
        resource = {"type": "aiplatform.googleapis.com/Endpoint", "labels": {"location": words[3], "endpoint_id": words[-1]}}
        lines = Lines(Speaker(words[1], "aiplatform.googleapis.com/prediction_container", resource, labels))
        process = Process(command, commands.environment(os.environ, own, self._sandbox.base), lines.add)
        self._say(f"deployed model {key[1]} is served by {' '.join(command[2:])} on port {port}")
        return Server(f"http://127.0.0.1:{port}", routes["AIP_HEALTH_ROUTE"], routes["AIP_PREDICT_ROUTE"], process, lines)

    def _follow(self, key: tuple[str, str], server: Server) -> None:
        server.lines.send(self._sandbox.log)
        if (code := server.process.code()) is not None:
            server.lines.send(self._sandbox.log)
            self._say(f"the server of deployed model {key[1]} ended with {code}; its lines are in the sandbox's logs")
            self._tell(key, "")
            self._servers[key] = None
        elif not server.ready and _is_healthy(server):
            server.ready = True
            self._met(Answers(*key, f"{server.base}{server.predict}"))
            self._tell(key, server.base)
            self._say(f"deployed model {key[1]} answers")

    def _tell(self, key: tuple[str, str], base: str) -> None:
        self._sandbox.own("POST", "servers", {"endpoint": key[0], "deployed_model": key[1], "base": base})

    def kill(self) -> None:
        for key, server in self._servers.items():
            if server is not None:
                server.process.kill()
                with suppress(MachineError):  # the sandbox is gone
                    self._tell(key, "")
        for server in self._leaving:
            server.process.kill()


def _is_healthy(server: Server) -> bool:
    address = f"{server.base}{server.health}"
    try:
        answer = httpx.get(address, timeout=HEALTH_SECONDS, trust_env=False, verify=False)  # noqa: S501 - plain HTTP of this machine
    except httpx.HTTPError:
        return False
    return answer.status_code == 200
