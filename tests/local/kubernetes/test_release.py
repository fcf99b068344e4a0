"""Helm releases: kept as Helm keeps them, a Secret for each revision, without what is in the charts."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
import talk
from cluster import Cluster
from talk import RELEASE, kinds

from infra.provider.values import UNKNOWN, Decoded, encode

CHART = "oci://registry.k8s.io/kueue/charts/kueue"
SECRETS = "api/v1/namespaces/kueue-system/secrets"


def kueue(**more: Any) -> dict[str, Any]:
    base = {"chart": CHART, "version": "0.14.2", "name": "kueue", "namespace": "kueue-system", "createNamespace": True}
    return base | {"values": {"controllerManager": {"replicas": 1}}} | more


def kept(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """What Helm would read: name of the Secret -> release."""
    found = cluster.get(SECRETS) or {}
    secrets = {one["metadata"]["name"]: one for one in found["items"] if one["type"] == "helm.sh/release.v1"}
    return {name: json.loads(gzip.decompress(base64.b64decode(base64.b64decode(one["data"]["release"])))) for name, one in secrets.items()}


def test_a_release_is_installed_upgraded_and_gone(cluster: Cluster) -> None:
    """Its revisions are Secrets of its namespace; the older one is superseded; an uninstall leaves none."""
    engine = cluster.engine()
    first = engine.checked(RELEASE, kueue())
    made = engine.create(RELEASE, first)
    assert made.id == "kueue-system/kueue"
    state = Decoded(made.properties).values
    assert state["status"] | {"appVersion": ""} == {
        "appVersion": "",
        "chart": "kueue",
        "name": "kueue",
        "namespace": "kueue-system",
        "revision": 1,
        "status": "deployed",
        "version": "0.14.2",
    }
    assert ("__inputs",) in Decoded(made.properties).secrets
    release = kept(cluster)["sh.helm.release.v1.kueue.v1"]
    assert release["chart"] == {"metadata": {"name": "kueue", "version": "0.14.2"}}
    assert (release["config"], release["version"]) == ({"controllerManager": {"replicas": 1}}, 1)
    secret = cluster.get(f"{SECRETS}/sh.helm.release.v1.kueue.v1")
    assert secret is not None
    assert secret["metadata"]["labels"] == {"name": "kueue", "owner": "helm", "status": "deployed", "version": "1"}

    assert kinds(engine.diff(RELEASE, state, Decoded(first).values)) == {}
    read = engine.read(RELEASE, made.id, made.properties, first)
    assert read.properties == made.properties
    assert Decoded(read.inputs).values == Decoded(first).values

    second = engine.checked(RELEASE, kueue(version="0.15.0", values={"enablePrometheus": True}))
    changes = kinds(engine.diff(RELEASE, state, Decoded(second).values))
    assert changes == {"version": "UPDATE", "values.enablePrometheus": "ADD", "values.controllerManager": "DELETE"}
    changed = engine.update(RELEASE, made, second)
    assert Decoded(changed.properties).values["status"]["revision"] == 2
    assert {name: (one["info"]["status"], one["config"]) for name, one in kept(cluster).items()} == {
        "sh.helm.release.v1.kueue.v1": ("superseded", {"controllerManager": {"replicas": 1}}),
        "sh.helm.release.v1.kueue.v2": ("deployed", {"enablePrometheus": True}),
    }

    engine.delete(RELEASE, made)
    assert kept(cluster) == {}
    assert cluster.get("api/v1/namespaces/kueue-system") is not None, "Helm leaves the namespace"
    assert engine.read(RELEASE, made.id, made.properties, first).id == ""
    with pytest.raises(talk.AbortedError, match="kueue: release: not found"):
        engine.delete(RELEASE, made)


def test_a_preview_writes_nothing(cluster: Cluster) -> None:
    """What becomes of it is not known before."""
    engine = cluster.engine()
    state = Decoded(engine.create(RELEASE, engine.checked(RELEASE, kueue()), preview=True).properties).values
    assert (state["status"], state["resourceNames"], state["version"]) == (UNKNOWN, UNKNOWN, "0.14.2")
    assert cluster.taken() == []


def test_fails_where_the_name_or_the_namespace_is_not_free(cluster: Cluster) -> None:
    """As Helm does; nothing is upgraded that is not there."""
    engine = cluster.engine()
    checked = engine.checked(RELEASE, kueue(createNamespace=False))
    with pytest.raises(talk.AbortedError, match='failed to create: namespaces "kueue-system" not found\n  fix: createNamespace: true'):
        engine.create(RELEASE, checked)
    made = engine.create(RELEASE, engine.checked(RELEASE, kueue()))
    with pytest.raises(talk.AbortedError, match="cannot re-use a name that is still in use"):
        engine.create(RELEASE, engine.checked(RELEASE, kueue()))
    engine.delete(RELEASE, made)
    with pytest.raises(talk.AbortedError, match='"kueue" has no deployed releases'):
        engine.update(RELEASE, made, checked)


def test_history_is_as_long_as_the_program_says(cluster: Cluster) -> None:
    """The oldest revisions go; values of the last one can be taken over."""
    engine = cluster.engine()
    made = engine.create(RELEASE, engine.checked(RELEASE, kueue()))
    for number in range(3):
        engine.update(RELEASE, made, engine.checked(RELEASE, kueue(values={f"v{number}": {"a": number}}, maxHistory=2, reuseValues=True)))
    found = kept(cluster)
    assert sorted(found) == ["sh.helm.release.v1.kueue.v3", "sh.helm.release.v1.kueue.v4"]
    assert set(found["sh.helm.release.v1.kueue.v4"]["config"]) == {"controllerManager", "v0", "v1", "v2"}


def test_a_release_is_imported(cluster: Cluster) -> None:
    """With the chart's name: which repository it came from, Helm does not keep."""
    engine = cluster.engine()
    engine.create(RELEASE, engine.checked(RELEASE, kueue()))
    found = Decoded(engine.read(RELEASE, "kueue-system/kueue").inputs).values
    assert found == {
        "name": "kueue",
        "namespace": "kueue-system",
        "chart": "kueue",
        "version": "0.14.2",
        "values": {"controllerManager": {"replicas": 1}},
        "timeout": 300,
    }


