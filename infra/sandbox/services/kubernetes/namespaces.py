"""The controller of namespaces: each has what every one has; one that is deleted goes once all in it is gone."""

from __future__ import annotations

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds
from infra.sandbox.services.kubernetes.objects import NAMESPACE
from infra.sandbox.services.kubernetes.view import View

ACCOUNT, CONFIG = kinds.named("", "ServiceAccount"), kinds.named("", "ConfigMap")


def run(view: View) -> None:
    for body in view.all(NAMESPACE):
        name = body["metadata"]["name"]
        if "deletionTimestamp" in body["metadata"]:
            _empty(view, name, body)
            continue
        if view.get(ACCOUNT, name, "default") is None:
            view.make(ACCOUNT, {"metadata": {"name": "default", "namespace": name}})
        if view.get(CONFIG, name, "kube-root-ca.crt") is None:
            view.make(CONFIG, {"metadata": {"name": "kube-root-ca.crt", "namespace": name}, "data": {"ca.crt": "sandbox"}})


def _empty(view: View, name: str, body: Body) -> None:
    """Takes all in it away; pods get their time, and what has a finalizer waits for whoever put it there."""
    left = 0
    for kind in [kind for kind in view.kinds() if kind.namespaced]:
        for one in view.all(kind, name):
            view.delete(kind, one)
            left += view.get(kind, name, one["metadata"]["name"]) is not None
    if not left and "kubernetes" in body.get("spec", {}).get("finalizers", []):
        found = [one for one in body["spec"]["finalizers"] if one != "kubernetes"]
        view.keep(NAMESPACE, {**body, "spec": {**body["spec"], "finalizers": found}})
