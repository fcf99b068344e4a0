"""A shop's endpoint in a sandbox in this process: two versions of a model, callers, and a clock that only waiting moves."""

from __future__ import annotations

from typing import Any

import httpx

from infra.operate import guards
from infra.operate.rollout import Event, Place, Plan, Rollout
from infra.provider.deployed_model import DeployedModel
from infra.provider.google import Google, Settings
from infra.provider.holds import Holds
from infra.provider.json_object import JsonObject
from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud
from tests.in_process import Mortal, answered

BASE = "http://sandbox.test"
PROJECT = "shop-prod"
AT = f"projects/{PROJECT}/locations/us-central1"
ENDPOINT = f"{AT}/endpoints/123456789"
MODEL = f"{AT}/models/recommender"
BUCKET = "shop-prod-shop-models"
VERTEX = "aiplatform.googleapis.com"
BEGAN = 1_800_000_000.0
GOOD = {"p50_ms": 20, "p95_ms": 50, "error_rate": 0.0}
SETTINGS = {"machineType": "n1-standard-2", "minReplicas": 1, "maxReplicas": 2}


class Shop(Mortal):
    """
    The cloud, and whoever works on it besides the rollout. Version 1 is the champion, version 2 the candidate.

    Args:
        bare: No model was registered yet, and the endpoint serves nothing.
    """

    def __init__(self, *, bare: bool = False) -> None:
        super().__init__()
        self.cloud = Cloud(clock=Clock(start=BEGAN, real=lambda: 0.0))
        self.cloud.projects.make(PROJECT)
        self.events: list[Event] = []
        self.ask("POST", "storage.googleapis.com/storage/v1/b", {"name": BUCKET, "location": "US-CENTRAL1"}, project=PROJECT)
        self.vertex("POST", f"{AT}/endpoints", {"displayName": "recommend"}, endpointId="123456789")
        if bare:
            return
        self.upload("champion")
        self.upload("candidate")
        self.old, self.new = self.model("1"), self.model("2")
        self.vertex("POST", f"{ENDPOINT}:deployModel", {"deployedModel": self.old.body(), "trafficSplit": {"0": 100}})

    # The wire

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert not request.url.path.startswith("/sandbox/")
        return answered(self.cloud, request)

    def google(self) -> Google:
        http = httpx.Client(transport=httpx.MockTransport(self))
        return Google(Settings(BASE), lambda seconds: False, http=http, time=self.cloud.clock.now)

    # The rollout

    def rollout(self, source: Any = None) -> Rollout:
        return Rollout(self.google(), self.place, self, self.events.append, source)

    @property
    def place(self) -> Place:
        return Place(
            "recommend", ENDPOINT, f"gs://{BUCKET}/.accelform/holds/shop.json", f"gs://{BUCKET}/.accelform/rollouts/shop/recommend.json"
        )

    def plan(
        self, *, to: str = "candidate", steps: tuple[int, ...] = (10, 50, 100), minutes: float = 30, keep: float = 0, **more: Any
    ) -> Plan:
        texts = more.pop("guards", ["p95_ms<80", "error_rate<0.01"])
        return Plan(to, steps, minutes * 60, guards.parse(texts), keep * 60, **more)

    def now(self) -> float:
        return self.cloud.clock.now()

    def wait(self, seconds: float) -> None:
        self.cloud.clock.advance(seconds)

    # The rest of the world

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> dict[str, Any]:
        request = httpx.Request(method, f"{BASE}/{path}", json=body, params=query)
        answer = self.answer(request)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}

    def vertex(self, method: str, path: str, body: Any = None, **query: str) -> dict[str, Any]:
        found = self.ask(method, f"{VERTEX}/v1/{path}", body, **query)
        for _ in range(2 if "/operations/" in found.get("name", "") else 0):  # the first look moves the clock to its end
            found = self.ask("GET", f"{VERTEX}/v1/{found['name']}")
        assert "error" not in found, found
        return found

    def upload(self, alias: str) -> None:
        spec = {"displayName": "recommender", "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/i"}, "versionAliases": [alias]}
        there = self.cloud.store.get(VERTEX, MODEL) is not None
        parent = {"parentModel": MODEL} if there else {"modelId": "recommender"}
        self.vertex("POST", f"{AT}/models:upload", {"model": spec, **parent})

    def model(self, version: str) -> DeployedModel:
        return DeployedModel("recommend", ENDPOINT, MODEL, version, SETTINGS)

    def callers(self, rate: float = 2.0, **models: Any) -> None:
        """Callers from now on: version 1 as good as ever, and the versions that are named as they are said to be."""
        behaviours = {"default": GOOD} | {name.removeprefix("v"): one for name, one in models.items()}
        self.cloud.loads.declare({"endpoint": ENDPOINT, "requests_per_second": rate, "models": behaviours})

    @property
    def split(self) -> dict[str, int]:
        return dict((self.cloud.store.get(VERTEX, ENDPOINT) or {}).get("trafficSplit", {}))

    @property
    def deployed(self) -> set[str]:
        return {one["id"] for one in (self.cloud.store.get(VERTEX, ENDPOINT) or {}).get("deployedModels", [])}

    def meant(self, alias: str = "champion") -> str:
        return str(self.vertex("GET", f"{MODEL}@{alias}")["versionId"])

    def holds(self) -> Holds:
        return Holds(self._quiet(), self.place.holds)

    def journal(self) -> dict[str, Any]:
        return JsonObject(self._quiet(), self.place.journal).read()[1]

    def _quiet(self) -> Google:
        http = httpx.Client(transport=httpx.MockTransport(self.answer))
        return Google(Settings(BASE), lambda seconds: False, http=http, time=self.cloud.clock.now)

    def held(self) -> list[Any]:
        """The holds as they are kept, without a client between."""
        name = "o/.accelform%2Fholds%2Fshop.json?alt=media"
        answer = self.answer(httpx.Request("GET", f"{BASE}/storage.googleapis.com/storage/v1/b/{BUCKET}/{name}"))
        return list(answer.json()["holds"]) if answer.is_success else []

    def said(self, kind: str) -> list[str]:
        return [event.text for event in self.events if event.kind == kind]
