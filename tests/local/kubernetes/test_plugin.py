"""The plugin as the engine starts it, and what it says while it works."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
import talk
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2_grpc, provider_pb2, provider_pb2_grpc

from infra.local.gcp.find import in_sandbox
from infra.local.kubernetes.provider import Kubernetes

FOLDER = Path(__file__).parents[3] / "infra" / "local" / "kubernetes" / "plugin"


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The plugin's folder, run from elsewhere."""
    process = subprocess.Popen([sys.executable, "-u", str(FOLDER), "127.0.0.1:1"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_answers_on_the_port_it_prints_and_ends_when_asked(plugin: subprocess.Popen[str]) -> None:
    """The first line is the port; an interrupt is a quiet end. Its version is the SDK's, by which the engine chooses it."""
    assert plugin.stdout
    with grpc.insecure_channel(f"127.0.0.1:{int(plugin.stdout.readline())}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        assert stub.GetPluginInfo(empty_pb2.Empty()).version == "4.34.2"
        assert stub.Handshake(provider_pb2.ProviderHandshakeRequest()).accept_secrets
        with pytest.raises(grpc.RpcError) as error:
            stub.Check(provider_pb2.CheckRequest(urn=talk.Engine.urn(talk.CONFIG_MAP)))
        assert error.value.details().startswith("the provider is not configured")
    plugin.send_signal(signal.SIGINT)
    assert plugin.wait(60) == 0


def test_starts_without_what_only_some_calls_need() -> None:
    """Its start is not kept waiting: the SDK of Kubernetes, schemas and YAML come when they are asked for."""
    late = "('pulumi_kubernetes', 'kubernetes_validate', 'jsonschema', 'ruamel', 'infra.catalog.manifests')"
    light = "from infra.provider import start; start.lightly()"
    code = f"import sys; {light}; import infra.local.kubernetes.provider; sys.exit(any(name in sys.modules for name in {late}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Log(engine_pb2_grpc.EngineServicer):
    """The engine's log."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, bool]] = []

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        self.lines.append((request.urn, request.message, request.ephemeral))
        return empty_pb2.Empty()


def test_progress_passes_and_warnings_stay() -> None:
    """In the log of the engine that shook hands: how far a wait is goes with the next line."""
    log = Log()
    server = grpc.server(futures.ThreadPoolExecutor(1))
    engine_pb2_grpc.add_EngineServicer_to_server(log, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        provider = Kubernetes()
        provider.Handshake(provider_pb2.ProviderHandshakeRequest(engine_address=f"127.0.0.1:{port}"), None)
        assert provider._say is not None
        provider._say("urn:a", "0 of 1 pods ready", False)
        provider._say("urn:a", "cluster is unreachable", True)
        del provider
        gc.collect()  # and with it its connection, before the server goes
    finally:
        server.stop(None).wait()
    assert log.lines == [("urn:a", "0 of 1 pods ready", True), ("urn:a", "cluster is unreachable", False)]


@pytest.mark.parametrize(
    ("token", "inputs", "id"),
    [
        (talk.CONFIG_MAP, {"metadata": {"name": "a", "namespace": "shop"}}, "shop/a"),
        (talk.NAMESPACE, {"metadata": {"name": "a", "namespace": "default"}}, "a"),
        (talk.RELEASE, {"name": "kueue", "namespace": "kueue-system"}, "kueue-system/kueue"),
        (talk.CONFIG_MAP, {"metadata": {}}, None),
        (talk.CONFIG_MAP, {}, None),
        ("kubernetes:yaml/v2:ConfigFile", {"metadata": {"name": "a"}}, None),
    ],
)
def test_a_create_that_was_cut_off_is_found_by_its_name(token: str, inputs: dict[str, Any], id: str | None) -> None:
    """A refresh asks the cluster whether it is there; where the inputs do not name it, that cannot be told."""
    assert in_sandbox("http://127.0.0.1:1")(token, inputs) == id
