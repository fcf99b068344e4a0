"""A bucket with the states of a shop's stacks, in a sandbox of this process."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import httpx

from infra.operate.states import States
from infra.provider.google import Google, Settings
from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request
from tests.in_process import answered

BASE = "http://sandbox.test"
BUCKET = "shop-prod-once-state"
NAME = ".pulumi/stacks/accelform/try.json"
LOCK = ".pulumi/locks/organization/accelform/try/"
HOST = "storage.googleapis.com"


class Bucket:
    """A bucket with versions, and a clock that only `wait` moves."""

    def __init__(self) -> None:
        self.cloud = Cloud(clock=Clock(start=1_800_000_000.0, real=lambda: 0.0))
        self.cloud.projects.make("shop-prod")
        body = json.dumps({"name": BUCKET, "location": "US-CENTRAL1", "versioning": {"enabled": True}}).encode()
        self.ask("POST", "storage/v1/b", body, project="shop-prod")
        self.http = httpx.Client(transport=httpx.MockTransport(lambda request: answered(self.cloud, request)))
        self.google = Google(Settings(BASE), lambda seconds: False, http=self.http, time=self.cloud.clock.now)

    def ask(self, http: str, path: str, content: bytes = b"", **query: str) -> Any:
        answer = self.cloud.handle(Request(http, HOST, path, query, content))
        assert answer.status < 300, answer.body
        return answer.body

    def put(self, name: str, content: bytes) -> str:
        made = self.ask("POST", f"upload/storage/v1/b/{BUCKET}/o", content, uploadType="media", name=name)
        return str(made["generation"])

    def delete(self, name: str) -> None:
        self.ask("DELETE", f"storage/v1/b/{BUCKET}/o/{name.replace('/', '%2F')}")

    def update(self, who: str, *counts: int) -> list[str]:
        """An update as the engine does it: a lock, a version at each step, and the lock is gone."""
        user, _, host = who.partition("@")
        lock = f"{LOCK}{len(self.cloud.calls)}.json"
        self.put(lock, json.dumps({"username": user, "hostname": host, "pid": 1}).encode())
        made = []
        for count in counts:
            self.wait(10)
            made.append(self.put(NAME, state(count)))
        self.wait(10)
        self.delete(lock)
        self.wait(60)
        return made

    def wait(self, seconds: float) -> None:
        self.cloud.clock.advance(seconds)

    @property
    def states(self) -> States:
        return States(self.google, BUCKET, "", "accelform", "try")

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.cloud.clock.now(), dt.UTC)


def state(count: int) -> bytes:
    resources = [{"urn": f"urn:pulumi:try::accelform::a:b:C::{number}", "type": "a:b:C", "custom": False} for number in range(count)]
    return json.dumps({"version": 3, "checkpoint": {"stack": "organization/accelform/try", "latest": {"resources": resources}}}).encode()
