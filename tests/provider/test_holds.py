"""Holds: several write them and nobody's is lost; what is held stays, at a diff, an update and a read; and each ends by itself."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from driver import BASE, PROJECT, AbortedError, Context, Driver, Sandbox
from pulumi.runtime.proto import provider_pb2
from vertex import ENDPOINT, MODEL, Vertex

from infra.provider.accelform import Accelform
from infra.provider.calls import GoogleError
from infra.provider.deployed_model import DeployedModel
from infra.provider.google import Google, Settings
from infra.provider.holds import Hold, Holds
from infra.provider.json_object import ChangedError, JsonObject
from infra.provider.server import ProviderError
from infra.provider.serving import Serving
from infra.provider.values import encode
from infra.sandbox.faults import Fault
from tests.in_process import answered

TOKEN = "accelform:vertex:DeployedModels"
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
        return answered(self.sandbox.cloud, request)

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


@pytest.mark.parametrize("address", ["", "gs://", "gs://bucket", "gs://bucket/", "/holds/x", "http://bucket/x"])
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


@pytest.mark.parametrize(
    "kept",
    [
        {"holds": 5},
        {"holds": [5]},
        {"holds": [{"resource": "r"}]},
        {"holds": [HELD.shown() | {"until": "soon"}]},
        {"holds": [HELD.shown() | {"fields": "traffic"}]},
        {"holds": [HELD.shown() | {"fields": ["trafic"]}]},
        {"holds": [HELD.shown() | {"fields": [["traffic"]]}]},
    ],
)
def test_what_somebody_wrote_by_hand_is_refused_in_words(cloud: Cloud, kept: Any) -> None:
    """Whether something is held cannot be said then, so nothing is changed."""
    JsonObject(cloud.google(), ADDRESS).write(kept, 0)
    with pytest.raises(ProviderError, match="fix: mend it, or remove the object"):
        cloud.holds().every()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_not_nothing(cloud: Cloud, vertex: Vertex, content: bytes) -> None:
    """An object that is broken may have held something: no hold is overwritten, and no update goes on."""
    path = f"{BASE}/upload/storage.googleapis.com/storage/v1/b/{BUCKET}/o".replace(
        "/upload/storage.googleapis.com", "/storage.googleapis.com/upload"
    )
    made = cloud.http.post(path, params={"uploadType": "media", "name": ".accelform/holds/shop.json"}, content=content)
    assert made.is_success, made.text
    with pytest.raises(ProviderError, match="is no JSON object"):
        cloud.holds().put(HELD, NOW)
    with pytest.raises(AbortedError, match="is no JSON object"):
        told(cloud).create(TOKEN, inputs())
    assert vertex.deployed() == {}


# The provider


def told(cloud: Cloud) -> Driver:
    """The provider of a stack whose holds are there."""
    driver = Driver(cloud.http)
    driver.provider = Accelform(
        cloud.http, lambda _: False, lambda _, note: driver.notes.append((note.text, note.warns)), lambda: cloud.now
    )
    driver.provider.Configure(provider_pb2.ConfigureRequest(args=encode({"sandbox": BASE, "holds": ADDRESS})), Context())
    return driver


@pytest.fixture
def vertex(sandbox: Sandbox) -> Vertex:
    """An endpoint, and a model of two versions."""
    found = Vertex(sandbox)
    found.endpoint()
    found.upload("champion")
    found.upload("candidate")
    return found


def inputs(**more: Any) -> dict[str, Any]:
    one = {"model": f"{MODEL}@champion", "machineType": "n1-standard-2", "minReplicas": 1, "traffic": 100, **more}
    return {"endpoint": ENDPOINT, "location": "us-central1", "deployedModels": {"champion": one}}


def at_ten_percent(cloud: Cloud, vertex: Vertex) -> str:
    """What a rollout does: the new version beside the old one, with a tenth of the traffic."""
    settings = {"machineType": "n1-standard-2", "minReplicas": 1}
    new = DeployedModel("champion", ENDPOINT, MODEL, "2", settings)
    serving = Serving(cloud.google(), ENDPOINT)
    (old,) = serving.look().deployed
    serving.deploy(new)
    serving.split({old: 90, new.id: 10})
    return new.id


def test_what_is_held_is_kept_and_said(cloud: Cloud, vertex: Vertex) -> None:
    """A rollout at 10 %: a refresh sees nothing of it, an update changes the replicas and leaves the split; after its end all is undone."""
    driver = told(cloud)
    first = driver.checked(TOKEN, inputs())
    id, state = driver.create(TOKEN, first)
    new = at_ten_percent(cloud, vertex)
    split = vertex.split()
    cloud.holds().put(HELD, cloud.now)

    _, state, read = driver.read(TOKEN, id, state, first)
    assert read == first  # no drift
    assert driver.diff(TOKEN, first, first, state).changes == provider_pb2.DiffResponse.DIFF_NONE
    assert driver.notes == [
        ("kept as it is: traffic, model of endpoints/77 held by rollout until 1970-01-01T00:17:40Z: 2 instead of 1", False)
    ]
    wider = driver.checked(TOKEN, inputs(maxReplicas=3))
    assert driver.diff(TOKEN, first, wider, state).changes == provider_pb2.DiffResponse.DIFF_SOME
    state = driver.update(TOKEN, id, state, first, wider)
    assert vertex.split() == split
    assert "held" not in state

    cloud.now = HELD.until
    driver.notes.clear()
    _, state, read = driver.read(TOKEN, id, state, wider)
    assert state["leftovers"] == [new]
    assert driver.diff(TOKEN, read, wider, state).changes == provider_pb2.DiffResponse.DIFF_SOME
    assert not any("held" in text for text, _ in driver.notes)
    driver.update(TOKEN, id, state, read, wider)
    assert new not in vertex.deployed()
    assert list(vertex.split().values()) == [100]


def test_a_program_may_hold_too(cloud: Cloud, vertex: Vertex) -> None:
    """What the program says is held stays in the state as it says it, whatever controllers hold besides."""
    driver = told(cloud)
    own = driver.checked(TOKEN, inputs() | {"held": ["replicas"]})
    id, state = driver.create(TOKEN, own)
    cloud.holds().put(HELD, cloud.now)
    _, state, read = driver.read(TOKEN, id, state, own)
    assert state["held"] == read["held"] == ["replicas"]


def test_holds_that_cannot_be_read_stop_it(cloud: Cloud, vertex: Vertex) -> None:
    """Nobody knows then whether a rollout is under way."""
    driver = told(cloud)
    first = driver.checked(TOKEN, inputs())
    id, state = driver.create(TOKEN, first)
    cloud.sandbox.cloud.faults.add(Fault(do="error", path="storage", code=403, message="no"))
    with pytest.raises(AbortedError, match="403"):
        driver.update(TOKEN, id, state, first, driver.checked(TOKEN, inputs(maxReplicas=3)))
    with pytest.raises(GoogleError, match="403"):
        cloud.holds().every()


def test_an_endpoint_that_has_nothing_gets_its_traffic_all_the_same(cloud: Cloud, vertex: Vertex) -> None:
    """The hold is of what stood there before it was made anew: what is deployed now would stand there without a request."""
    cloud.holds().put(HELD, NOW)
    told(cloud).create(TOKEN, inputs())
    assert vertex.shares() == {"champion": 100}


def test_a_stack_without_its_bucket_holds_nothing(sandbox: Sandbox, vertex: Vertex) -> None:
    """Its first update makes the bucket."""
    driver = Driver(sandbox.http())
    driver.provider.Configure(provider_pb2.ConfigureRequest(args=encode({"sandbox": BASE, "holds": "gs://none/h.json"})), Context())
    driver.provider._google.time = lambda: NOW  # type: ignore[union-attr]
    first = driver.checked(TOKEN, inputs())
    id, _ = driver.create(TOKEN, first)
    assert id == ENDPOINT
