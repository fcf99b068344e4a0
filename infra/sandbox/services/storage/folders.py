"""What lies in a bucket besides objects: managed folders, folders, notifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from infra.sandbox import lists, policies
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused
from infra.sandbox.service import Answer, Body, Call
from infra.sandbox.services.storage.access import check_policy
from infra.sandbox.services.storage.parts import HOST, LINK, PAGE, check_metageneration, refused, there

WORDS = {"managedFolders": "storage#managedFolder", "folders": "storage#folder"}
TOPIC = "//pubsub.googleapis.com/"


def insert(call: Call) -> Any:
    """A folder or managed folder. Its name ends in a slash. Source: recordings."""
    home = there(call)
    name = call.body.get("name", "").rstrip("/") + "/"
    if name == "/":
        raise refused(400, "Required folder name is missing.", "required")
    if call.collection == "folders":
        _check_parents(call, home, name)
    if call.cloud.store.get(HOST, _key(call.owner, call.collection, name)) is not None:
        raise Refused(409, "The folder you tried to create already exists.", reason="conflict", style="both")
    return _keep(call, home, name)


def _keep(call: Call, home: Body, name: str) -> Body:
    now = rfc3339(call.now)
    body = {
        "kind": WORDS[call.collection],
        "id": f"{home['name']}/{name}",
        "selfLink": f"{LINK}b/{home['name']}/{call.collection}/{quote(name, safe='')}",
        "bucket": home["name"],
        "name": name,
        "metageneration": "1",
        "createTime": now,
        "updateTime": now,
    }
    call.cloud.store.put(HOST, _key(call.owner, call.collection, name), body, f"{call.owner}/{call.collection}")
    return body


def _check_parents(call: Call, home: Body, name: str) -> None:
    """Folders are for hierarchical buckets, each in one that is there. Source: Google's page on folders; Folder insert's `recursive`."""
    if not home.get("hierarchicalNamespace", {}).get("enabled"):
        raise refused(409, "The bucket does not support hierarchical namespace.", "conflict")
    words = name.strip("/").split("/")[:-1]
    for deep in range(1, len(words) + 1):
        parent = "/".join(words[:deep]) + "/"
        if call.cloud.store.get(HOST, _key(call.owner, "folders", parent)) is not None:
            continue
        if call.query.get("recursive") != "true":
            raise Refused(404, "The parent folder does not exist.", style="both")
        _keep(call, home, parent)


def get(call: Call) -> Any:
    body = _there(call)[1]
    check_metageneration(call, body)
    return body


def list_(call: Call) -> Any:
    there(call)
    prefix = call.query.get("prefix", "")
    every = [body for _, body in call.cloud.store.items(HOST, f"{call.owner}/{call.collection}") if body["name"].startswith(prefix)]
    items, more = lists.page(call, sorted(every, key=lambda body: str(body["name"])), PAGE)
    return {"kind": f"{WORDS[call.collection]}s"} | ({"items": items} if items else {}) | more


def delete(call: Call) -> Any:
    key, body = _there(call)
    check_metageneration(call, body)
    bucket = f"b/{body['bucket']}"
    inside = [item for _, item in call.cloud.store.items(HOST, f"{bucket}/o") if item["name"].startswith(body["name"])]
    inside += [
        item for name, item in call.cloud.store.items(HOST, f"{bucket}/folders") if name != key and item["name"].startswith(body["name"])
    ]
    if inside and call.query.get("allowNonEmpty") != "true":
        raise Refused(409, "The folder you tried to delete is not empty.", reason="conflict", style="both")
    call.cloud.remove(HOST, key)
    return Answer(204, None)


def get_policy(call: Call) -> Any:
    return _with_policy(call, policies.get)


def set_policy(call: Call) -> Any:
    return _with_policy(call, _set_policy)


def _set_policy(call: Call) -> Body:
    check_policy(call)
    return dict(policies.set_(call))


def _with_policy(call: Call, verb: Callable[[Call], Body]) -> Body:
    """A managed folder's own policy; it goes with the folder."""
    call.owner, body = _there(call)
    said = {"kind": "storage#policy", "resourceId": f"projects/_/buckets/{body['bucket']}/managedFolders/{body['name']}"}
    return {"version": 1} | verb(call) | said


def _there(call: Call) -> tuple[str, Body]:
    """The folder that the call names, with or without its last slash. Source: recordings."""
    _, bucket, word, name = call.owner.split("/", 3)
    there(call, f"b/{bucket}")
    key = _key(f"b/{bucket}", word, name.rstrip("/") + "/")
    body = call.cloud.store.get(HOST, key)
    if body is None:
        raise Refused(404, "The specified folder does not exist.", style="both")
    return key, body


def _key(bucket: str, word: str, name: str) -> str:
    return f"{bucket}/{word}/{quote(name, safe='')}"


def insert_notification(call: Call) -> Any:
    """Numbers begin at 1 in each bucket. Source: recordings, also of the topic's form."""
    home = there(call)
    topic = call.body.get("topic", "").removeprefix(TOPIC)
    if call.cloud.store.get("pubsub.googleapis.com", topic) is None:
        raise refused(400, f"Topic '{topic}' does not exist.", "invalid")
    number = str(call.cloud.store.next(f"notifications of {home['name']}"))
    body = call.body | {
        "kind": "storage#notification",
        "id": number,
        "selfLink": f"{LINK}{call.owner}/notificationConfigs/{number}",
        "topic": f"{TOPIC}{topic}",
        "etag": number,
    }
    body.setdefault("payload_format", "JSON_API_V1")
    call.cloud.store.put(HOST, f"{call.owner}/notificationConfigs/{number}", body)
    return body


def list_notifications(call: Call) -> Any:
    there(call)
    items = [body for _, body in call.cloud.store.items(HOST, f"{call.owner}/notificationConfigs")]
    return {"kind": "storage#notifications"} | ({"items": items} if items else {})


def get_notification(call: Call) -> Any:
    there(call, "/".join(call.owner.split("/")[:2]))
    body = call.cloud.store.get(HOST, call.owner)
    if body is None:
        raise missing_key()
    return body


def delete_notification(call: Call) -> Any:
    get_notification(call)
    call.cloud.store.delete(HOST, call.owner)
    return Answer(204, None)


def missing_key() -> Refused:
    """Source: recordings of notifications and access lists."""
    return refused(404, "The specified key does not exist.", "notFound")


def list_caches(call: Call) -> Any:
    """A bucket has no Anywhere Cache here."""
    there(call)
    return {"kind": "storage#anywhereCaches"}
