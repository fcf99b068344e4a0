"""What stands in the sandbox's Vertex AI: the stack's one model with its versions, and its one endpoint."""

from __future__ import annotations

from typing import Any

import httpx

from infra import names
from tests.engine.region import STACK, Region

HOST = "us-east5-aiplatform.googleapis.com"
PLACE = "projects/tw-shop-ml/locations/us-east5"
MODEL = f"{PLACE}/models/{names.resource(STACK, 'recommender')}"
ENDPOINT = f"{PLACE}/endpoints/{names.endpoint_id('tw-shop-ml', STACK, 'recommend')}"


def model(letter: str = "a", **more: Any) -> dict[str, Any]:
    """A model of a stack file, whose image's digest is of one letter."""
    image = f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:{64 * letter}"
    return {"image": image, "port": 8080, "predict_route": "/predict", "health_route": "/health", **more}


class Vertex:
    """As it is now; nothing is cached."""

    def __init__(self, here: Region) -> None:
        self._here = here

    def ask(self, method: str, path: str, body: Any = None, **params: str) -> dict[str, Any]:
        """One call, which must pass."""
        answer = httpx.request(method, f"{self._here.base}/{HOST}/v1/{path}", json=body, params=params, trust_env=False)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    @property
    def endpoint(self) -> dict[str, Any]:
        return self.ask("GET", ENDPOINT)

    @property
    def deployed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.endpoint.get("deployedModels", [])
        return found

    @property
    def shares(self) -> dict[str, int]:
        """Percent by name."""
        found = self.endpoint
        return {one["displayName"]: found.get("trafficSplit", {}).get(one["id"], 0) for one in found.get("deployedModels", [])}

    def give(self, split: dict[str, int]) -> None:
        """Gives the traffic by id, as somebody would who does not know the stack."""
        self.ask("PATCH", ENDPOINT, {"trafficSplit": split}, updateMask="trafficSplit")

    @property
    def versions(self) -> list[dict[str, Any]]:
        """Every version of the model."""
        found: list[dict[str, Any]] = self.ask("GET", f"{MODEL}:listVersions")["models"]
        return found
