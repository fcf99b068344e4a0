"""
What every provider of ours shares: the handshake, errors as sentences, and a life no longer than the engine's.

The SDK's own provider classes carry neither unknowns nor old inputs, and print tracebacks: so this stands on the raw servicer.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from functools import wraps
from typing import Any, NamedTuple

import grpc
from google.protobuf import any_pb2, empty_pb2, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from infra.provider.values import Decoded

WORKERS = 32
MESSAGE_BYTES = 400 * 1024 * 1024
LOOKS_AT_PARENT_SECONDS = 0.1
"""Between two looks whether the engine still lives. Until then calls go on, and the next command may be mending the state already."""


class ProviderError(Exception):
    """A sentence for the user: the engine prints it, and nothing else."""


class MadeButNotReadyError(ProviderError):
    """
    The thing exists, yet its making failed: the engine keeps it in the state, marked, so that it is not lost.

    Args:
        message: What failed.
        id: The id of what exists.
        properties: Its state.
        inputs: The inputs to compare the next run's with.
        reasons: Why, where that is several things.
    """

    def __init__(
        self, message: str, id: str, properties: struct_pb2.Struct, inputs: struct_pb2.Struct, reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.detail = provider_pb2.ErrorResourceInitFailed(id=id, properties=properties, reasons=[message, *reasons], inputs=inputs)


class _Refusal(NamedTuple):
    """What grpc sends for an error: its own class for this is an interface only."""

    code: Any
    details: str
    trailing_metadata: tuple[tuple[str, bytes], ...]


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """A provider without resources: subclasses say what there is."""

    version = "0.0.0"

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return plugin_pb2.PluginInfo(version=self.version)

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        """Another endpoint or default makes no resource anew: only what names it in its own inputs does."""
        old, new = Decoded(old_inputs(request)).values, Decoded(request.news).values
        changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, diffs=changed)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        """Every wait looks at this event: the user pressed ^C."""
        self.cancelled.set()
        return empty_pb2.Empty()


def old_inputs(request: Any) -> struct_pb2.Struct:
    """The last run's inputs. Without them, as after an old import, the state stands for them."""
    old: struct_pb2.Struct = request.old_inputs if request.old_inputs.fields else request.olds
    return old


def sentences(method: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a `ProviderError` of *method* the answer's error, without a traceback."""

    @wraps(method)
    def answer(self: Any, request: Any, context: Any) -> Any:
        try:
            return method(self, request, context)
        except MadeButNotReadyError as error:
            packed = any_pb2.Any()
            packed.Pack(error.detail)
            status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(error), details=[packed])
            metadata = (("grpc-status-details-bin", status.SerializeToString()),)
            return context.abort_with_status(_Refusal(grpc.StatusCode.UNKNOWN, str(error), metadata))
        except ProviderError as error:
            return context.abort(grpc.StatusCode.UNKNOWN, str(error))

    return answer


def serve(provider: Provider) -> None:
    """
    Serves until the engine ends, by whatever means: its port is the first line of standard output.

    The engine asks by SIGINT, and waits: the answer is a quiet end, at once.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    engine = os.getppid()
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=[("grpc.max_receive_message_length", MESSAGE_BYTES)])
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    gc.freeze()  # what was imported stays for ever: the collector need not look at it
    gc.enable()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    never = threading.Event()
    while os.getppid() == engine:
        never.wait(LOOKS_AT_PARENT_SECONDS)
    os._exit(0)
