"""Diff: what changed by path, what of it makes an object anew, and what only looks different."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import talk
from pulumi.runtime.proto import provider_pb2
from talk import kinds, manifest

from infra.provider.values import UNKNOWN

NOISE = {"uid": "1", "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []}


def state(inputs: dict[str, Any], **live: Any) -> dict[str, Any]:
    """A state: the inputs, and what the cluster has besides them, or instead."""
    found = copy.deepcopy(inputs) | copy.deepcopy(live)
    found["metadata"] = found["metadata"] | {"namespace": "default"} | NOISE
    return found | {"status": {"phase": "x"}, "__inputs": inputs, "__initialApiVersion": inputs["apiVersion"], "__fieldManager": "m"}


def diff(token: str, old: dict[str, Any], new: dict[str, Any], ignore: Any = (), **config: Any) -> Any:
    return talk.Engine(**config).diff(token, state(old), new, ignore)


def put(value: dict[str, Any], path: str, found: Any) -> dict[str, Any]:
    """A copy with another value at a path; None takes it away."""
    value = copy.deepcopy(value)
    *steps, last = path.split(".")
    inside: Any = value
    for step in steps:
        inside = inside[int(step)] if isinstance(inside, list) else inside.setdefault(step, {})
    if found is None:
        del inside[last]
    else:
        inside[last] = found
    return value


BINDING = manifest("RoleBinding", "a", "rbac.authorization.k8s.io/v1", roleRef={"name": "x"}, subjects=[])
CLAIM = manifest("PersistentVolumeClaim", "a", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
JOB = manifest("Job", "a", "batch/v1", spec={"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}, "backoffLimit": 1})
POD = manifest("Pod", "a", spec={"containers": [{"name": "a", "image": "b"}], "tolerations": []})
SERVICE = manifest("Service", "a", spec={"ports": [{"port": 80}], "selector": {"app": "a"}})
SET = manifest("StatefulSet", "a", "apps/v1", spec={"serviceName": "a", "selector": {"matchLabels": {"a": "b"}}})


@pytest.mark.parametrize(
    ("token", "old", "path", "value", "wanted"),
    [
        (talk.DEPLOYMENT, talk.deployment(), "spec.replicas", 2, {"spec.replicas": "UPDATE"}),
        (
            talk.DEPLOYMENT,
            talk.deployment(),
            "spec.template.spec.containers.0.image",
            "b",
            {"spec.template.spec.containers[0].image": "UPDATE"},
        ),
        (talk.DEPLOYMENT, talk.deployment(), "spec.selector.matchLabels.app", "b", {"spec.selector.matchLabels.app": "UPDATE_REPLACE"}),
        (talk.DEPLOYMENT, talk.deployment(), "spec.selector.matchLabels.b", "b", {"spec.selector.matchLabels.b": "ADD_REPLACE"}),
        (talk.DEPLOYMENT, talk.deployment(), "metadata.name", "b", {"metadata.name": "UPDATE_REPLACE"}),
        (talk.DEPLOYMENT, talk.deployment(), "metadata.namespace", "b", {"metadata.namespace": "UPDATE_REPLACE"}),
        (talk.DEPLOYMENT, talk.deployment(), "metadata.namespace", "default", {}),
        (talk.DEPLOYMENT, talk.deployment(), "metadata.labels", {"a.b/c": "d"}, {"metadata.labels": "ADD"}),
        (talk.DEPLOYMENT, talk.deployment(), "spec.minReadySeconds", UNKNOWN, {"spec.minReadySeconds": "ADD"}),
        (talk.DEPLOYMENT, talk.deployment(), "spec.replicas", UNKNOWN, {"spec.replicas": "UPDATE"}),
        (talk.DEPLOYMENT, talk.deployment(), "spec.template.metadata", None, {"spec.template.metadata": "DELETE"}),
        (talk.JOB, JOB, "spec.template.spec.containers.0.image", "c", {"spec.template.spec.containers[0].image": "UPDATE_REPLACE"}),
        (talk.JOB, JOB, "spec.parallelism", 2, {"spec.parallelism": "ADD_REPLACE"}),
        (talk.JOB, JOB, "spec.completions", 2, {"spec.completions": "ADD_REPLACE"}),
        (talk.JOB, JOB, "spec.backoffLimit", 2, {"spec.backoffLimit": "UPDATE"}),
        (talk.JOB, JOB, "spec.suspend", True, {"spec.suspend": "ADD"}),
        ("kubernetes:core/v1:Pod", POD, "spec.containers.0.image", "c", {"spec.containers[0].image": "UPDATE_REPLACE"}),
        ("kubernetes:core/v1:Pod", POD, "spec.containers", [{"name": "a", "image": "b"}, {"name": "c"}], {"spec.containers[1]": "ADD"}),
        ("kubernetes:core/v1:Pod", POD, "spec.nodeName", "c", {"spec.nodeName": "ADD_REPLACE"}),
        ("kubernetes:core/v1:Pod", POD, "spec.tolerations", [{"key": "a"}], {"spec.tolerations[0]": "ADD"}),
        ("kubernetes:core/v1:PersistentVolumeClaim", CLAIM, "spec.storageClassName", "a", {"spec.storageClassName": "ADD_REPLACE"}),
        ("kubernetes:core/v1:PersistentVolumeClaim", CLAIM, "spec.accessModes", ["A"], {"spec.accessModes[0]": "UPDATE_REPLACE"}),
        (
            "kubernetes:core/v1:PersistentVolumeClaim",
            CLAIM,
            "spec.resources.requests.storage",
            "2Gi",
            {"spec.resources.requests.storage": "UPDATE"},
        ),
        ("kubernetes:core/v1:Service", SERVICE, "spec.clusterIP", "None", {"spec.clusterIP": "ADD_REPLACE"}),
        ("kubernetes:core/v1:Service", SERVICE, "spec.type", "LoadBalancer", {"spec.type": "ADD"}),
        ("kubernetes:apps/v1:StatefulSet", SET, "spec.serviceName", "b", {"spec.serviceName": "UPDATE_REPLACE"}),
        ("kubernetes:apps/v1:StatefulSet", SET, "spec", None, {"spec": "DELETE"}),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", BINDING, "roleRef.name", "y", {"roleRef.name": "UPDATE_REPLACE"}),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", BINDING, "subjects", [{"kind": "User"}], {"subjects[0]": "ADD"}),
        (talk.CONFIG_MAP, manifest("ConfigMap", "a", data={"a.b": "1"}), "data.c", "2", {"data.c": "ADD_REPLACE"}),
        (talk.CONFIG_MAP, manifest("ConfigMap", "a"), "data", {"a": "1"}, {"data": "ADD_REPLACE"}),
        (talk.CONFIG_MAP, manifest("ConfigMap", "a", data={"a": "1"}), "metadata.labels", {"a": "1"}, {"metadata.labels": "ADD"}),
        (talk.SECRET, manifest("Secret", "a", type="Opaque", data={"a": "eA=="}), "data.a", "eQ==", {"data.a": "UPDATE_REPLACE"}),
        (talk.SECRET, manifest("Secret", "a", type="Opaque", data={"a": "eA=="}), "stringData", {"a": "x"}, {}),
    ],
)
def test_says_what_changed(token: str, old: dict[str, Any], path: str, value: Any, wanted: dict[str, str]) -> None:
    """Kinds and paths; what makes the object anew, by the official provider's list."""
    answer = diff(token, old, put(old, path, value))
    assert kinds(answer) == wanted
    assert answer.changes == (provider_pb2.DiffResponse.DIFF_SOME if wanted else provider_pb2.DiffResponse.DIFF_NONE)
    assert answer.hasDetailedDiff
    assert list(answer.replaces) == sorted(key for key, kind in wanted.items() if kind.endswith("_REPLACE"))


