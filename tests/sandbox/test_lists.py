"""Filters, orders and pages of every service's lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer

VERTEX = "aiplatform.googleapis.com"
DATASETS = "v1/projects/{project}/locations/asia-east1/datasets"
Ask = Callable[..., Answer]


@pytest.fixture
def names(ask: Ask) -> Callable[..., Any]:
    """Display names of the datasets that a list answers; the answer where it is a refusal. There are three, `one` to `three`."""
    for name, labels in (("one", {"tier": "x"}), ("two", {"tier": "y"}), ("three", {})):
        body = {"displayName": name, "metadataSchemaUri": "gs://x", "labels": labels}
        assert ask("POST", VERTEX, DATASETS, body).status == 200

    def names(**query: str) -> Any:
        answer = ask("GET", VERTEX, DATASETS, **query)
        return [item["displayName"] for item in answer.body.get("datasets", [])] if answer.status == 200 else answer

    return names


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('displayName="one"', ["one"]),
        ("display_name='two'", ["two"]),
        ('display_name="t*"', ["two", "three"]),
        ("labels.tier=x", ["one"]),
        ("labels.tier:*", ["one", "two"]),
        ("labels:tier", ["one", "two"]),
        ("displayName!=one", ["two", "three"]),
        ("displayName:ONE", ["one"]),
        ("displayName:on", []),
        ("labels.tier=y AND displayName=two", ["two"]),
    ],
)
def test_a_list_is_filtered(names: Callable[..., Any], asked: str, found: list[str]) -> None:
    assert names(filter=asked) == found


def test_a_list_is_ordered(names: Callable[..., Any]) -> None:
    assert names(orderBy="displayName") == names(orderBy="display_name asc") == ["one", "three", "two"]
    assert names(orderBy="displayName desc", pageSize="2") == ["two", "three"]
    assert names(orderBy="metadataSchemaUri,displayName desc") == ["two", "three", "one"]
    assert names(orderBy="displayName sideways").status == 400


@pytest.mark.parametrize("query", [{"filter": "a OR b"}, {"filter": "dataset_id=5"}, {"filter": "NOT labels.tier:x"}, {"orderBy": "size"}])
def test_what_is_not_read_is_refused_by_its_name(names: Callable[..., Any], query: dict[str, str]) -> None:
    refused = names(**query)
    assert refused.status == 501
    assert any(word in refused.body["error"]["message"] for word in query.values())


def test_pages_are_of_what_the_filter_wants(ask: Ask, names: Callable[..., Any]) -> None:
    page = ask("GET", VERTEX, DATASETS, filter="labels:tier", pageSize="1").body
    assert [item["displayName"] for item in page["datasets"]] == ["one"]
    assert names(filter="labels:tier", pageSize="1", pageToken=page["nextPageToken"]) == ["two"]


@pytest.mark.parametrize("query", [{"pageSize": "many"}, {"pageSize": "-1"}, {"pageToken": "next"}, {"pageToken": "²"}])
def test_a_page_that_is_none_is_refused(names: Callable[..., Any], query: dict[str, str]) -> None:
    assert names(**query).status == 400
