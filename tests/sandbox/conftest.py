"""A local Google Cloud in this process, without its server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Answer, Cloud, Request

NOON = 1_796_040_000.0
"""2026-11-30 12:00 UTC: time in tests stands here until it is moved."""
PROJECT = "shop-prod"

Ask = Callable[..., Answer]


@pytest.fixture
def cloud() -> Cloud:
    """A sandbox with one project, whose clock stands but for polls that move it."""
    cloud = Cloud(clock=Clock(start=NOON, real=lambda: NOON))
    cloud.projects.make(PROJECT)
    return cloud


@pytest.fixture
def ask(cloud: Cloud) -> Ask:
    """Asks it: `ask("GET", "tpu.googleapis.com", "v2/projects/...", body, query=value)`."""

    def ask(http: str, host: str, path: str, body: dict[str, Any] | None = None, **query: str) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        return cloud.handle(Request(http, host, path.format(project=PROJECT), query, content))

    return ask


@pytest.fixture
def done(ask: Ask) -> Callable[[str, str, Answer], Answer]:
    """Polls an operation until it is done: `done("tpu.googleapis.com", "v2", answer)`."""

    def done(host: str, version: str, answer: Answer) -> Answer:
        assert answer.status == 200, answer.body
        while not answer.body.get("done"):
            answer = ask("GET", host, f"{version}/{answer.body['name']}")
        return answer

    return done