def test_nothing_changed_is_no_change() -> None:
    """What the cluster filled in is its own."""
    assert kinds(diff(talk.DEPLOYMENT, talk.deployment(), talk.deployment())) == {}


@pytest.mark.parametrize(
    ("path", "value", "first"),
    [("metadata.name", "b", False), ("metadata.namespace", "b", False), ("data.a", "2", True), ("metadata.labels", {"a": "b"}, False)],
)
def test_what_keeps_its_name_is_deleted_first(path: str, value: Any, first: bool) -> None:
    """Two objects of one name cannot stand side by side."""
    old = manifest("ConfigMap", "a", data={"a": "1"})
    assert diff(talk.CONFIG_MAP, old, put(old, path, value)).deleteBeforeReplace is first


@pytest.mark.parametrize(
    ("token", "config", "more", "wanted"),
    [
        (talk.CONFIG_MAP, {"enableConfigMapMutable": "true"}, {}, "UPDATE"),
        (talk.CONFIG_MAP, {"enableConfigMapMutable": "true"}, {"immutable": True}, "UPDATE_REPLACE"),
        (talk.CONFIG_MAP, {"enableSecretMutable": "true"}, {}, "UPDATE_REPLACE"),
        (talk.SECRET, {"enableSecretMutable": "true"}, {}, "UPDATE"),
        (talk.SECRET, {"enableSecretMutable": "true"}, {"immutable": True}, "UPDATE_REPLACE"),
    ],
)
def test_content_changes_in_place_where_the_provider_says_so(token: str, config: dict[str, Any], more: dict[str, Any], wanted: str) -> None:
    """But for what is immutable."""
    old = manifest(token.rpartition(":")[2], "a", data={"a": "eA=="}) | more
    assert kinds(diff(token, old, put(old, "data.a", "eQ=="), **config)) == {"data.a": wanted}


