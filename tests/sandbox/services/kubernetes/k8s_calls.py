"""What clients ask of a cluster's Kubernetes API in a sandbox."""

from __future__ import annotations

import base64
import gzip
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

    def __init__(self, cloud: Cloud, host: str = "", **cluster: Any) -> None:
        """Makes the cluster, unless it stands and answers at *host*."""
        self.cloud, self.host = cloud, host
        if host:
            return
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

    def release(self, chart: str) -> None:
        """A chart that Helm released: it brings its kinds."""
        text = gzip.compress(json.dumps({"chart": {"metadata": {"name": chart}}}).encode())
        labels = {"owner": "helm", "name": chart, "version": "1", "status": "deployed"}
        secret = {
            "metadata": {"name": f"sh.helm.release.v1.{chart}.v1", "labels": labels},
            "type": "helm.sh/release.v1",
            "data": {"release": base64.b64encode(base64.b64encode(text)).decode()},
        }
        self.make("api/v1/namespaces/default/secrets", secret)

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


def asking(body: dict[str, Any], **wanted: Any) -> dict[str, Any]:
    """The same workload, whose pods ask for so much of each resource, and select nodes by `select`."""
    spec = body["spec"]["template"]["spec"]
    if select := wanted.pop("select", None):
        spec["nodeSelector"] = select
    names = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu"}
    amounts = {names.get(key, key): value for key, value in wanted.items()}
    spec["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return body


def phases(k8s: K8s, namespace: str = "default") -> list[str]:
    """How the pods of a namespace are, in the order of their names."""
    return [
        pod["status"]["phase"]
        + ("*" if any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", [])) else "")
        for pod in k8s.get(f"{CORE}/namespaces/{namespace}/pods")["items"]
    ]


def conditions(body: dict[str, Any]) -> dict[str, str]:
    """Type -> reason of those that are true."""
    return {one["type"]: one["reason"] for one in body.get("status", {}).get("conditions", []) if one["status"] == "True"}
