"""What every service does alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Answer, Cloud, Request

TPU = "tpu.googleapis.com"
NODES = "v2/projects/{project}/locations/us-east5-a/nodes"
NODE = {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e", "labels": {"a": "1"}, "description": "first"}

Ask = Callable[..., Answer]


@pytest.fixture
def made(ask: Ask, done: Callable[..., Answer]) -> str:
    """A node that stands."""
    assert done(TPU, "v2", ask("POST", TPU, NODES, NODE, nodeId="n")).body["response"]["state"] == "READY"
    return f"{NODES}/n"


def test_an_operation_is_undone_at_first_and_done_at_the_next_look(cloud: Cloud, ask: Ask) -> None:
    started = ask("POST", TPU, NODES, NODE, nodeId="n").body
    assert "done" not in started
    assert ask("GET", TPU, f"{NODES}/n").body["state"] == "CREATING"
    first = ask("GET", TPU, f"v2/{started['name']}").body
    second = ask("GET", TPU, f"v2/{started['name']}").body
    assert ("done" in first, second["done"]) == (False, True)
    assert ask("GET", TPU, f"{NODES}/n").body["state"] == "READY"


def test_with_a_manual_clock_polls_do_not_move_time() -> None:
    cloud = Cloud(clock=Clock(manual=True))
    cloud.projects.make("p")
    path = "v2/projects/p/locations/us-east5-a/nodes"
    body = b'{"acceleratorType": "v6e-1", "runtimeVersion": "x"}'
    started: Any = cloud.handle(Request("POST", TPU, path, {"nodeId": "n"}, body)).body
    poll = Request("GET", TPU, f"v2/{started['name']}")
    assert "done" not in cloud.handle(poll).body
    assert "done" not in cloud.handle(poll).body
    busy = cloud.handle(Request("DELETE", TPU, f"{path}/n"))
    assert (busy.status, busy.body["error"]["status"]) == (409, "ABORTED")
    cloud.clock.advance(3600)
    assert cloud.handle(poll).body["done"]


def test_a_mask_changes_what_it_names_alone(ask: Ask, made: str) -> None:
    body = {"labels": {"b": "2"}, "description": "second", "tags": ["t"]}
    assert ask("PATCH", TPU, made, body, updateMask="labels,tags").status == 200
    found = ask("GET", TPU, made).body
    assert (found["labels"], found["tags"], found["description"]) == ({"b": "2"}, ["t"], "first")
    ask("PATCH", TPU, made, {}, updateMask="description")
    assert "description" not in ask("GET", TPU, made).body


def test_an_immutable_field_is_not_changed(ask: Ask, made: str) -> None:
    answer = ask("PATCH", TPU, made, {"runtimeVersion": "other"}, updateMask="runtimeVersion")
    assert answer.status == 400
    assert ask("GET", TPU, made).body["runtimeVersion"] == "v2-alpha-tpuv6e"


def test_names_are_unique_and_what_is_gone_is_not_found(ask: Ask, done: Callable[..., Answer], made: str) -> None:
    assert ask("POST", TPU, NODES, NODE, nodeId="n").status == 409
    assert done(TPU, "v2", ask("DELETE", TPU, made)).body["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", {})):
        assert ask(method, TPU, made, body).status == 404
    assert ask("GET", TPU, NODES).body == {}


def test_lists_come_by_pages(ask: Ask) -> None:
    for index in range(5):
        ask("POST", TPU, NODES, NODE, nodeId=f"n{index}")
    seen, token = [], ""
    while True:
        page = ask("GET", TPU, NODES, pageSize="2", pageToken=token).body
        seen += [node["name"].rpartition("/")[2] for node in page["nodes"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert seen == ["n0", "n1", "n2", "n3", "n4"]


def test_a_request_without_what_it_needs_is_refused(ask: Ask) -> None:
    assert ask("POST", TPU, NODES, NODE).status == 400  # no nodeId
    assert ask("POST", TPU, NODES, {"acceleratorType": "v6e-1"}, nodeId="n").status == 400  # no runtimeVersion
    assert ask("GET", TPU, NODES).body == {}


@pytest.mark.parametrize("content", [b"{", b"[]", b'"x"', b"\xff"])
def test_a_body_that_is_no_message_is_refused(content: bytes, cloud: Cloud) -> None:
    answer = cloud.handle(Request("POST", TPU, NODES.format(project="shop-prod"), {"nodeId": "n"}, content))
    assert answer.status == 400


def test_a_project_that_is_none_is_forbidden_not_missing(ask: Ask) -> None:
    answer = ask("GET", TPU, "v2/projects/nope/locations/us-east5-a/nodes")
    assert answer.status == 403
    assert answer.body == {"error": {"code": 403, "message": "The caller does not have permission", "status": "PERMISSION_DENIED"}}


def test_a_project_is_named_by_its_number_too(cloud: Cloud, ask: Ask, made: str) -> None:
    by_number = made.replace("{project}", cloud.projects.number("shop-prod"))
    assert ask("GET", TPU, by_number).body == ask("GET", TPU, made).body


def test_what_the_sandbox_lacks_is_said(ask: Ask) -> None:
    assert ask("GET", "dns.googleapis.com", "dns/v1/projects/{project}").status == 404
    assert "tpu.googleapis.com" in ask("GET", "dns.googleapis.com", "x").body["error"]["message"]
    assert ask("GET", TPU, "v2/projects/{project}/locations/z/nothings").status == 404


def test_regional_hosts_are_the_service(ask: Ask) -> None:
    answer = ask("GET", "asia-east1-aiplatform.googleapis.com:443", "v1/projects/{project}/locations/asia-east1/endpoints")
    assert (answer.status, answer.body) == (200, {})


def test_a_policy_is_replaced_only_as_it_was_read(ask: Ask) -> None:
    """Two writers: the second one's etag is old, and it is refused."""
    topic = "v1/projects/{project}/topics/orders"
    assert ask("PUT", "pubsub.googleapis.com", topic, {}).status == 200
    read = ask("GET", "pubsub.googleapis.com", f"{topic}:getIamPolicy").body
    binding = {"role": "roles/pubsub.publisher", "members": ["user:a@shop.example"]}
    wanted = {"policy": {**read, "bindings": [binding]}}
    written = ask("POST", "pubsub.googleapis.com", f"{topic}:setIamPolicy", wanted)
    assert written.body["bindings"] == [binding]
    late = ask("POST", "pubsub.googleapis.com", f"{topic}:setIamPolicy", wanted)
    assert (late.status, late.body["error"]["status"]) == (409, "ABORTED")
    assert ask("DELETE", "pubsub.googleapis.com", topic).status == 200
    assert ask("PUT", "pubsub.googleapis.com", topic, {}).status == 200
    assert "bindings" not in ask("GET", "pubsub.googleapis.com", f"{topic}:getIamPolicy").body


