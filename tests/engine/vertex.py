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

    def look(self, path: str) -> dict[str, Any]:
        """What stands there; nothing where there is none yet."""
        answer = httpx.get(f"{self._here.base}/{HOST}/v1/{path}", trust_env=False)
        assert answer.status_code in (200, 404), answer.text
        return dict(answer.json()) if answer.status_code == 200 else {}

    @property
    def endpoint(self) -> dict[str, Any]:
        return self.look(ENDPOINT)

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
        url = f"{self._here.base}/{HOST}/v1/{ENDPOINT}"
        answer = httpx.patch(url, json={"trafficSplit": split}, params={"updateMask": "trafficSplit"}, trust_env=False)
        assert answer.status_code == 200, answer.text

    @property
    def versions(self) -> list[dict[str, Any]]:
        """Every version of the model."""
        found: list[dict[str, Any]] = self.look(f"{MODEL}:listVersions").get("models", [])
        return found
