"""Check: an object says what it is, is named and placed, and what is secret in it is marked."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import talk

from infra.provider.values import UNKNOWN, Decoded

KUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"


def kept(token: str, news: dict[str, Any], **config: Any) -> dict[str, Any]:
    """Inputs as they are kept."""
    return Decoded(talk.Engine(**config).checked(token, news)).values


@pytest.mark.parametrize(
    ("token", "api_version", "kind", "namespace"),
    [
        (talk.CONFIG_MAP, "v1", "ConfigMap", {"namespace": "default"}),
        (talk.DEPLOYMENT, "apps/v1", "Deployment", {"namespace": "default"}),
        (talk.NAMESPACE, "v1", "Namespace", {}),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "rbac.authorization.k8s.io/v1", "ClusterRole", {}),
    ],
)
def test_what_it_is_and_where_is_filled_in(token: str, api_version: str, kind: str, namespace: dict[str, str]) -> None:
    """By the type, and by the provider's namespace where the kind is in one."""
    found = kept(token, {"metadata": {"name": "a"}})
    assert found == {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"} | namespace}


def test_what_is_written_stays_and_null_is_not_written() -> None:
    """A namespace of the object counts before the provider's."""
    news = talk.manifest("ConfigMap", "a", metadata={"namespace": "shop", "labels": None, "uid": "x"}, data={"a": "1", "b": None})
    assert kept(talk.CONFIG_MAP, news, namespace="other") == talk.manifest(
        "ConfigMap", "a", metadata={"namespace": "shop"}, data={"a": "1"}
    )
    assert kept(talk.CONFIG_MAP, talk.manifest("ConfigMap", "a"), namespace="other")["metadata"]["namespace"] == "other"


@pytest.mark.parametrize(
    ("news", "at", "said"),
    [
        ({}, "metadata.name", "is missing"),
        ({"metadata": {"name": ""}}, "metadata.name", "is missing"),
        ({"metadata": {"generateName": "a-"}}, "metadata.generateName", "not supported in Server-Side Apply mode"),
        ({"metadata": 7}, "metadata", "is not an object"),
        ({"metadata": {"name": 7}}, "metadata.name", "is not a string"),
        ({"metadata": {"name": "a", "labels": []}}, "metadata.labels", "is not an object"),
        ({"kind": "Secret", "metadata": {"name": "a"}}, "kind", "a manifest of v1/Secret is declared as a v1/ConfigMap"),
        ({"apiVersion": "v2", "metadata": {"name": "a"}}, "kind", "a manifest of v2/ConfigMap"),
        (
            {"metadata": {"name": "a", "annotations": {"pulumi.com/waitFor": "ready"}}},
            'metadata.annotations["pulumi.com/waitFor"]',
            "neither `condition=TYPE[=STATUS]` nor `jsonpath=",
        ),
    ],
)
def test_fails_on_what_is_no_object(news: dict[str, Any], at: str, said: str) -> None:
    """With the property's path."""
    found = talk.Engine().faults(talk.CONFIG_MAP, news)
    assert said in found[at], found


@pytest.mark.parametrize("wait", ["condition=Ready", "condition=Ready=False", "jsonpath={.status.phase}=Running", '["jsonpath={.a[0].b}"]'])
def test_waits_of_the_program_are_taken(wait: str) -> None:
    """In the forms that kubectl has."""
    news = talk.manifest("ConfigMap", "a", metadata={"annotations": {"pulumi.com/waitFor": wait}})
    assert talk.Engine().faults(talk.CONFIG_MAP, news) == {}


def test_texts_of_a_secret_are_data_and_secret() -> None:
    """As the cluster keeps them, so that nothing looks changed; marked, though the program did not."""
    struct = talk.Engine().checked(talk.SECRET, talk.manifest("Secret", "a", data={"b": "eA=="}, stringData={"a": "geheim"}))
    found = Decoded(struct)
    assert found.values["data"] == {"a": base64.b64encode(b"geheim").decode(), "b": "eA=="}
    assert "stringData" not in found.values
    assert found.secrets == {("data",)}


def test_what_is_not_known_yet_stays_so() -> None:
    """At a preview, whatever the kind."""
    news = talk.manifest("Secret", "a", stringData={"a": UNKNOWN})
    found = Decoded(talk.Engine().checked(talk.SECRET, news))
    assert found.values["stringData"] == {"a": UNKNOWN}
    assert found.secrets == {("stringData",)}
    assert kept(talk.CONFIG_MAP, {"metadata": UNKNOWN})["metadata"] is UNKNOWN


def test_a_secret_in_a_list_makes_the_list_one() -> None:
    """Its order may change; what is beside it stays plain."""
    news = talk.deployment()
    news["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "KEY", "value": "geheim"}]
    at = ("spec", "template", "spec", "containers", 0, "env", 0, "value")
    found = Decoded(talk.Engine().checked(talk.DEPLOYMENT, news, {at}))
    assert found.secrets == {("spec", "template", "spec", "containers")}


def test_a_custom_resource_whose_definition_is_not_there_is_taken_to_be_in_a_namespace() -> None:
    """Nobody can tell yet; its creation sets it right."""
    assert kept(KUEUE, talk.manifest("ClusterQueue", "a", "kueue.x-k8s.io/v1beta2"))["metadata"]["namespace"] == "default"


def test_fails_on_what_the_schema_does_not_have() -> None:
    """Before any cluster is asked, each with its path; what a secret holds is not told."""
    news = talk.deployment()
    news["spec"] |= {"replicas": "2", "replica": 3}
    news["spec"]["template"]["spec"]["nodeName"] = 7
    found = talk.Engine().faults(talk.DEPLOYMENT, news)
    assert set(found) == {"spec.replicas", "spec.replica", "spec.template.spec.nodeName"}
    assert found["spec.replicas"].startswith('spec.replicas is the text "2", not a whole number')
    assert talk.Engine().faults(talk.DEPLOYMENT, news | {"metadata": {"name": UNKNOWN}}) == {}, "what is not known yet cannot be held"


@pytest.mark.parametrize(
    ("token", "kind", "api_version", "judged"),
    [
        ("kubernetes:shop.example/v1:Basket", "Basket", "shop.example/v1", False),
        ("kubernetes:apps/v1beta1:Deployment", "Deployment", "apps/v1beta1", True),
        ("kubernetes:apps/v1:Basket", "Basket", "apps/v1", True),
    ],
)
def test_a_kind_that_nobody_knows_is_the_clusters_to_judge(token: str, kind: str, api_version: str, judged: bool) -> None:
    """But for groups that are Kubernetes' own."""
    found = talk.Engine().faults(token, talk.manifest(kind, "a", api_version, spec={"any": "thing"}))
    assert bool(found) is judged, found
