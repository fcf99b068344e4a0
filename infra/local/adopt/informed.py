"""
Runs a program against a monitor that knows what stands: what a resource is found as is what the program goes on with.

So a name that follows from another resource (an account's address, a channel's number) is known, without an engine and without a state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.protobuf import struct_pb2
from pulumi.runtime.proto import resource_pb2

from infra.collect import STACK_TYPE, Monitor, collect
from infra.local.adopt.lookup import Answer
from infra.provider.values import Decoded, encode

PROVIDER = "pulumi:providers:"


class Looks(Protocol):
    """Answers for a cloud."""

    def look(self, token: str, inputs: Mapping[str, Any]) -> Answer:
        """What stands of a type, by a program's inputs."""

    def asked(self, token: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question of the program's."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One resource that the program declares, and what stands of it."""

    urn: str
    type: str
    name: str
    parent: str
    """URN; empty right under the stack."""
    provider: str
    """URN of the provider that it names; empty for the default one."""
    version: str
    """Of the provider's plugin."""
    custom: bool
    inputs: Mapping[str, Any] = field(default_factory=dict)
    secret: bool = False
    """Whether something in its inputs is a secret."""
    answer: Answer = field(default_factory=Answer)

    @property
    def stands(self) -> bool:
        """Whether it can be taken: what has no cloud, always."""
        return not self.custom or self.is_provider or bool(self.answer.id)

    @property
    def is_provider(self) -> bool:
        return self.type.startswith(PROVIDER)


class Informed(Monitor):
    """Answers each registration with what stands."""

    def __init__(self, looks: Looks, done: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._looks = looks
        self._done = done
        self._lock = threading.Lock()
        self.seen: list[Seen] = []

    def Invoke(self, request: Any) -> Any:  # noqa: N802 - the RPC's name
        answer = encode(self._looks.asked(request.tok, Decoded(request.args).values))
        return resource_pb2.ResourceInvokeResponse(**{"return": answer})

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the RPC's name
        response = super().RegisterResource(request)
        if request.type == STACK_TYPE:
            return response
        given = Decoded(request.object)
        inputs = {key: value for key, value in given.values.items() if value is not None}
        is_provider = request.type.startswith(PROVIDER)
        answer = self._looks.look(request.type, inputs) if request.custom and not is_provider else Answer()
        parent = "" if request.parent.split("::")[2:3] == [STACK_TYPE] else request.parent
        provider = request.provider.rpartition("::")[0]
        one = Seen(
            response.urn,
            request.type,
            request.name,
            parent,
            provider,
            request.version,
            request.custom,
            inputs,
            bool(given.secrets),
            answer,
        )
        with self._lock:
            self.seen.append(one)
        self._done()
        if not request.custom:
            return response
        made = struct_pb2.Struct()
        made.CopyFrom(request.object)
        made.MergeFrom(encode({key: value for key, value in answer.outputs.items() if value is not None}))
        id = "known" if is_provider else answer.id and str(answer.outputs.get("id", answer.id))
        return resource_pb2.RegisterResourceResponse(urn=response.urn, id=id, object=made)


def look(program: Callable[[], None], stack: str, looks: Looks, done: Callable[[], None] = lambda: None) -> list[Seen]:
    """
    What a program declares, and what of it stands: parents before what is under them.

    Args:
        done: Is called after each look.

    Raises:
        ProviderError: A question of the program's was refused.
    """
    monitor = Informed(looks, done)
    collect(program, stack, monitor)
    return sorted(monitor.seen, key=lambda one: (one.urn.split("::")[2].count("$"), one.urn))
