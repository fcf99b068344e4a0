"""
The engine's host for Python programs, where the official one is not to be had: it stands beside the built engine.

It runs the program in its own process, and starts policy packs and providers as processes of their own, by forking where that is safe. It
ends with the engine.
"""

from __future__ import annotations

import gc
import os
import queue
import runpy
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import IO, Any

import grpc
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from infra.local.engine.forks import Forks, Fresh, Plugin, can_fork

WORKERS = 32
MESSAGE_BYTES = 400 * 1024 * 1024
LOOKS_AT_PARENT_SECONDS = 0.1

_plugins: set[Plugin] = set()


class Host(LanguageServer):
    """The SDK's own server for programs, and what it leaves out."""

    def __init__(self, forks: Forks | None) -> None:
        super().__init__(lambda: None)
        self._start = Fresh if forks is None else forks.start

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        from importlib.metadata import version

        return plugin_pb2.PluginInfo(version=version("pulumi"))

    def InstallDependencies(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return iter(())  # make installs them, by hash

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return language_pb2.GetProgramDependenciesResponse()

    def Run(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        """Runs the program. Its errors were logged already: the engine is only told to stop."""
        folder = Path(request.info.program_directory) / request.info.entry_point

        def program() -> None:
            gc.disable()  # a program ends before garbage matters; looking for it takes a seventh of a preview
            os.chdir(folder)
            runpy.run_path(str(folder), run_name="__main__")

        self.program = program
        answer: Any = super().Run(request, context)  # type: ignore[no-untyped-call]
        if answer.error:
            answer.ClearField("error")
            answer.bail = True
        return answer

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802 - the RPC's name
        """Runs a policy pack or a provider, and hands its output on until it ends."""
        folder = request.info.program_directory or request.program
        # A policy pack is started as a provider is: the SDK's own launcher only imports the SDK first, which costs 0.4 s of CPU.
        env = dict(pair.split("=", 1) for pair in request.env if "=" in pair)
        process: Plugin = self._start([folder, *request.args], folder, env)
        _plugins.add(process)
        context.add_callback(process.kill)
        try:
            yield from _output(process)
            yield language_pb2.RunPluginResponse(exitcode=process.wait())
        finally:
            process.kill()
            process.wait()
            _plugins.discard(process)


def _output(process: Plugin) -> Iterator[Any]:
    """What a process writes, as it comes, until both its streams end."""
    written: queue.Queue[tuple[str, bytes]] = queue.Queue()

    def pump(name: str, stream: IO[bytes]) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            written.put((name, chunk))
        written.put((name, b""))

    for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
        threading.Thread(target=pump, args=(name, stream), daemon=True).start()
    ended = 0
    while ended < 2:
        name, chunk = written.get()
        if chunk:
            yield language_pb2.RunPluginResponse(stdout=chunk) if name == "stdout" else language_pb2.RunPluginResponse(stderr=chunk)
        else:
            ended += 1


def _end(*_: object) -> None:
    for process in list(_plugins):
        process.kill()
    os._exit(0)


def main() -> None:
    """Serves until the engine ends, by whatever means: its port is the first line of standard output."""
    forks = Forks() if can_fork() else None  # before gRPC has threads
    # The engine asks by SIGINT, and waits: the answer is a quiet end, at once.
    signal.signal(signal.SIGINT, _end)
    signal.signal(signal.SIGTERM, _end)
    engine = os.getppid()
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=[("grpc.max_receive_message_length", MESSAGE_BYTES)])
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Host(forks), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    never = threading.Event()
    while os.getppid() == engine:
        never.wait(LOOKS_AT_PARENT_SECONDS)
    _end()


if __name__ == "__main__":
    main()
