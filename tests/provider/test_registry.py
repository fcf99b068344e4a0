"""A model in the registry, call by call: what is asked, and what an answer means."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from infra.provider.calls import GoogleError, OperationError
from infra.provider.google import Google, Settings
from infra.provider.registry import Registry, aliases_of

MODEL = "projects/p/locations/asia-east1/models/m"


def registry(answers: dict[str, tuple[int, Any]]) -> tuple[Registry, list[httpx.Request]]:
    """A registry; *answers* are by regular expressions on `METHOD path`."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        asked = f"{request.method} {request.url.path}"
        status, body = next(found for form, found in answers.items() if re.search(form, asked))
        return httpx.Response(status, json=body)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Registry(Google(Settings(sandbox="http://127.0.0.1:1"), lambda seconds: False, http=http), "p", "asia-east1", "m"), seen


def test_versions_are_in_the_order_of_their_numbers() -> None:
    """Not of their letters: 10 is after 9."""
    listed = [{"versionId": "10", "versionAliases": ["b", "a"]}, {"versionId": "9"}]
    one, _ = registry({"listVersions": (200, {"models": listed})})
    assert [found["versionId"] for found in one.versions()] == ["9", "10"]
    assert aliases_of(one.seen) == {"a": "10", "b": "10"}


@pytest.mark.parametrize("ask", [Registry.versions, Registry.uploads])
def test_no_model_has_nothing(ask: Any) -> None:
    one, _ = registry({"": (404, {"error": {"message": "The Model does not exist."}})})
    assert ask(one) == []


@pytest.mark.parametrize("ask", [Registry.versions, Registry.uploads, Registry.delete])
def test_a_refusal_is_told(ask: Any) -> None:
    one, _ = registry({"": (403, {"error": {"message": "no"}})})
    with pytest.raises(GoogleError, match="403: no"):
        ask(one)


def test_only_uploads_that_run_count() -> None:
    def operation(name: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"name": f"{MODEL}/operations/{name}", "metadata": {"@type": f"x.v1.{kind}OperationMetadata"}, **more}

    every = [operation("1", "UploadModel"), operation("2", "UploadModel", done=True), operation("3", "ExportModel"), {"name": "4"}]
    one, _ = registry({"operations$": (200, {"operations": every})})
    assert [found["name"] for found in one.uploads()] == [f"{MODEL}/operations/1"]


@pytest.mark.parametrize(
    ("status", "body", "holds"),
    [
        (200, {"deployedModels": [{"id": "7"}]}, True),
        (200, {"deployedModels": [{"id": "8"}]}, False),
        (200, {}, False),
        (404, {}, False),
        (403, {}, True),
    ],
)
def test_an_endpoint_says_itself_whether_it_holds_a_model(status: int, body: Any, holds: bool) -> None:
    """Where it stands, which may be another location; one that may not be read is believed to."""
    endpoint = "projects/1/locations/us-east5/endpoints/5"
    ref = {"endpoint": endpoint, "deployedModelId": "7"}
    one, seen = registry({"listVersions": (200, {"models": [{"versionId": "1", "deployedModels": [ref]}]}), "endpoints": (status, body)})
    one.versions()
    assert one.holders() == ([endpoint] if holds else [])
    assert seen[-1].url.path.endswith(f"/v1/{endpoint}")


def test_an_upload_that_fails_is_no_longer_pending() -> None:
    """One that has not ended is."""
    operation = {"name": f"{MODEL}/operations/1", "metadata": {"@type": "x.v1.UploadModelOperationMetadata"}}
    failed = operation | {"done": True, "error": {"code": 9, "message": "no"}}
    answers = {"models:upload": (200, failed), "operations$": (200, {"operations": [failed]})}
    one, _ = registry(answers)
    with pytest.raises(OperationError, match="9: no"):
        one.upload({})
    assert one.pending is False
    answers["operations$"] = (200, {"operations": [operation]})
    with pytest.raises(OperationError):
        one.upload({})
    assert one.pending is True


def test_a_change_carries_the_etag_and_names_its_fields() -> None:
    one, seen = registry({"PATCH": (200, {})})
    one.patch({"versionId": "3", "etag": "e"}, {"labels": {}, "displayName": "d"})
    assert seen[0].url.params["updateMask"] == "displayName,labels"
    assert seen[0].url.path.endswith("/models/m@3")
    assert b'"etag": "e"' in seen[0].content


def test_nothing_to_merge_is_no_call() -> None:
    one, seen = registry({})
    one.merge("1", [])
    assert seen == []
