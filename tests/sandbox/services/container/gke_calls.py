"""What clients ask of GKE in a sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.sandbox.cloud import Answer

HOST = "container.googleapis.com"
CLUSTERS = "v1beta1/projects/{project}/locations/us-central1/clusters"
POOLS = f"{CLUSTERS}/c/nodePools"
L4 = {"machineType": "g2-standard-4", "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]}


class Gke:
    """What clients ask of GKE."""

    def __init__(self, ask: Callable[..., Answer]) -> None:
        self._ask = ask

    def ask(self, http: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        return self._ask(http, HOST, path, body)

    def ended(self, answer: Answer) -> Any:
        """An operation once it is done."""
        assert answer.status == 200, answer.body
        while answer.body["status"] != "DONE":
            where = f"v1beta1/projects/{{project}}/locations/{answer.body['zone']}/operations/{answer.body['name']}"
            answer = self.ask("GET", where)
        return answer.body

    def cluster(self, **more: Any) -> Any:
        """A cluster that stands."""
        self.ended(self.ask("POST", CLUSTERS, {"cluster": {"name": "c", "initialNodeCount": 1} | more}))
        return self.ask("GET", f"{CLUSTERS}/c").body

    def make(self, **more: Any) -> Answer:
        """Asks for a pool in one zone."""
        return self.ask("POST", POOLS, {"nodePool": {"name": "p", "locations": ["us-central1-a"]} | more})

    def pool(self, **more: Any) -> Any:
        """A pool that stands."""
        self.ended(self.make(**more))
        return self.ask("GET", f"{POOLS}/p").body
