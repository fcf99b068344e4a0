"""Pub/Sub: what is filled in, refused, and delivered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "pubsub.googleapis.com"
TOPIC = "v1/projects/{project}/topics/budget"
FULL = "projects/shop-prod/topics/budget"
SUBSCRIPTION = "v1/projects/{project}/subscriptions/guard"

Ask = Callable[..., Answer]


@pytest.fixture
def subscribed(ask: Ask) -> None:
    """A topic with one subscription."""
    assert ask("PUT", HOST, TOPIC, {"labels": {"a": "b"}}).status == 200
    assert ask("PUT", HOST, SUBSCRIPTION, {"topic": FULL}).status == 200


@pytest.mark.usefixtures("subscribed")
def test_a_subscription_gets_its_defaults(ask: Ask) -> None:
    assert ask("GET", HOST, SUBSCRIPTION).body == {
        "name": "projects/shop-prod/subscriptions/guard",
        "topic": FULL,
        "ackDeadlineSeconds": 10,
        "messageRetentionDuration": "604800s",
        "expirationPolicy": {"ttl": "2678400s"},
        "pushConfig": {},
        "state": "ACTIVE",
    }


@pytest.mark.usefixtures("subscribed")
def test_a_subscription_that_never_expires_keeps_its_empty_policy(ask: Ask) -> None:
    body: dict[str, object] = {"topic": FULL, "expirationPolicy": {}, "deadLetterPolicy": None}
    made = ask("PUT", HOST, "v1/projects/{project}/subscriptions/ever", body).body
    assert (made["expirationPolicy"], "deadLetterPolicy" in made) == ({}, False)


def test_a_bucket_subscription_writes_text_unless_avro_is_asked_for(ask: Ask) -> None:
    ask("PUT", HOST, TOPIC, {})
    made = ask("PUT", HOST, SUBSCRIPTION, {"topic": FULL, "cloudStorageConfig": {"bucket": "b"}}).body
    assert made["cloudStorageConfig"] == {"bucket": "b", "state": "ACTIVE", "textConfig": {}}


@pytest.mark.usefixtures("subscribed")
@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        (TOPIC, {}, 409, "Resource already exists in the project (resource=budget)."),
        ("v1/projects/{project}/topics/goog-x", {}, 400, "Invalid [topics] name: (name=projects/shop-prod/topics/goog-x)"),
        ("v1/projects/{project}/topics/x", {}, 400, "Invalid [topics] name: (name=projects/shop-prod/topics/x)"),
        ("v1/projects/{project}/subscriptions/new", {"topic": f"{FULL}-gone"}, 404, "Resource not found (resource=budget-gone)."),
        (
            "v1/projects/{project}/snapshots/new",
            {"subscription": "projects/shop-prod/subscriptions/no"},
            404,
            "Resource not found (resource=no).",
        ),
    ],
)
def test_fails_to_make(ask: Ask, path: str, body: dict[str, object], status: int, message: str) -> None:
    answer = ask("PUT", HOST, path, body)
    assert (answer.status, answer.body["error"]["message"]) == (status, message)


@pytest.mark.usefixtures("subscribed")
@pytest.mark.parametrize("seconds", [9, 601])
def test_fails_with_an_ack_deadline_out_of_range(ask: Ask, seconds: int) -> None:
    body = {"subscription": {"ackDeadlineSeconds": seconds}, "updateMask": "ackDeadlineSeconds"}
    assert ask("PATCH", HOST, SUBSCRIPTION, body).status == 400


def test_what_is_not_there_is_named_by_its_last_word_but_for_a_schema(ask: Ask) -> None:
    schema = "v1/projects/{project}/schemas/s"
    assert ask("GET", HOST, TOPIC).body["error"]["message"] == "Resource not found (resource=budget)."
    assert ask("GET", HOST, schema).body["error"]["message"] == "Resource not found (resource=projects/shop-prod/schemas/s)."
    assert ask("GET", HOST, f"{TOPIC}:getIamPolicy").status == 404


@pytest.mark.usefixtures("subscribed")
def test_a_mask_is_read_from_the_body_or_the_query_and_must_be_there(ask: Ask) -> None:
    wrapped = {"topic": {"labels": {"c": "d"}, "messageRetentionDuration": "600s"}}
    assert ask("PATCH", HOST, TOPIC, wrapped, updateMask="labels").body == {"name": FULL, "labels": {"c": "d"}}
    changed = ask("PATCH", HOST, TOPIC, wrapped | {"updateMask": "message_retention_duration"}).body
    assert changed["messageRetentionDuration"] == "600s"
    assert ask("PATCH", HOST, TOPIC, wrapped).status == 400


@pytest.mark.usefixtures("subscribed")
@pytest.mark.parametrize("field", ["filter", "topic"])
def test_fails_to_change_what_is_fixed(ask: Ask, field: str) -> None:
    answer = ask("PATCH", HOST, SUBSCRIPTION, {"subscription": {field: "other"}, "updateMask": field})
    assert (answer.status, field in answer.body["error"]["message"]) == (400, True)


@pytest.mark.usefixtures("subscribed")
def test_a_subscription_outlives_its_topic(ask: Ask) -> None:
    assert ask("DELETE", HOST, TOPIC).body == {}
    assert ask("GET", HOST, SUBSCRIPTION).body["topic"] == "_deleted-topic_"


@pytest.mark.usefixtures("subscribed")
def test_lists(ask: Ask) -> None:
    assert [item["name"] for item in ask("GET", HOST, "v1/projects/{project}/topics").body["topics"]] == [FULL]
    assert ask("GET", HOST, f"{TOPIC}/subscriptions").body == {"subscriptions": ["projects/shop-prod/subscriptions/guard"]}
    assert ask("GET", HOST, "v1/projects/{project}/snapshots").body == {}


@pytest.mark.usefixtures("subscribed")
def test_a_snapshot_knows_its_topic_and_ends_in_a_week(ask: Ask) -> None:
    body = {"name": "projects/shop-prod/snapshots/one", "subscription": "projects/shop-prod/subscriptions/guard"}
    made = ask("PUT", HOST, "v1/projects/{project}/snapshots/one", body).body
    assert made == {"name": "projects/shop-prod/snapshots/one", "topic": FULL, "expireTime": "2026-12-07T12:00:00.000000Z"}


@pytest.mark.usefixtures("subscribed")
def test_a_message_comes_again_until_it_is_acknowledged(cloud: Cloud, ask: Ask) -> None:
    ask("POST", HOST, f"{TOPIC}:publish", {"messages": [{"data": "eA=="}, {"data": "eQ=="}]})
    first = ask("POST", HOST, f"{SUBSCRIPTION}:pull", {"maxMessages": 5}).body["receivedMessages"]
    assert [item["message"]["data"] for item in first] == ["eA==", "eQ=="]
    assert ask("POST", HOST, f"{SUBSCRIPTION}:pull", {"maxMessages": 5}).body == {}
    ask("POST", HOST, f"{SUBSCRIPTION}:acknowledge", {"ackIds": [first[0]["ackId"]]})
    cloud.clock.advance(11)
    again = ask("POST", HOST, f"{SUBSCRIPTION}:pull", {"maxMessages": 5}).body["receivedMessages"]
    assert [item["message"]["data"] for item in again] == ["eQ=="]


@pytest.mark.usefixtures("subscribed")
def test_a_message_that_is_given_back_comes_at_once(ask: Ask) -> None:
    ask("POST", HOST, f"{TOPIC}:publish", {"messages": [{"data": "eA=="}]})
    ack = ask("POST", HOST, f"{SUBSCRIPTION}:pull", {"maxMessages": 1}).body["receivedMessages"][0]["ackId"]
    ask("POST", HOST, f"{SUBSCRIPTION}:modifyAckDeadline", {"ackIds": [ack], "ackDeadlineSeconds": 0})
    assert len(ask("POST", HOST, f"{SUBSCRIPTION}:pull", {"maxMessages": 1}).body["receivedMessages"]) == 1


@pytest.mark.usefixtures("subscribed")
def test_a_detached_subscription_gets_nothing(ask: Ask) -> None:
    ask("POST", HOST, f"{SUBSCRIPTION}:detach")
    ask("POST", HOST, f"{TOPIC}:publish", {"messages": [{"data": "eA=="}]})
    answer = ask("POST", HOST, f"{SUBSCRIPTION}:pull", {"maxMessages": 1})
    assert (answer.status, answer.body["error"]["status"]) == (400, "FAILED_PRECONDITION")


@pytest.mark.usefixtures("subscribed")
def test_a_policy_goes_with_its_topic(ask: Ask) -> None:
    bindings = [{"role": "roles/pubsub.publisher", "members": ["user:a@shop.example"]}]
    ask("POST", HOST, f"{TOPIC}:setIamPolicy", {"policy": {"bindings": bindings, "etag": "ACAB"}})
    assert ask("GET", HOST, f"{TOPIC}:getIamPolicy").body["bindings"] == bindings
    ask("DELETE", HOST, TOPIC)
    ask("PUT", HOST, TOPIC, {})
    assert ask("GET", HOST, f"{TOPIC}:getIamPolicy").body == {"etag": "ACAB"}