@pytest.mark.parametrize(("path", "value"), [("metadata.labels", {}), ("spec.template.spec.tolerations", [])])
def test_what_is_empty_is_not_there(path: str, value: Any) -> None:
    """The cluster does not keep it: else it would be added again at every update."""
    assert kinds(diff(talk.DEPLOYMENT, talk.deployment(), put(talk.deployment(), path, value))) == {}


def test_drift_that_a_refresh_saw_is_a_change() -> None:
    """Of what the program wrote; what others added is theirs."""
    old = talk.deployment(replicas=2)
    live = put(put(old, "spec.replicas", 5), "spec.template.spec.schedulerName", "other")
    answer = talk.Engine().diff(talk.DEPLOYMENT, state(old, spec=live["spec"]), old)
    assert kinds(answer) == {"spec.replicas": "UPDATE"}


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        (["spec.replicas"], {"spec.template.spec.containers[0].image"}),
        (["spec"], set()),
        (["spec.template.spec.containers[0].image"], {"spec.replicas"}),
        (["spec.template.spec.containers[*].image", 'spec["replicas"]'], set()),
        (["metadata"], {"spec.replicas", "spec.template.spec.containers[0].image"}),
    ],
)
def test_what_is_ignored_does_not_count(ignore: list[str], left: set[str]) -> None:
    """At a path, and below it."""
    new = put(talk.deployment(replicas=2), "spec.template.spec.containers.0.image", "b")
    assert set(kinds(diff(talk.DEPLOYMENT, talk.deployment(), new, ignore))) == left


def test_fails_on_a_path_that_is_none() -> None:
    """In words."""
    with pytest.raises(talk.AbortedError, match="failed to parse ignore path"):
        diff(talk.DEPLOYMENT, talk.deployment(), talk.deployment(), ["spec[a"])


def test_another_version_of_a_kind_is_a_change_in_place() -> None:
    """Of one group: the cluster has it in both. Another group is another thing."""
    old = manifest("Gateway", "a", "gateway.networking.k8s.io/v1beta1")
    token = "kubernetes:gateway.networking.k8s.io/v1:Gateway"
    assert kinds(diff(token, old, old | {"apiVersion": "gateway.networking.k8s.io/v1"})) == {"apiVersion": "UPDATE"}
    other = diff("kubernetes:networking.x-k8s.io/v1:Gateway", old, old | {"apiVersion": "networking.x-k8s.io/v1"})
    assert kinds(other) == {"apiVersion": "UPDATE_REPLACE"}
