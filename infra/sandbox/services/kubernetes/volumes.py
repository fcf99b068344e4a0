"""
Claims get volumes: at once, or when a pod that uses them has a node, as their class says. There are no disks behind them.

Source: https://kubernetes.io/docs/concepts/storage/persistent-volumes/ and .../storage-classes/, read 2026-11.
"""

from __future__ import annotations

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds
from infra.sandbox.services.kubernetes.garbage import CLAIM
from infra.sandbox.services.kubernetes.objects import at
from infra.sandbox.services.kubernetes.view import POD, View

VOLUME, STORAGE_CLASS = kinds.named("", "PersistentVolume"), kinds.named("storage.k8s.io", "StorageClass")


def run(view: View) -> None:
    for claim in view.all(CLAIM):
        if "deletionTimestamp" not in claim["metadata"]:
            _claim(view, claim)
    for volume in view.all(VOLUME):
        reference = volume["spec"].get("claimRef") or {}
        held = view.get(CLAIM, str(reference.get("namespace")), str(reference.get("name")))
        if reference and (held is None or held["metadata"]["uid"] != reference.get("uid")):
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                view.delete(VOLUME, volume)
            else:
                view.status(VOLUME, volume, {**volume.get("status", {}), "phase": "Released"})


def claims_of(pod: Body) -> list[str]:
    """Names of the claims that a pod's volumes are of."""
    return [str(name) for one in pod["spec"].get("volumes") or [] if (name := at(one, "persistentVolumeClaim", "claimName"))]


def missing(view: View, pod: Body) -> str:
    """Why a pod cannot have a node for its volumes; empty where it can."""
    for name in claims_of(pod):
        claim = view.get(CLAIM, pod["metadata"]["namespace"], name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.get("status", {}).get("phase") != "Bound" and not _waits(view, claim):
            return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def _waits(view: View, claim: Body) -> bool:
    found = view.get(STORAGE_CLASS, "", str(claim["spec"].get("storageClassName") or ""))
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


def _claim(view: View, claim: Body) -> None:
    meta, spec = claim["metadata"], claim["spec"]
    amount = at(spec, "resources", "requests", "storage")
    if spec.get("volumeName") and claim.get("status", {}).get("phase") == "Bound":
        view.status(CLAIM, claim, {**claim["status"], "capacity": {"storage": amount}})
        return
    if spec.get("volumeName"):
        volume = view.get(VOLUME, "", spec["volumeName"])
        if volume is None or (volume["spec"].get("claimRef") or {}).get("uid", meta["uid"]) != meta["uid"]:
            return
    else:
        of = view.get(STORAGE_CLASS, "", str(spec.get("storageClassName") or ""))
        used = any(pod["spec"].get("nodeName") and meta["name"] in claims_of(pod) for pod in view.all(POD, meta["namespace"]))
        if of is None or (_waits(view, claim) and not used):
            return
        made = {
            "metadata": {"name": f"pvc-{meta['uid']}", "annotations": {"pv.kubernetes.io/provisioned-by": of["provisioner"]}},
            "spec": {
                "accessModes": spec.get("accessModes"),
                "capacity": {"storage": amount},
                "persistentVolumeReclaimPolicy": of.get("reclaimPolicy", "Delete"),
                "storageClassName": of["metadata"]["name"],
                "volumeMode": spec.get("volumeMode", "Filesystem"),
                "csi": {"driver": of["provisioner"], "volumeHandle": f"pvc-{meta['uid']}"},
            },
        }
        if (volume := view.make(VOLUME, made)) is None:
            return
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "name": meta["name"],
        "namespace": meta["namespace"],
        "uid": meta["uid"],
    }
    view.keep(VOLUME, {**volume, "spec": {**volume["spec"], "claimRef": reference}, "status": {"phase": "Bound"}})
    bound = {**claim, "spec": {**spec, "volumeName": volume["metadata"]["name"]}}
    view.keep(CLAIM, {**bound, "status": {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": {"storage": amount}}})
