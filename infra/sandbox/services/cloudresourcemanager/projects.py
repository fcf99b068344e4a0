"""Projects, as v1 and v3 know them. They are kept as v1 writes them."""

from __future__ import annotations

import re
from typing import Any

from infra.sandbox import filters, lists, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, invalid, same_entity
from infra.sandbox.service import Body, Call, Kind

HOST = "cloudresourcemanager.googleapis.com"
ID = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
NAME = re.compile(r"[A-Za-z0-9\-'\" !]{4,30}")
"""Source of both: descriptions of `projectId` and `name` in the discovery document."""
TYPES = {"v1": "google.cloudresourcemanager.v1.Project", "v3": "google.cloud.resourcemanager.v3.Project"}
SECONDS = 5


def create(call: Call) -> Any:
    """POST: a project without billing. 409 where there is one of that id, deleted or not."""
    sent = _v1(call, call.body)
    project = sent.get("projectId", "")
    if not ID.fullmatch(project):
        raise invalid(
            f'project_id "{project}" must be 6 to 30 lowercase letters, digits or hyphens, beginning with a letter.', "project_id"
        )
    _check_name(str(sent.setdefault("name", project)))
    if call.cloud.projects.get(project) is not None:
        raise same_entity()
    call.target = f"projects/{project}"
    body = call.cloud.projects.make(project, billing=False) | sent
    _keep(call, body)
    return operations.start(call, "create", body, SECONDS, sets={}, response=_typed(call, body))


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        said = f'display_name "{name}" must be 4 to 30 letters, digits, hyphens, quotes, spaces or exclamation points.'
        raise invalid(said, "display_name")


def get(call: Call) -> Any:
    call.target = call.owner
    return verbs.answered(call, verbs.stored(call))


def update(call: Call) -> Any:
    """PUT of v1: name, labels and parent are what was sent; the rest is the server's."""
    call.target = call.owner
    body = _active(call)
    kept = {key: value for key, value in body.items() if key not in ("name", "labels")}
    _check_parent(call.body.get("parent"))
    after = kept | {key: call.body[key] for key in ("name", "labels", "parent") if key in call.body}
    if after.get("projectId") != call.body.get("projectId", body["projectId"]):
        raise invalid("project_id is read-only after creation.", "project_id")
    _check_name(after.setdefault("name", ""))
    _keep(call, after)
    return verbs.answered(call, after)


def patch(call: Call) -> Any:
    """PATCH of v3: display name and labels, by mask."""
    call.target = call.owner
    body, sent = _active(call), _v1(call, call.body)
    fields = [{"display_name": "name", "displayName": "name"}.get(field, field) for field in call.query.get("updateMask", "").split(",")]
    if fields == [""]:
        fields = list(sent)
    if unknown := set(fields) - {"name", "labels"}:
        raise invalid(f"update_mask: {', '.join(sorted(unknown))} cannot be updated.", "update_mask")
    after = {key: value for key, value in body.items() if key not in fields} | {key: sent[key] for key in fields if key in sent}
    _check_name(after.setdefault("name", ""))
    return _done(call, "patch", after)


def move(call: Call) -> Any:
    """POST `:move` of v3: `{destinationParent: folders/F}`."""
    call.target = call.owner
    return _done(call, "move", _active(call) | {"parent": _resource_id(call.body.get("destinationParent", ""))})


def delete(call: Call) -> Any:
    """DELETE: marks it, and keeps it to be restored; nothing else answers for it then."""
    call.target = call.owner
    return _done(call, "delete", _active(call) | {"lifecycleState": "DELETE_REQUESTED"})


def undelete(call: Call) -> Any:
    call.target = call.owner
    body = verbs.stored(call)
    if body["lifecycleState"] != "DELETE_REQUESTED":
        raise Refused(400, "Precondition check failed.", status="FAILED_PRECONDITION")
    return _done(call, "undelete", body | {"lifecycleState": "ACTIVE"})


