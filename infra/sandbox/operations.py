"""Long-running operations: what a service starts, what a poll answers, and what is true once they end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from infra.sandbox.clock import pacific, rfc3339
from infra.sandbox.schema import without_empty
from infra.sandbox.service import YOU, Body, Call, Operations, Service

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

Metadata = Callable[["Cloud", Body], Body]
LOOKS_SECONDS = 60.0
"""Virtual seconds between two looks for capacity of a create that waits for it."""


def start(
    call: Call,
    verb: str,
    body: Body | None,
    seconds: float,
    *,
    response: Body | None = None,
    empty: bool = False,
    sets: Body | None = None,
    error: Body | None = None,
    waits: float = 0.0,
    back: Body | None = None,
    certain: bool = False,
    nodes: int | None = None,
) -> Body:
    """
    Begins an operation on `call.target`, and answers it as the service does.

    Args:
        body: What is kept at its end; None where the resource is removed.
        seconds: Virtual time it takes; 0 is done in the answer.
        response: What it answers at its end, where that is not the resource.
        empty: Whether it answers nothing.
        sets: Fields at its end. (default: those of the kind)
        error: What it fails with.
        back: Fields at its end where it fails. (default: those of the kind)
        certain: Whether no fault may let it fail: what Google does by itself.
        waits: Seconds that it looks for capacity again and again before it fails.
        nodes: Nodes that it changes, where it tells of them.
    """
    cloud, service = call.cloud, call.service
    fault = error or (None if certain else cloud.faults.operation(call, verb))
    before = cloud.store.get(service.host, call.target) or {}
    operation: Body = {
        "name": service.operations.name(call, verb),
        "service": service.host,
        "verb": verb,
        "method": call.method.id,
        "version": call.version,
        "resource": call.method.resource,
        "target": call.target,
        "target_id": before.get("id"),
        "project": call.project,
        "starts": call.now,
        "ends": call.now + seconds * cloud.faults.slowness,
        "removes": body is None,
        "sets": None if body is None else call.kind.ready if sets is None else sets,
        "back": call.kind.ready if back is None else back,
        "undo": verb == "create",
    } | ({} if nodes is None else {"nodes": nodes})
    if fault is not None and waits:
        operation |= {"until": call.now + waits, "ends": call.now + min(waits, LOOKS_SECONDS)}
    elif fault is not None:
        operation["error"] = fault
    if response is not None:
        operation["response"] = response
    if empty:
        operation["response"] = {}
    done = operation["ends"] <= call.now
    cloud.store.put_operation(operation["name"], service.host, call.target, operation["ends"], operation, done=False)
    if done:
        cloud.settle(operation["ends"])
    return shown(cloud, service, operation["name"])


def shown(cloud: Cloud, service: Service, name: str) -> Body:
    """An operation as a poll answers it."""
    operation = cloud.store.operation(name)
    assert operation is not None
    return service.operations.shown(cloud, service, operation)


class LongRunning(Operations):
    """`google.longrunning.Operation`: most services."""

    def __init__(
        self,
        *,
        metadata: Metadata | None = None,
        kind: str = "",
        under: Callable[[Call, str], str] | None = None,
        says_undone: bool = False,
    ) -> None:
        """
        Args:
            metadata: Adds what the service says of an operation besides its type.
            kind: Type of the response, such as `google.cloud.tpu.v2.Node`; a resource's own message where a service has several.
            under: Name that the operation's name is put under: (call, verb). (default: the location)
            says_undone: Whether `done: false` is written.
        """
        self._metadata = metadata
        self._kind = kind
        self._under = under
        self._says_undone = says_undone

    def name(self, call: Call, verb: str) -> str:
        where = self._under(call, verb) if self._under else _location(call)
        return f"{where}/operations/{new_id(call)}".lstrip("/")

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        answer: Body = {"name": cloud.answered_name(service, operation["name"])}
        if self._metadata:
            answer["metadata"] = self._metadata(cloud, operation)
        if not operation["done"]:
            return answer | ({"done": False} if self._says_undone else {})
        answer["done"] = True
        if "error" in operation:
            return answer | {"error": operation["error"]}
        response = operation.get("response")
        if response is None or response == {}:
            return answer | {"response": {"@type": "type.googleapis.com/google.protobuf.Empty"}}
        kind = operation.get("response_type") or self._kind
        return answer | {"response": ({"@type": f"type.googleapis.com/{kind}"} if kind else {}) | response}


def new_id(call: Call) -> str:
    tail = hashlib.sha256(f"{call.target}{call.cloud.store.next('operations')}".encode()).hexdigest()
    return f"operation-{int(call.now * 1000)}-{tail[:13]}-{tail[13:21]}-{tail[21:29]}"


def _location(call: Call) -> str:
    words = call.owner.split("/")
    return "/".join(words[:4]) if len(words) > 3 else "/".join(words[:2])


class ComputeOperations(Operations):
    """Compute Engine's own: no response inside, a status instead of done, links as full addresses."""

    LINK = "https://www.googleapis.com/compute"

    def __init__(self, names: Callable[[str, str], str]) -> None:
        """*names*: (method id, verb) -> `operationType`."""
        self._names = names

    def name(self, call: Call, verb: str) -> str:
        return f"{scope(call.target)}/operations/{new_id(call)}"

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        where = f"{self.LINK}/{operation['version']}/"
        words = operation["name"].split("/")
        done = operation["done"]
        answer: Body = {
            "kind": "compute#operation",
            "id": number(operation["name"]),
            "name": words[-1],
            "operationType": self._names(operation["method"], operation["verb"]),
            "status": "DONE" if done else "RUNNING",
            "progress": 100 if done else 0,
            "insertTime": pacific(operation["starts"]),
            "startTime": pacific(operation["starts"]),
            "targetId": operation.get("target_id") or number(operation["target"]),
            "targetLink": where + operation["target"],
            "selfLink": where + operation["name"],
            "user": YOU,
        }
        if words[2] in ("zones", "regions"):
            answer[words[2][:-1]] = where + "/".join(words[:4])
        if done:
            answer["endTime"] = pacific(operation["ends"])
        if done and "error" in operation:
            error = operation["error"]
            code = {"RESOURCE_EXHAUSTED": "ZONE_RESOURCE_POOL_EXHAUSTED"}.get(
                error.get("status", ""), error.get("reason", "INTERNAL_ERROR")
            )
            answer |= {
                "error": {"errors": [{"code": error.get("compute_code", code), "message": error["message"]} | _details(error)]},
                "httpErrorStatusCode": error.get("http", 400),
                "httpErrorMessage": error.get("http_message", "BAD REQUEST"),
            }
        return answer


def _details(error: Body) -> Body:
    return {"errorDetails": error["details"]} if "details" in error else {}


def scope(name: str) -> str:
    """`projects/P/zones/Z`, `projects/P/regions/R` or `projects/P/global` of a name in Compute Engine."""
    words = name.split("/")
    return "/".join(words[:3] if words[2] == "global" else words[:4])


def number(name: str) -> str:
    """A server's number for a name: the same each time it is asked."""
    return str(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) >> 1)


def tpu_metadata(verb_of: Callable[[str], str], api_version: str) -> Metadata:
    """`google.cloud.common.OperationMetadata`: TPU, Filestore and others."""

    def metadata(cloud: Cloud, operation: Body) -> Body:
        found: Body = {
            "@type": "type.googleapis.com/google.cloud.common.OperationMetadata",
            "apiVersion": api_version,
            "createTime": rfc3339(operation["starts"]),
            "target": operation["target"],
            "verb": verb_of(operation["verb"]),
        }
        return found | ({"endTime": rfc3339(operation["ends"])} if operation["done"] else {})

    return metadata


def trimmed(service: Service, body: Body) -> Body:
    """A body as the service answers it: without empty values where it leaves them out."""
    return body if service.keeps_empty else dict(without_empty(body))
