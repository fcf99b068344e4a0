"""The base of providers: sentences instead of tracebacks, and a life no longer than the engine's."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import grpc
import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2, status_pb2

from infra.provider.server import MadeButNotReadyError, Provider, ProviderError, sentences

CHILD = "from infra.provider.server import Provider, serve; serve(Provider())"
PARENT = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-u", "-c", {CHILD!r}])
sys.stdin.readline()
"""


class Told(Exception):  # noqa: N818 - no error of ours: what grpc was told
    """What grpc was told."""

    def __init__(self, status: Any) -> None:
        self.status = status


class Context:
    def abort(self, code: Any, details: str) -> None:
        raise Told((code, details))

    def abort_with_status(self, status: Any) -> None:
        raise Told(status)


class Failing(Provider):
    error: Exception = ProviderError("a sentence")

    @sentences
    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        raise self.error


def test_an_error_is_its_sentence() -> None:
    """The user reads what went wrong, and no more."""
    with pytest.raises(Told) as told:
        Failing().Create(None, Context())
    assert told.value.status == (grpc.StatusCode.UNKNOWN, "a sentence")


def test_what_exists_is_told_with_its_state() -> None:
    """The engine keeps what was made, though it is not ready."""
    provider = Failing()
    provider.error = MadeButNotReadyError("not ready", "id-1", struct_pb2.Struct(), struct_pb2.Struct())
    with pytest.raises(Told) as told:
        provider.Create(None, Context())
    status = status_pb2.Status.FromString(dict(told.value.status.trailing_metadata)["grpc-status-details-bin"])
    detail = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(detail)
    assert (detail.id, list(detail.reasons), told.value.status.details) == ("id-1", ["not ready"], "not ready")


def test_a_fault_of_ours_is_not_hidden() -> None:
    """Only sentences for the user are made into answers."""
    provider = Failing()
    provider.error = KeyError("x")
    with pytest.raises(KeyError):
        provider.Create(None, Context())


def test_cancel_is_an_event() -> None:
    """What waits sees it."""
    provider = Provider()
    provider.Cancel(None, Context())
    assert provider.cancelled.is_set()


def test_ends_with_its_parent() -> None:
    """A provider whose engine is killed does not stay: the pipe that it inherited is closed only when it ends, too."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    assert int(parent.stdout.readline()) > 0
    parent.kill()
    parent.communicate(timeout=60)
