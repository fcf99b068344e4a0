"""Speaks to the Kubernetes provider as the engine does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2, status_pb2

from infra.local.kubernetes.provider import Kubernetes
from infra.provider.values import Decoded, encode

SERVER = "http://127.0.0.1:1/gke-0123.us-central1.gke.goog"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
SECRET = "kubernetes:core/v1:Secret"
NAMESPACE = "kubernetes:core/v1:Namespace"
JOB = "kubernetes:batch/v1:Job"
RELEASE = "kubernetes:helm.sh/v3:Release"


def kubeconfig(server: str = SERVER, user: dict[str, Any] | None = None, **context: str) -> dict[str, Any]:
    """As a program writes it, but for the text."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "main", "cluster": {"server": server}}],
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main", **context}}],
        "users": [{"name": "main", "user": user or {}}],
    }


def manifest(kind: str, name: str, api_version: str = "v1", **rest: Any) -> dict[str, Any]:
    """The least of an object."""
    metadata = {"name": name} | rest.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | rest


def deployment(name: str = "web", replicas: int = 1, image: str = "nginx", **spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "main", "image": image}]} | spec
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    body = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return manifest("Deployment", name, "apps/v1", spec=body)


class AbortedError(Exception):
    """What the engine is told instead of an answer."""

    def __init__(self, message: str, detail: Any = None) -> None:
        super().__init__(message)
        self.detail = detail
        """What the engine keeps, where the thing exists."""

    @property
    def state(self) -> dict[str, Any]:
        return Decoded(self.detail.properties).values


class Context:
    """The part of a grpc context that providers use."""

    def abort(self, code: Any, details: str) -> Any:
        raise AbortedError(details)

    def abort_with_status(self, status: Any) -> Any:
        found = status_pb2.Status.FromString(dict(status.trailing_metadata)["grpc-status-details-bin"])
        detail = provider_pb2.ErrorResourceInitFailed()
        assert found.details[0].Unpack(detail)
        raise AbortedError(status.details, detail)


def nobody(request: httpx.Request) -> httpx.Response:
    """Where no cluster is."""
    raise httpx.ConnectError("refused")


class Engine:
    """
    The engine's part: it keeps nothing.

    Args:
        cluster: Answers the requests. (default: nobody does)
        environ: Variables of the provider.
        config: Its configuration. (default: the kubeconfig of the cluster)
    """

    def __init__(self, cluster: Callable[[httpx.Request], httpx.Response] = nobody, environ: Any = None, **config: Any) -> None:
        self.said: list[tuple[str, bool]] = []
        """What the user was told, and whether as a warning."""
        self.provider = Kubernetes(
            httpx.Client(transport=httpx.MockTransport(cluster)),
            self._pause,
            lambda _, text, warns: self.said.append((text, warns)),
            environ or {},
        )
        args = {"kubeconfig": json.dumps(kubeconfig())} | config
        self.provider.Configure(provider_pb2.ConfigureRequest(args=encode(args)), Context())

    def _pause(self, seconds: float) -> bool:
        return self.provider.cancelled.is_set()

    @staticmethod
    def urn(token: str) -> str:
        return f"urn:pulumi:try::shop::accelform:x:Y${token}::thing"

    def check(self, token: str, news: dict[str, Any], secrets: Any = ()) -> Any:
        return self.provider.Check(provider_pb2.CheckRequest(urn=self.urn(token), news=encode(news, secrets)), Context())

    def checked(self, token: str, news: dict[str, Any], secrets: Any = ()) -> struct_pb2.Struct:
        """Inputs as the engine keeps them, with what is secret in them."""
        answer = self.check(token, news, secrets)
        assert not answer.failures, answer.failures
        found: struct_pb2.Struct = answer.inputs
        return found

    def faults(self, token: str, news: dict[str, Any]) -> dict[str, str]:
        """What is wrong, by property."""
        return {one.property: one.reason for one in self.check(token, news).failures}

    def diff(self, token: str, state: dict[str, Any], news: dict[str, Any], ignore: Any = ()) -> Any:
        request = provider_pb2.DiffRequest(urn=self.urn(token), olds=encode(state), news=encode(news), ignoreChanges=list(ignore))
        return self.provider.Diff(request, Context())

    def create(self, token: str, inputs: struct_pb2.Struct, *, preview: bool = False, timeout: float = 0) -> Any:
        request = provider_pb2.CreateRequest(urn=self.urn(token), properties=inputs, preview=preview, timeout=timeout)
        return self.provider.Create(request, Context())

    def read(self, token: str, id: str, state: Any = None, inputs: Any = None) -> Any:
        request = provider_pb2.ReadRequest(id=id, urn=self.urn(token), properties=state, inputs=inputs)
        return self.provider.Read(request, Context())

    def update(self, token: str, made: Any, news: struct_pb2.Struct, *, preview: bool = False, ignore: Any = ()) -> Any:
        request = provider_pb2.UpdateRequest(
            id=made.id, urn=self.urn(token), olds=made.properties, news=news, preview=preview, ignoreChanges=list(ignore)
        )
        return self.provider.Update(request, Context())

    def delete(self, token: str, made: Any, timeout: float = 0) -> None:
        request = provider_pb2.DeleteRequest(id=made.id, urn=self.urn(token), properties=made.properties, timeout=timeout)
        self.provider.Delete(request, Context())


def kinds(answer: Any) -> dict[str, str]:
    """Kind of each change, by path."""
    return {path: provider_pb2.PropertyDiff.Kind.Name(one.kind) for path, one in answer.detailedDiff.items()}
