"""An echo of Google, and the provider before it: what is made is kept and answered, with what Google always adds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

import grpc
import httpx
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2, status_pb2

from infra.local.gcp.provider import Gcp
from infra.provider.values import Decoded, encode
from infra.sandbox.endpoints import ENDPOINTS

BASE = "http://127.0.0.1:1"
PROJECT = "shop-prod"
VERSIONS = {"compute": "compute.googleapis.com/compute/v1/", "vertexAi": "aiplatform.googleapis.com/v1/"}
"""Where the recordings have another version than the sandbox."""
TIME = "2026-01-01T00:00:00Z"


class Call(NamedTuple):
    """One request."""

    method: str
    service: str
    path: str
    query: dict[str, str]
    body: Any


class AbortedError(Exception):
    """What the engine is told instead of an answer."""

    def __init__(self, message: str, detail: Any = None) -> None:
        super().__init__(message)
        self.detail = detail


class Context:
    """The part of a grpc context that providers use."""

    def abort(self, code: Any, details: str) -> None:
        raise AbortedError(details)

    def abort_with_status(self, status: Any) -> None:
        assert status.code == grpc.StatusCode.UNKNOWN
        found = status_pb2.Status.FromString(dict(status.trailing_metadata)["grpc-status-details-bin"])
        detail = provider_pb2.ErrorResourceInitFailed()
        assert found.details[0].Unpack(detail)
        raise AbortedError(status.details, detail)


class Echo:
    """
    Google, as far as a resource's life needs it: what is written is kept.

    Args:
        always: What is added to every resource of a service's collection, such as `networks`.
        statuses: Answers by method and path that are not 200.
    """

    def __init__(self, always: dict[str, Any] | None = None, statuses: dict[tuple[str, str], int] | None = None) -> None:
        self.calls: list[Call] = []
        self.kept: dict[str, Any] = {}
        self.policies: dict[str, Any] = {}
        self.always = always or {}
        self.statuses = statuses or {}
        self.named = ""
        self.enabled: list[dict[str, str]] = []
        self.before: Callable[[Call], httpx.Response | None] = lambda call: None

    def taken(self) -> list[Call]:
        """The calls since the last look."""
        calls, self.calls = self.calls, []
        return calls

    def __call__(self, request: httpx.Request) -> httpx.Response:
        service, _, path = unquote(request.url.raw_path.decode().partition("?")[0]).lstrip("/").partition("/")
        body = json.loads(request.content) if request.content else None
        call = Call(request.method, service, path, dict(request.url.params), body)
        self.calls.append(call)
        if early := self.before(call):
            return early
        status = self.statuses.get((call.method, call.path), 200)
        if status != 200:
            return httpx.Response(status, json={"error": {"code": status, "message": "as it was recorded"}})
        return self._answer(call)

    def _answer(self, call: Call) -> httpx.Response:
        path, _, verb = call.path.partition(":") if call.path.count("@") == 0 else _verb(call.path)
        if verb in ("getIamPolicy", "setIamPolicy") or path.endswith("/iam"):
            if call.body and ("policy" in call.body or call.method == "PUT"):
                self.policies[path] = {"etag": "abc"} | call.body.get("policy", call.body)
            return httpx.Response(200, json=self.policies.get(path, {"etag": "abc"}))
        if verb == "enable" or path.endswith("/services"):
            self.enabled += [{"name": path}] if verb else []
            return httpx.Response(200, json={"services": self.enabled})
        if call.method == "GET":
            if path.endswith("/nodePools"):
                return httpx.Response(200, json={"nodePools": [body for where, body in self.kept.items() if where.startswith(f"{path}/")]})
            if path not in self.kept:
                return httpx.Response(
                    404, json={"error": {"code": 404, "message": f"{path} was not found", "errors": [{"reason": "notFound"}]}}
                )
            return httpx.Response(200, json=self.kept[path])
        if call.method == "DELETE":
            self.kept.pop(path, None)
        elif call.method in ("PATCH", "PUT") and path in self.kept:
            self._merge(path, call.body or {})
        elif verb or (path.rpartition("/")[0] in self.kept and call.method == "POST" and not path.endswith("/nodePools")):
            self._done(path, call)
        else:
            self._make(path, call)
            return httpx.Response(200, json={"name": self.named} if self.named else {})
        return httpx.Response(200, json={})

    def _make(self, path: str, call: Call) -> None:
        body = _unwrapped(call.body)
        name = self.named.rpartition("/")[2] or next(
            (call.query[key] for key in ("nodeId", "queuedResourceId", "endpointId", "repository_id", "jobId") if key in call.query), ""
        )
        name = name or (call.body or {}).get("deploymentResourcePoolId") or body.get("name", "")
        full, name = name, name.removeprefix(f"{path.partition('/')[2]}/")
        if "accountId" in (call.body or {}):
            name = f"{call.body['accountId']}@{PROJECT}.iam.gserviceaccount.com"
            full = f"{path}/{name}".removeprefix("v1/")
        where = path if call.method == "PUT" else f"{path}/{name}"
        found = body | {"name": self.named or full} | self._added(where)
        if path.endswith("/instances"):
            self._place(found, where.removesuffix(f"/instances/{name}"))
        self.kept[where] = found

    def _place(self, instance: dict[str, Any], zone: str) -> None:
        """Gives an instance its disk and its address."""
        base = f"{BASE}/compute.googleapis.com"
        disk = f"{zone}/disks/{instance['name']}"
        instance["disks"][0] |= {"source": f"{base}/{disk}", "deviceName": "persistent-disk-0"}
        params = instance["disks"][0].pop("initializeParams")
        kind = params.get("diskType", "diskTypes/pd-standard")
        self.kept[disk] = {"sourceImage": params["sourceImage"], "sizeGb": params["diskSizeGb"], "type": f"{base}/compute/v1/{kind}"}
        network = f"{base}/compute/v1/projects/{PROJECT}/global/networks/acc-net"
        instance["networkInterfaces"][0] |= {"name": "nic0", "networkIP": "10.0.0.5", "network": network}

    def _added(self, where: str) -> dict[str, Any]:
        if "/clusters/" in where:
            return self.always | ({} if "/nodePools/" in where else {"selfLink": f"{BASE}/container.googleapis.com/{where}"})
        if "compute/v1" in where:
            own = {"selfLink": f"{BASE}/compute.googleapis.com/{where}", "id": "123", "creationTimestamp": TIME}
        elif "storage/v1" in where:
            own = {
                "selfLink": f"{BASE}/storage.googleapis.com/{where}",
                "projectNumber": "123456789012",
                "timeCreated": TIME,
                "updated": TIME,
            }
        else:
            own = {"createTime": TIME, "updateTime": TIME}
        return own | self.always

    def _merge(self, path: str, body: dict[str, Any]) -> None:
        if update := body.get("update"):
            path = f"{path}/nodePools/{update['desiredNodePoolId']}"
            body = {"autoscaling": update["desiredNodePoolAutoscaling"]}
        self.kept[path] |= _unwrapped(body)

    def _done(self, path: str, call: Call) -> None:
        """A verb after a resource: what its body says is so."""
        resource, _, verb = path.rpartition("/")
        if verb == "setLabels":
            self.kept[resource]["labels"] = call.body["labels"]
        elif verb == "setPrivateIpGoogleAccess":
            self.kept[resource]["privateIpGoogleAccess"] = (call.body or {}).get("privateIpGoogleAccess", False)
        elif verb == "resize" and call.query:
            self.kept[resource]["targetSize"] = int(call.query["size"])


def _verb(path: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"(.*?@[^:]*)(?::(\w+))?", path)
    return (match[1], ":", match[2] or "") if match else (path, "", "")


def _unwrapped(body: dict[str, Any] | None) -> dict[str, Any]:
    for key in ("deploymentResourcePool", "topic", "subscription", "serviceAccount", "cluster", "nodePool"):
        if body and isinstance(body.get(key), dict) and (key != "serviceAccount" or {"accountId", "updateMask"} & body.keys()):
            return dict(body[key])
    return dict(body or {})


def endpoints() -> dict[str, str]:
    """The provider's configuration of every service."""
    return {f"{name}CustomEndpoint": f"{BASE}/{path}" for name, path in (ENDPOINTS | VERSIONS).items()}


