"""What a thing said: the filter of each form finds the entries of the thing alone, in the sandbox's Cloud Logging."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from infra.errors import SpecError
from infra.operate import logs
from infra.operate.things import Thing
from infra.provider.google import Google, Settings
from tests.in_process import InProcess

PROJECT = "tw-shop-ml"
AT = f"projects/{PROJECT}/locations/us-east5"
SINCE = "2000-01-01T00:00:00+00:00"
ENDPOINT = Thing("endpoints", "recommend", "endpoint", f"{AT}/endpoints/123", "shop")
CLUSTER = {"cluster_name": "c", "location": "us-east5"}
SAYS: dict[str, tuple[Thing, dict[str, Any]]] = {
    "endpoint": (ENDPOINT, {"type": "aiplatform.googleapis.com/Endpoint", "labels": {"endpoint_id": "123"}}),
    "node": (
        Thing("tpu_slices", "n", "node", f"projects/{PROJECT}/locations/us-east5-a/nodes/shop-tpu-n", "shop"),
        {"type": "tpu_worker", "labels": {"node_id": "shop-tpu-n", "zone": "us-east5-a", "worker_id": "0"}},
    ),
    "job": (
        Thing("runners", "sweep", "job", f"{AT}/jobs/shop-sweep", "shop"),
        {"type": "cloud_run_job", "labels": {"job_name": "shop-sweep", "location": "us-east5"}},
    ),
    "cluster": (Thing("clusters", "c", "cluster", f"{AT}/clusters/c", "shop"), {"type": "k8s_cluster", "labels": CLUSTER}),
    "pool": (
        Thing("node_pools", "p", "pool", f"{AT}/clusters/c/nodePools/p", "shop"),
        {"type": "gke_nodepool", "labels": CLUSTER | {"nodepool_name": "p"}},
    ),
    "service": (
        Thing("services", "s", "service", f"{AT}/clusters/c/namespaces/ns/services/s", "shop"),
        {"type": "k8s_container", "labels": CLUSTER | {"namespace_name": "ns", "pod_name": "s-6b7f-x2"}},
    ),
}


@pytest.fixture
def google() -> Iterator[Google]:
    cloud = InProcess(PROJECT)
    with httpx.Client(transport=httpx.MockTransport(cloud)) as http:
        yield Google(Settings("http://sandbox.test"), lambda seconds: False, http=http, time=cloud.cloud.clock.now)
    cloud.close()


def write(google: Google, resource: dict[str, Any], *texts: str, **more: Any) -> None:
    entries = [{"textPayload": text, **more} for text in texts]
    body = {"logName": f"projects/{PROJECT}/logs/x", "resource": resource, "entries": entries}
    google.call("logging.v2", "entries.write", safe=True, body=body)


@pytest.mark.parametrize("form", SAYS)
def test_each_form_finds_its_own_entries(google: Google, form: str) -> None:
    thing, resource = SAYS[form]
    write(google, resource, "mine")
    write(google, {"type": "global"}, "another's")
    write(google, resource | {"labels": dict.fromkeys(resource["labels"], "other")}, "a like one's")
    (entry,) = logs.read(google, PROJECT, logs.filters(google, thing), SINCE)
    assert entry["text"] == "mine"
    assert entry["who"] in resource["labels"].values()


def test_every_form_with_logs_is_tried() -> None:
    assert set(SAYS) | {"instance", "group"} == set(logs.FORMS)


def test_entries_are_in_their_order_and_once(google: Google) -> None:
    _, resource = SAYS["endpoint"]
    write(google, resource, "second", timestamp="2026-11-30T12:00:02Z", severity="ERROR")
    write(google, resource, "first", timestamp="2026-11-30T12:00:01Z")
    found = logs.read(google, PROJECT, logs.filters(google, ENDPOINT) * 2, SINCE)
    assert [(one["text"], one["severity"]) for one in found] == [("first", "DEFAULT"), ("second", "ERROR")]
    assert [one["text"] for one in logs.read(google, PROJECT, logs.filters(google, ENDPOINT), "2026-11-30T12:00:02+00:00")] == ["second"]


def test_a_machine_is_known_by_its_number_and_one_that_is_gone_is_told(google: Google) -> None:
    thing = Thing("tpu_slices", "eval", "instance", f"projects/{PROJECT}/zones/us-east5-a/instances/shop-tpu-eval", "shop")
    with pytest.raises(SpecError, match="there is no machine shop-tpu-eval in us-east5-a now"):
        logs.filters(google, thing)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, json={"id": "42"} if request.url.path.endswith("shop-tpu-eval") else {"managedInstances": [{"id": "7"}, {}]}
        )

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        there = Google(Settings("http://sandbox.test"), lambda seconds: False, http=http)
        assert logs.filters(there, thing) == ['resource.type="gce_instance" AND resource.labels.instance_id="42"']
        group = Thing("tpu_slices", "eval", "group", f"projects/{PROJECT}/zones/us-east5-a/instanceGroupManagers/g", "shop")
        assert logs.filters(there, group) == ['resource.type="gce_instance" AND resource.labels.instance_id="7"']


def test_what_has_no_logs_says_so_with_what_has(google: Google) -> None:
    budget = Thing("budgets", "monthly", "budget", f"projects/{PROJECT}/budgets/shop monthly", "shop")
    with pytest.raises(SpecError, match=r"budgets say nothing: a budget has no logs of its own\n  allowed: .*machine"):
        logs.filters(google, budget)


def test_a_payload_without_words_is_told_whole(google: Google) -> None:
    body = {
        "logName": f"projects/{PROJECT}/logs/x",
        "resource": SAYS["endpoint"][1],
        "entries": [{"jsonPayload": {"b": 1, "a": [2]}}, {"jsonPayload": {"message": "hello\n"}}],
    }
    google.call("logging.v2", "entries.write", safe=True, body=body)
    assert {one["text"] for one in logs.read(google, PROJECT, logs.filters(google, ENDPOINT), SINCE)} == {'{"a": [2], "b": 1}', "hello"}
