"""The server without a socket: what the sandbox says about itself, and how it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.sandbox.cloud import Cloud
from infra.sandbox.server import HOLD_TRIES, Server, hold

Ask = Callable[..., httpx.Response]


@pytest.mark.parametrize(("taken", "held"), [(0, True), (3, True), (HOLD_TRIES, False)])
def test_a_look_at_its_lock_keeps_no_server_from_starting(taken: int, held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks whether a server is there has the lock for a moment; a server that is there keeps it."""
    tries: list[int] = []

    def flock(lock: object, how: int) -> None:
        tries.append(how)
        if len(tries) <= taken:
            raise BlockingIOError

    monkeypatch.setattr("infra.sandbox.server.fcntl.flock", flock)
    monkeypatch.setattr("infra.sandbox.server.HOLD_SECONDS", 0)
    with (tmp_path / "lock").open("ab") as lock, nullcontext() if held else pytest.raises(BlockingIOError):
        hold(lock)
    assert len(tries) == min(taken + 1, HOLD_TRIES)


@pytest.fixture
def http(cloud: Cloud) -> Ask:
    def http(method: str, path: str, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app=Server(cloud)), base_url="http://sandbox") as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    return http


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "named"),
    [
        ("GET", "nothing", None, 404, "GET POST DELETE faults"),
        ("DELETE", "clock", None, 404, "POST clock"),
        ("POST", "clock", b"{", 400, "POST clock"),
        ("POST", "clock", b"{}", 400, "seconds"),
        ("POST", "clock", b'{"seconds": -1}', 400, "-1"),
        ("POST", "clock", b'{"seconds": 1e300}', 400, "1e+300"),
        ("POST", "clock", b'{"seconds": NaN}', 400, "nan"),
        ("POST", "projects", b'{"project": 5}', 400, "projects"),
        ("POST", "projects", b'{"project": "a/b"}', 400, "a/b"),
        ("POST", "faults", b'{"do": "nothing"}', 400, "kill-after"),
        ("POST", "executions", b'{"name": "x", "attempt": 0, "state": "done"}', 400, "running, succeeded, failed"),
        ("DELETE", "executions", None, 404, "GET POST executions"),
    ],
)
def test_what_it_cannot_do_it_says(http: Ask, method: str, path: str, body: bytes | None, status: int, named: str) -> None:
    answer = http(method, f"/sandbox/{path}", content=body)
    assert answer.status_code == status
    assert named in answer.json()["error"]


def test_a_clock_that_is_moved_fires_what_is_due_and_executions_are_run_from_outside(cloud: Cloud, http: Ask) -> None:
    """From the schedule over the execution's environment to its end, by the sandbox's own addresses."""
    account = "runner@shop-prod.iam.gserviceaccount.com"
    http("POST", "/iam.googleapis.com/v1/projects/shop-prod/serviceAccounts", json={"accountId": "runner"})
    where = "projects/shop-prod/locations/asia-east1/jobs"
    template = {"containers": [{"image": "job:1"}], "serviceAccount": account}
    http("POST", f"/run.googleapis.com/v2/{where}?jobId=nightly", json={"template": {"template": template}})
    target = {"uri": f"https://run.googleapis.com/v2/{where}/nightly:run", "oauthToken": {"serviceAccountEmail": account}}
    job = {"name": f"{where}/night", "schedule": "0 18 * * *", "httpTarget": target}
    assert http("POST", f"/cloudscheduler.googleapis.com/v1/{where}", json=job).status_code == 200
    assert http("GET", "/sandbox/executions").json() == {"executions": []}
    http("POST", "/sandbox/clock", json={"seconds": 86400})
    (one,) = http("GET", "/sandbox/executions").json()["executions"]
    assert (one["created"][:16], one["service_account"], one["attempt"]) == ("2026-11-30T18:00", account, 0)
    said = {"name": one["name"], "attempt": 0, "state": "running"}
    assert http("POST", "/sandbox/executions", json=said).json()["executions"][0]["state"] == "running"
    assert http("POST", "/sandbox/executions", json=said | {"state": "succeeded"}).json() == {"executions": []}
    assert http("POST", "/sandbox/executions", json=said | {"state": "failed"}).status_code == 400


def test_answers_have_the_headers_of_googles(http: Ask) -> None:
    answer = http("GET", "/pubsub.googleapis.com/v1/projects/shop-prod/topics?alt=json&prettyPrint=false")
    assert (answer.status_code, answer.json()) == (200, {})
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    assert (answer.headers["server"], answer.headers["content-length"]) == ("ESF", "2")


def test_enums_are_numbers_both_ways_where_that_is_asked(http: Ask) -> None:
    where = "/artifactregistry.googleapis.com/v1/projects/shop-prod/locations/asia-east1/repositories"
    numbers = {"$alt": "json;enum-encoding=int"}
    made = http("POST", where, params={"repositoryId": "images", **numbers}, json={"format": 1})
    assert made.status_code == 200, made.text
    http("GET", f"/artifactregistry.googleapis.com/v1/{made.json()['name']}")
    assert http("GET", f"{where}/images", params=numbers).json()["format"] == 1
    assert http("GET", f"{where}/images").json()["format"] == "DOCKER"
    assert http("POST", where, params={"repositoryId": "others"}, json={"format": 99}).status_code == 400


@pytest.mark.parametrize("metadata", ["NaN", "1e999", '"\\ud800"', '{"a":' * 900 + "1" + "}" * 900, "[" * 5000])
def test_what_no_client_could_read_again_is_not_kept(http: Ask, metadata: str) -> None:
    body = f'{{"displayName": "x", "metadataSchemaUri": "gs://x", "metadata": {{"a": {metadata}}}}}'
    where = "/aiplatform.googleapis.com/v1/projects/shop-prod/locations/asia-east1/datasets"
    assert http("POST", where, content=body, headers={"content-type": "application/json"}).status_code == 400
    assert http("GET", where).json() == {}
