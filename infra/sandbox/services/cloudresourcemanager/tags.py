"""Tags: keys, their values, and what each value is bound to."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from infra.sandbox import etags, lists, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.cloudresourcemanager.projects import HOST

TYPES = {"tagKeys": "TagKey", "tagValues": "TagValue", "tagBindings": "TagBinding"}


def create(call: Call) -> Any:
    """POST of a key under a project or an organization, or of a value under a key."""
    body = dict(call.body)
    for field in ("parent", "shortName"):  # "Required." in the descriptions
        if not body.get(field):
            raise invalid(f"{field} is required.", field)
    words = body["parent"].split("/")
    if call.collection == "tagKeys":
        space = words[-1]
        if words[0] == "projects":
            space = call.cloud.projects.id(space)
            body["parent"] = f"projects/{call.cloud.projects.number(space)}"
    else:
        key = call.cloud.store.get(HOST, body["parent"])
        if key is None:
            raise Refused(404, f"TagKey {body['parent']} not found.")
        space = key["namespacedName"]
    body["namespacedName"] = f"{space}/{body['shortName']}"
    if _named(call, body["namespacedName"]) is not None:
        raise Refused(409, f"{TYPES[call.collection]} with name {body['namespacedName']} already exists.")
    count = call.cloud.store.next("ids")
    call.target = f"{call.collection}/{operations.number(f'{call.collection}{count}')[:15]}"
    body |= {"name": call.target, "createTime": rfc3339(call.now)}
    return _done(call, "create", body, seconds=2)


def patch(call: Call) -> Any:
    """PATCH: the description; done in its answer. Source: recorded, 2026-08."""
    call.target = call.owner
    body = verbs.stored(call)
    etags.check(call.cloud, call.body.get("etag", ""), body["etag"])
    return _done(call, "patch", body | {"description": call.body.get("description", "")})


def delete(call: Call) -> Any:
    """DELETE: not while something is below. Source: descriptions in the discovery document."""
    call.target = call.owner
    body = verbs.stored(call)
    etags.check(call.cloud, call.query.get("etag", ""), body["etag"])
    field, collection = ("parent", "tagValues") if call.target.startswith("tagKeys/") else ("tagValue", "tagBindings")
    below = [name for name, other in call.cloud.store.items(HOST, collection) if other[field] == call.target]
    if below:
        said = f"Cannot delete {call.target}: it still has {collection}: {', '.join(below)}."
        raise Refused(400, said, status="FAILED_PRECONDITION")
    return operations.start(call, "delete", None, 2, response=_typed(call, body))


def namespaced(call: Call) -> Any:
    """GET `namespaced?name=PROJECT/KEY`."""
    body = _named(call, call.query.get("name", ""))
    if body is None:
        raise Refused(403, "The caller does not have permission")
    return verbs.answered(call, body)


def _named(call: Call, name: str) -> Body | None:
    collection = (call.collection or call.owner).split("/")[0]
    return next((body for _, body in call.cloud.store.items(HOST, collection) if body["namespacedName"] == name), None)


def bind(call: Call) -> Any:
    """POST of a binding: `{parent: //cloudresourcemanager.googleapis.com/projects/NUMBER, tagValue: tagValues/1}`."""
    body = dict(call.body)
    value = body.get("tagValue") or (_named_value(call, body.get("tagValueNamespacedName", "")) or {}).get("name", "")
    if call.cloud.store.get(HOST, value) is None:
        raise Refused(404, f"TagValue {value} not found.")
    body |= {"tagValue": value, "name": f"tagBindings/{quote(body.get('parent', ''), safe='')}/{value}"}
    call.target = f"tagBindings/{body.get('parent', '')}/{value}"
    if call.cloud.store.get(HOST, call.target) is not None:
        raise Refused(409, f"{body['name']} already exists.")
    call.cloud.store.put(HOST, call.target, body, "tagBindings")
    return operations.start(call, "create", body, 0, sets={}, response=_typed(call, body))


def _named_value(call: Call, name: str) -> Body | None:
    return next((body for _, body in call.cloud.store.items(HOST, "tagValues") if body["namespacedName"] == name), None)


def unbind(call: Call) -> Any:
    call.target = call.owner
    verbs.stored(call)
    return operations.start(call, "delete", None, 0, empty=True)


def list_(call: Call) -> Any:
    """GET: those of `parent`."""
    parent = call.query.get("parent", "")
    if call.collection == "tagKeys" and parent.startswith("projects/"):
        parent = f"projects/{call.cloud.projects.number(parent.partition('/')[2])}"
    every = call.cloud.store.items(HOST, call.collection)
    return lists.listed(call, [(name, body) for name, body in every if body["parent"] == parent])


def _done(call: Call, verb: str, body: Body, seconds: float = 0) -> Any:
    body = body | {"updateTime": rfc3339(call.now), "etag": etags.new(call.cloud)}
    call.cloud.store.put(HOST, call.target, body)
    return operations.start(call, verb, body, seconds, sets={}, response=_typed(call, body))


def _typed(call: Call, body: Body) -> Body:
    kind = TYPES[call.target.split("/")[0]]
    return {"@type": f"type.googleapis.com/google.cloud.resourcemanager.v3.{kind}"} | verbs.answered(call, body)


KINDS = tuple(Kind(collection) for collection in TYPES)

HANDLERS = {
    f"{collection}.{verb}": handler
    for collection in ("tagKeys", "tagValues")
    for verb, handler in (("create", create), ("patch", patch), ("delete", delete), ("getNamespaced", namespaced), ("list", list_))
} | {"tagBindings.create": bind, "tagBindings.delete": unbind, "tagBindings.list": list_}
