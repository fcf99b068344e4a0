"""The life of an object in a cluster of the sandbox: made, seen, changed, and gone, as the official provider does it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import talk
from cluster import Cluster
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2
from talk import kinds, manifest

from infra.provider.values import UNKNOWN, Decoded, encode

MAP = "api/v1/namespaces/default/configmaps/a"


def config_map(**data: str) -> dict[str, Any]:
    return manifest("ConfigMap", "a", data=data)


def values(struct: struct_pb2.Struct) -> dict[str, Any]:
    return Decoded(struct).values


def test_an_object_is_made_seen_changed_and_gone(cluster: Cluster) -> None:
    """A create is a plain one; a change is applied, and takes over what the create wrote; a delete waits until all of it is gone."""
    engine = cluster.engine(enableConfigMapMutable="true")
    first = engine.checked(talk.CONFIG_MAP, config_map(a="1", b="2"))
    made = engine.create(talk.CONFIG_MAP, first)
    assert made.id == "default/a"
    (post,) = cluster.taken()
    assert (post.method, dict(post.url.params)) == ("POST", {"fieldManager": "pulumi-kubernetes"})
    state = values(made.properties)
    assert state["data"] == {"a": "1", "b": "2"}
    assert state["metadata"]["uid"]
    assert state["__inputs"] == values(first)
    assert state["__initialApiVersion"] == "v1"

    assert kinds(engine.diff(talk.CONFIG_MAP, state, values(first))) == {}
    read = engine.read(talk.CONFIG_MAP, made.id, made.properties, first)
    assert values(read.inputs) == values(first)
    assert read.properties == made.properties

    adopted = engine.read(talk.CONFIG_MAP, made.id, None, first)
    assert values(adopted.properties)["__inputs"] == values(first), "as after a run that was killed in its create"

    second = engine.checked(talk.CONFIG_MAP, config_map(a="1", c="3"))
    changed = engine.update(talk.CONFIG_MAP, made, second)
    takeover, apply = cluster.taken()
    assert takeover.headers["content-type"] == "application/json-patch+json"
    assert apply.headers["content-type"] == "application/apply-patch+yaml"
    assert dict(apply.url.params) == {"fieldManager": state["__fieldManager"], "force": "false"}
    assert values(changed.properties)["data"] == {"a": "1", "c": "3"}
    (manager,) = values(changed.properties)["metadata"]["managedFields"]
    assert (manager["manager"], manager["operation"]) == (state["__fieldManager"], "Apply")

    engine.delete(talk.CONFIG_MAP, made)
    (delete,) = cluster.taken()
    assert b'"propagationPolicy": "Foreground"' in delete.content
    assert cluster.get(MAP) is None
    engine.delete(talk.CONFIG_MAP, made)  # that there is none is well
    assert engine.read(talk.CONFIG_MAP, made.id, made.properties, first).id == ""


def test_a_preview_writes_nothing_and_says_what_would_be(cluster: Cluster) -> None:
    """What the cluster would fill in is in the outputs; what is not known yet, or cannot be asked, is as the inputs have it."""
    engine = cluster.engine()
    service = manifest("Service", "a", spec={"ports": [{"port": 80}], "selector": {"app": "a"}})
    checked = engine.checked("kubernetes:core/v1:Service", service)
    foreseen = engine.create("kubernetes:core/v1:Service", checked, preview=True)
    assert foreseen.id == ""
    assert values(foreseen.properties)["spec"]["type"] == "ClusterIP"
    assert "status" not in values(foreseen.properties)
    unknown = encode(manifest("ConfigMap", "b", data={"a": UNKNOWN}, metadata={"namespace": "default"}))
    assert engine.create(talk.CONFIG_MAP, unknown, preview=True).properties == unknown
    elsewhere = engine.checked(talk.CONFIG_MAP, manifest("ConfigMap", "b", metadata={"namespace": "shop"}))
    assert engine.create(talk.CONFIG_MAP, elsewhere, preview=True).properties == elsewhere
    custom = engine.checked(
        "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue", manifest("LocalQueue", "b", "kueue.x-k8s.io/v1beta2", spec={"clusterQueue": "a"})
    )
    assert engine.create("kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue", custom, preview=True).properties == custom
    assert {request.url.params.get("dryRun") for request in cluster.taken()} == {"All"}
    assert cluster.get("api/v1/namespaces/default/services/a") is None


def test_fails_on_what_the_cluster_refuses(cluster: Cluster) -> None:
    """At the preview already, in its words."""
    engine = cluster.engine()
    checked = engine.checked(talk.DEPLOYMENT, talk.deployment())
    checked["spec"]["selector"]["matchLabels"]["app"] = "other"
    for preview in (True, False):
        with pytest.raises(talk.AbortedError, match=r"'web' was not successfully created by the Kubernetes API server: Deployment.apps"):
            engine.create(talk.DEPLOYMENT, checked, preview=preview)


def test_fails_on_what_exists_already(cluster: Cluster) -> None:
    """It is not taken over, unless the provider says so; a preview cannot tell, since what is there may go before."""
    cluster.ask("POST", MAP.rpartition("/")[0], config_map(a="theirs"))
    engine = cluster.engine()
    checked = engine.checked(talk.CONFIG_MAP, config_map(a="ours"))
    assert engine.create(talk.CONFIG_MAP, checked, preview=True).properties == checked
    with pytest.raises(talk.AbortedError) as refused:
        engine.create(talk.CONFIG_MAP, checked)
    assert 'configmaps "a" already exists' in str(refused.value)
    assert "upsertExistingObjects" in str(refused.value)
    assert cluster.get(MAP)["data"] == {"a": "theirs"}
    with pytest.raises(talk.AbortedError, match="apply conflict"):
        cluster.engine(upsertExistingObjects="true").create(talk.CONFIG_MAP, checked)
    forced = cluster.engine(upsertExistingObjects="true", enablePatchForce="true")
    assert values(forced.create(talk.CONFIG_MAP, checked).properties)["data"] == {"a": "ours"}


def test_what_an_object_needs_may_come_after_it(cluster: Cluster) -> None:
    """A namespace that is being made in the same run is waited for, a while."""
    engine = cluster.engine()
    checked = engine.checked(talk.CONFIG_MAP, manifest("ConfigMap", "a", metadata={"namespace": "shop"}))
    with pytest.raises(talk.AbortedError, match='namespaces "shop" not found'):
        engine.create(talk.CONFIG_MAP, checked)
    assert [text.partition(";")[0] for text, _ in engine.said] == [f"Retry #{number}" for number in range(5)]
    waits = iter(range(3))

    def pause(seconds: float) -> bool:
        if seconds and next(waits) == 2:
            cluster.ask("POST", "api/v1/namespaces", manifest("Namespace", "shop"))
        return False

    engine.provider._client._pause = pause
    assert engine.create(talk.CONFIG_MAP, checked).id == "shop/a"


def test_fails_on_a_kind_that_the_cluster_does_not_have(cluster: Cluster) -> None:
    """After some tries: its definition may be on the way. What is gone with its definition is gone."""
    token = "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue"
    engine = cluster.engine()
    checked = engine.checked(token, manifest("LocalQueue", "a", "kueue.x-k8s.io/v1beta2", spec={"clusterQueue": "a"}))
    with pytest.raises(talk.AbortedError, match="Verify that any required CRDs have been created: no matches for kind"):
        engine.create(token, checked)
    assert engine.read(token, "default/a", checked, checked).id == ""
    engine.delete(token, provider_pb2.CreateResponse(id="default/a", properties=checked))


def test_drift_is_found_and_put_right(cluster: Cluster) -> None:
    """What somebody changed of what the program wrote; what others added stays theirs."""
    engine = cluster.engine(enableConfigMapMutable="true")
    checked = engine.checked(talk.CONFIG_MAP, config_map(a="1"))
    made = engine.create(talk.CONFIG_MAP, checked)
    cluster.change(MAP, {"data": {"a": "other", "b": "added"}})
    read = engine.read(talk.CONFIG_MAP, made.id, made.properties, checked)
    assert values(read.inputs)["data"] == {"a": "other"}
    assert kinds(engine.diff(talk.CONFIG_MAP, values(read.properties), values(checked))) == {"data.a": "UPDATE"}
    with pytest.raises(talk.AbortedError) as refused:
        engine.update(talk.CONFIG_MAP, read, checked)
    assert 'conflict with "kubectl-edit" using v1' in str(refused.value)
    forced = manifest("ConfigMap", "a", data={"a": "1"}, metadata={"annotations": {"pulumi.com/patchForce": "true"}})
    changed = engine.update(talk.CONFIG_MAP, read, engine.checked(talk.CONFIG_MAP, forced))
    assert values(changed.properties)["data"] == {"a": "1", "b": "added"}


def test_what_is_ignored_stays_with_who_manages_it(cluster: Cluster) -> None:
    """The number of replicas that somebody else keeps is not written, and not unset."""
    engine = cluster.engine()
    skip = {"annotations": {"pulumi.com/skipAwait": "true"}}
    first = engine.checked(talk.DEPLOYMENT, talk.deployment() | {"metadata": {"name": "web"} | skip})
    made = engine.create(talk.DEPLOYMENT, first)
    where = "apis/apps/v1/namespaces/default/deployments/web"
    cluster.ask("PATCH", where, {"spec": {"replicas": 5}}, "application/merge-patch+json", fieldManager="scaler")
    second = engine.checked(talk.DEPLOYMENT, talk.deployment(image="other") | {"metadata": {"name": "web"} | skip})
    changed = engine.update(talk.DEPLOYMENT, made, second, ignore=["spec.replicas"])
    spec = values(changed.properties)["spec"]
    assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (5, "other")


def test_secrets_stay_secret(cluster: Cluster) -> None:
    """In the state, in the inputs of a refresh, and in what the cluster says of them."""
    engine = cluster.engine()
    made = engine.create(talk.SECRET, engine.checked(talk.SECRET, manifest("Secret", "a", stringData={"key": "geheim"})))
    state = Decoded(made.properties)
    assert {("data",), ("__inputs", "data")} <= state.secrets
    read = engine.read(talk.SECRET, made.id, made.properties, encode(state.values["__inputs"], {("data",)}))
    assert ("data",) in Decoded(read.inputs).secrets
    assert ("data",) in Decoded(read.properties).secrets
    wrong = engine.checked(talk.CONFIG_MAP, manifest("ConfigMap", "b", metadata={"namespace": "geheim"}), {("metadata", "namespace")})
    with pytest.raises(talk.AbortedError) as refused:
        engine.create(talk.CONFIG_MAP, wrong)
    assert 'namespaces "[secret]" not found' in str(refused.value)
    assert "geheim" not in str(refused.value)


def test_an_object_is_imported(cluster: Cluster) -> None:
    """By namespace and name; its inputs are what a program would write, and nothing is changed then."""
    cluster.ask("POST", MAP.rpartition("/")[0], config_map(a="1") | {"metadata": {"name": "a", "labels": {"b": "c"}}})
    engine = cluster.engine()
    found = engine.read(talk.CONFIG_MAP, "default/a")
    assert values(found.inputs) == config_map(a="1") | {"metadata": {"name": "a", "namespace": "default", "labels": {"b": "c"}}}
    assert kinds(engine.diff(talk.CONFIG_MAP, values(found.properties), values(found.inputs))) == {}
    assert values(engine.read(talk.NAMESPACE, "default").inputs)["metadata"]["name"] == "default"
    assert engine.read(talk.CONFIG_MAP, "default/none").id == ""
    with pytest.raises(talk.AbortedError, match="failure to parse resource name from request ID: a/b/c"):
        engine.read(talk.CONFIG_MAP, "a/b/c")


def test_a_create_whose_answer_is_lost_is_looked_for(cluster: Cluster) -> None:
    """What is there as it was asked for is the program's own: the next run would be refused otherwise."""
    lost: list[Any] = []

    def losing(request: Any) -> Any:
        answer = cluster(request)
        if request.method == "POST" and not lost:
            lost.append(request)
            raise httpx.ReadError("cut")
        return answer

    engine = talk.Engine(losing, kubeconfig=json.dumps(talk.kubeconfig(cluster.server)))
    assert engine.create(talk.CONFIG_MAP, engine.checked(talk.CONFIG_MAP, config_map(a="1"))).id == "default/a"
    assert lost


