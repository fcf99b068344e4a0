"""The configuration: it leads to the sandbox's clusters, or is refused; a cluster that is not there loses nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import talk
from pulumi.runtime.proto import provider_pb2

from infra.local.kubernetes import config
from infra.local.kubernetes.provider import Kubernetes
from infra.provider.values import UNKNOWN, encode

GKE = "https://gke-0123.us-central1.gke.goog"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (talk.kubeconfig(GKE), f"server {GKE} is not on this machine"),
        (talk.kubeconfig("http://127.0.0.1@evil.example/"), "is not on this machine"),
        (talk.kubeconfig("http://[::1"), "is not on this machine"),
        (talk.kubeconfig(user={"exec": {"command": "gke-gcloud-auth-plugin"}}), "user 'main' is proved by running gke-gcloud-auth-plugin"),
        (talk.kubeconfig("https://127.0.0.1:6443", user={"client-certificate-data": "eA=="}), "user 'main' has client-certificate-data"),
    ],
)
def test_fails_on_what_is_not_the_sandbox(given: dict[str, Any], said: str) -> None:
    """A real cluster is refused with what to install, and so is one of this machine that wants to know who asks."""
    with pytest.raises(talk.AbortedError) as refused:
        talk.Engine(kubeconfig=json.dumps(given))
    first, *rest = str(refused.value).splitlines()
    assert said in first
    assert rest[-1].endswith("pulumi plugin install resource kubernetes 4.34.2")


def test_all_that_is_wrong_is_said_at_once() -> None:
    """The place and the user."""
    with pytest.raises(talk.AbortedError) as refused:
        talk.Engine(kubeconfig=json.dumps(talk.kubeconfig(GKE, {"token": "x"})))
    assert len(str(refused.value).splitlines()) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"enableServerSideApply": "false"}, "enableServerSideApply: "),
        ({"enableServerSideApply": False}, "enableServerSideApply: "),
        ({"renderYamlToDirectory": "out"}, "renderYamlToDirectory: "),
        ({"helmReleaseSettings": '{"driver": "configmap"}'}, "helmReleaseSettings.driver: "),
        ({"helmReleaseSettings": "{"}, "helmReleaseSettings: is not JSON"),
    ],
)
def test_fails_on_what_the_stand_in_does_not_do(given: dict[str, Any], said: str) -> None:
    """An option that would change what is done is not passed over."""
    with pytest.raises(talk.AbortedError, match=f"^{said}"):
        talk.Engine(**given)


@pytest.mark.parametrize("form", ["json", "yaml", "file", "object"])
def test_a_kubeconfig_is_read_in_every_form(form: str, tmp_path: Path) -> None:
    """As JSON, as YAML, as the path of a file, and as an object."""
    text = json.dumps(talk.kubeconfig(namespace="shop"))
    (tmp_path / "config").write_text(text, encoding="utf-8")
    yaml = "# mine\n" + text.replace('"apiVersion"', "apiVersion")
    given = {"json": text, "yaml": yaml, "file": str(tmp_path / "config"), "object": talk.kubeconfig(namespace="shop")}[form]
    read = config.read({"kubeconfig": given}, {})
    assert (read.server, read.namespace) == (talk.SERVER, "shop")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "no kubeconfig"),
        ({"kubeconfig": ""}, "no kubeconfig"),
        ({"kubeconfig": UNKNOWN}, "known after an update only"),
        ({"kubeconfig": "/no/such/file"}, "is an object with clusters"),
        ({"kubeconfig": "a: [b"}, "neither JSON nor YAML"),
        ({"kubeconfig": "機械" * 5000}, "is an object with clusters"),
        ({"kubeconfig": json.dumps(talk.kubeconfig()), "context": "other"}, "has no context 'other'"),
        ({"kubeconfig": "{}"}, "names no current-context"),
        ({"kubeconfig": json.dumps(talk.kubeconfig(""))}, "leads to no cluster with a server"),
        ({"kubeconfig": 7}, "is a text; got int"),
    ],
)
def test_a_kubeconfig_that_leads_nowhere_is_an_unreachable_cluster(given: dict[str, Any], said: str) -> None:
    """Not an error by itself: previews go on, and what is in the state can still be given up."""
    found = config.read(given, {})
    assert (found.server, said in found.unreachable) == ("", True), found.unreachable


def test_context_and_cluster_of_the_provider_count_first() -> None:
    """As for kubectl."""
    many = talk.kubeconfig()
    many["clusters"].append({"name": "two", "cluster": {"server": "http://127.0.0.1:1/two.gke.goog/"}})
    many["contexts"].append({"name": "b", "context": {"cluster": "two", "namespace": "b"}})
    read = config.read({"kubeconfig": many, "context": "b"}, {})
    assert (read.server, read.namespace) == ("http://127.0.0.1:1/two.gke.goog", "b")
    assert config.read({"kubeconfig": many, "cluster": "two"}, {}).server == "http://127.0.0.1:1/two.gke.goog"
    assert config.read({"kubeconfig": many, "context": "b", "namespace": "own"}, {}).namespace == "own"
    assert config.read({"kubeconfig": many}, {}).namespace == "default"


def test_options_come_from_the_program_before_the_environment() -> None:
    """The official provider's variables, where the program says nothing."""
    environ = {"PULUMI_K8S_DELETE_UNREACHABLE": "true", "PULUMI_K8S_ENABLE_PATCH_FORCE": "true"}
    read = config.read({"enablePatchForce": "false", "upsertExistingObjects": True}, environ)
    assert (read.delete_unreachable, read.patch_force, read.upsert, read.mutable_secrets) == (True, False, True, False)


