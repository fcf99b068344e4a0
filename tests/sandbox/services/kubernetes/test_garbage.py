"""What goes with what: owners, finalizers, namespaces."""

from __future__ import annotations

from typing import Any

from k8s_calls import CORE, K8s, config, said

SPACES = f"{CORE}/namespaces"
CONFIGS = f"{SPACES}/default/configmaps"


def child(name: str, owner: dict[str, Any], **more: Any) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return config(name) | {"metadata": {"name": name, "ownerReferences": [reference | more]}}


def names(k8s: K8s) -> list[str]:
    return [one["metadata"]["name"] for one in k8s.get(CONFIGS)["items"] if one["metadata"]["name"] != "kube-root-ca.crt"]


def test_what_belongs_to_it_goes_too(k8s: K8s) -> None:
    parent = k8s.make(CONFIGS, config("parent"))
    middle = k8s.make(CONFIGS, child("middle", parent))
    k8s.make(CONFIGS, child("last", middle))
    k8s.ask("DELETE", f"{CONFIGS}/parent")
    assert names(k8s) == []


def test_orphans_stay(k8s: K8s) -> None:
    parent = k8s.make(CONFIGS, config("parent"))
    k8s.make(CONFIGS, child("one", parent))
    k8s.ask("DELETE", f"{CONFIGS}/parent", {"propagationPolicy": "Orphan"})
    assert names(k8s) == ["one"]
    assert "ownerReferences" not in k8s.get(f"{CONFIGS}/one")["metadata"]


def test_in_the_foreground_the_owner_goes_last(k8s: K8s) -> None:
    parent = k8s.make(CONFIGS, config("parent"))
    held = child("held", parent, blockOwnerDeletion=True)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    k8s.make(CONFIGS, held)
    answer = k8s.ask("DELETE", f"{CONFIGS}/parent", propagationPolicy="Foreground")
    assert answer.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert names(k8s) == ["held", "parent"]
    k8s.patch(f"{CONFIGS}/held", {"metadata": {"finalizers": None}})
    assert names(k8s) == []


def test_a_finalizer_holds_what_is_deleted(k8s: K8s) -> None:
    k8s.make(CONFIGS, config() | {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
    first = k8s.ask("DELETE", f"{CONFIGS}/a").body
    assert first["metadata"]["deletionTimestamp"] == "2026-11-30T12:05:00Z"
    assert k8s.ask("DELETE", f"{CONFIGS}/a").body["metadata"] == first["metadata"]
    k8s.patch(f"{CONFIGS}/a", {"metadata": {"finalizers": []}})
    assert k8s.ask("GET", f"{CONFIGS}/a").status == 404


def test_a_namespace_goes_with_all_in_it_and_takes_nothing_new(k8s: K8s) -> None:
    k8s.make(SPACES, {"metadata": {"name": "team"}})
    assert k8s.get(f"{SPACES}/team/serviceaccounts/default")["metadata"]["name"] == "default"
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    k8s.make(f"{SPACES}/team/configmaps", held)
    k8s.make(f"{SPACES}/team/configmaps", config("b"))
    assert k8s.ask("DELETE", f"{SPACES}/team").body["status"] == {"phase": "Terminating"}
    assert k8s.get(f"{SPACES}/team")["status"]["phase"] == "Terminating"
    assert k8s.ask("GET", f"{SPACES}/team/configmaps/b").status == 404
    answer = k8s.ask("POST", f"{SPACES}/team/configmaps", config("c"))
    words = 'configmaps "c" is forbidden: unable to create new content in namespace team because it is being terminated'
    assert said(answer) == (403, "Forbidden", words)
    assert answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    k8s.patch(f"{SPACES}/team/configmaps/held", {"metadata": {"finalizers": None}})
    assert k8s.ask("GET", f"{SPACES}/team").status == 404
