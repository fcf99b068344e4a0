"""What clients ask of a cluster's Kubernetes API in a sandbox."""

from __future__ import annotations

import json
from typing import Any

from infra.sandbox.cloud import Answer, Cloud, Request

GKE = "container.googleapis.com"
CLUSTERS = "v1beta1/projects/shop-prod/locations/us-central1/clusters"
DNS = {"controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}}}
CORE, APPS, BATCH = "api/v1", "apis/apps/v1", "apis/batch/v1"
MERGE, STRATEGIC, JSON, APPLY = (
    f"application/{form}" for form in ("merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml")
)


class K8s:
    """A sandbox with one cluster, and its API server."""

    def __init__(self, cloud: Cloud, **cluster: Any) -> None:
        self.cloud = cloud
        pool = {"name": "default-pool", "initialNodeCount": 1, "config": {"machineType": "e2-standard-4"}}
        body = {"cluster": {"name": "c", "nodePools": [pool], "locations": ["us-central1-a"]} | DNS | cluster}
        self.operation(self.google("POST", CLUSTERS, body))
        self.host = self.google("GET", f"{CLUSTERS}/c").body["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["endpoint"]

    def google(self, http: str, path: str, body: Any = None) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        return self.cloud.handle(Request(http, GKE, path, {}, content))

    def operation(self, answer: Answer) -> None:
        """Polls until it is done."""
        assert answer.status == 200, answer.body
        while answer.body["status"] != "DONE":
            where = f"v1beta1/projects/shop-prod/locations/{answer.body['zone']}/operations/{answer.body['name']}"
            answer = self.google("GET", where)
        assert "error" not in answer.body, answer.body

    def pool(self, name: str, **more: Any) -> None:
        """A pool that stands."""
        made = {"nodePool": {"name": name, "locations": ["us-central1-a"]} | more}
        self.operation(self.google("POST", f"{CLUSTERS}/c/nodePools", made))

    def ask(self, http: str, path: str, body: Any = None, form: str = "application/json", **query: str) -> Answer:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.cloud.handle(Request(http, self.host, path, query, content, form, {"user-agent": "kubectl/v1.35.0 (linux/amd64)"}))

    def get(self, path: str, **query: str) -> Any:
        answer = self.ask("GET", path, **query)
        assert answer.status == 200, answer.body
        return answer.body

    def make(self, path: str, body: Any) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status == 201, answer.body
        return answer.body

    def patch(self, path: str, body: Any, form: str = MERGE, **query: str) -> Any:
        answer = self.ask("PATCH", path, body, form, **query)
        assert answer.status in (200, 201), answer.body
        return answer.body

    def apply(self, path: str, body: Any, manager: str = "pulumi", **query: str) -> Answer:
        return self.ask("PATCH", path, body, APPLY, fieldManager=manager, **query)

    def after(self, seconds: float) -> None:
        """Time passes."""
        self.cloud.clock.advance(seconds)
        self.cloud.catch_up()


def said(answer: Answer) -> tuple[int, str, str]:
    """Code, reason and words of a refusal."""
    body = answer.body
    assert body["kind"] == "Status", body
    assert body["code"] == answer.status
    return answer.status, body.get("reason", ""), body["message"]


def config(name: str = "a", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str = "web", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    pod = {"containers": [{"name": "main", "image": "nginx:1.27", "ports": [{"containerPort": 80}]}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}} | spec,
    }


def job(name: str = "train", **spec: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train:1"}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {"spec": pod}} | spec}
