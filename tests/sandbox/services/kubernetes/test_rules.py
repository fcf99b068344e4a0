"""What an object may not be, and what of it may not change."""

from __future__ import annotations

from typing import Any

import pytest
from k8s_calls import APPS, BATCH, CORE, K8s, config, deployment, job, said

SPACE = f"{CORE}/namespaces/default"
CLAIM: dict[str, Any] = {
    "metadata": {"name": "a"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
}
SERVICE: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}}
STATEFUL: dict[str, Any] = {
    **deployment("a"),
    "kind": "StatefulSet",
    "spec": {**deployment("a")["spec"], "serviceName": "a"},
}
CLASS = {"metadata": {"name": "a"}, "provisioner": "pd.csi.storage.gke.io"}


@pytest.mark.parametrize(
    ("path", "made", "change", "field", "words"),
    [
        (f"{APPS}/namespaces/default/deployments", deployment("a"), {"spec": {"selector": {"matchLabels": {"b": "c"}}, "template": {"metadata": {"labels": {"b": "c"}}}}}, "spec.selector", "field is immutable"),
        (f"{APPS}/namespaces/default/statefulsets", STATEFUL, {"spec": {"serviceName": "b"}}, "spec", "updates to statefulset spec for fields other than"),
        (f"{BATCH}/namespaces/default/jobs", job("a"), {"spec": {"template": {"spec": {"hostNetwork": True}}}}, "spec.template", "field is immutable"),
        (f"{BATCH}/namespaces/default/jobs", job("a", completions=2), {"spec": {"completions": 3}}, "spec.completions", "field is immutable"),
        (f"{SPACE}/services", SERVICE, {"spec": {"clusterIP": "34.118.224.99", "clusterIPs": None}}, "spec.clusterIPs[0]", "may not change once set"),
        (f"{SPACE}/persistentvolumeclaims", CLAIM, {"spec": {"accessModes": ["ReadWriteMany"]}}, "spec", "spec is immutable after creation"),
        (f"{SPACE}/persistentvolumeclaims", CLAIM, {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}, "spec.resources.requests.storage", "can not be less"),
        (f"{SPACE}/configmaps", config(x="1") | {"immutable": True}, {"data": {"x": "2"}}, "data", "field is immutable when `immutable` is set"),
        (f"{SPACE}/secrets", {"metadata": {"name": "a"}}, {"type": "other"}, "type", "field is immutable"),
        ("apis/storage.k8s.io/v1/storageclasses", CLASS, {"volumeBindingMode": "WaitForFirstConsumer"}, "volumeBindingMode", "field is immutable"),
        ("apis/storage.k8s.io/v1/storageclasses", CLASS, {"parameters": {"type": "pd-ssd"}}, "parameters", "updates to parameters are forbidden"),
        ("apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "a"}, "value": 1}, {"value": 2}, "value", "may not be changed in an update"),
        ("apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": "x"}}, {"roleRef": {"name": "y"}}, "roleRef", "cannot change roleRef"),
    ],
)  # fmt: skip
def test_fails_to_change_what_stays(standing: K8s, path: str, made: Any, change: Any, field: str, words: str) -> None:
    name = standing.make(path, {**made, "metadata": {**made["metadata"], "name": "stays"}})["metadata"]["name"]
    answer = standing.ask("PATCH", f"{path}/{name}", change, "application/merge-patch+json")
    standing.ask("DELETE", f"{path}/{name}", {"propagationPolicy": "Background"})
    assert said(answer)[:2] == (422, "Invalid")
    (cause,) = answer.body["details"]["causes"]
    assert cause["field"] == field
    assert words in cause["message"]
    assert answer.body["message"].endswith(f"{field}: {cause['message']}")