def test_an_upgrade_by_hand_is_drift(cluster: Cluster) -> None:
    """What somebody set by `helm upgrade` shows at the next preview after a refresh, where the program writes it otherwise."""
    engine = cluster.engine()
    first = engine.checked(RELEASE, kueue())
    made = engine.create(RELEASE, first)
    engine.update(RELEASE, made, engine.checked(RELEASE, kueue(version="0.15.0")))
    read = engine.read(RELEASE, made.id, made.properties, first)
    assert kinds(engine.diff(RELEASE, Decoded(read.properties).values, Decoded(first).values)) == {"version": "UPDATE"}


def test_secret_values_stay_secret(cluster: Cluster) -> None:
    """In what is kept, and in a plan."""
    engine = cluster.engine()
    at = ("values", "token")
    checked = engine.checked(RELEASE, kueue(values={"token": "geheim"}), {at})
    assert Decoded(checked).secrets == {at}
    made = engine.create(RELEASE, checked)
    assert {at, ("__inputs",)} <= Decoded(made.properties).secrets
    read = engine.read(RELEASE, made.id, made.properties, checked)
    assert at in Decoded(read.properties).secrets
    assert Decoded(read.inputs).secrets == {at}


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"name": "other"}, {"name": "UPDATE_REPLACE"}),
        ({"namespace": "other"}, {"namespace": "UPDATE_REPLACE"}),
        ({"chart": "oci://elsewhere/kueue"}, {"chart": "UPDATE"}),
        ({"values": {"controllerManager": {"replicas": UNKNOWN}}}, {"values.controllerManager.replicas": "UPDATE"}),
        ({"values": {"controllerManager": {"replicas": None}}}, {"values.controllerManager.replicas": "UPDATE"}),
        ({"repositoryOpts": {"repo": "https://a.example"}}, {"repositoryOpts": "ADD"}),
        ({"atomic": True}, {"atomic": "ADD"}),
    ],
)
def test_says_what_changed(change: dict[str, Any], wanted: dict[str, str]) -> None:
    """Another name or namespace is another release, made beside the old one."""
    engine = talk.Engine()
    old = Decoded(engine.checked(RELEASE, kueue())).values
    state = old | {"__inputs": old, "status": {}, "resourceNames": {}}
    answer = engine.diff(RELEASE, state, Decoded(engine.checked(RELEASE, kueue(**change))).values)
    assert kinds(answer) == wanted
    assert not answer.deleteBeforeReplace
    assert kinds(engine.diff(RELEASE, state, Decoded(engine.checked(RELEASE, kueue(**change))).values, list(change))) == {}


