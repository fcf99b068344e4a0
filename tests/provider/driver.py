"""Speaks to the accelform provider as the engine does, over a sandbox in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
from pulumi.runtime.proto import provider_pb2, status_pb2

from infra.provider.accelform import Accelform
from infra.provider.values import Decoded, encode
from tests.in_process import InProcess

BASE = "http://sandbox.test"
PROJECT = "shop-prod"


class AbortedError(Exception):
    """The provider's answer was an error."""

    def __init__(self, message: str, detail: Any = None) -> None:
        super().__init__(message)
        self.detail = detail
        """What the engine keeps, where the thing exists."""

    @property
    def state(self) -> dict[str, Any]:
        """The state that it keeps."""
        return Decoded(self.detail.properties).values


class Context:
    """What grpc hands to a method."""

    def abort(self, code: Any, details: str) -> Any:
        raise AbortedError(details)

    def abort_with_status(self, status: Any) -> Any:
        packed = dict(status.trailing_metadata)["grpc-status-details-bin"]
        detail = provider_pb2.ErrorResourceInitFailed()
        status_pb2.Status.FromString(packed).details[0].Unpack(detail)
        raise AbortedError(status.details, detail)


class Sandbox(InProcess):
    """A sandbox with the project of these tests."""

    def __init__(self) -> None:
        super().__init__(PROJECT)

    def http(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self))

    @property
    def number(self) -> str:
        return self.cloud.projects.number(PROJECT)


class Driver:
    """
    The provider.

    Args:
        http: Sends its requests.
        pause: Waits for it; true when the user cancelled.
        clocks: `time` and `now` of its Google.
    """

    def __init__(self, http: httpx.Client, pause: Callable[[float], bool] | None = None, **clocks: Callable[[], float]) -> None:
        self.waits: list[float] = []
        self.notes: list[tuple[str, bool]] = []
        """What the user was told, and whether as a warning."""
        self.provider = Accelform(http, pause or self._pause, lambda _, note: self.notes.append((note.text, note.warns)), **clocks)
        self.provider.Configure(provider_pb2.ConfigureRequest(args=encode({"sandbox": BASE})), Context())

    def _pause(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False

    def urn(self, token: str) -> str:
        return f"urn:pulumi:try::shop::{token}::it"

    def check(self, token: str, news: dict[str, Any], secrets: Any = ()) -> tuple[dict[str, Any], dict[str, str]]:
        """Inputs as they are kept, and what is wrong with them by property."""
        answer = self.provider.Check(provider_pb2.CheckRequest(urn=self.urn(token), news=encode(news, secrets)), Context())
        return Decoded(answer.inputs).values, {one.property: one.reason for one in answer.failures}

    def checked(self, token: str, news: dict[str, Any]) -> dict[str, Any]:
        inputs, failures = self.check(token, news)
        assert not failures, failures
        return inputs

    def diff(self, token: str, old: dict[str, Any], new: dict[str, Any], state: dict[str, Any] | None = None) -> Any:
        request = provider_pb2.DiffRequest(urn=self.urn(token), olds=encode(state or old), old_inputs=encode(old), news=encode(new))
        return self.provider.Diff(request, Context())

    def create(self, token: str, inputs: dict[str, Any], *, preview: bool = False, timeout: float = 0) -> tuple[str, dict[str, Any]]:
        """Id and outputs."""
        request = provider_pb2.CreateRequest(urn=self.urn(token), properties=encode(inputs), preview=preview, timeout=timeout)
        made = self.provider.Create(request, Context())
        return made.id, Decoded(made.properties).values

    def read(
        self, token: str, id: str, state: dict[str, Any] | None = None, inputs: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Id, outputs and inputs; an empty id where there is none."""
        request = provider_pb2.ReadRequest(urn=self.urn(token), id=id, properties=encode(state or {}), inputs=encode(inputs or {}))
        answer = self.provider.Read(request, Context())
        return answer.id, Decoded(answer.properties).values, Decoded(answer.inputs).values

    def update(
        self,
        token: str,
        id: str,
        state: dict[str, Any],
        old: dict[str, Any],
        new: dict[str, Any],
        *,
        preview: bool = False,
        timeout: float = 0,
    ) -> dict[str, Any]:
        request = provider_pb2.UpdateRequest(
            urn=self.urn(token), id=id, olds=encode(state), old_inputs=encode(old), news=encode(new), preview=preview, timeout=timeout
        )
        return Decoded(self.provider.Update(request, Context()).properties).values

    def delete(self, token: str, id: str, state: dict[str, Any], *, timeout: float = 0) -> None:
        request = provider_pb2.DeleteRequest(urn=self.urn(token), id=id, properties=encode(state), timeout=timeout)
        self.provider.Delete(request, Context())
