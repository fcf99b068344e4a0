"""What the program declares, made in a sandbox in this process: by the stand-in provider, without an engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

import httpx
from pulumi.runtime import mocks, settings
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.stack import run_pulumi_func

from infra.local.gcp import config, invokes, types
from infra.local.gcp.check import Check
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.rest import Client
from infra.program import declare
from infra.provider.values import Decoded, encode
from infra.sandbox.endpoints import ENDPOINTS
from infra.stack import StackSpec

BASE = "http://127.0.0.1:1"


class Maker(mocks.MockMonitor):
    """
    Makes each resource of Google Cloud as the provider does, one at a time. Ours are not made: a model that a job registers, and what
    awaits it on an endpoint, are nothing before its first version.
    """

    def __init__(self, send: Callable[[httpx.Request], httpx.Response], project: str, region: str) -> None:
        super().__init__(cast(mocks.Mocks, None))  # it answers by itself
        endpoints = {name: f"{BASE}/{path}" for name, path in ENDPOINTS.items()}
        found = config.Config(project=project, region=region, endpoints=endpoints)
        self._client = Client(found, httpx.Client(transport=httpx.MockTransport(send)), lambda seconds: False)
        self._at = f"projects/{project}/locations/{region}"
        self._alone = threading.Lock()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the RPC's name
        urn = self.make_urn(request.parent, request.type, request.name)
        given = Decoded(request.object)
        with self._alone:
            id, outputs = self._made(request.type, request.name, given.values)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=id, object=encode(outputs, given.secrets))

    def Invoke(self, request: Any) -> Any:  # noqa: N802 - the RPC's name
        with self._alone:
            answer = invokes.answer(self._client, request.tok, Decoded(request.args).values)
        return resource_pb2.ResourceInvokeResponse(**{"return": encode(answer)})

    def _made(self, kind: str, name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        row = types.TABLE.get(kind)
        if row is None:
            return name, given | ({"name": f"{self._at}/models/{given['modelId']}"} if "modelId" in given else {})
        check = Check(row)
        inputs = check.inputs(given)
        assert not check.failures, (name, check.failures)
        made = (row.lifecycle or Lifecycle)(row, self._client).create(inputs)
        return made.id, made.outputs


def make(spec: StackSpec, stack: str, send: Callable[[httpx.Request], httpx.Response]) -> None:
    """Makes all that a stack file's program declares; *send* answers the provider's calls."""

    async def run() -> None:
        maker = Maker(send, spec.project, spec.region)
        mocks.set_mocks(maker.mocks, project="accelform", stack=stack, preview=False, monitor=maker)
        settings.SETTINGS.rpc_manager.clear()
        settings.SETTINGS.outputs.clear()
        await run_pulumi_func(lambda: declare(spec, stack))

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(run())
    finally:
        settings.reset_options()
        asyncio.set_event_loop(None)
        loop.close()