class Driver:
    """The engine's part: it keeps nothing, and speaks to one provider."""

    def __init__(self, echo: Callable[[httpx.Request], httpx.Response], *, waits: list[float] | None = None, **config: Any) -> None:
        self.waits: list[float] = [] if waits is None else waits

        def pause(seconds: float) -> bool:
            self.waits.append(seconds)
            return self.provider.cancelled.is_set()

        self.provider = Gcp(httpx.Client(transport=httpx.MockTransport(echo)), pause)
        args = {"project": PROJECT} | endpoints() | config
        self.provider.Configure(provider_pb2.ConfigureRequest(args=encode(args)), Context())

    @staticmethod
    def urn(token: str) -> str:
        return f"urn:pulumi:try::accelform::accelform:x:Y${token}::thing"

    def check(self, token: str, news: dict[str, Any], secrets: Any = ()) -> Any:
        return self.provider.Check(provider_pb2.CheckRequest(urn=self.urn(token), news=encode(news, secrets)), Context())

    def checked(self, token: str, news: dict[str, Any]) -> dict[str, Any]:
        answer = self.check(token, news)
        assert not answer.failures, answer.failures
        return Decoded(answer.inputs).values

    def create(self, token: str, inputs: struct_pb2.Struct | dict[str, Any], *, preview: bool = False) -> Any:
        properties = encode(inputs) if isinstance(inputs, dict) else inputs
        return self.provider.Create(provider_pb2.CreateRequest(urn=self.urn(token), properties=properties, preview=preview), Context())

    def read(self, token: str, id: str, state: dict[str, Any] | None = None, inputs: dict[str, Any] | None = None) -> Any:
        request = provider_pb2.ReadRequest(id=id, urn=self.urn(token), properties=encode(state or {}), inputs=encode(inputs or {}))
        return self.provider.Read(request, Context())

    def diff(self, token: str, old: dict[str, Any], new: dict[str, Any], state: dict[str, Any] | None = None) -> Any:
        olds = encode(old if state is None else state)
        request = provider_pb2.DiffRequest(urn=self.urn(token), old_inputs=encode(old), olds=olds, news=encode(new))
        return self.provider.Diff(request, Context())

    def update(self, token: str, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any], *, preview: bool = False) -> Any:
        request = provider_pb2.UpdateRequest(
            id=id, urn=self.urn(token), olds=encode(state), old_inputs=encode(old), news=encode(new), preview=preview
        )
        return self.provider.Update(request, Context())

    def delete(self, token: str, id: str, state: dict[str, Any]) -> Any:
        return self.provider.Delete(provider_pb2.DeleteRequest(id=id, urn=self.urn(token), properties=encode(state)), Context())
