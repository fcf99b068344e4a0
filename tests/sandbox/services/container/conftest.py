"""GKE in a sandbox, with a cluster and without one."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `gke_calls` beside this file: test folders are no packages

from gke_calls import Gke

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Answer, Cloud, Request

NOON = 1_796_040_000.0


@pytest.fixture
def gke(ask: Callable[..., Answer]) -> Gke:
    """With a cluster of three nodes, one in each zone."""
    found = Gke(ask)
    found.cluster()
    return found


@pytest.fixture(scope="module")
def standing() -> Gke:
    """The same, for whoever changes nothing."""
    cloud = Cloud(clock=Clock(start=NOON, real=lambda: NOON))
    cloud.projects.make("shop-prod")

    def ask(http: str, host: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        return cloud.handle(Request(http, host, path.format(project="shop-prod"), {}, content))

    found = Gke(ask)
    found.cluster()
    return found


@pytest.fixture
def bare(ask: Callable[..., Answer]) -> Gke:
    """Without a cluster."""
    return Gke(ask)
