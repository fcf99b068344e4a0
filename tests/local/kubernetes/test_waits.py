"""Waits: until an object is ready by its kind, in the sandbox's time, with what keeps it told."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import httpx
import pytest
import talk
from google.protobuf import struct_pb2
from talk import manifest

from infra.provider.values import Decoded, encode

PATHS = {
    "Deployment": "apis/apps/v1/deployments",
    "StatefulSet": "apis/apps/v1/statefulsets",
    "DaemonSet": "apis/apps/v1/daemonsets",
    "Job": "apis/batch/v1/jobs",
    "Pod": "api/v1/pods",
    "Service": "api/v1/services",
    "Ingress": "apis/networking.k8s.io/v1/ingresses",
    "PersistentVolumeClaim": "api/v1/persistentvolumeclaims",
    "PersistentVolume": "api/v1/persistentvolumes",
    "ResourceQuota": "api/v1/resourcequotas",
    "ConfigMap": "api/v1/configmaps",
    "Endpoints": "api/v1/endpoints",
    "StorageClass": "apis/storage.k8s.io/v1/storageclasses",
}


class Story:
    """
    A cluster in which one object becomes what is told, look by look; the last stays.

    Args:
        seen: The object at each look: what it has besides what was written.
        pods: The pods that it selects.
        others: Other objects, by kind.
    """

    def __init__(self, *seen: dict[str, Any], pods: list[dict[str, Any]] | None = None, **others: dict[str, Any]) -> None:
        self.seen = list(seen)
        self.pods = pods or []
        self.others = others
        self.now = 0.0
        self.made: dict[str, Any] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/gke-0123.us-central1.gke.goog/").replace("namespaces/default/", "")
        if path == "/sandbox/clock":
            self.now += json.loads(request.content)["seconds"]
            return httpx.Response(200, json={"time": dt.datetime.fromtimestamp(self.now, dt.UTC).isoformat()})
        if path == "version":
            return httpx.Response(200, json={})
        group = path.rpartition("/")[0]
        if listed := [(kind, place) for kind, place in PATHS.items() if place.rpartition("/")[0] == path]:
            kinds = [{"name": place.rpartition("/")[2], "kind": kind, "namespaced": True} for kind, place in listed]
            return httpx.Response(200, json={"resources": kinds})
        if path == PATHS["Pod"] and request.method == "GET":
            return httpx.Response(200, json={"items": self.pods})
        kind = next((kind for kind, place in PATHS.items() if place in (path, group)), "")
        if request.method == "POST":
            self.made = json.loads(request.content)
            return httpx.Response(201, json=self.made)
        if kind in self.others:
            return httpx.Response(200, json=self.others[kind])
        if kind != self.made.get("kind"):
            return httpx.Response(404, json={"kind": "Status", "message": "not found", "reason": "NotFound"})
        found = self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]
        return httpx.Response(200, json=self.made | found)


def token(kind: str) -> str:
    """The type of a kind."""
    group = PATHS[kind].removeprefix("apis/").removeprefix("api/").rpartition("/")[0]
    return f"kubernetes:{group if '/' in group else f'core/{group}'}:{kind}"


def struct(inputs: dict[str, Any]) -> struct_pb2.Struct:
    """The least of an object, as if Check had passed it."""
    return encode(inputs | {"metadata": inputs["metadata"] | {"namespace": "default"}})


def made(story: Story, kind: str, inputs: dict[str, Any], **wait: Any) -> struct_pb2.Struct:
    """Creates an object, and waits for it. Answers its state."""
    found: struct_pb2.Struct = talk.Engine(story).create(token(kind), struct(inputs), **wait).properties
    return found


def status(**found: Any) -> dict[str, Any]:
    return {"status": found}


def condition(name: str, value: str = "True", reason: str = "", message: str = "") -> dict[str, Any]:
    return {"type": name, "status": value, "reason": reason, "message": message}


AVAILABLE = [condition("Available"), condition("Progressing", "True", "NewReplicaSetAvailable")]
UNAVAILABLE = [condition("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")]
FULL = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
PENDING = {"status": {"conditions": [condition("PodScheduled", "False", "Unschedulable", FULL)]}}
CRASHED = {
    "status": {"containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]}
}
SPEC = {"selector": {"matchLabels": {"a": "b"}}, "replicas": 2}

READY = [
    ("Deployment", {"spec": SPEC}, status(conditions=AVAILABLE, updatedReplicas=2, readyReplicas=2)),
    ("Deployment", {"spec": SPEC | {"replicas": 0}}, status(conditions=AVAILABLE)),
    ("StatefulSet", {"spec": SPEC}, status(replicas=2, readyReplicas=2, currentReplicas=2, currentRevision="a", updateRevision="a")),
    (
        "DaemonSet",
        {"spec": SPEC},
        status(desiredNumberScheduled=1, currentNumberScheduled=1, updatedNumberScheduled=1, numberAvailable=1, numberReady=1),
    ),
    ("DaemonSet", {"spec": SPEC}, status(desiredNumberScheduled=0)),
    ("Job", {"spec": {}}, status(startTime="t", conditions=[condition("Complete")])),
    ("Pod", {"spec": {}}, status(conditions=[condition("Ready")])),
    ("Pod", {"spec": {}}, status(phase="Succeeded")),
    ("Service", {"spec": {"type": "LoadBalancer"}}, status(loadBalancer={"ingress": [{"ip": "34.1.1.1"}]})),
    ("Ingress", {"spec": {}}, status(loadBalancer={"ingress": [{"ip": "34.1.1.1"}]})),
    ("PersistentVolumeClaim", {"spec": {}}, status(phase="Bound")),
    ("PersistentVolume", {"spec": {}}, status(phase="Available")),
    ("ResourceQuota", {"spec": {"hard": {"pods": "1"}}}, status(hard={"pods": "1"})),
]


@pytest.mark.parametrize(("kind", "inputs", "ready"), READY, ids=lambda one: one if isinstance(one, str) else "")
def test_each_kind_is_waited_for(kind: str, inputs: dict[str, Any], ready: dict[str, Any]) -> None:
    """Until it is ready, in the sandbox's time: the state is what it is then."""
    story = Story({}, {"status": {}}, ready)
    state = made(story, kind, manifest(kind, "a", token(kind).split(":")[1].removeprefix("core/")) | inputs)
    assert Decoded(state).values["status"] == ready["status"]
    assert 2 <= story.now < 10


