"""
Whatever is asked, the sandbox answers: never an exception, always in the service's own shape.

Every method of every document is called with words, parameters and bodies of all kinds: made from the schema, half of it, nonsense.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Answer, Cloud, Request
from infra.sandbox.discovery import REST, Document, Method, document
from infra.sandbox.service import Service
from infra.sandbox.services import SERVICES

NOON = 1_796_040_000.0
PROJECT = "shop-prod"
PLACES = ("us-central1", "us-central1-a", "global", "asia-east1")
IDS = ("a", "b", "shop-media", "0A5A4D-B0C5E0-5A4DB0", "1")
WORDS = (*PLACES, *IDS, PROJECT, "-", "x y", "%2F", "ü", "a/b", "..", "_")
TEXTS = (
    *WORDS,
    "",
    "projects/shop-prod/topics/a",
    "default",
    "10.0.0.0/20",
    "2026-12-01T08:00:00Z",
    "60s",
    "allUsers",
    "5",
    "=",
)
ODD = ("\ud800", "\0")
"""What only a body can have."""
NUMBERS = (0, 1, -1, 2, 10, 443, 2**31, 10**20, 1.5)
NONSENSE: tuple[Any, ...] = (None, True, 0, "x", [], {}, [[]], {"a": {"b": []}}, [None], 1e300)
DEPTH = 4
USUAL = {"zones": ("us-central1-a",), "regions": ("us-central1",), "locations": ("us-central1", "us-east5-a", "global")}
"""Word of a path -> those that follow it."""
LIKELY = {
    "fingerprint": ("=",),
    "labelFingerprint": ("=",),
    "etag": ("=",),
    "updateMask": ("labels", "description", "display_name", "*"),
    "name": ("a", "b"),
    "network": ("global/networks/default", "global/networks/a"),
    "subnetwork": ("regions/us-central1/subnetworks/default", "regions/us-central1/subnetworks/a"),
    "machineType": ("zones/us-central1-a/machineTypes/e2-small",),
    "source": ("zones/us-central1-a/disks/a",),
    "instance": ("zones/us-central1-a/instances/a",),
    "instanceTemplate": ("global/instanceTemplates/a",),
    "healthChecks": ("global/healthChecks/a",),
    "topic": ("projects/shop-prod/topics/a",),
    "subscription": ("projects/shop-prod/subscriptions/a",),
    "accountId": ("shop-one", "shop-two"),
    "acceleratorType": ("v6e-1",),
    "logName": ("projects/shop-prod/logs/a",),
    "resourceNames": ("projects/shop-prod",),
    "ipCidrRange": ("10.0.0.0/20", "10.1.0.0/20"),
    "endTime": ("2026-12-01T08:00:00Z",),
}
"""Field -> texts that get a request past its first check."""


class Caller:
    """Calls the methods of one service, as a seed has it."""

    def __init__(self, service: Service, random: Random) -> None:
        self.cloud = Cloud(clock=Clock(start=NOON, real=lambda: NOON), masked=["="])
        self.cloud.projects.make(PROJECT)
        self.service = service
        self.random = random
        self.share = 0.0
        """Of a message's fields, in the body that is being made."""

    def call(self, method: Method) -> Answer:
        query = {key: self.random.choice(LIKELY.get(key, TEXTS)) for key in method.query if self.random.random() < 0.2}
        query |= {key: self.random.choice(IDS[:2]) for key in method.query if key.endswith("Id") and self.random.random() < 0.9}
        query |= {"project": PROJECT} if "project" in method.query else {}
        path = "/".join(
            self._segment(segment, previous) for segment, previous in zip(method.template, ("", *method.template), strict=False)
        )
        return self.cloud.handle(
            Request(method.http, self.service.host, path + (f":{method.custom}" if method.custom else ""), query, self._content(method))
        )

    def _segment(self, segment: str, previous: str) -> str:
        if segment == REST:
            return "some/thing"
        if not segment.startswith("{"):
            return segment
        if "project" in segment or previous == "projects":
            return PROJECT if self.random.random() < 0.95 else self.random.choice(WORDS)
        if self.random.random() < 0.1:
            return self.random.choice(WORDS)
        return self.random.choice(USUAL.get(previous, IDS[:2]))

    def _content(self, method: Method) -> bytes:
        if not method.request:
            return b""
        self.share = self.random.choice((0.02, 0.1, 0.4))
        kind = self.random.random()
        if kind < 0.05:
            return self.random.choice((b"", b"{", b"[]", b"null", b"\xff", b'"x"'))
        body = self._value(method.document, {"$ref": method.request}, 0)
        if kind < 0.15 and body:
            body[self.random.choice(sorted(body))] = self.random.choice(NONSENSE)
        return json.dumps(body).encode()

    def _value(self, owner: Document, schema: dict[str, Any], depth: int, field: str = "") -> Any:
        if "$ref" in schema:
            schema = owner.schemas[schema["$ref"]]
        kind = schema.get("type", "any")
        if kind == "object" or "properties" in schema:
            properties = schema.get("properties", {}) if depth < DEPTH else {}
            made = {
                key: self._value(owner, item, depth + 1, key)
                for key, item in properties.items()
                if key in LIKELY or self.random.random() < self.share
            }
            if "additionalProperties" in schema and depth < DEPTH:
                made |= {self.random.choice(TEXTS): self._value(owner, schema["additionalProperties"], depth + 1)}
            return made
        if kind == "array":
            return [self._value(owner, schema["items"], depth + 1, field) for _ in range(self.random.randrange(3))] if depth < DEPTH else []
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind in ("integer", "number"):
            return self.random.choice(NUMBERS[: 8 if kind == "integer" else 9])
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        return self.random.choice(NONSENSE if kind == "any" else LIKELY.get(field, TEXTS) if self.random.random() < 0.8 else (*TEXTS, *ODD))


