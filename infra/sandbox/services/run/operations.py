"""Operations of Cloud Run: what they are about stands in their metadata, whole."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from infra.sandbox import operations
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Service
from infra.sandbox.services.run.parts import HOST, shown

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

TYPES = {"run": "Execution", "cancel": "Execution"}
"""Verb -> what its operation is about, where that is not what its method is of."""


def _metadata(cloud: Cloud, operation: Body) -> Body:
    """Recordings: the resource but for its `uid`."""
    body = operation.get("response") or kept(cloud, operation["target"]) or {}
    return {"@type": f"type.googleapis.com/{_type(operation)}"} | {key: value for key, value in body.items() if key != "uid"}


def kept(cloud: Cloud, name: str) -> Body | None:
    """A resource as it is answered; None where there is none."""
    body = cloud.store.get(HOST, name)
    return body and dict(without_empty(shown(body)))


def _type(operation: Body) -> str:
    whole = "Execution" if operation["resource"].endswith(".executions") else "Job"
    return f"google.cloud.run.v2.{TYPES.get(operation['verb'], whole)}"


class RunOperations(operations.LongRunning):
    """The operation that `:run` starts is done when the execution is."""

    def __init__(self) -> None:
        super().__init__(metadata=_metadata)

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        operation = operation | {"response_type": _type(operation)}
        if operation["verb"] == "run":
            execution = kept(cloud, operation["target"])
            operation |= {"done": execution is None or "completionTime" in execution, "response": execution}
        return super().shown(cloud, service, operation)


def start_run(call: Call, execution: Body) -> Body:
    """The operation of an execution that has begun. No moment of the clock ends it: a poll does not move the clock."""
    name = call.service.operations.name(call, "run")
    operation: Body = {
        "name": name,
        "service": HOST,
        "verb": "run",
        "method": call.method.id,
        "version": call.version,
        "resource": call.method.resource,
        "target": execution["name"],
        "project": call.project,
        "starts": call.now,
        "ends": call.now,
    }
    call.cloud.store.put_operation(name, HOST, execution["name"], inf, operation, done=True)
    return operations.shown(call.cloud, call.service, name)


def only_checked(call: Call, body: Body, kind: str) -> Body:
    """What a call that only validates answers: an operation that is done, and nothing that stands."""
    said = {"@type": f"type.googleapis.com/google.cloud.run.v2.{kind}"} | without_empty(shown(body))
    return {"name": call.service.operations.name(call, "validate"), "done": True, "metadata": said, "response": said}
