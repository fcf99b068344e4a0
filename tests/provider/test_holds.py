"""Holds: several write them and nobody's is lost; what is held stays, at a diff, an update and a read; and each ends by itself."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from driver import BASE, PROJECT, Driver, Sandbox
from vertex import ENDPOINT, MODEL, Vertex

from infra.provider.accelform import Accelform
from infra.provider.google import Google, GoogleError, Settings
from infra.provider.holds import Hold, Holds
from infra.provider.json_object import ChangedError, JsonObject
from infra.provider.resource import Note
from infra.provider.server import ProviderError
from infra.sandbox.cloud import Request
from infra.sandbox.faults import Fault

TOKEN = "accelform:vertex:DeployedModels"  # noqa: S105 - a type's name
BUCKET = "shop-prod-shop-models"
ADDRESS = f"gs://{BUCKET}/.accelform/holds/shop.json"
NOW = 1_000.0
HELD = Hold(ENDPOINT, ("traffic", "model"), "rollout", "2 instead of 1", NOW + 60, {"traffic": {"1": 90}})


class Cloud:
    """The sandbox, with uploads as clients send them, and its clock still."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.now = NOW
        self.http = httpx.Client(transport=httpx.MockTransport(self._answer))
        self.http.post(f"{BASE}/storage.googleapis.com/storage/v1/b", params={"project": PROJECT}, json={"name": BUCKET, "location": "US"})

    def _answer(self, request: httpx.Request) -> httpx.Response:
        host, _, path = request.url.raw_path.decode().partition("?")[0].lstrip("/").partition("/")
        kind = request.headers.get("content-type", "application/json")
        answer = self.sandbox.cloud.handle(Request(request.method, host, f"/{path}", dict(request.url.params), request.content, kind))
        if isinstance(answer.body, bytes):
            return httpx.Response(answer.status, content=answer.body)
        return httpx.Response(answer.status, json=answer.body)

    def google(self) -> Google:
        return Google(Settings(BASE), lambda seconds: False, http=self.http, time=lambda: self.now)

    def holds(self) -> Holds:
        return Holds(self.google(), ADDRESS)


@pytest.fixture
def cloud(sandbox: Sandbox) -> Cloud:
    """A bucket, and a clock."""
    return Cloud(sandbox)


# The object


def test_an_object_is_written_by_the_generation_that_was_read(cloud: Cloud) -> None:
    """Who read an older one is refused; who asks to change it, is asked again."""
    one = JsonObject(cloud.google(), "gs://shop-prod-shop-models/a/b.json")
    assert one.read() == (0, {})
    first = one.write({"a": 1}, 0)
    assert one.read() == (first, {"a": 1})
    with pytest.raises(ChangedError):
        one.write({"a": 2}, 0)
    asked: list[dict[str, Any]] = []

    def changed(data: dict[str, Any]) -> dict[str, Any]:
        asked.append(dict(data))
        if len(asked) == 1:
            one.write({"a": 5}, first)  # somebody else is faster
        return {**data, "b": 1}

    assert one.change(changed) == {"a": 5, "b": 1}
    assert asked == [{"a": 1}, {"a": 5}]


def test_a_lost_answer_of_a_write_is_found_again(cloud: Cloud, sandbox: Sandbox) -> None:
    """It was written: it is not written twice, and not taken for somebody else's."""
    sandbox.cloud.faults.add(Fault(do="error", method="POST", path="upload", at=1, code=503))
    assert JsonObject(cloud.google(), ADDRESS).change(lambda data: {"a": 1}) == {"a": 1}


@pytest.mark.parametrize("address", ["", "gs://", "gs://bucket", "gs://bucket/", "/tmp/x", "http://bucket/x"])  # noqa: S108
def test_what_is_no_address_is_refused(cloud: Cloud, address: str) -> None:
    with pytest.raises(ProviderError, match="is not the address of an object"):
        JsonObject(cloud.google(), address)


# Holds


def test_two_controllers_write_beside_each_other(cloud: Cloud) -> None:
    """A hold of another resource, or of other fields, stays; the same controller's own is replaced."""
    holds = cloud.holds()
    other = Hold(ENDPOINT, ("replicas",), "guard", "the budget", NOW + 90)
    holds.put(HELD, NOW)
    holds.put(other, NOW)
    assert holds.every() == [HELD, other]
    later = Hold(ENDPOINT, ("traffic",), "rollout", "more", NOW + 120)
    holds.put(later, NOW)
    assert holds.every() == [other, later]
    with pytest.raises(ProviderError, match="held by rollout until 1970-01-01T00:18:40Z"):
        holds.put(Hold(ENDPOINT, ("traffic",), "guard", "", NOW + 5), NOW)


def test_a_hold_ends_by_itself(cloud: Cloud) -> None:
    """At its end it does not count, others may hold the same, and it is swept."""
    holds = cloud.holds()
    holds.put(HELD, NOW)
    assert holds.on(ENDPOINT, NOW + 59.9) == [HELD]
    assert holds.on(ENDPOINT, NOW + 60) == []
    other = Hold(ENDPOINT, ("traffic",), "guard", "", NOW + 500)
    holds.put(other, NOW + 60)
    assert holds.every() == [other]


def test_release_ends_what_is_named(cloud: Cloud) -> None:
    """One resource's, one controller's, or all; what there is none of is well."""
    holds = cloud.holds()
    elsewhere = Hold(f"{ENDPOINT}9", ("traffic",), "rollout", "", NOW + 60)
    assert holds.release() == []
    holds.put(HELD, NOW)
    holds.put(elsewhere, NOW)
    assert holds.release(ENDPOINT, "guard") == []
    assert holds.release(ENDPOINT) == [HELD]
    assert holds.release() == [elsewhere]
    assert holds.every() == []


def test_the_project_may_be_said_by_id_or_number(cloud: Cloud, sandbox: Sandbox) -> None:
    """Google answers numbers for ids."""
    cloud.holds().put(HELD, NOW)
    assert cloud.holds().on(ENDPOINT.replace(PROJECT, sandbox.number), NOW) == [HELD]


@pytest.mark.parametrize("kept", [{"holds": 5}, {"holds": [5]}, {"holds": [{"resource": "r"}]}, {"holds": [HELD.shown() | {"until": "soon"}]}])
def test_what_somebody_wrote_by_hand_is_refused_in_words(cloud: Cloud, kept: Any) -> None:
    """Whether something is held cannot be said then, so nothing is changed."""
    JsonObject(cloud.google(), ADDRESS).write(kept, 0)
    with pytest.raises(ProviderError, match="fix: mend it, or remove the object"):
        cloud.holds().every()


# The provider


class Stack:
    """A program with one deployed model, the provider, and somebody at the same endpoint."""

    def __init__(self, cloud: Cloud, sandbox: Sandbox) -> None:
        self.notes: list[str] = []
        self.driver = Driver(cloud.http)
        self.driver.provider = Accelform(cloud.http, lambda seconds: False, lambda urn, note: self._said(note), lambda: cloud.now)
        self.driver.configure(holds=ADDRESS)
        self.vertex = Vertex(sandbox)
        self.vertex.endpoint()
        self.vertex.upload("champion")
        self.vertex.upload("candidate")

    def _said(self, note: Note) -> None:
        self.notes.append(note.text)

    def inputs(self, **more: Any) -> dict[str, Any]:
        one = {"model": f"{MODEL}@champion", "machineType": "n1-standard-2", "minReplicas": 1, "traffic": 100, **more}
        return {"endpoint": ENDPOINT, "deployedModels": {"champion": one}}
