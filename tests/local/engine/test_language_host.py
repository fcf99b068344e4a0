"""Our language host: it serves what the engine asks, and is gone when the engine is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

HOST = [sys.executable, "-u", "-m", "infra.local.engine.language_host"]


@pytest.fixture
def stub() -> Iterator[Any]:
    """A running host, asked as the engine asks."""
    process = subprocess.Popen(HOST, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
        yield language_pb2_grpc.LanguageRuntimeStub(channel)  # type: ignore[no-untyped-call]
    process.terminate()
    assert process.wait() == 0
    process.stdout.close()


def run_plugin(stub: Any, folder: Path, *arguments: str) -> list[Any]:
    info = language_pb2.ProgramInfo(root_directory=str(folder), program_directory=str(folder), entry_point=".")
    request = language_pb2.RunPluginRequest(pwd=str(folder), args=arguments, env=["SAYS=hello"], info=info, kind="resource")
    return list(stub.RunPlugin(request))


def test_answers_what_the_engine_asks_first(stub: Any) -> None:
    """Handshake, its version, and that nothing is to be installed."""
    stub.Handshake(language_pb2.LanguageHandshakeRequest(engine_address="127.0.0.1:1"))
    assert stub.GetPluginInfo(empty_pb2.Empty()).version == "3.272.0"
    assert list(stub.InstallDependencies(language_pb2.InstallDependenciesRequest())) == []


def test_a_plugin_is_run_with_its_output_and_exit_code(stub: Any, tmp_path: Path) -> None:
    """What a plugin writes comes through, then how it ended."""
    (tmp_path / "__main__.py").write_text(
        "import os, sys\nprint(os.environ['SAYS'], *sys.argv[1:])\nprint('trouble', file=sys.stderr)\nsys.exit(3)\n", encoding="utf-8"
    )
    answers = run_plugin(stub, tmp_path, "127.0.0.1:1")
    assert b"".join(one.stdout for one in answers) == b"hello 127.0.0.1:1\n"
    assert b"".join(one.stderr for one in answers) == b"trouble\n"
    assert answers[-1].exitcode == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_quietly_when_it_is_asked(number: int) -> None:
    """The engine asks by a signal: no trace, and no error."""
    process = subprocess.Popen(HOST, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (0, b"", b"")


def test_ends_with_its_engine_even_if_that_is_killed() -> None:
    """Killed with -9, the engine says nothing: the host sees that it is gone, and goes too."""
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    program = "import subprocess, sys; p = subprocess.Popen(sys.argv[1:], close_fds=False); p.wait()"
    engine = subprocess.Popen([sys.executable, "-c", program, *HOST], stdout=subprocess.PIPE, pass_fds=[theirs])
    os.close(theirs)
    assert engine.stdout is not None
    assert engine.stdout.readline().strip().isdigit()
    engine.kill()
    engine.wait()
    engine.stdout.close()
    with os.fdopen(ours, "rb") as pipe:
        assert pipe.read() == b""  # ends only when the last process that holds the other end is gone