def test_a_namespace_takes_what_is_in_it_along(cluster: Cluster) -> None:
    """Its delete is over when it is gone."""
    engine = cluster.engine()
    made = engine.create(talk.NAMESPACE, engine.checked(talk.NAMESPACE, manifest("Namespace", "shop")))
    assert made.id == "shop"
    inner = engine.checked(talk.CONFIG_MAP, manifest("ConfigMap", "a", metadata={"namespace": "shop"}))
    engine.create(talk.CONFIG_MAP, inner)
    engine.delete(talk.NAMESPACE, made)
    assert cluster.get("api/v1/namespaces/shop") is None


def test_fails_where_a_finalizer_holds(cluster: Cluster) -> None:
    """When the time is over, with what holds it; progress is told, and told once."""
    engine = cluster.engine()
    held = manifest("ConfigMap", "a", metadata={"finalizers": ["shop.example/hold"]})
    made = engine.create(talk.CONFIG_MAP, engine.checked(talk.CONFIG_MAP, held))
    with pytest.raises(talk.AbortedError, match=r"still there after 30 s\n  finalizers might be preventing deletion \(shop.example/hold"):
        engine.delete(talk.CONFIG_MAP, made, timeout=30)
    assert [text for text, _ in engine.said] == ["Waiting for ConfigMap a to be gone (shop.example/hold)"]


