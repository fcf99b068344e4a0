"""Folders. Their parents are taken as they come: the sandbox has no organizations of its own."""

from __future__ import annotations

from typing import Any

from infra.sandbox import etags, filters, lists, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.cloudresourcemanager.projects import HOST

TYPE = "type.googleapis.com/google.cloud.resourcemanager.v3.Folder"


def create(call: Call) -> Any:
    """POST: a folder's display name is unique among its siblings."""
    body = dict(call.body)
    for field in ("parent", "displayName"):  # "Required." for parent; the display name is checked as a folder's
        if not body.get(field):
            raise invalid(f"folder.{field} is required.", f"folder.{field}")
    count = call.cloud.store.next("ids")
    call.target = f"folders/{operations.number(f'folder{count}')[:12]}"
    _check_sibling(call, body["parent"], body["displayName"])
    body |= {"name": call.target, "state": "ACTIVE", "createTime": rfc3339(call.now)}
    return _done(call, "create", body, seconds=2)


def _check_sibling(call: Call, parent: str, display_name: str) -> None:
    """Source: description of `folders.create` in the discovery document, which also names the status."""
    for name, other in call.cloud.store.items(HOST, "folders"):
        if name != call.target and other["state"] == "ACTIVE" and (other["parent"], other["displayName"]) == (parent, display_name):
            said = f"The folder operation violates display name uniqueness within the parent {parent}."
            raise Refused(400, said, status="FAILED_PRECONDITION")


def patch(call: Call) -> Any:
    """PATCH: the display name."""
    body = _active(call) | ({"displayName": call.body["displayName"]} if "displayName" in call.body else {})
    _check_sibling(call, body["parent"], body["displayName"])
    return _done(call, "patch", body, seconds=2)


def move(call: Call) -> Any:
    body = _active(call) | {"parent": call.body.get("destinationParent", "")}
    _check_sibling(call, body["parent"], body["displayName"])
    return _done(call, "move", body, seconds=2)


def delete(call: Call) -> Any:
    """DELETE of an empty folder; it is kept, to be restored."""
    body = _active(call)
    number = call.target.partition("/")[2]
    store = call.cloud.store
    inside = [name for name, other in store.items(HOST, "folders") if (other["parent"], other["state"]) == (call.target, "ACTIVE")]
    for name, project in store.items(HOST, "projects"):
        if (project.get("parent", {}).get("id"), project["lifecycleState"]) == (number, "ACTIVE"):
            inside.append(name)
    if inside:
        raise Refused(400, f"The folder {call.target} is not empty: {', '.join(inside)}.", status="FAILED_PRECONDITION")
    return _done(call, "delete", body | {"state": "DELETE_REQUESTED"})


def undelete(call: Call) -> Any:
    call.target = call.owner
    return _done(call, "undelete", verbs.stored(call) | {"state": "ACTIVE"})


def list_(call: Call) -> Any:
    """GET: those of `parent`, deleted ones with `showDeleted`."""
    deleted = call.query.get("showDeleted") == "true"
    every = call.cloud.store.items(HOST, "folders")
    found = [(name, body) for name, body in every if body["parent"] == call.query.get("parent")]
    return lists.listed(call, [(name, body) for name, body in found if deleted or body["state"] == "ACTIVE"])


def search(call: Call) -> Any:
    """GET `:search`: `state=ACTIVE AND parent=folders/1 AND displayName="Test*"`."""
    terms = filters.parsed(call.query.get("query", ""))
    every = call.cloud.store.items(HOST, "folders")
    return lists.listed(call, [(name, body) for name, body in every if filters.fits({**body, "lifecycleState": body["state"]}, terms)])


def _active(call: Call) -> Body:
    call.target = call.owner
    return verbs.stored(call)


def _done(call: Call, verb: str, body: Body, seconds: float = 0) -> Any:
    body = body | {"updateTime": rfc3339(call.now), "etag": etags.new(call.cloud)}
    call.cloud.store.put(HOST, call.target, body)
    return operations.start(call, verb, body, seconds, sets={}, response={"@type": TYPE} | verbs.answered(call, body))


KIND = Kind("folders")

HANDLERS = {
    "folders.create": create,
    "folders.patch": patch,
    "folders.move": move,
    "folders.delete": delete,
    "folders.undelete": undelete,
    "folders.list": list_,
    "folders.search": search,
}
