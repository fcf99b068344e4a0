"""Artifact Registry: repositories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "artifactregistry.googleapis.com"
ALL = "v1/projects/{project}/locations/asia-east1/repositories"
IMAGES = f"{ALL}/images"

Ask = Callable[..., Answer]
Done = Callable[[str, str, Answer], Answer]


@pytest.fixture
def made(ask: Ask, done: Done) -> Any:
    """What the operation of a repository's creation answers."""
    body = {"format": "DOCKER", "description": "workload images", "dockerConfig": {"immutableTags": True}}
    return done(HOST, "v1", ask("POST", HOST, ALL, body, repository_id="images")).body


def test_a_repository_gets_its_defaults(ask: Ask, made: Any) -> None:
    assert ask("GET", HOST, IMAGES).body == {
        "name": "projects/shop-prod/locations/asia-east1/repositories/images",
        "format": "DOCKER",
        "mode": "STANDARD_REPOSITORY",
        "description": "workload images",
        "dockerConfig": {"immutableTags": True},
        "createTime": "2026-11-30T12:00:00.000000Z",
        "updateTime": "2026-11-30T12:00:00.000000Z",
        "registryUri": "asia-east1-docker.pkg.dev/shop-prod/images",
        "satisfiesPzi": True,
        "vulnerabilityScanningConfig": {
            "enablementState": "SCANNING_DISABLED",
            "enablementStateReason": "API containerscanning.googleapis.com is not enabled.",
            "lastEnableTime": "2026-11-30T12:00:00.000000Z",
        },
    }


def test_the_operation_says_its_kind_and_answers_without_times(made: Any) -> None:
    assert made["metadata"] == {"@type": "type.googleapis.com/google.devtools.artifactregistry.v1.OperationMetadata"}
    assert made["response"]["@type"] == "type.googleapis.com/google.devtools.artifactregistry.v1.Repository"
    assert not {"createTime", "updateTime", "registryUri"} & made["response"].keys()


def test_a_change_is_answered_at_once(cloud: Cloud, ask: Ask, made: Any) -> None:
    cloud.clock.advance(60)
    changed = ask("PATCH", HOST, IMAGES, {"description": "new", "labels": {"a": "b"}}, updateMask="description").body
    assert (changed["description"], "labels" in changed, changed["updateTime"] > changed["createTime"]) == ("new", False, True)


def test_a_label_may_be_empty_and_labels_may_go(ask: Ask, made: Any) -> None:
    assert ask("PATCH", HOST, IMAGES, {"labels": {"a": ""}}, updateMask="labels").body["labels"] == {"a": ""}
    assert "labels" not in ask("PATCH", HOST, IMAGES, {"labels": {}}, updateMask="labels").body


@pytest.mark.parametrize(("field", "value"), [("format", "NPM"), ("mode", "REMOTE_REPOSITORY"), ("kmsKeyName", "key")])
def test_fails_to_change_what_is_fixed(ask: Ask, made: Any, field: str, value: str) -> None:
    answer = ask("PATCH", HOST, IMAGES, {field: value}, updateMask=field)
    assert (answer.status, field in answer.body["error"]["message"]) == (400, True)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"format": "DOCKER"}, 409, "the repository already exists"),
        ({}, 400, "Invalid value for field 'format': required field is missing."),
        ({"format": "FLOPPY"}, 400, "Invalid value at 'format' (TYPE_ENUM), \"FLOPPY\""),
    ],
)
def test_fails_to_make(ask: Ask, made: Any, body: dict[str, str], status: int, message: str) -> None:
    answer = ask("POST", HOST, ALL, body, repositoryId="images")
    assert (answer.status, answer.body["error"]["message"]) == (status, message)


def test_a_virtual_repository_needs_what_it_stands_before(ask: Ask, done: Done, made: Any) -> None:
    name = "projects/shop-prod/locations/asia-east1/repositories/"
    body = {
        "format": "DOCKER",
        "mode": "VIRTUAL_REPOSITORY",
        "virtualRepositoryConfig": {"upstreamPolicies": [{"repository": f"{name}no"}]},
    }
    assert ask("POST", HOST, ALL, body, repositoryId="all").status == 400
    body["virtualRepositoryConfig"] = {"upstreamPolicies": [{"id": "i", "repository": f"{name}images", "priority": 1}]}
    response = done(HOST, "v1", ask("POST", HOST, ALL, body, repositoryId="all")).body["response"]
    assert response["vulnerabilityScanningConfig"]["enablementState"] == "SCANNING_UNSUPPORTED"


def test_gone_with_its_policy(ask: Ask, done: Done, made: Any) -> None:
    bindings = [{"role": "roles/artifactregistry.reader", "members": ["user:a@shop.example"]}]
    ask("POST", HOST, f"{IMAGES}:setIamPolicy", {"policy": {"bindings": bindings}})
    assert ask("GET", HOST, f"{IMAGES}:getIamPolicy").body["bindings"] == bindings
    assert done(HOST, "v1", ask("DELETE", HOST, IMAGES)).body["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    for path in (IMAGES, f"{IMAGES}:getIamPolicy"):
        assert ask("GET", HOST, path).body["error"]["message"] == "Requested entity was not found."
    assert ask("GET", HOST, ALL).body == {}
