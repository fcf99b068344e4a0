"""
What a provider says to the user while the engine works: a line under the resource, at a preview as at an update.

A plan has no place for a sentence: a diff carries paths and kinds only, and Check's sentences are failures. The engine's own log is shown
with the plan, and is in `pulumi preview --json` under `diagnostics`.
"""

from __future__ import annotations

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

SECONDS = 10.0


class EngineLog:
    """
    The log of the engine that started the provider.

    Args:
        address: Where the engine listens, as its handshake says.
    """

    def __init__(self, address: str) -> None:
        self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    def say(self, urn: str, text: str, *, warns: bool, passing: bool = False) -> None:
        """
        Shows a line. An engine that does not listen loses no plan for it.

        Args:
            passing: Whether it is only shown until the next one: how far something is.
        """
        severity = engine_pb2.WARNING if warns else engine_pb2.INFO
        try:
            self._stub.Log(engine_pb2.LogRequest(severity=severity, message=text, urn=urn, ephemeral=passing), timeout=SECONDS)
        except grpc.RpcError:
            return
