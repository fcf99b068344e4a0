"""
Runs a program against the SDK's mock monitor, and keeps what it declares. No engine, no cloud, no state.

Everything computed is unknown, as in a first preview.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from google.protobuf import struct_pb2
from pulumi.runtime import mocks, settings
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.stack import run_pulumi_func

from infra import wire
from infra.declared import NOT_ASKED, Declared

PROJECT_NAME = "accelform"

STACK_TYPE = "pulumi:pulumi:Stack"
LOOKED_UP = ("billingAccount", "number", "currencyCode")
"""The fields of look-ups (a project, its billing account) that programs read."""


class _Unused(mocks.Mocks):
    """The monitor below answers by itself."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        raise AssertionError("the monitor answers by itself")

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        raise AssertionError("the monitor answers by itself")


class Monitor(mocks.MockMonitor):
    """Keeps each registration as it comes over the wire, and answers with its inputs: all else is unknown until it is made."""

    def __init__(self) -> None:
        super().__init__(_Unused())
        self.declared: list[Declared] = []

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """As the engine makes it: the whole chain of parents' types, but for the stack's own."""
        above = parent.split("::")[2] if parent else ""
        chain = type_ if above in ("", STACK_TYPE) else f"{above}${type_}"
        return f"urn:pulumi:{settings.get_stack()}::{settings.get_project()}::{chain}::{name}"

    def Invoke(self, request: Any) -> Any:  # noqa: N802 - the RPC's name
        answer = struct_pb2.Struct()
        for field in LOOKED_UP:
            answer[field] = NOT_ASKED
        return resource_pb2.ResourceInvokeResponse(**{"return": answer})

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the RPC's name
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type != STACK_TYPE:
            self._keep(request, urn, request.object, request.protect, existing=False)
        return resource_pb2.RegisterResourceResponse(urn=urn, object=request.object)

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 - the RPC's name
        urn = self.make_urn(request.parent, request.type, request.name)
        self._keep(request, urn, request.properties, protect=False, existing=True)
        return resource_pb2.ReadResourceResponse(urn=urn, properties=request.properties)

    def _keep(self, request: Any, urn: str, inputs: struct_pb2.Struct, protect: bool, *, existing: bool) -> None:
        parent = "" if request.parent.split("::")[2:3] == [STACK_TYPE] else request.parent
        self.declared.append(
            Declared(
                type=request.type,
                name=request.name,
                inputs=wire.fields(inputs),
                urn=urn,
                parent=parent,
                dependencies=tuple(sorted(request.dependencies)),
                protect=protect,
                existing=existing,
            )
        )


def collect(program: Callable[[], None], stack: str, monitor: Monitor | None = None) -> list[Declared]:
    """
    What *program* declares, sorted by URN: registrations run side by side, and their order means nothing.

    Args:
        monitor: Answers the program. (default: one that knows nothing of any cloud)

    Raises:
        Whatever the program raises; `pulumi.RunError` for what it refuses.
    """

    monitor = monitor or Monitor()

    async def run() -> list[Declared]:
        # Inside the loop that runs the program: outside it, the root stack's future belongs to another loop and never ends.
        mocks.set_mocks(monitor.mocks, project=PROJECT_NAME, stack=stack, preview=True, monitor=monitor, organization="organization")
        settings.SETTINGS.rpc_manager.clear()
        settings.SETTINGS.outputs.clear()
        await run_pulumi_func(program)
        return sorted(monitor.declared, key=lambda resource: resource.urn)

    loop = asyncio.new_event_loop()
    # What a refusal leaves waiting is the refusal's own echo: asyncio would print each as a fault, even after the loop is closed.
    loop.set_exception_handler(lambda _loop, _context: None)
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(run())
    finally:
        # A program that refuses leaves registrations that wait for ever: they go with their loop, silently.
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        settings.reset_options()
        asyncio.set_event_loop(None)
        loop.close()