def test_a_cluster_wide_custom_resource_is_in_no_namespace(cluster: Cluster) -> None:
    """Though nobody could tell before its definition came."""
    token = "kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor"
    engine = cluster.engine()
    flavor = engine.checked(token, manifest("ResourceFlavor", "a", "kueue.x-k8s.io/v1beta2"))
    chart = {"chart": "oci://registry.k8s.io/kueue/charts/kueue", "name": "kueue", "version": "0.14.2", "namespace": "kueue-system"}
    engine.create(talk.RELEASE, engine.checked(talk.RELEASE, chart | {"createNamespace": True}))
    made = engine.create(token, flavor)
    assert made.id == "a"
    again = engine.checked(token, manifest("ResourceFlavor", "a", "kueue.x-k8s.io/v1beta2"))
    assert "namespace" not in values(again)["metadata"]
    assert kinds(engine.diff(token, values(made.properties), values(again))) == {}


def test_a_cancel_ends_it(cluster: Cluster) -> None:
    """Nothing more is asked of the cluster once the user has cancelled."""
    engine = cluster.engine()
    checked = engine.checked(talk.CONFIG_MAP, config_map(a="1"))
    engine.create(talk.CONFIG_MAP, checked, preview=True)
    cluster.taken()
    engine.provider.Cancel(None, None)
    with pytest.raises(talk.AbortedError, match="cancelled"):
        engine.create(talk.CONFIG_MAP, checked)
    assert cluster.taken() == []
