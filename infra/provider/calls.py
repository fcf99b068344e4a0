"""
Calls over HTTP to Google, whoever makes them: retried where that is safe, in Google's words where they fail, awaited, and ended when the
user cancels.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, ClassVar

import httpx

from infra.provider.server import ProviderError

ATTEMPTS = 5
FIRST_BACKOFF_SECONDS = 0.5
TOO_MANY = 429
TRANSIENT = (TOO_MANY, 500, 502, 503)
"""What the official provider takes for passing trouble, too."""
FIRST_POLL_SECONDS = 0.01
CALL_SECONDS = 60.0
IDEMPOTENT = ("GET", "PUT", "PATCH", "DELETE")


OF_PROJECT = re.compile(
    r"(?:resource|not found:) '?projects/[^/'\s]+'?(?: was not found|\.?$)|project:? '?\S+?'? (?:was )?not found|not found or deleted"
    r"|unknown project",
    re.IGNORECASE,
)
"""Words of a 404 that is of the project itself.
Source: answers of Compute Engine, GKE and Resource Manager in public issues, read 2026-12."""
FORBIDDEN, NOT_THERE = 403, 404


class GoogleError(ProviderError):
    """Google refused. The words are Google's, the form is the official provider's."""

    def __init__(self, code: int, message: str, reason: str = "") -> None:
        # Where the project is not there nothing in it can be looked at: it is not gone, and a refresh must not take it out of the state.
        self.code = FORBIDDEN if code == NOT_THERE and OF_PROJECT.search(message) else code
        self.reason = reason
        super().__init__(f"googleapi: Error {code}: {message}{f', {reason}' if reason else ''}")


class UnclearError(ProviderError):
    """Whether the call was done is not known: no answer came, or one that says as little."""


class OperationError(ProviderError):
    """A call was taken, and what it began failed."""


class UnfinishedError(OperationError):
    """What a call began did not end in time: it may end yet."""


class CancelledError(ProviderError):
    """The user pressed ^C."""


class Calls:
    """
    What makes calls. A subclass says where they go, and what they carry.

    Args:
        http: Sends the requests.
        pause: Waits for seconds; true when the user cancelled meanwhile.
        now: A clock in seconds, for deadlines.
    """

    no_answer: ClassVar[str] = ""
    """What else is told where no answer came at all."""
    longest_poll_seconds: ClassVar[float]

    def __init__(self, http: httpx.Client, pause: Callable[[float], bool], now: Callable[[], float] = time.monotonic) -> None:
        self._http = http
        self._pause = pause
        self.now = now

    def sent(self, method: str, address: str, send: Callable[[], httpx.Response], *, safe: bool | None = None) -> httpx.Response:
        """
        The answer to one call.

        Args:
            safe: Whether it may be sent twice. (default: by the HTTP method)

        Raises:
            GoogleError: The answer was a refusal.
            UnclearError: What may not be sent twice may have been done, or not.
            CancelledError: The user cancelled.
            ProviderError: No answer came.
        """
        may_repeat = method in IDEMPOTENT if safe is None else safe
        backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            self.look()
            last = attempt == ATTEMPTS
            try:
                answer = send()
            except httpx.TransportError as error:
                arrived = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if last or (arrived and not may_repeat):
                    told = f"{method} {address}: no answer: {error or type(error).__name__}"
                    raise (UnclearError(told) if arrived and not may_repeat else ProviderError(told + self.no_answer)) from None
            else:
                if answer.is_success:
                    return answer
                refused = self.refusal(answer)
                if answer.status_code not in TRANSIENT or last:
                    raise refused
                if answer.status_code != TOO_MANY and not may_repeat:
                    raise UnclearError(str(refused))
            self.wait(backoff)
            backoff *= 2
        raise AssertionError("every attempt returns, raises or is followed by another")

    def awaited(
        self, name: str, answer: dict[str, Any], done: Callable[[dict[str, Any]], bool], ask: Callable[[], dict[str, Any]], seconds: float
    ) -> dict[str, Any]:
        """
        What an operation answers at its end: asked at once, and then after growing waits.

        Raises:
            UnfinishedError: It did not end within *seconds*.
        """
        deadline = self.now() + seconds
        delay = FIRST_POLL_SECONDS
        while not done(answer):
            if self.now() > deadline:
                raise UnfinishedError(f"{name}: has not ended within {seconds / 60:.0f} minutes")
            answer = ask()
            if not done(answer):
                self.wait(delay)
                delay = min(delay * 1.6, self.longest_poll_seconds)
        return answer

    def refusal(self, answer: httpx.Response) -> GoogleError:
        """Google's words for why not."""
        error = error_of(answer)
        return GoogleError(answer.status_code, message_of(error, answer))

    def wait(self, seconds: float) -> None:
        """
        Waits.

        Raises:
            CancelledError: The user cancelled meanwhile.
        """
        self._pause(seconds)
        self.look()

    def look(self) -> None:
        """
        Raises:
            CancelledError: The user cancelled.
        """
        if self._pause(0):
            raise CancelledError("cancelled: what was begun goes on at the other side; `pulumi refresh` says what became of it")


def object_of(answer: httpx.Response) -> dict[str, Any]:
    """The JSON object that an answer is; nothing where it is another thing."""
    try:
        found = answer.json() if answer.content else {}
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """Google's `error`; another server may have a text there."""
    error = object_of(answer).get("error", {})
    return error if isinstance(error, dict) else {"message": str(error)}


def message_of(error: dict[str, Any], answer: httpx.Response) -> str:
    return str(error.get("message") or answer.text.strip()[:200] or answer.reason_phrase)


def response_of(operation: dict[str, Any]) -> dict[str, Any]:
    """What a finished operation made."""
    return {key: value for key, value in (operation.get("response") or {}).items() if key != "@type"}
