"""`accelform doctor --sandbox`: the same look as at a real project."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httplib2
import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.store import Store

Accelform = Callable[..., Any]


class Inside:
    """A transport to a sandbox of this process."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def request(self, uri: str, method: str = "GET", body: Any = None, **ignored: Any) -> tuple[httplib2.Response, bytes]:
        from urllib.parse import parse_qsl, urlsplit

        url = urlsplit(uri)
        answer = self._cloud.handle(Request(method, url.netloc, url.path.lstrip("/"), dict(parse_qsl(url.query)), (body or "").encode()))
        return httplib2.Response({"status": answer.status, "content-type": "application/json"}), json.dumps(answer.body).encode()


def test_fails_where_no_sandbox_runs(accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to start one; and one of the two clouds is asked."""
    monkeypatch.setattr("infra.sandbox.process.running", lambda folder: None)
    ran = accelform("doctor", "us-east5", "--sandbox")
    assert ran.code == 5
    assert ran.err.endswith("fix: accelform sandbox start --project tw-shop-dev\n")
    assert "--sandbox: is said besides --cloud" in accelform("doctor", "us-east5", "--sandbox", "--cloud").err