def check(service: Service, answer: Answer) -> None:
    """
    An answer is what the service's clients can read.

    Raises:
        AssertionError: It is not.
    """
    assert answer.status in (200, 204, 304, 308) or 400 <= answer.status < 500 or answer.status == 501, answer.body
    if answer.status < 400:
        assert answer.body is None or isinstance(answer.body, bytes) or json.dumps(answer.body, allow_nan=False)
        return
    error = answer.body["error"]
    assert error["code"] == answer.status
    assert error["message"]
    shapes = {"status": [{"status"}], "errors": [{"errors"}, {"errors", "status"}], "both": [{"errors", "status"}]}
    assert {"errors", "status"} & error.keys() in shapes[service.errors]


def every_method(service: Service, seed: int) -> None:
    """Each method once, in an order of its own."""
    random = Random(seed)
    caller = Caller(service, random)
    methods = [method for api in service.apis for method in document(api).methods]
    for method in random.sample(methods, len(methods)):
        check(service, caller.call(method))


COLLECTIONS = (
    ("pubsub.googleapis.com", "v1/projects/shop-prod/topics", "path"),
    ("tpu.googleapis.com", "v2/projects/shop-prod/locations/us-east5-a/nodes", "nodeId"),
    ("aiplatform.googleapis.com", "v1/projects/shop-prod/locations/asia-east1/endpoints", "endpointId"),
    ("aiplatform.googleapis.com", "v1/projects/shop-prod/locations/asia-east1/featurestores", "featurestoreId"),
    ("run.googleapis.com", "v2/projects/shop-prod/locations/asia-east1/jobs", "jobId"),
    ("artifactregistry.googleapis.com", "v1/projects/shop-prod/locations/asia-east1/repositories", "repositoryId"),
    ("compute.googleapis.com", "compute/v1/projects/shop-prod/global/healthChecks", "body"),
    ("compute.googleapis.com", "compute/v1/projects/shop-prod/regions/asia-east1/addresses", "body"),
    ("compute.googleapis.com", "compute/v1/projects/shop-prod/zones/us-east5-a/disks", "body"),
    ("monitoring.googleapis.com", "v3/projects/shop-prod/services", "serviceId"),
    ("iam.googleapis.com", "v1/projects/shop-prod/locations/global/workloadIdentityPools", "workloadIdentityPoolId"),
    ("storage.googleapis.com", "storage/v1/b", "body"),
)
"""Host, collection, and where a new one's id is: in the path, the body, or a parameter of the query."""
BODIES = {
    "nodes": {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e"},
    "endpoints": {"displayName": "one"},
    "repositories": {"format": "DOCKER"},
    "healthChecks": {"type": "TCP", "tcpHealthCheck": {"port": 80}},
    "services": {"custom": {}},
    "jobs": {"template": {"template": {"containers": [{"image": "job:1"}]}}},
}


def a_life(host: str, collection: str, by: str, seed: int) -> None:
    """Makes, changes, removes, lets time pass, in any order: the list has what is found one by one, as it is found."""
    random = Random(seed)
    cloud = Cloud(clock=Clock(manual=True, start=NOON))
    cloud.projects.make(PROJECT)
    ids = ("aaaa-one", "bbbb-two", "cccc-three")

    def ask(http: str, path: str, body: Any = None, **query: str) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        return cloud.handle(Request(http, host, path, {"project": PROJECT} | query, content))

    for _ in range(15):
        one, plural = random.choice(ids), collection.rpartition("/")[2]
        do = random.choice(("make", "make", "change", "remove", "wait"))
        body = BODIES.get(plural, {}) | ({"name": one} if by == "body" else {})
        if do == "make":
            path, query = (f"{collection}/{one}", {}) if by == "path" else (collection, {} if by == "body" else {by: one})
            answer = ask("PUT" if by == "path" else "POST", path, body, **query)
            assert answer.status in (200, 409), answer.body
        elif do == "change":
            ask("PATCH", f"{collection}/{one}", {"labels": {"a": random.choice("xy")}}, updateMask="labels")
        elif do == "remove":
            ask("DELETE", f"{collection}/{one}")
        else:
            cloud.clock.advance(random.choice((1, 60, 3600)))
        page = ask("GET", collection).body
        listed = next((value for value in page.values() if isinstance(value, list)), [])
        got = [answer.body for answer in (ask("GET", f"{collection}/{name}") for name in ids) if answer.status == 200]
        found = [item for item in got if item.get("state") != "DELETED"]
        assert sorted(map(str, listed)) == sorted(map(str, found))


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.host)
@settings(max_examples=2, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_every_method_answers(service: Service, seed: int) -> None:
    every_method(service, seed)


@pytest.mark.parametrize(("host", "collection", "by"), COLLECTIONS, ids=lambda value: str(value).rpartition("/")[2])
@settings(max_examples=4, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_a_list_holds_what_gets_find(host: str, collection: str, by: str, seed: int) -> None:
    a_life(host, collection, by, seed)


@pytest.mark.soak
@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.host)
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_method_answers_for_long(service: Service, seed: int) -> None:
    every_method(service, seed)


@pytest.mark.soak
@pytest.mark.parametrize(("host", "collection", "by"), COLLECTIONS, ids=lambda value: str(value).rpartition("/")[2])
@settings(max_examples=500, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_list_holds_what_gets_find_for_long(host: str, collection: str, by: str, seed: int) -> None:
    a_life(host, collection, by, seed)