def list_(call: Call) -> Any:
    """v1: all; v3: those of `parent`. Filters: `parent.id:N`, `id:P`, `name:sho*`, `lifecycleState:S`, `labels.k:v`."""
    found = call.cloud.store.items(HOST, "projects")
    if parent := call.query.get("parent"):
        found = [(name, body) for name, body in found if body.get("parent") == _resource_id(parent)]
    terms = filters.parsed(call.query.get("filter") or call.query.get("query", ""))
    call.query = {key: value for key, value in call.query.items() if key != "filter"}
    return lists.listed(call, [(name, body) for name, body in found if filters.fits(_as_found(body), terms)])


def _as_found(body: Body) -> Body:
    """A project with the words that filters have for its fields. Source: descriptions of `filter` and `query` in the documents."""
    return {**body, "id": body["projectId"], "state": body["lifecycleState"], "displayName": body["name"]}


def _done(call: Call, verb: str, body: Body) -> Any:
    """v1 answers nothing where v3 answers an operation."""
    _keep(call, body)
    if call.version == "v1":
        return {}
    return operations.start(call, verb, body, 0, sets={}, response=_typed(call, body))


def _active(call: Call) -> Body:
    body = verbs.stored(call)
    if body["lifecycleState"] != "ACTIVE":
        raise Refused(400, "Precondition check failed.", status="FAILED_PRECONDITION")
    return body


def _keep(call: Call, body: Body) -> None:
    call.cloud.store.put(HOST, call.target, body | {"updated": rfc3339(call.now)})


def shown(call: Call, body: Body) -> Body:
    """A project as the version of the call writes it."""
    if call.version == "v1":
        return {key: value for key, value in body.items() if key != "updated"}
    parent = body.get("parent")
    return {
        "name": f"projects/{body['projectNumber']}",
        "parent": f"{parent['type']}s/{parent['id']}" if parent else "",
        "projectId": body["projectId"],
        "state": body["lifecycleState"],
        "displayName": body["name"],
        "createTime": body["createTime"],
        "updateTime": body.get("updated", body["createTime"]),
        "etag": f'W/"{operations.number(str(sorted(body.items())))[:16]}"',
        "labels": body.get("labels", {}),
    }


def _typed(call: Call, body: Body) -> Body:
    return {"@type": f"type.googleapis.com/{TYPES[call.version]}"} | verbs.answered(call, body)


def _v1(call: Call, body: Body) -> Body:
    """A sent project in v1's words, without what only the server says."""
    if call.version == "v1":
        _check_parent(body.get("parent"))
        return {key: body[key] for key in ("projectId", "name", "labels", "parent") if key in body}
    out: Body = {key: body[key] for key in ("projectId", "labels") if key in body}
    out |= {"name": body["displayName"]} if "displayName" in body else {}
    return out | ({"parent": _resource_id(body["parent"])} if "parent" in body else {})


def _check_parent(parent: Body | None) -> None:
    """v1's form of a parent: `{type: folder, id: "123"}`, both needed (discovery document, ResourceId)."""
    if parent is not None and not (parent.get("type") in ("folder", "organization") and parent.get("id")):
        raise invalid("Request contains an invalid argument.", "parent", "parent must have the type folder or organization, and an id")


def _resource_id(parent: str) -> Body:
    """`folders/1` -> `{type: folder, id: 1}`."""
    kind, _, number = parent.partition("/")
    if kind not in ("folders", "organizations") or not number:
        raise invalid(f'"{parent}": parent must be folders/FOLDER or organizations/ORGANIZATION.', "parent")
    return {"type": kind.removesuffix("s"), "id": number}


KIND = Kind("projects", show=shown)

HANDLERS = {
    "projects.create": create,
    "projects.get": get,
    "projects.update": update,
    "projects.patch": patch,
    "projects.move": move,
    "projects.delete": delete,
    "projects.undelete": undelete,
    "projects.list": list_,
    "projects.search": list_,
}
