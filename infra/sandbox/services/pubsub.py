"""Pub/Sub: topics, subscriptions, snapshots and schemas; what is published waits in its subscriptions until it is pulled."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from infra.sandbox import lists, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind, Service

HOST = "pubsub.googleapis.com"
DELETED = "_deleted-topic_"
"""Topic of a subscription whose topic is gone. Source: Subscription.topic in the discovery document."""
NAME = re.compile(r"(?!goog)[A-Za-z][A-Za-z0-9\-_.~+%]{2,254}")
"""Source: Topic.name in the discovery document."""
SNAPSHOT_LIVES = 7 * 24 * 3600
"""Source: Snapshot.expireTime in the discovery document."""


def _create(call: Call) -> Any:
    """PUT on the name itself."""
    project, collection = call.owner.split("/")[:2], call.owner.split("/")[2]
    call.body["name"] = call.owner
    call.owner, call.collection = "/".join(project), collection
    return verbs.create(call)


def _check_name(call: Call, body: Body, before: Body | None) -> None:
    if before is None and not NAME.fullmatch(_short(call.target)):
        said = f"Invalid [{call.collection}] name: (name={call.target})"
        raise invalid(said, "name", said)


def _fill_subscription(call: Call, body: Body) -> None:
    topic = _there(call, body["topic"])
    body.setdefault("ackDeadlineSeconds", 10)  # recordings; FACTS: Subscription defaults
    body.setdefault("messageRetentionDuration", "604800s")  # "Defaults to 7 days", discovery document
    body.setdefault("expirationPolicy", {"ttl": "2678400s"})  # "a default policy with ttl of 31 days", discovery document; recordings
    body.setdefault("pushConfig", {})  # recordings
    body["state"] = "ACTIVE"
    _fill_exports(body)
    if "messageRetentionDuration" in topic:
        body["topicMessageRetentionDuration"] = topic["messageRetentionDuration"]


def _fill_exports(body: Body) -> None:
    """Source: recordings of subscriptions that write to a bucket and to a table."""
    for key in ("bigqueryConfig", "cloudStorageConfig"):
        if key in body:
            body[key]["state"] = "ACTIVE"
    bucket = body.get("cloudStorageConfig", {})
    if bucket and not bucket.get("avroConfig"):
        bucket.pop("avroConfig", None)
        bucket.setdefault("textConfig", {})


def _change_subscription(call: Call, body: Body, before: Body) -> None:
    _fill_exports(body)


def _check_subscription(call: Call, body: Body, before: Body | None) -> None:
    _check_name(call, body, before)
    deadline = body.get("ackDeadlineSeconds", 0)
    if not 10 <= deadline <= 600:
        said = f"Invalid ack deadline given: (ack_deadline_seconds={deadline}); it is between 10 and 600 seconds."
        raise invalid(said, "ackDeadlineSeconds", said)  # the range: Subscription.ackDeadlineSeconds in the discovery document
    dead = body.get("deadLetterPolicy", {}).get("deadLetterTopic")
    if dead and dead != (before or {}).get("deadLetterPolicy", {}).get("deadLetterTopic"):
        _there(call, dead)


def _release_topic(call: Call, body: Body) -> None:
    """Its subscriptions stay, without a topic."""
    for name, subscription in _of_topic(call, "subscriptions", call.target):
        call.cloud.store.put(HOST, name, subscription | {"topic": DELETED})


def _release_subscription(call: Call, body: Body) -> None:
    call.cloud.store.delete("messages", call.target)


def _fill_snapshot(call: Call, body: Body) -> None:
    subscription = _there(call, str(body.pop("subscription", "")))
    body["topic"] = subscription["topic"]
    body["expireTime"] = rfc3339(call.now + SNAPSHOT_LIVES)


def _fill_schema(call: Call, body: Body) -> None:
    body["name"] = call.target
    body["revisionId"] = hashlib.sha256(f"{call.target}{call.now}".encode()).hexdigest()[:8]
    body["revisionCreateTime"] = rfc3339(call.now)


def _list_of_topic(call: Call) -> Any:
    """Names of a topic's subscriptions or snapshots."""
    _there(call, call.owner)
    names, more = lists.page(call, [name for name, _ in _of_topic(call, call.collection, call.owner)])
    return ({call.collection: names} if names else {}) | more


def _of_topic(call: Call, collection: str, topic: str) -> list[tuple[str, Body]]:
    every = call.cloud.store.every(HOST, "projects/")
    return [(name, body) for _, name, body in every if name.split("/")[2] == collection and body.get("topic") == topic]


