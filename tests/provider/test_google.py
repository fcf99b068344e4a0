"""Calls of the accelform provider: what is sent twice and what never, where they go, how operations are awaited, and that ^C ends a wait."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from infra.provider.calls import ATTEMPTS, CancelledError, GoogleError, OperationError, UnclearError
from infra.provider.google import Google, Settings
from infra.provider.server import ProviderError

SANDBOX = Settings(sandbox="http://127.0.0.1:9555")
ENDPOINT = "projects/p/locations/asia-east1/endpoints/77"


def google(
    *answers: Any, settings: Settings = SANDBOX, cancel_after: int = 10**6, seconds_a_poll: float = 1.0
) -> tuple[Google, list[httpx.Request], list[float]]:
    """Answers one after the other, the last one for ever; an exception is raised."""
    seen: list[httpx.Request] = []
    waits: list[float] = []
    ticks = itertools.count(0, seconds_a_poll)

    def answer(request: httpx.Request) -> httpx.Response:
        found = answers[min(len(seen), len(answers) - 1)]
        seen.append(request)
        if isinstance(found, Exception):
            raise found
        return httpx.Response(found[0], json=found[1])

    def pause(seconds: float) -> bool:
        if seconds:
            waits.append(seconds)
        return len(waits) >= cancel_after

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Google(settings, pause, lambda: float(next(ticks)), http), seen, waits


def get(one: Google) -> dict[str, Any]:
    return one.call("aiplatform.v1", "projects.locations.endpoints.get", place="asia-east1", name=ENDPOINT)


def deploy(one: Google) -> dict[str, Any]:
    body = {"deployedModel": {"id": "1"}}
    return one.call("aiplatform.v1", "projects.locations.endpoints.deployModel", place="asia-east1", endpoint=ENDPOINT, body=body)


@pytest.mark.parametrize("trouble", [(503, {}), (429, {}), httpx.ConnectError("refused"), httpx.ReadError("cut")])
def test_a_read_is_sent_again(trouble: Any) -> None:
    """A passing trouble is waited out, longer each time."""
    one, seen, waits = google(trouble, trouble, (200, {"name": ENDPOINT}))
    assert get(one) == {"name": ENDPOINT}
    assert (len(seen), waits) == (3, [0.5, 1.0])


@pytest.mark.parametrize("trouble", [(503, {"error": {"message": "m"}}), (500, {}), httpx.ReadError("cut")])
def test_a_deployment_is_never_sent_twice(trouble: Any) -> None:
    """Two would be two machines: it is said that it may have begun."""
    one, seen, _ = google(trouble)
    with pytest.raises(UnclearError):
        deploy(one)
    assert len(seen) == 1


@pytest.mark.parametrize("trouble", [(429, {}), httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")])
def test_what_did_not_begin_is_sent_again(trouble: Any) -> None:
    one, seen, _ = google(trouble, (200, {"name": "o"}))
    assert deploy(one) == {"name": "o"}
    assert len(seen) == 2


def test_trouble_that_stays_is_told_in_googles_words() -> None:
    one, seen, _ = google((503, {"error": {"message": "The service is down"}}))
    with pytest.raises(GoogleError, match=r"^googleapi: Error 503: The service is down$"):
        get(one)
    assert len(seen) == ATTEMPTS


def test_no_answer_is_told_with_the_address() -> None:
    one, _, _ = google(httpx.ConnectError("refused"))
    with pytest.raises(ProviderError, match=r"GET http://127.0.0.1:9555/aiplatform.googleapis.com/v1/.*: no answer: refused"):
        get(one)


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'"x"'])
def test_what_is_no_google_is_no_traceback(content: bytes) -> None:
    one, _, _ = google((200, {}))
    one._http = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(404, content=content)))
    with pytest.raises(GoogleError, match="Error 404"):
        get(one)


def test_where_calls_go() -> None:
    """Google's own hosts, with the region in front where the API has one for each; the sandbox's one address."""
    assert Settings().root("aiplatform", "asia-east1") == "https://asia-east1-aiplatform.googleapis.com/"
    assert Settings().root("billingbudgets", "") == "https://billingbudgets.googleapis.com/"
    assert SANDBOX.root("aiplatform", "asia-east1") == "http://127.0.0.1:9555/aiplatform.googleapis.com/"
    one, seen, _ = google((200, {}), settings=Settings(sandbox="http://127.0.0.1:9555", charged="payer"))
    one.call("storage.v1", "objects.get", bucket="b", object="holds/a b")
    assert str(seen[0].url) == "http://127.0.0.1:9555/storage.googleapis.com/storage/v1/b/b/o/holds%2Fa%20b?alt=json"
    assert seen[0].headers["x-goog-user-project"] == "payer"


OPERATION = {"name": f"{ENDPOINT}/operations/5"}


def test_a_name_that_is_none_is_refused_in_words() -> None:
    """Google's client holds it against its pattern, before anything is sent."""
    with pytest.raises(ProviderError, match="does not match the pattern"):
        google((200, {}))[0].call("aiplatform.v1", "projects.locations.models.get", name="projects/p/locations/r/models/m@a/b")


def test_an_operation_is_asked_for_where_it_is() -> None:
    """At once, then after growing waits; its end is its response."""
    done = OPERATION | {"done": True, "response": {"@type": "t", "deployedModel": {"id": "1"}}}
    one, seen, waits = google((200, OPERATION), (200, OPERATION), (200, done))
    assert one.finished("aiplatform.v1", OPERATION, place="asia-east1") == {"deployedModel": {"id": "1"}}
    assert {request.url.path for request in seen} == {f"/aiplatform.googleapis.com/v1/{OPERATION['name']}"}
    assert (len(seen), waits[0] < waits[1]) == (3, True)


def test_an_operation_that_fails_is_told() -> None:
    one, _, _ = google((200, OPERATION | {"done": True, "error": {"code": 9, "message": "no quota"}}))
    with pytest.raises(OperationError, match=r"^9: no quota$"):
        one.finished("aiplatform.v1", OPERATION, place="asia-east1")


def test_an_operation_has_an_end() -> None:
    """The program's own timeout, where it sets one."""
    one, seen, _ = google((200, OPERATION), seconds_a_poll=30.0)
    with pytest.raises(OperationError, match="has not ended within 2 minutes"):
        one.finished("aiplatform.v1", OPERATION, place="asia-east1", seconds=120)
    assert len(seen) < 6


@pytest.mark.parametrize("wait", [get, lambda one: one.finished("aiplatform.v1", OPERATION, place="asia-east1")])
def test_a_cancel_ends_every_wait(wait: Callable[[Google], Any]) -> None:
    answers = [(503, {})] if wait is get else [(200, OPERATION)]
    one, seen, _ = google(*answers, cancel_after=2)
    with pytest.raises(CancelledError, match="pulumi refresh"):
        wait(one)
    assert len(seen) == 2


def test_a_list_is_read_to_its_end() -> None:
    """A page may be empty and still not the last."""
    one, seen, _ = google(
        (200, {"nextPageToken": "2"}), (200, {"endpoints": [{"name": "a"}], "nextPageToken": "3"}), (200, {"endpoints": []})
    )
    parent = "projects/p/locations/asia-east1"
    assert one.pages("aiplatform.v1", "projects.locations.endpoints.list", "endpoints", place="asia-east1", parent=parent) == [
        {"name": "a"}
    ]
    assert [request.url.params.get("pageToken") for request in seen] == [None, "2", "3"]
