"""A sandbox in this process, as an HTTP client sees it: no server and no network between them."""

from __future__ import annotations

import threading

import httpx

from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.faults import LostError


class InProcess:
    """A sandbox with one project, which answers one call at a time."""

    def __init__(self, project: str) -> None:
        self.cloud = Cloud()
        self.cloud.projects.make(project)
        self._alone = threading.Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        host, _, path = request.url.raw_path.decode().partition("?")[0].lstrip("/").partition("/")
        try:
            with self._alone:
                answer = self.cloud.handle(Request(request.method, host, f"/{path}", dict(request.url.params), request.content))
        except LostError:
            raise httpx.ReadError("cut") from None
        return httpx.Response(answer.status, json=answer.body)

    def close(self) -> None:
        self.cloud.store.close()