def replaced(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    answer = Kubernetes().DiffConfig(provider_pb2.DiffRequest(olds=encode(old), news=encode(new)), talk.Context())
    return list(answer.replaces)


@pytest.mark.parametrize(
    ("old", "new", "anew"),
    [
        ({}, {"namespace": "x"}, []),
        ({}, {"kubeconfig": json.dumps(talk.kubeconfig("http://127.0.0.1:2/x.gke.goog"))}, ["kubeconfig"]),
        ({}, {"kubeconfig": json.dumps(talk.kubeconfig(user={"username": "x"}))}, []),
        ({}, {"kubeconfig": UNKNOWN}, ["kubeconfig"]),
        ({"clusterIdentifier": "a"}, {"clusterIdentifier": "a", "kubeconfig": UNKNOWN}, []),
        ({"clusterIdentifier": "a"}, {"clusterIdentifier": "b"}, ["clusterIdentifier"]),
        ({}, {"clusterIdentifier": "a"}, []),
    ],
)
def test_another_cluster_replaces_unless_it_is_said_to_be_the_same(old: dict[str, Any], new: dict[str, Any], anew: list[str]) -> None:
    """`clusterIdentifier` decides where both runs have one: a sandbox on another port makes nothing anew."""
    first = {"kubeconfig": json.dumps(talk.kubeconfig())}
    assert replaced(first | old, first | new) == anew


def test_fails_where_no_cluster_answers() -> None:
    """A create says so; a read does, with what to do; a preview goes on."""
    engine = talk.Engine()
    inputs = engine.checked(talk.CONFIG_MAP, talk.manifest("ConfigMap", "a"))
    assert engine.create(talk.CONFIG_MAP, inputs, preview=True).properties == inputs
    with pytest.raises(talk.AbortedError, match=r"^configured Kubernetes cluster is unreachable: unable to load schema information"):
        engine.create(talk.CONFIG_MAP, inputs)
    with pytest.raises(talk.AbortedError, match='PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'):
        engine.read(talk.CONFIG_MAP, "default/a", inputs, inputs)


def test_what_was_in_a_lost_cluster_can_be_given_up() -> None:
    """With `deleteUnreachable` a read finds nothing, and a delete has nothing to do, but for a release."""
    engine = talk.Engine(environ={"PULUMI_K8S_DELETE_UNREACHABLE": "true"})
    state = encode(talk.manifest("ConfigMap", "a"))
    assert engine.read(talk.CONFIG_MAP, "default/a", state, state).id == ""
    engine.delete(talk.CONFIG_MAP, provider_pb2.CreateResponse(id="default/a", properties=state))
    assert all(warns and "is unreachable" in text for text, warns in engine.said)
    release = encode({"name": "a", "namespace": "b"})
    with pytest.raises(talk.AbortedError, match="can't delete Helm Release with unreachable cluster"):
        engine.delete(talk.RELEASE, provider_pb2.CreateResponse(id="b/a", properties=release))
    assert engine.read(talk.RELEASE, "b/a", release, release).id == ""


def test_updates_of_a_lost_cluster_can_be_passed_over() -> None:
    """With `skipUpdateUnreachable` what the state has stays."""
    engine = talk.Engine(skipUpdateUnreachable="true")
    old, new = encode(talk.manifest("ConfigMap", "a", data={"a": "1"})), encode(talk.manifest("ConfigMap", "a", data={"a": "2"}))
    request = provider_pb2.CheckRequest(urn=engine.urn(talk.CONFIG_MAP), olds=old, news=new)
    assert engine.provider.Check(request, talk.Context()).inputs == old
    assert engine.read(talk.CONFIG_MAP, "default/a", old, old).properties == old


def test_a_cluster_that_is_gone_is_said_at_once_and_trouble_passes() -> None:
    """A proxy that knows no such host is not asked again; a server that is busy for a moment is."""
    asked: list[int] = []

    def answers(*codes: int) -> talk.Engine:
        asked[:] = codes
        return talk.Engine(lambda _: httpx.Response(asked.pop(0), json={"message": "no such host", "gitVersion": "v1.35.2"}))

    client = answers(502, 200).provider._configured()
    assert client.unreachable == "unable to load schema information from the API server: no such host"
    assert asked == [200]
    client = answers(503, 503, 200).provider._configured()
    assert (client.unreachable, client.version, asked) == ("", "1.35.2", [])


def test_fails_before_it_is_configured() -> None:
    """A resource before the configuration is refused."""
    request = provider_pb2.CreateRequest(urn=talk.Engine.urn(talk.CONFIG_MAP), properties=encode({}))
    with pytest.raises(talk.AbortedError, match="not configured"):
        Kubernetes().Create(request, talk.Context())


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("kubernetes:core/v1:ConfigMapPatch", "no Patch resources"),
        ("kubernetes:core/v1:ConfigMapList", "lists are made by nobody"),
        ("kubernetes:yaml/v2:ConfigFile", "no objects out of files or charts"),
        ("kubernetes:yaml:ConfigGroup", "no objects out of files or charts"),
        ("kubernetes:kustomize/v2:Directory", "no objects out of files or charts"),
        ("kubernetes:helm.sh/v4:Chart", "no objects out of files or charts"),
        ("kubernetes:v1:ConfigMap", "is no kind of object"),
        ("gcp:core/v1:ConfigMap", "is no kind of object"),
    ],
)
def test_fails_on_what_is_no_object(token: str, said: str) -> None:
    """In words, whichever call comes first."""
    with pytest.raises(talk.AbortedError, match=said):
        talk.Engine().check(token, {})


def test_fails_on_what_renders() -> None:
    """Functions and components of the official provider read files and charts."""
    engine = talk.Engine()
    with pytest.raises(talk.AbortedError, match="no objects out of files or charts"):
        engine.provider.Invoke(provider_pb2.InvokeRequest(tok="kubernetes:helm:template"), talk.Context())
    with pytest.raises(talk.AbortedError, match="no objects out of files or charts"):
        engine.provider.Construct(provider_pb2.ConstructRequest(type="kubernetes:yaml/v2:ConfigFile"), talk.Context())