def _publish(call: Call) -> Any:
    _there(call, call.owner)
    made = []
    for message in call.body.get("messages", []):
        number = str(call.cloud.store.next("messages"))
        made.append(number)
        kept = message | {"messageId": number, "publishTime": rfc3339(call.now)}
        for name, subscription in _of_topic(call, "subscriptions", call.owner):
            if not subscription.get("detached"):
                call.cloud.store.put("messages", f"{name}/{number}", {"message": kept, "until": 0}, name)
    return {"messageIds": made}


def _pull(call: Call) -> Any:
    subscription = _attached(call)
    received: list[Body] = []
    for name, kept in call.cloud.store.items("messages", call.owner):
        if kept["until"] > call.now or len(received) >= int(call.body.get("maxMessages", 1)):
            continue
        call.cloud.store.put("messages", name, kept | {"until": call.now + subscription["ackDeadlineSeconds"]})
        received.append({"ackId": _short(name), "message": kept["message"]})
    return {"receivedMessages": received} if received else {}


def _acknowledge(call: Call) -> Any:
    _there(call, call.owner)
    for ack in call.body.get("ackIds", []):
        call.cloud.store.delete("messages", f"{call.owner}/{ack}")
    return {}


def _modify_ack_deadline(call: Call) -> Any:
    _there(call, call.owner)
    for ack in call.body.get("ackIds", []):
        kept = call.cloud.store.get("messages", f"{call.owner}/{ack}")
        if kept is not None:
            call.cloud.store.put("messages", f"{call.owner}/{ack}", kept | {"until": call.now + call.body.get("ackDeadlineSeconds", 0)})
    return {}


def _modify_push_config(call: Call) -> Any:
    subscription = _there(call, call.owner)
    call.cloud.store.put(HOST, call.owner, subscription | {"pushConfig": call.body.get("pushConfig", {})})
    return {}


def _detach(call: Call) -> Any:
    subscription = _there(call, call.owner)
    call.cloud.store.put(HOST, call.owner, subscription | {"detached": True})
    call.cloud.store.delete("messages", call.owner)
    return {}


def _attached(call: Call) -> Body:
    subscription = _there(call, call.owner)
    if subscription.get("detached"):  # Subscription.detached in the discovery document
        raise Refused(400, f"The subscription {call.owner} is detached.", status="FAILED_PRECONDITION")
    return subscription


def _there(call: Call, name: str) -> Body:
    """A resource of Pub/Sub by its full name.

    Raises:
        Refused: There is none.
    """
    body = call.cloud.store.get(HOST, name)
    if body is None:
        raise _missing(name)
    return body


def _missing(name: str) -> Refused:
    shown = name if "/schemas/" in name else _short(name)
    return Refused(404, f"Resource not found (resource={shown}).")


def _exists(call: Call) -> Refused:
    return Refused(409, f"Resource already exists in the project (resource={_short(call.target)}).")


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _unwrap(call: Call) -> tuple[Body, str]:
    """`{topic: ..., updateMask}`; the provider sends the mask of a topic in the query."""
    mask = call.body.get("updateMask") or call.query.get("updateMask", "")
    if not mask:
        said = f"The update_mask in the {call.method.request} must be set, and must contain a non-empty paths list."
        raise invalid(said, "updateMask", said)
    return call.body.get(call.kind.resource.rpartition(".")[2][:-1], {}), mask


SERVICE = Service(
    host=HOST,
    apis=("pubsub.v1",),
    operations=LongRunning(),
    kinds=(
        Kind("projects.topics", id_from="body:name", immutable=("kmsKeyName",), check=_check_name, release=_release_topic),
        Kind(
            "projects.subscriptions",
            id_from="body:name",
            required=("topic",),  # "Required." in the discovery document
            immutable=("topic", "filter", "enableMessageOrdering"),  # Google's reference: these cannot be changed after creation
            fill=_fill_subscription,
            check=_check_subscription,
            changed=_change_subscription,
            release=_release_subscription,
        ),
        Kind("projects.snapshots", id_from="body:name", fill=_fill_snapshot, check=_check_name),
        Kind("projects.schemas", id_from="query:schemaId", required=("type", "definition"), fill=_fill_schema),
    ),
    handlers={
        "projects.topics.create": _create,
        "projects.subscriptions.create": _create,
        "projects.snapshots.create": _create,
        "projects.topics.publish": _publish,
        "projects.topics.subscriptions.list": _list_of_topic,
        "projects.topics.snapshots.list": _list_of_topic,
        "projects.subscriptions.pull": _pull,
        "projects.subscriptions.acknowledge": _acknowledge,
        "projects.subscriptions.modifyAckDeadline": _modify_ack_deadline,
        "projects.subscriptions.modifyPushConfig": _modify_push_config,
        "projects.subscriptions.detach": _detach,
    },
    unwrap=_unwrap,
    not_found=lambda call: _missing(call.target),
    exists=_exists,
)