@pytest.mark.parametrize(
    ("change", "at", "said"),
    [
        ({"chart": ""}, "chart", "is missing"),
        ({"chart": "./charts/a"}, "chart", "reads none, and renders none"),
        ({"chart": "kueue"}, "chart", "is in no repository: write oci://HOST/PATH/kueue"),
        ({"name": ""}, "name", "names are not made up here"),
        ({"name": "Kueue_1"}, "name", "is no release's name"),
        ({"name": "a" * 54}, "name", "is no release's name"),
        ({"version": ""}, "version", "asks none"),
        ({"version": ">=0.14"}, "version", "is no one version"),
        ({"values": []}, "values", "is not an object; got list"),
        ({"atomic": "yes"}, "atomic", "is not true or false; got str"),
        ({"timeout": True}, "timeout", "is not a whole number; got bool"),
        ({"valueYamlFiles": ["a"]}, "valueYamlFiles", "write them as values"),
        ({"verify": True}, "verify", "can verify none"),
        ({"vlaues": {}}, "vlaues", "there is no such property; nearest: values"),
    ],
)
def test_fails_on_what_is_no_release(change: dict[str, Any], at: str, said: str) -> None:
    """By property."""
    assert said in talk.Engine().faults(RELEASE, kueue(**change))[at]


@pytest.mark.parametrize(
    "change",
    [
        {"chart": "kueue", "repositoryOpts": {"repo": "https://a.example"}},
        {"chart": "kueue", "repositoryOpts": UNKNOWN},
        {"version": "v1.2.3-rc.1+a", "chart": "mine/kueue"},
        {"valueYamlFiles": None, "compat": "true"},
    ],
)
def test_other_ways_to_name_a_chart_are_taken(change: dict[str, Any]) -> None:
    """A repository beside the chart, and what the SDK sends besides."""
    assert talk.Engine().faults(RELEASE, kueue(**change)) == {}


def test_what_is_not_said_is_filled_in() -> None:
    """As the official provider does."""
    found = Decoded(talk.Engine(namespace="shop").checked(RELEASE, {"chart": CHART, "name": "a", "version": "1.0.0"})).values
    assert (found["namespace"], found["timeout"]) == ("shop", 300)
    assert "timeout" not in Decoded(talk.Engine().checked(RELEASE, kueue(skipAwait=True))).values


def test_a_secret_that_is_no_release_is_passed_over(cluster: Cluster) -> None:
    """Whatever somebody wrote there."""
    broken = talk.manifest("Secret", "sh.helm.release.v1.kueue.v9", type="helm.sh/release.v1", data={"release": "AAAA"})
    broken["metadata"]["labels"] = {"owner": "helm", "name": "kueue"}
    assert cluster.ask("POST", "api/v1/namespaces/default/secrets", broken).status_code == 201
    assert cluster.engine().read(RELEASE, "default/kueue", encode({}), encode({})).id == ""