def test_claims_grow(k8s: K8s) -> None:
    path = f"{SPACE}/persistentvolumeclaims"
    made = k8s.make(path, CLAIM)
    assert made["spec"]["storageClassName"] == "standard-rwo"
    more = {"spec": {"resources": {"requests": {"storage": "1Ti"}}}}
    assert k8s.patch(f"{path}/a", more)["spec"]["resources"]["requests"]["storage"] == "1Ti"
    k8s.make("apis/storage.k8s.io/v1/storageclasses", CLASS)
    k8s.make(path, {"metadata": {"name": "b"}, "spec": CLAIM["spec"] | {"storageClassName": "a"}})
    assert "must support resize" in said(k8s.ask("PATCH", f"{path}/b", more, "application/merge-patch+json"))[2]


def test_a_suspended_job_may_still_choose_its_nodes(k8s: K8s) -> None:
    path = f"{BATCH}/namespaces/default/jobs"
    k8s.make(path, job("a", suspend=True))
    nodes = {"spec": {"template": {"spec": {"nodeSelector": {"pool": "x"}}}}}
    assert k8s.patch(f"{path}/a", nodes)["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "x"}
    assert (
        said(k8s.ask("PATCH", f"{path}/a", {"spec": {"template": {"spec": {"hostNetwork": True}}}}, "application/merge-patch+json"))[0]
        == 422
    )


def test_fails_at_what_no_schema_takes(k8s: K8s) -> None:
    path = f"{APPS}/namespaces/default/deployments"
    wrong = deployment(replicas="x", selector={"matchLabels": {"app": "other"}})
    del wrong["spec"]["template"]["spec"]["containers"][0]["name"]
    answer = k8s.ask("POST", path, wrong)
    assert said(answer)[:2] == (422, "Invalid")
    causes = {one["field"]: (one["reason"], one["message"]) for one in answer.body["details"]["causes"]}
    assert causes["spec.replicas"] == ("FieldValueInvalid", 'Invalid value: "x": is the text "x", not a whole number')
    assert causes["spec.template.spec.containers[0].name"] == ("FieldValueRequired", "Required value")
    assert "spec.selector.matchLabels.app" in causes
    typo = deployment()
    typo["spec"]["template"]["spec"]["containers"][0]["imagePulPolicy"] = "Always"
    words = 'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field '
    found = said(k8s.ask("POST", path, typo, fieldValidation="Strict"))
    assert found == (400, "BadRequest", words + '"spec.template.spec.containers[0].imagePulPolicy"')
    assert "imagePulPolicy" not in k8s.make(path, typo)["spec"]["template"]["spec"]["containers"][0]


def test_services_get_addresses_and_ports_that_stay(k8s: K8s) -> None:
    path = f"{SPACE}/services"
    made = k8s.make(path, SERVICE | {"spec": {**SERVICE["spec"], "type": "LoadBalancer"}})
    spec = made["spec"]
    assert spec["clusterIP"].startswith("34.118.")
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": spec["ports"][0]["nodePort"]}]
    put = k8s.ask("PUT", f"{path}/a", SERVICE | {"spec": {**SERVICE["spec"], "type": "LoadBalancer"}}).body
    assert put["spec"] == spec


def test_secrets_are_encoded_and_pods_get_what_their_class_says(k8s: K8s) -> None:
    made = k8s.make(f"{SPACE}/secrets", {"metadata": {"name": "a"}, "stringData": {"x": "abc"}})
    assert (made["type"], made["data"], "stringData" in made) == ("Opaque", {"x": "YWJj"}, False)
    k8s.make("apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 7})
    pod = {"priorityClassName": "high", "containers": [{"name": "m", "image": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    made = k8s.make(f"{SPACE}/pods", {"metadata": {"generateName": "p-"}, "spec": pod})
    assert made["metadata"]["name"].startswith("p-")
    assert made["spec"]["priority"] == 7
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": 1}
    assert {"key": "nvidia.com/gpu", "operator": "Exists"} in made["spec"]["tolerations"]
    assert said(k8s.ask("POST", f"{SPACE}/pods", {"metadata": {"name": "q"}, "spec": pod | {"priorityClassName": "x"}}))[:2] == (
        403,
        "Forbidden",
    )
