"""The HTTP interface: addresses, verbs, and how it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from k8s_calls import APPS, CORE, JSON, STRATEGIC, K8s, config, deployment, said

from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.faults import Fault

CONFIGS, SPACES = f"{CORE}/namespaces/default/configmaps", f"{CORE}/namespaces"
DEPLOYMENTS = f"{APPS}/namespaces/default/deployments"


def test_an_object_is_made_read_changed_and_deleted(k8s: K8s) -> None:
    made = k8s.make(CONFIGS, config(a="1"))
    meta = made["metadata"]
    assert (meta["namespace"], meta["creationTimestamp"], "generation" in meta) == ("default", "2026-11-30T12:05:00Z", False)
    assert k8s.get(f"{CONFIGS}/a") == made
    changed = k8s.ask("PUT", f"{CONFIGS}/a", {**made, "data": {"a": "2"}}).body
    assert changed["data"] == {"a": "2"}
    assert int(changed["metadata"]["resourceVersion"]) > int(meta["resourceVersion"])
    assert changed["metadata"]["uid"] == meta["uid"]
    gone = k8s.ask("DELETE", f"{CONFIGS}/a").body
    assert (gone["status"], gone["details"]) == ("Success", {"name": "a", "kind": "configmaps", "uid": meta["uid"]})
    assert said(k8s.ask("GET", f"{CONFIGS}/a")) == (404, "NotFound", 'configmaps "a" not found')


def test_generations_count_what_is_wanted(k8s: K8s) -> None:
    made = k8s.make(DEPLOYMENTS, deployment())
    assert made["metadata"]["generation"] == 1
    same = k8s.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b"}}})
    assert same["metadata"]["generation"] == 1
    assert k8s.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})["metadata"]["generation"] == 2
    nothing = k8s.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})
    assert nothing["metadata"]["resourceVersion"] == k8s.get(f"{DEPLOYMENTS}/web")["metadata"]["resourceVersion"]


def test_a_write_to_an_older_version_conflicts(k8s: K8s) -> None:
    old = k8s.make(CONFIGS, config(a="1"))
    k8s.patch(f"{CONFIGS}/a", {"data": {"a": "2"}})
    words = 'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
    assert said(k8s.ask("PUT", f"{CONFIGS}/a", old)) == (
        409,
        "Conflict",
        words + "please apply your changes to the latest version and try again",
    )
    wanted = {"preconditions": {"uid": "another"}}
    answer = k8s.ask("DELETE", f"{CONFIGS}/a", wanted)
    assert said(answer)[:2] == (409, "Conflict")
    assert "UID in precondition: another" in answer.body["message"]


@pytest.mark.parametrize(
    ("http", "path", "body", "code", "reason", "words"),
    [
        ("POST", CONFIGS, config("a"), 409, "AlreadyExists", 'configmaps "a" already exists'),
        ("POST", CONFIGS, {"metadata": {}}, 422, "Invalid", "name or generateName is required"),
        ("POST", CONFIGS, {"metadata": {"name": "Ä"}}, 422, "Invalid", "a lowercase RFC 1123 subdomain must consist of"),
        ("POST", CONFIGS, {"metadata": {"name": "b", "namespace": "other"}}, 400, "BadRequest", "does not match the namespace sent"),
        ("POST", CONFIGS, {"kind": "Secret", "metadata": {"name": "b"}}, 400, "BadRequest", "cannot be handled as a ConfigMap"),
        ("POST", CONFIGS, {"apiVersion": "v2", "metadata": {"name": "b"}}, 400, "BadRequest", "does not match the expected API version"),
        ("POST", CONFIGS, {"metadata": {"name": 3}}, 400, "BadRequest", "cannot unmarshal number into Go struct field"),
        ("POST", CONFIGS, {"metadata": {"name": "b", "labels": {"a": 1}}}, 400, "BadRequest", "metadata.labels of type string"),
        ("POST", CONFIGS, [], 400, "BadRequest", "json: cannot unmarshal"),
        ("POST", CONFIGS, b"{", 400, "BadRequest", "json parse error"),
        ("POST", CONFIGS, b'{"a": NaN}', 400, "BadRequest", "json parse error"),
        ("POST", f"{SPACES}/none/configmaps", config("b"), 404, "NotFound", 'namespaces "none" not found'),
        ("POST", f"{CORE}/configmaps", config("b"), 405, "MethodNotAllowed", "does not allow this method"),
        ("PUT", CONFIGS, {}, 405, "MethodNotAllowed", "does not allow this method"),
        ("PUT", f"{CONFIGS}/none", config("none"), 404, "NotFound", 'configmaps "none" not found'),
        ("PUT", f"{CONFIGS}/a", config("b"), 400, "BadRequest", "does not match the name on the URL"),
        ("GET", f"{CORE}/namespaces/default/nothing", None, 404, "NotFound", "could not find the requested resource"),
        ("GET", "apis/kueue.x-k8s.io/v1beta1/clusterqueues", None, 404, "NotFound", "could not find the requested resource"),
        ("GET", "", None, 404, "NotFound", "could not find the requested resource"),
        ("GET", f"{CONFIGS}/a/status", None, 404, "NotFound", "could not find the requested resource"),
        ("GET", f"{SPACES}/default/pods/p/log", None, 501, "NotImplemented", "pods/log"),
        ("POST", f"{CORE}/nodes", {"metadata": {"name": "n"}}, 501, "NotImplemented", "changes of nodes"),
        ("DELETE", f"{SPACES}/default", None, 403, "Forbidden", "this namespace may not be deleted"),
        ("DELETE", f"{CONFIGS}/a", {"propagationPolicy": "Soon"}, 422, "Invalid", "propagationPolicy: Unsupported value"),
    ],
)
def test_fails_with_a_status(standing: K8s, http: str, path: str, body: Any, code: int, reason: str, words: str) -> None:
    found = said(standing.ask(http, path, body))
    assert found[:2] == (code, reason)
    assert words in found[2]


def test_fails_where_no_cluster_is(k8s: K8s) -> None:
    answer = k8s.cloud.handle(Request("GET", "gke-none-1.us-central1.gke.goog", "version"))
    assert said(answer)[0] == 502
    assert "no such host" in answer.body["message"]


def test_fails_where_the_name_is_not_open_to_the_outside(cloud: Cloud) -> None:
    closed = K8s(cloud, controlPlaneEndpointsConfig={})
    assert said(closed.ask("GET", "version"))[:2] == (403, "Forbidden")


def test_a_fault_is_a_status_too(k8s: K8s) -> None:
    k8s.cloud.faults.add(Fault(do="error", code=503, path="gke.goog/api/v1"))
    assert said(k8s.ask("GET", SPACES)) == (503, "backendError", "The service is currently unavailable.")
    assert k8s.cloud.calls[-1]["host"] == k8s.host


def test_lists_are_picked_and_paged(k8s: K8s) -> None:
    for name in ("c", "a", "b"):
        k8s.make(CONFIGS, config(name) | {"metadata": {"name": name, "labels": {"team": name, "of": "shop"}}})

    def names(**query: str) -> list[str]:
        return [one["metadata"]["name"] for one in k8s.get(CONFIGS, **query)["items"]]

    assert names(labelSelector="of=shop") == ["a", "b", "c"]
    assert names(labelSelector="of=shop,team notin (a, b)") == ["c"]
    assert names(labelSelector="team in (a,c),!other") == ["a", "c"]
    assert names(labelSelector="team!=a,team") == ["b", "c"]
    assert names(fieldSelector="metadata.name=b") == ["b"]
    first = k8s.get(CONFIGS, labelSelector="of", limit="2")
    assert first["metadata"]["remainingItemCount"] == 1
    assert "kind" not in first["items"][0]
    assert names(labelSelector="of", **{"continue": first["metadata"]["continue"]}) == ["c"]
    assert said(k8s.ask("GET", CONFIGS, labelSelector="a=("))[:2] == (400, "BadRequest")
    assert "field label not supported: data.a" in said(k8s.ask("GET", CONFIGS, fieldSelector="data.a=1"))[2]
    assert said(k8s.ask("GET", CONFIGS, **{"continue": "?"}))[:2] == (400, "BadRequest")
    k8s.ask("DELETE", CONFIGS, labelSelector="team=a")
    assert names(labelSelector="of") == ["b", "c"]


def test_a_dry_run_leaves_nothing(k8s: K8s) -> None:
    answer = k8s.ask("POST", CONFIGS, config(), dryRun="All")
    assert (answer.status, answer.body["metadata"]["name"]) == (201, "a")
    assert k8s.ask("GET", f"{CONFIGS}/a").status == 404
    assert said(k8s.ask("POST", CONFIGS, config(), dryRun="None"))[:2] == (422, "Invalid")
    k8s.make(CONFIGS, config())
    assert k8s.ask("DELETE", f"{CONFIGS}/a", {"dryRun": ["All"]}).status == 200
    assert k8s.get(f"{CONFIGS}/a")["metadata"]["name"] == "a"


def test_status_and_scale_are_written_apart(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment() | {"status": {"replicas": 9}})
    assert "status" not in k8s.get(f"{DEPLOYMENTS}/web") or k8s.get(f"{DEPLOYMENTS}/web")["status"].get("replicas") != 9
    scale = k8s.get(f"{DEPLOYMENTS}/web/scale")
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 1}, "app=web")
    assert k8s.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 4}})["spec"] == {"replicas": 4}
    found = k8s.get(f"{DEPLOYMENTS}/web")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (4, 2)
    assert said(k8s.ask("PUT", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": -1}}))[:2] == (422, "Invalid")
    assert said(k8s.ask("PUT", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": "x"}}))[:2] == (400, "BadRequest")


def test_patches_of_each_form(k8s: K8s) -> None:
    k8s.make(DEPLOYMENTS, deployment())
    containers = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}}
    both = k8s.patch(f"{DEPLOYMENTS}/web", containers, STRATEGIC)["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in both] == ["main", "side"]
    gone = {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}
    assert len(k8s.patch(f"{DEPLOYMENTS}/web", gone, STRATEGIC)["spec"]["template"]["spec"]["containers"]) == 1
    steps = [{"op": "test", "path": "/spec/replicas", "value": 1}, {"op": "replace", "path": "/spec/replicas", "value": 2}]
    assert k8s.patch(f"{DEPLOYMENTS}/web", steps, JSON)["spec"]["replicas"] == 2
    assert said(k8s.ask("PATCH", f"{DEPLOYMENTS}/web", steps, JSON))[:2] == (422, "Invalid")
    assert said(k8s.ask("PATCH", f"{DEPLOYMENTS}/web", [{"op": "remove", "path": "/none/x"}], JSON))[:2] == (422, "Invalid")
    assert said(k8s.ask("PATCH", f"{DEPLOYMENTS}/web", {}, JSON))[:2] == (400, "BadRequest")
    assert said(k8s.ask("PATCH", f"{DEPLOYMENTS}/web", {}, "text/plain"))[:2] == (415, "UnsupportedMediaType")


def test_discovery_says_what_is_there(k8s: K8s) -> None:
    assert k8s.get("version")["gitVersion"].startswith("v1.")
    groups = {one["name"]: one["preferredVersion"]["groupVersion"] for one in k8s.get("apis")["groups"]}
    assert groups["apps"] == "apps/v1"
    assert groups["cloud.google.com"] == "cloud.google.com/v1"
    assert "jobset.x-k8s.io" not in groups
    named = {one["name"]: one for one in k8s.get(APPS)["resources"]}
    assert named["deployments"]["shortNames"] == ["deploy"]
    assert {"deployments/status", "deployments/scale"} <= named.keys()
    assert "watch" not in named["deployments"]["verbs"]
    assert k8s.get("apis/apps")["kind"] == "APIGroup"
    assert said(k8s.ask("GET", "apis/none/v1"))[:2] == (404, "NotFound")
    assert said(k8s.ask("GET", SPACES, watch="true"))[:2] == (501, "NotImplemented")


def test_what_users_made_is_told_from_what_comes_with_the_cluster(k8s: K8s) -> None:
    k8s.get(SPACES)

    def left() -> list[str]:
        return [
            one["name"].partition("/clusters/")[2] for one in k8s.cloud.resources() if one["service"] == "kubernetes" and not one["own"]
        ]

    assert left() == []
    k8s.make(SPACES, {"metadata": {"name": "team"}})
    k8s.make(f"{SPACES}/team/configmaps", config())
    assert left() == ["c/core/namespaces/-/team", "c/core/configmaps/team/a"]
    k8s.operation(k8s.google("DELETE", "v1beta1/projects/shop-prod/locations/us-central1/clusters/c"))
    assert not [one for one in k8s.cloud.resources() if one["service"] == "kubernetes"]
    assert said(k8s.ask("GET", "version"))[0] == 502


def test_a_helm_release_brings_its_kinds(k8s: K8s) -> None:
    k8s.release("jobset")
    assert k8s.get("apis/jobset.x-k8s.io/v1alpha2/jobsets")["items"] == []
    broken = {"metadata": {"name": "broken", "labels": {"owner": "helm"}}, "type": "helm.sh/release.v1", "data": {"release": "YWJj"}}
    k8s.make(f"{CORE}/namespaces/default/secrets", broken)
    assert k8s.ask("GET", "apis/kueue.x-k8s.io/v1beta2/clusterqueues").status == 404
    k8s.ask("DELETE", f"{CORE}/namespaces/default/secrets/sh.helm.release.v1.jobset.v1")
    assert said(k8s.ask("GET", "apis/jobset.x-k8s.io/v1alpha2/jobsets"))[0] == 404