def test_a_policy_of_an_etag_that_nobody_gave_is_refused_unless_it_is_said_to_be_a_mask(ask: Ask, cloud: Cloud) -> None:
    bucket, topic = "storage/v1/b/shop-media", "v1/projects/{project}/topics/orders"
    assert ask("POST", "storage.googleapis.com", "storage/v1/b", {"name": "shop-media"}, project="shop-prod").status == 200
    assert ask("PUT", "pubsub.googleapis.com", topic, {}).status == 200
    policy = {"etag": "masked", "bindings": []}

    def write() -> tuple[int, int]:
        storage = ask("PUT", "storage.googleapis.com", f"{bucket}/iam", policy)
        return storage.status, ask("POST", "pubsub.googleapis.com", f"{topic}:setIamPolicy", {"policy": policy}).status

    assert write() == (412, 409)
    cloud.masked = frozenset({"masked"})
    assert write() == (200, 200)


def test_what_is_not_there_has_no_policy(ask: Ask) -> None:
    topic = "v1/projects/{project}/topics/orders"
    assert ask("GET", "pubsub.googleapis.com", f"{topic}:getIamPolicy").status == 404
    assert ask("POST", "pubsub.googleapis.com", f"{topic}:setIamPolicy", {"policy": {}}).status == 404


def test_calls_are_kept_for_who_wants_to_see_them(cloud: Cloud, ask: Ask) -> None:
    ask("GET", TPU, f"{NODES}/n", key="value")
    assert cloud.calls[-1] == {
        "method": "GET",
        "host": TPU,
        "path": NODES.format(project="shop-prod") + "/n",
        "query": {"key": "value"},
        "status": 404,
    }
