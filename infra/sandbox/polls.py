"""What is asked about operations: whether one is done, and which there are."""

from __future__ import annotations

from typing import Any

from infra.sandbox import lists, operations, verbs
from infra.sandbox.service import Body, Call


def get(call: Call) -> Any:
    """A poll. The clock moves to the operation's end, so that the next one finds it done."""
    operation = _operation(call)
    answer = operations.shown(call.cloud, call.service, call.owner)
    if not operation["done"]:
        _pass_time(call, operation)
    return answer


def wait(call: Call) -> Any:
    """Compute Engine's `wait`: answers when it is done."""
    _pass_time(call, _operation(call))
    call.cloud.settle(call.now)
    return operations.shown(call.cloud, call.service, call.owner)


def list_(call: Call) -> Any:
    """Operations of a location."""
    found = call.cloud.store.operations(call.service.host, f"{call.owner}/operations/")
    return lists.answer(call, found, lambda operation: call.service.operations.shown(call.cloud, call.service, operation))


def _operation(call: Call) -> Body:
    operation = call.cloud.store.operation(call.owner)
    if operation is None:
        raise verbs.missing(call)
    return operation


def _pass_time(call: Call, operation: Body) -> None:
    if not call.cloud.clock.manual:
        call.cloud.clock.advance(operation["ends"] - call.now)


VERBS = {"get": get, "wait": wait, "list": list_}
