"""A cluster in a sandbox, without a process between them, and what somebody else sees and does in it."""

from __future__ import annotations

import json
from typing import Any

import httpx
from talk import Engine, kubeconfig

from infra.sandbox.clock import rfc3339
from tests.in_process import InProcess

PROJECT = "shop-prod"
GKE = "http://127.0.0.1:1/container.googleapis.com/v1beta1"
CLUSTERS = f"projects/{PROJECT}/locations/us-central1/clusters"


class Cluster(InProcess):
    """One cluster, with a pool of one node."""

    def __init__(self) -> None:
        super().__init__(PROJECT)
        self.asked: list[httpx.Request] = []
        """Requests to the API server since the last look."""
        dns = {"dnsEndpointConfig": {"allowExternalTraffic": True}}
        body = {"name": "main", "initialNodeCount": 1, "locations": ["us-central1-a"]} | {
            "nodeConfig": {"machineType": "e2-standard-4"},
            "controlPlaneEndpointsConfig": dns,
        }
        answer = self.google("POST", CLUSTERS, {"cluster": body})
        while answer["status"] != "DONE":
            answer = self.google("GET", f"projects/{PROJECT}/locations/us-central1/operations/{answer['name']}")
        found = self.google("GET", f"{CLUSTERS}/main")
        self.server = f"http://127.0.0.1:1/{found['controlPlaneEndpointsConfig']['dnsEndpointConfig']['endpoint']}"

    def google(self, method: str, path: str, body: Any = None) -> Any:
        answer = self(httpx.Request(method, f"{GKE}/{path}", json=body))
        assert answer.is_success, answer.text
        return answer.json()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/sandbox/clock":
            return self._time(json.loads(request.content)["seconds"])
        if request.url.path.split("/")[1].endswith(".gke.goog"):
            self.asked.append(request)
        return super().__call__(request)

    def _time(self, seconds: float) -> httpx.Response:
        self.cloud.clock.advance(seconds)
        self.cloud.catch_up()
        return httpx.Response(200, json={"time": rfc3339(self.cloud.clock.now())})

    def taken(self) -> list[httpx.Request]:
        """The requests since the last look, but those that only ask."""
        found, self.asked = [one for one in self.asked if one.method != "GET"], []
        return found

    def engine(self, **config: Any) -> Engine:
        """The provider before it."""
        return Engine(self, **{"kubeconfig": json.dumps(kubeconfig(self.server))} | config)

    # Somebody else

    def ask(self, method: str, path: str, body: Any = None, form: str = "application/json", **query: str) -> httpx.Response:
        """A call of `kubectl`, below the server's address."""
        content = None if body is None else json.dumps(body).encode()
        params = {"fieldManager": "kubectl-edit"} | query if method != "GET" else query
        request = httpx.Request(method, f"{self.server}/{path}", params=params, content=content, headers={"content-type": form})
        return super().__call__(request)

    def get(self, path: str) -> dict[str, Any] | None:
        """What is there; None where there is nothing."""
        answer = self.ask("GET", path)
        assert answer.status_code in (200, 404), answer.text
        return dict(answer.json()) if answer.status_code == 200 else None

    def change(self, path: str, patch: Any) -> None:
        answer = self.ask("PATCH", path, patch, "application/merge-patch+json")
        assert answer.is_success, answer.text
