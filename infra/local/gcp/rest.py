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
from infra.provider.server import ProviderError

ATTEMPTS = 5
FIRST_BACKOFF_SECONDS = 0.5
TOO_MANY = 429
TRANSIENT = (TOO_MANY, 500, 502, 503)
"""What the official provider takes for passing trouble, too."""
FIRST_POLL_SECONDS = 0.01
LONGEST_POLL_SECONDS = 2.0
OPERATION_SECONDS = 30 * 60.0
CALL_SECONDS = 60.0
IDEMPOTENT = ("GET", "PUT", "PATCH", "DELETE")


class GoogleError(ProviderError):
    """Google refused. The words are Google's, the form is the official provider's."""

    def __init__(self, code: int, message: str, reason: str = "") -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"googleapi: Error {code}: {message}{f', {reason}' if reason else ''}")


class UnclearError(ProviderError):
    """Whether the call was done is not known: no answer came, or one that says as little."""


class OperationError(ProviderError):
    """A call was taken, and what it began failed."""


class Client:
    """
    Speaks to the services of one configuration.

    Args:
        config: Where they are.
        http: Sends the requests.
        pause: Waits; true when the user cancelled meanwhile.
        now: A clock in seconds, for the deadline of operations.
    """

    def __init__(
        self,
        config: Config,
        http: httpx.Client,
        pause: Callable[[float], bool],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self._http = http
        self._pause = pause
        self._now = now
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
        safe = method in IDEMPOTENT if idempotent is None else idempotent
        backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            self._look()
            last = attempt == ATTEMPTS
            try:
                answer = self._http.request(method, url, params=query, json=body, headers=headers)
            except httpx.TransportError as error:
                sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if last or (sent and not safe):
                    told = f"{method} {url}: no answer: {error or type(error).__name__}"
                    raise (UnclearError(told) if sent and not safe else ProviderError(f"{told}\n  fix: is the sandbox up?")) from None
            else:
                if answer.status_code not in TRANSIENT or last:
                    return _read(answer)
                if answer.status_code != TOO_MANY and not safe:
                    raise UnclearError(str(_refusal(answer)))
            self.wait(backoff)
            backoff *= 2
        raise AssertionError("every attempt returns, raises or is followed by another")

    def finished(self, service: str, answer: dict[str, Any], project: str) -> dict[str, Any]:
        """
        What an answer becomes: itself, or what its operation ends with.

        Raises:
            OperationError: The operation failed, or did not end in time.
        """
        poll = _compute_operation(answer, project) or _longrunning(answer)
        if poll is None:
            return answer
        deadline = self._now() + OPERATION_SECONDS
        delay = FIRST_POLL_SECONDS
        while not _done(answer):
            if self._now() > deadline:
                raise OperationError(f"{poll}: has not ended within {OPERATION_SECONDS / 60:.0f} minutes")
            answer = self.call("GET", service, poll)
            if not _done(answer):
                self.wait(delay)
                delay = min(delay * 1.6, LONGEST_POLL_SECONDS)
        if error := answer.get("error"):
            raise OperationError(_operation_words(error))
        response = answer.get("response") or {}
        return {key: value for key, value in response.items() if key != "@type"}

    def wait(self, seconds: float) -> None:
        """Waits, unless the user cancels."""
        self._pause(seconds)
        self._look()

    def _look(self) -> None:
        if self._pause(0):
            raise ProviderError("cancelled: what was begun goes on at the other side; `pulumi refresh` says what became of it")


def _read(answer: httpx.Response) -> dict[str, Any]:
    if not answer.is_success:
        raise _refusal(answer)
    found = _json(answer)
    return found if isinstance(found, dict) else {}


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json() if answer.content else {}
    except ValueError:
        return {}


def _refusal(answer: httpx.Response) -> GoogleError:
    found = _json(answer)
    error = found.get("error", {}) if isinstance(found, dict) else {}
    if not isinstance(error, dict):
        error = {"message": str(error)}
    reasons = [one.get("reason", "") for one in error.get("errors", []) if isinstance(one, dict)]
    message = error.get("message") or answer.text.strip()[:200] or answer.reason_phrase
    return GoogleError(answer.status_code, message, reasons[0] if reasons else "")


def _compute_operation(answer: dict[str, Any], project: str) -> str | None:
    if answer.get("kind") != "compute#operation":
        return None
    for scope in ("zone", "region"):
        if where := answer.get(scope):
            return f"projects/{project}/{scope}s/{where.rpartition('/')[2]}/operations/{answer['name']}"
    return f"projects/{project}/global/operations/{answer['name']}"


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
