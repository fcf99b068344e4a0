"""Calls: what is retried, how operations are awaited, and that ^C ends every wait."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import echo
import httpx
import pytest

from infra.local.gcp.config import Config
from infra.local.gcp.rest import Client
from infra.provider.calls import ATTEMPTS, GoogleError, OperationError, UnclearError
from infra.provider.server import ProviderError

Answers = Callable[[httpx.Request], httpx.Response]


def client(
    answers: Answers, waits: list[float] | None = None, *, cancel_after: int = 10**6, seconds_a_poll: float = 1.0, **config: Any
) -> Client:
    kept: list[float] = [] if waits is None else waits
    ticks = itertools.count(0, seconds_a_poll)

    def pause(seconds: float) -> bool:
        if seconds:
            kept.append(seconds)
        return len(kept) >= cancel_after

    made = Config(endpoints={"compute": "http://127.0.0.1:1/"}, token="t", **config)
    return Client(made, httpx.Client(transport=httpx.MockTransport(answers)), pause, lambda: float(next(ticks)))


def in_turn(*answers: Any) -> tuple[list[httpx.Request], Answers]:
    """Answers one after the other, the last one for ever; an exception is raised."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        found = answers[min(len(seen), len(answers) - 1)]
        seen.append(request)
        if isinstance(found, Exception):
            raise found
        status, body = found
        return httpx.Response(status, json=body)

    return seen, answer


@pytest.mark.parametrize("trouble", [(503, {}), (502, {}), (429, {}), httpx.ConnectError("refused"), httpx.ReadError("cut")])
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_retries_what_may_be_sent_twice(trouble: Any, method: str) -> None:
    """A passing trouble is waited out, longer each time."""
    waits: list[float] = []
    seen, answers = in_turn(trouble, trouble, (200, {"a": 1}))
    assert client(answers, waits).call(method, "compute", "x") == {"a": 1}
    assert len(seen) == 3
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize("trouble", [(503, {"error": {"message": "m"}}), (500, {}), httpx.ReadError("cut")])
def test_fails_at_once_where_twice_would_be_two(trouble: Any) -> None:
    """A create is sent once, and it is said that it may have happened."""
    seen, answers = in_turn(trouble)
    with pytest.raises(UnclearError):
        client(answers).call("POST", "compute", "x")
    assert len(seen) == 1


@pytest.mark.parametrize("trouble", [(429, {}), httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")])
def test_retries_what_was_not_done(trouble: Any) -> None:
    """A create that was refused for the time, or that found nobody, did not happen."""
    seen, answers = in_turn(trouble, (200, {"a": 1}))
    assert client(answers).call("POST", "compute", "x") == {"a": 1}
    assert len(seen) == 2


def test_fails_when_trouble_stays() -> None:
    """The attempts have an end, and the last answer is what is told."""
    seen, answers = in_turn((503, {"error": {"message": "The service is down", "errors": [{"reason": "backendError"}]}}))
    with pytest.raises(GoogleError, match=r"^googleapi: Error 503: The service is down, backendError$"):
        client(answers).call("GET", "compute", "x")
    assert len(seen) == ATTEMPTS


def test_fails_without_an_answer() -> None:
    """A sandbox that is not up is said to be so."""
    _, answers = in_turn(httpx.ConnectError("refused"))
    with pytest.raises(ProviderError, match=r"GET http://127.0.0.1:1/x: no answer: refused(?s:.)*is the sandbox up"):
        client(answers).call("GET", "compute", "x")


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'"x"'])
def test_fails_with_what_is_no_google_error(content: bytes) -> None:
    """Another server's page is no traceback."""
    with pytest.raises(GoogleError, match="Error 404"):
        client(lambda request: httpx.Response(404, content=content)).call("GET", "compute", "x")


def test_sends_the_charged_project_and_the_token() -> None:
    """Quota is charged to the configured project."""
    seen, answers = in_turn((200, {}))
    client(answers, charged="payer").call("GET", "compute", "a b/c@d", {"q": "1"})
    assert seen[0].headers["x-goog-user-project"] == "payer"
    assert seen[0].headers["authorization"] == "Bearer t"
    assert str(seen[0].url) == "http://127.0.0.1:1/a%20b/c@d?q=1"


OPERATION = {"kind": "compute#operation", "name": "op", "zone": "http://x/zones/z"}


def test_polls_a_compute_operation_at_first_without_a_wait() -> None:
    """It is asked for where it is, at once and then after growing waits."""
    waits: list[float] = []
    seen, answers = in_turn((200, OPERATION), (200, OPERATION), (200, OPERATION | {"status": "DONE"}))
    assert client(answers, waits).finished("compute", OPERATION, "p") == {}
    assert [request.url.path for request in seen] == ["/projects/p/zones/z/operations/op"] * 3
    assert len(waits) == 2
    assert waits[0] < waits[1]


def test_a_finished_operation_is_its_response() -> None:
    """The response of a long-running operation is what was made."""
    seen, answers = in_turn((200, {"name": "projects/p/operations/1", "done": True, "response": {"@type": "t", "name": "n"}}))
    begun = {"name": "projects/p/operations/1", "metadata": {}}
    assert client(answers).finished("compute", begun, "p") == {"name": "n"}
    assert seen[0].url.path == "/projects/p/operations/1"


@pytest.mark.parametrize(
    "answer",
    [{"name": "projects/p/global/networks/n"}, {"name": "operations-bucket"}, {"kind": "storage#bucket", "name": "operations/x"}, {}],
)
def test_what_is_no_operation_is_itself(answer: dict[str, Any]) -> None:
    """A resource is not awaited, whatever it is called."""
    seen, answers = in_turn((200, {}))
    assert client(answers).finished("compute", answer, "p") == answer
    assert seen == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"errors": [{"code": "ZONE_RESOURCE_POOL_EXHAUSTED", "message": "no capacity"}]}, "ZONE_RESOURCE_POOL_EXHAUSTED: no capacity"),
        ({"code": 8, "message": "no capacity"}, "8: no capacity"),
    ],
)
def test_fails_with_the_operation(error: dict[str, Any], words: str) -> None:
    """What an operation fails with is said, in both of Google's forms."""
    _, answers = in_turn((200, OPERATION | {"status": "DONE", "error": error}))
    with pytest.raises(OperationError, match=f"^{words}$"):
        client(answers).finished("compute", OPERATION, "p")


def test_fails_at_the_deadline() -> None:
    """An operation that never ends is given up."""
    _, answers = in_turn((200, OPERATION))
    with pytest.raises(OperationError, match="has not ended within 30 minutes"):
        client(answers, seconds_a_poll=600).finished("compute", OPERATION, "p")


def test_cancel_ends_a_wait() -> None:
    """^C during a poll ends it, before another call."""
    seen, answers = in_turn((200, OPERATION))
    with pytest.raises(ProviderError, match=r"^cancelled"):
        client(answers, cancel_after=3).finished("compute", OPERATION, "p")
    assert len(seen) == 3


def test_cancel_ends_a_backoff_and_forbids_further_calls() -> None:
    """After ^C nothing is sent any more."""
    seen, answers = in_turn((503, {}))
    with pytest.raises(ProviderError, match=r"^cancelled"):
        client(answers, cancel_after=1).call("GET", "compute", "x")
    assert len(seen) == 1


def test_the_engines_cancel_is_that_event() -> None:
    """The RPC ends what waits."""
    driver = echo.Driver(echo.Echo())
    driver.provider.Cancel(None, echo.Context())
    with pytest.raises(echo.AbortedError, match="cancelled"):
        driver.read("gcp:compute/network:Network", "n")
