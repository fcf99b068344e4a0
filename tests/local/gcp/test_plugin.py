"""The plugin as the engine starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

FOLDER = Path(__file__).parents[3] / "infra" / "local" / "gcp" / "plugin"


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The plugin's folder, run from elsewhere."""
    process = subprocess.Popen([sys.executable, "-u", str(FOLDER), "127.0.0.1:1"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_answers_on_the_port_it_prints_and_ends_when_asked(plugin: subprocess.Popen[str]) -> None:
    """The first line is the port; an interrupt is a quiet end."""
    assert plugin.stdout
    with grpc.insecure_channel(f"127.0.0.1:{int(plugin.stdout.readline())}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        assert stub.GetPluginInfo(empty_pb2.Empty()).version == "10.2.0"
        assert stub.Handshake(provider_pb2.ProviderHandshakeRequest()).accept_secrets
        with pytest.raises(grpc.RpcError) as error:
            stub.Invoke(provider_pb2.InvokeRequest(tok="gcp:x:y"))
        assert error.value.details().startswith("the provider is not configured")
    plugin.send_signal(signal.SIGINT)
    assert plugin.wait(60) == 0


def test_says_that_it_is_python() -> None:
    """The engine starts it by the language host."""
    assert (FOLDER / "PulumiPlugin.yaml").read_text(encoding="utf-8") == "runtime: python\n"


def test_starts_without_the_sdk_of_the_cloud() -> None:
    """Its start is not kept waiting by what only programs need."""
    code = "import sys, infra.local.gcp.provider; sys.exit(any(name.startswith('pulumi_gcp') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
