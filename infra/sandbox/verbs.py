"""What every service does alike: make, show, change and remove resources."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from infra.sandbox import operations
from infra.sandbox.operations import trimmed
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.schema import camel
from infra.sandbox.service import Body, Call

OPERATION = ("Operation", "GoogleLongrunningOperation")


def create(call: Call) -> Any:
    """POST on a collection."""
    kind, cloud = call.kind, call.cloud
    body = copy.deepcopy(call.body)
    call.target = _new_name(call, body)
    for path in kind.required:
        if at(body, path) in (None, "", []):
            raise invalid(f"Invalid value for field '{path}': required field is missing.", path, "required field is missing")
    if cloud.store.get(call.service.host, call.target) is not None:
        raise _exists(call)
    kind.fill(call, body)
    kind.check(call, body, None)
    lacking = kind.lacks(call, body)
    waits = kind.waits(call, body) if lacking else 0.0
    during = kind.during.get("wait" if waits else "create", {})
    cloud.store.put(call.service.host, call.target, {**body, **(during or kind.ready)}, call.inside)
    if call.method.response not in OPERATION:
        return answered(call, body)
    response = kind.made(call, {**body, **kind.ready}) if kind.made else None
    return operations.start(call, "create", body, kind.seconds.get("create", 0), response=response, error=lacking, waits=waits)


def get(call: Call) -> Any:
    """GET of one."""
    call.target = call.owner
    return answered(call, stored(call))


def patch(call: Call) -> Any:
    """PATCH: what the mask names; without a mask, what was sent."""
    return _change(call, "patch", _patched)


def update(call: Call) -> Any:
    """PUT: the whole. Some services name a PATCH so."""
    return _change(call, "update", _patched) if call.method.http == "PATCH" else replace(call)


def replace(call: Call) -> Any:
    """The whole, also where a service replaces it by PATCH."""
    return _change(call, "update", _replaced)


def delete(call: Call) -> Any:
    """DELETE: the resource and all inside it."""
    body = opened(call)
    call.kind.release(call, body)
    operation = call.method.response in OPERATION
    seconds = call.kind.seconds.get("delete", 0) if operation else 0
    if not operation:
        call.cloud.remove(call.service.host, call.target)
        return {}
    call.cloud.store.put(call.service.host, call.target, {**body, **call.kind.during.get("delete", {})})
    return operations.start(call, "delete", None, seconds, empty=True)


VERBS: dict[str, Callable[[Call], Any]] = {
    "create": create,
    "insert": create,
    "get": get,
    "patch": patch,
    "update": update,
    "delete": delete,
}


def stored(call: Call) -> Body:
    """The resource that the call names.

    Raises:
        Refused: There is none.
    """
    body = call.cloud.store.get(call.service.host, call.target or call.owner)
    if body is None:
        raise missing(call)
    return body


def opened(call: Call) -> Body:
    """The resource that a call works on, once all that runs on it is done."""
    call.target = call.owner
    stored(call)
    quiet(call)
    return stored(call)


def quiet(call: Call) -> None:
    """Whoever changes a resource waits for what runs on it."""
    for operation in call.cloud.store.pending(call.service.host, call.target):
        if call.cloud.clock.manual:
            raise Refused(409, f"Operation {operation['name']} is in progress on {call.target}.", status="ABORTED", reason="aborted")
        call.cloud.clock.advance(operation["ends"] - call.now)
    call.cloud.settle(call.now)
    if call.cloud.store.get(call.service.host, call.target) is None:
        raise missing(call)


def answered(call: Call, body: Body) -> Body:
    """A resource as the service answers it."""
    shown = call.kind.show(call, body) if call.kind.show else body
    if call.service.numbers and "name" in shown:
        shown = shown | {"name": call.cloud.answered_name(call.service, str(shown["name"]))}
    return trimmed(call.service, shown)


def changed(call: Call, body: Body, verb: str = "patch", response: Body | None = None) -> Any:
    """Keeps a changed body of `call.target`, and answers as the method does: for handlers with a verb of their own."""
    kind = call.kind
    operation = call.method.response in OPERATION
    during = kind.during.get(verb, {}) if operation else {}
    call.cloud.store.put(call.service.host, call.target, {**body, **during})
    if not operation:
        return answered(call, body)
    sets = {key: body.get(key, value) for key, value in kind.ready.items()}  # what was stopped stays so
    return operations.start(call, verb, body, kind.seconds.get(verb, 0), response=response, sets=sets)


def _change(call: Call, verb: str, merge: Callable[[Call, Body], Body]) -> Any:
    before = opened(call)
    after = merge(call, before)
    if "name" in before:
        after["name"] = before["name"]
    for path in call.kind.immutable:
        if at(after, path) != at(before, path):
            raise invalid(f"Field '{path}' is immutable and cannot be changed.", path, "field is immutable")
    call.kind.check(call, after, before)
    call.kind.changed(call, after, before)
    return changed(call, after, verb)


def _patched(call: Call, before: Body) -> Body:
    body, mask = call.service.unwrap(call) if call.service.unwrap else (call.body, call.query.get("updateMask", ""))
    if not mask:
        return merged(copy.deepcopy(before), body)
    return masked(before, body, mask)


def masked(before: Body, body: Body, mask: str) -> Body:
    """*before*, with what the mask names as *body* has it; what *body* does not have there goes away."""
    after = copy.deepcopy(before)
    if mask == "*":
        return {**after, **body}
    for path in paths(mask):
        _set(after, path.split("."), at(body, path))
    return after


def paths(mask: str) -> list[str]:
    """Dotted fields of an update mask; some clients write them with underscores."""
    return [".".join(camel(word) for word in path.strip().split(".")) for path in mask.split(",")]


def _replaced(call: Call, before: Body) -> Body:
    keeps = call.cloud.output_fields(call)
    return {key: value for key, value in before.items() if key in keeps} | copy.deepcopy(call.body)


def merged(into: Body, body: Body) -> Body:
    """JSON merge patch (RFC 7396), without nulls: those were left out before. Labels and metadata are replaced as a whole."""
    for key, value in body.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict) and key not in ("labels", "metadata"):
            merged(into[key], value)
        else:
            into[key] = value
    return into


def merge_patch(before: Body, raw: Body, checked: Body) -> Body:
    """JSON merge patch (RFC 7396): *raw* tells what is null, *checked* has the values."""
    after = dict(before)
    for key, value in raw.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, dict):
            inside = before.get(key)
            after[key] = merge_patch(inside if isinstance(inside, dict) else {}, value, checked.get(key, {}))
        elif key in checked:
            after[key] = checked[key]
    return after


def _new_name(call: Call, body: Body) -> str:
    made = _new_id(call, body)
    if call.kind.name:
        return call.kind.name(call, made)
    return f"{call.inside}/{made}"


def _new_id(call: Call, body: Body) -> str:
    where, _, key = (call.kind.id_from or _default_id(call)).partition(":")
    if where == "query":
        value = call.query.get(key, "")
    elif where == "body":
        value = str(body.get(key, "")).rpartition("/")[2]
    else:
        count = call.cloud.store.next("ids")
        return operations.number(f"{call.owner}{call.collection}{count}")[:18] if key == "number" else call.cloud.uuid(count)
    if not value:
        raise invalid(f"Missing required parameter: {key}", key, "missing")
    return value


def _default_id(call: Call) -> str:
    word = re.sub(r"ies$", "y", call.collection.rpartition("/")[2])
    key = (word[:-1] if word.endswith("s") else word) + "Id"
    if key in call.method.query:
        return f"query:{key}"
    named = call.method.document.schemas.get(call.method.request, {}).get("properties", {})
    return "body:name" if "name" in named and call.service.keeps_empty else "server:number"


def at(body: Any, path: str) -> Any:
    """What a body has at a dotted path; None where it has nothing."""
    for word in path.split("."):
        if not isinstance(body, dict):
            return None
        body = body.get(word)
    return body


def _set(body: Body, words: list[str], value: Any) -> None:
    *path, last = words
    for word in path:
        body = body.setdefault(word, {})
    if value is None:
        body.pop(last, None)
    else:
        body[last] = value


def missing(call: Call) -> Refused:
    call.target = call.target or call.owner
    own = call.kind.not_found or call.service.not_found
    return own(call) if own else Refused(404, f"Resource '{call.target}' was not found")


def _exists(call: Call) -> Refused:
    own = call.kind.exists or call.service.exists
    return own(call) if own else Refused(409, f"Resource '{call.target}' already exists")
