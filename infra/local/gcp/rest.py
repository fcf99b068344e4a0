"""Calls to Google's REST interfaces: retried where that is safe, with Google's own words where they fail, and their operations awaited."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from infra.local.gcp.config import Config
from infra.provider.calls import FIRST_POLL_SECONDS, Calls, GoogleError, OperationError, error_of, message_of, object_of, response_of

OPERATION_SECONDS = 30 * 60.0
ONE_AT_A_TIME = ("container",)
"""Services that refuse a call while another one runs on the same thing: the official provider asks again until that has ended."""
BUSY = "failedPrecondition"


class Client(Calls):
    """
    Speaks to the services of one configuration.

    Args:
        config: Where they are.
        http: Sends the requests.
        pause: Waits; true when the user cancelled meanwhile.
        now: A clock in seconds, for the deadline of operations.
    """

    no_answer = "\n  fix: is the sandbox up?"
    longest_poll_seconds = 2.0

    def __init__(
        self,
        config: Config,
        http: httpx.Client,
        pause: Callable[[float], bool],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(http, pause, now)
        self.config = config
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def alone(self, what: str) -> threading.Lock:
        """A lock on what several resources change as one, such as a policy."""
        return self._locks[what]

    def call(
        self,
        method: str,
        service: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        idempotent: bool | None = None,
    ) -> dict[str, Any]:
        """
        One call, and what it answers.

        Args:
            method: GET, POST and so on.
            service: Whose endpoint.
            path: Under the endpoint. What is escaped in it stays so.
            query: Parameters.
            body: Sent as JSON.
            idempotent: Whether it may be sent twice. (default: by the method)

        Raises:
            GoogleError: The answer was a refusal.
            UnclearError: What may not be sent twice may have been done, or not.
            ProviderError: No answer came, or the user cancelled.
        """
        url = self.config.endpoint(service) + quote(path, safe="/:@[]%")
        headers = {"authorization": f"Bearer {self.config.token}"} | (
            {"x-goog-user-project": self.config.charged} if self.config.charged else {}
        )

        def send() -> httpx.Response:
            return self._http.request(method, url, params=query, json=body, headers=headers)

        deadline, delay = self.now() + OPERATION_SECONDS, FIRST_POLL_SECONDS
        while True:
            try:
                return object_of(self.sent(method, url, send, safe=idempotent))
            except GoogleError as error:
                if service not in ONE_AT_A_TIME or error.reason != BUSY or self.now() > deadline:
                    raise
            self.wait(delay)
            delay = min(delay * 2, self.longest_poll_seconds)

    def finished(self, service: str, answer: dict[str, Any], project: str) -> dict[str, Any]:
        """
        What an answer becomes: itself, or what its operation ends with.

        Raises:
            OperationError: The operation failed, or did not end in time.
        """
        poll = _compute_operation(answer, project) or _container_operation(answer, project) or _longrunning(answer)
        if poll is None:
            return answer
        ended = self.awaited(poll, answer, _done, lambda: self.call("GET", service, poll), OPERATION_SECONDS)
        if error := ended.get("error"):
            raise OperationError(_operation_words(error))
        return response_of(ended)

    def refusal(self, answer: httpx.Response) -> GoogleError:
        """With the reason, as the official provider tells it."""
        error = error_of(answer)
        reasons = [one.get("reason", "") for one in error.get("errors", []) if isinstance(one, dict)]
        return GoogleError(answer.status_code, message_of(error, answer), reasons[0] if reasons else "")


def _compute_operation(answer: dict[str, Any], project: str) -> str | None:
    if answer.get("kind") != "compute#operation":
        return None
    for scope in ("zone", "region"):
        if where := answer.get(scope):
            return f"projects/{project}/{scope}s/{where.rpartition('/')[2]}/operations/{answer['name']}"
    return f"projects/{project}/global/operations/{answer['name']}"


def _container_operation(answer: dict[str, Any], project: str) -> str | None:
    """GKE's: `zone` is a region's name, too."""
    if "operationType" not in answer or "kind" in answer:
        return None
    return f"projects/{project}/locations/{answer.get('zone', '')}/operations/{answer.get('name', '')}"


def _longrunning(answer: dict[str, Any]) -> str | None:
    name = answer.get("name")
    if not isinstance(name, str) or "kind" in answer:
        return None
    is_one = name.startswith("operations/") or ("/operations/" in name and not {"response", "metadata", "done"}.isdisjoint(answer))
    return name if is_one else None


def _done(answer: dict[str, Any]) -> bool:
    return answer.get("status") == "DONE" or answer.get("done") is True


def _operation_words(error: dict[str, Any]) -> str:
    """What a failed operation says. Compute Engine has a list, the others have one."""
    found = error.get("errors") or [error]
    return "; ".join(f"{one.get('code', '')}: {one.get('message', '')}".strip(": ") for one in found)
