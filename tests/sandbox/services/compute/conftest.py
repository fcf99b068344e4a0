"""Compute Engine of a sandbox in this process, and what most tests need in it."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud

PROJECT = "shop-prod"


class Compute:
    """Asks Compute Engine about one project, and waits for operations."""

    def __init__(self, cloud: Cloud, ask: Any) -> None:
        self.cloud = cloud
        self._ask = ask

    def ask(self, http: str, path: str, body: dict[str, Any] | None = None, *, version: str = "v1", **query: str) -> Answer:
        answer: Answer = self._ask(http, "compute.googleapis.com", f"compute/{version}/projects/{PROJECT}/{path}", body, **query)
        return answer

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """A resource that is there."""
        answer = self.ask("GET", path, **query)
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.body
        return found

    def do(self, http: str, path: str, body: dict[str, Any] | None = None, **query: str) -> dict[str, Any]:
        """The operation of a call, once it is done."""
        answer = self.ask(http, path, body, **query)
        assert answer.status == 200, answer.body
        while answer.body["status"] != "DONE":
            answer = self._ask("GET", "compute.googleapis.com", "compute/" + answer.body["selfLink"].partition("/compute/")[2])
        operation: dict[str, Any] = answer.body
        return operation

    def make(self, collection: str, body: dict[str, Any], **query: str) -> dict[str, Any]:
        """A new resource, as a get answers it."""
        operation = self.do("POST", collection, body, **query)
        assert "error" not in operation, operation
        return self.get(f"{collection}/{body['name']}")

    def refused(self, http: str, path: str, body: dict[str, Any] | None = None, **query: str) -> tuple[int, str, str]:
        """Status, message and reason of a refusal."""
        answer = self.ask(http, path, body, **query)
        assert answer.status >= 400, answer.body
        error = answer.body["error"]
        assert "status" not in error
        return answer.status, error["message"], error["errors"][0]["reason"]


@pytest.fixture
def compute(cloud: Cloud, ask: Any) -> Compute:
    return Compute(cloud, ask)


@pytest.fixture
def network(compute: Compute) -> Compute:
    """With a network `net` and its subnetwork `sub` in us-east5."""
    compute.make("global/networks", {"name": "net", "autoCreateSubnetworks": False})
    compute.make("regions/us-east5/subnetworks", {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.0.0.0/20"})
    return compute


def machine(**more: Any) -> dict[str, Any]:
    """A TPU machine in us-east5-a: a body that is taken."""
    image = "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e"
    return {
        "name": "vm",
        "machineType": "zones/us-east5-a/machineTypes/ct6e-standard-4t",
        "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": image, "diskSizeGb": "100"}}],
        "networkInterfaces": [{"subnetwork": "regions/us-east5/subnetworks/sub"}],
    } | more