@pytest.mark.parametrize(
    ("kind", "spec", "found"),
    [
        ("ConfigMap", {}, {}),
        ("Service", {"type": "ExternalName"}, {}),
        ("Service", {"clusterIP": "None", "selector": {"a": "b"}}, {}),
        ("Service", {"type": "ClusterIP"}, {}),
        ("Service", {"selector": {"a": "b"}}, {}),
    ],
)
def test_what_needs_no_wait_has_none(kind: str, spec: dict[str, Any], found: dict[str, Any]) -> None:
    """It is there: that is all."""
    story = Story(found)
    made(story, kind, manifest(kind, "a", spec=spec))
    assert story.now == 0


def test_a_service_waits_for_the_pods_behind_it() -> None:
    """While some of them are not ready."""
    points = {"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}]}]}
    story = Story({}, Endpoints=points)
    with pytest.raises(talk.AbortedError, match="timed out"):
        made(story, "Service", manifest("Service", "a", spec={"selector": {"a": "b"}}), timeout=5)
    assert round(story.now) == 5


@pytest.mark.parametrize(("mode", "waits"), [("WaitForFirstConsumer", 0), ("Immediate", 300)])
def test_a_claim_that_waits_for_its_first_pod_is_ready(mode: str, waits: float) -> None:
    """Nobody would ever bind it else."""
    story = Story(status(phase="Pending"), StorageClass={"volumeBindingMode": mode})
    inputs = manifest("PersistentVolumeClaim", "a", spec={"storageClassName": "rwo"})
    if waits:
        with pytest.raises(talk.AbortedError, match="timed out") as refused:
            made(story, "PersistentVolumeClaim", inputs)
        assert "[a] is not ready. status.phase currently at: Pending" in list(refused.value.detail.reasons)[1]
    else:
        made(story, "PersistentVolumeClaim", inputs)
    assert round(story.now) == waits


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        ([PENDING, PENDING], f"0 of 2 pods ready: {FULL}"),
        ([PENDING, CRASHED], f"0 of 2 pods ready: {FULL}; [ImagePullBackOff] no such image"),
    ],
)
def test_fails_where_the_time_is_over(pods: list[dict[str, Any]], said: str) -> None:
    """The object is kept, with what keeps it from being ready; progress is told once."""
    story = Story(status(conditions=UNAVAILABLE, observedGeneration=1), pods=pods)
    engine = talk.Engine(story)
    with pytest.raises(talk.AbortedError) as failed:
        engine.create(talk.DEPLOYMENT, struct(manifest("Deployment", "a", "apps/v1", spec=SPEC)), timeout=90)
    first, *reasons = failed.value.detail.reasons
    assert first == str(failed.value)
    assert "'a' was successfully created, but" in first
    assert first.endswith("'a' timed out waiting to be Ready")
    assert reasons[:2] == ["[MinimumReplicasUnavailable] Deployment does not have minimum availability.", FULL]
    assert failed.value.detail.id == "default/a"
    assert failed.value.state["status"]["conditions"] == UNAVAILABLE
    assert round(story.now) == 90
    assert engine.said == [(said, False)]


@pytest.mark.parametrize(
    ("annotations", "timeout", "waited"),
    [
        ({"pulumi.com/timeoutSeconds": "20"}, 0, 20),
        ({"pulumi.com/timeoutSeconds": "20"}, 7, 7),
        ({"pulumi.com/timeoutSeconds": "soon"}, 0, 600),
    ],
)
def test_how_long_is_the_programs_to_say(annotations: dict[str, str], timeout: float, waited: float) -> None:
    """The resource's timeout counts before the annotation."""
    story = Story(status(phase="Pending"))
    with pytest.raises(talk.AbortedError):
        made(story, "Pod", manifest("Pod", "a", metadata={"annotations": annotations}, spec={}), timeout=timeout)
    assert round(story.now) == waited


