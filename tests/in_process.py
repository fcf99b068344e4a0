"""A sandbox in this process, as an HTTP client sees it: no server and no network between them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import httpx

from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.faults import LostError


def answered(cloud: Cloud, request: httpx.Request) -> httpx.Response:
    """What a sandbox answers to a request as a client sends it: the host is the first part of its path."""
    host, _, path = request.url.raw_path.decode().partition("?")[0].lstrip("/").partition("/")
    kind = request.headers.get("content-type", "application/json")
    try:
        answer = cloud.handle(Request(request.method, host, f"/{path}", dict(request.url.params), request.content, kind))
    except LostError:
        raise httpx.ReadError("cut") from None
    if isinstance(answer.body, bytes):
        return httpx.Response(answer.status, content=answer.body)
    return httpx.Response(answer.status, json=answer.body)


class KilledError(BaseException):
    """The process ended here."""


class Mortal:
    """Calls of a process, each of which may be its last. Whoever it is says what is answered."""

    def __init__(self) -> None:
        self.sent = 0
        self.kill_at: int | None = None
        self.kill_after = False
        """Whether the last call is still done."""
        self.watch: Callable[[], None] | None = None
        """Looks after each call."""

    def answer(self, request: httpx.Request) -> httpx.Response:
        raise NotImplementedError

    def live(self) -> None:
        """What others do meanwhile."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent += 1
        dies = self.kill_at is not None and self.sent == self.kill_at
        if dies and not self.kill_after:
            raise KilledError
        answer = self.answer(request)
        self.live()
        if self.watch is not None:
            self.watch()
        if dies:
            raise KilledError
        return answer


class InProcess:
    """A sandbox with one project, which answers one call at a time."""

    def __init__(self, project: str) -> None:
        self.cloud = Cloud()
        self.cloud.projects.make(project)
        self._alone = threading.Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        with self._alone:
            return answered(self.cloud, request)

    def close(self) -> None:
        self.cloud.store.close()