def test_a_job_that_failed_is_not_waited_for() -> None:
    """It will not complete any more."""
    failed = status(startTime="t", failed=1, conditions=[condition("Failed", "True", "BackoffLimitExceeded", "Job has reached the limit")])
    story = Story(status(startTime="t", active=1), failed)
    engine = talk.Engine(story)
    with pytest.raises(talk.AbortedError, match="failed to initialize") as refused:
        engine.create(talk.JOB, struct(manifest("Job", "a", "batch/v1", spec={})))
    assert list(refused.value.detail.reasons)[1:] == ["[BackoffLimitExceeded] Job has reached the limit"]
    assert story.now < 5
    assert [text for text, _ in engine.said] == [
        'Waiting for Job "a" to succeed (Active: 1 | Succeeded: 0 | Failed: 0)',
        'Waiting for Job "a" to succeed (Active: 0 | Succeeded: 0 | Failed: 1)',
    ]


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_who_does_not_want_to_wait_does_not(kind: str) -> None:
    """`pulumi.com/skipAwait`."""
    story = Story({})
    api = token(kind).split(":")[1]
    made(story, kind, manifest(kind, "a", api, metadata={"annotations": {"pulumi.com/skipAwait": "true"}}, spec=SPEC))
    assert story.now == 0


@pytest.mark.parametrize(
    ("wait", "ready"),
    [
        ("condition=Ready", status(conditions=[condition("Ready")])),
        ("condition=ready=False", status(conditions=[condition("Ready", "False")])),
        ("jsonpath={.status.phase}=Active", status(phase="Active")),
        ("jsonpath={.status.done}=true", status(done=True)),
        ("jsonpath={.status.addresses[0].value}", status(addresses=[{"value": "x"}])),
        ('["condition=Ready", "jsonpath={.status.count}=2"]', status(conditions=[condition("Ready")], count=2)),
    ],
)
def test_what_the_program_waits_for(wait: str, ready: dict[str, Any]) -> None:
    """`pulumi.com/waitFor`, of any kind, in the place of the kind's own."""
    story = Story(status(phase="x"), ready)
    made(story, "ConfigMap", manifest("ConfigMap", "a", metadata={"annotations": {"pulumi.com/waitFor": wait}}))
    assert story.now == 1


def test_a_newer_version_is_waited_for() -> None:
    """What is said of the last one does not count."""
    old = {"metadata": {"name": "a", "namespace": "default", "generation": 2}} | status(observedGeneration=1, conditions=AVAILABLE)
    old["status"] |= {"updatedReplicas": 2, "readyReplicas": 2}
    new = old | {"status": old["status"] | {"observedGeneration": 2}}
    story = Story(old, old, new)
    made(story, "Deployment", manifest("Deployment", "a", "apps/v1", spec=SPEC))
    assert story.now > 0


def test_a_refresh_says_that_it_is_not_ready() -> None:
    """The engine keeps that, so that the next update looks after it; an import is only looked at."""
    story = Story(status(conditions=UNAVAILABLE), pods=[PENDING])
    story.made = talk.deployment("a") | {"metadata": {"name": "a", "namespace": "default"}}
    engine = talk.Engine(story)
    inputs = struct(talk.deployment("a"))
    with pytest.raises(talk.AbortedError) as failed:
        engine.read(talk.DEPLOYMENT, "default/a", inputs, inputs)
    assert str(failed.value).startswith("Resource 'a' was created but failed to initialize")
    assert Decoded(failed.value.detail.inputs).values == Decoded(inputs).values
    assert engine.read(talk.DEPLOYMENT, "default/a").id == "default/a"


def test_a_cancel_keeps_what_was_made() -> None:
    """The object is in the state, and is not waited for any more."""
    story = Story(status(phase="Pending"))
    engine = talk.Engine(story)
    checked = struct(manifest("Pod", "a", spec={}))
    engine.provider._say = lambda *_: engine.provider.cancelled.set()
    with pytest.raises(talk.AbortedError, match='Resource operation was cancelled for "a"') as failed:
        engine.create("kubernetes:core/v1:Pod", checked)
    assert failed.value.detail.id == "default/a"


def test_a_cluster_that_is_lost_in_a_wait_loses_nothing() -> None:
    """What was made is kept."""
    story = Story({})

    def lost(request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and request.url.path.endswith("pods/a"):
            raise httpx.ConnectError("refused")
        return story(request)

    engine = talk.Engine(lost)
    with pytest.raises(talk.AbortedError, match="no answer: refused") as failed:
        engine.create("kubernetes:core/v1:Pod", struct(manifest("Pod", "a", spec={})))
    assert failed.value.detail.id == "default/a"
