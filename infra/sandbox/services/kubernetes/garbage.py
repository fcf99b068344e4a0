"""
The garbage collector: what belongs to objects that are gone goes too.

Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/, read 2026-11.
"""

from __future__ import annotations

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds, writes
from infra.sandbox.services.kubernetes.admission import PROTECTED
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.view import POD, View, owners

CLAIM = kinds.named("", "PersistentVolumeClaim")


def run(view: View) -> None:
    there = view.uids()
    for kind in view.kinds():
        for body in view.all(kind):
            found = owners(body)
            if found and not any(one.get("uid") in there for one in found) and "deletionTimestamp" not in body["metadata"]:
                view.delete(kind, body)
            elif "deletionTimestamp" in body["metadata"]:
                _going(view, kind, body)


def _going(view: View, kind: Kind, body: Body) -> None:
    """What is being deleted: pods end, and finalizers of this collector go once what they stand for is done."""
    meta = body["metadata"]
    finalizers = meta.get("finalizers") or []
    if writes.ORPHANS in finalizers:
        for of, one in view.dependents(meta["uid"]):
            left = [owner for owner in owners(one) if owner.get("uid") != meta["uid"]]
            rest = {key: value for key, value in one["metadata"].items() if key != "ownerReferences"}
            view.keep(of, {**one, "metadata": rest | ({"ownerReferences": left} if left else {})})
        _without(view, kind, body, writes.ORPHANS)
    elif writes.FOREGROUND in finalizers:
        blocks = 0
        for of, one in view.dependents(meta["uid"]):
            reference = next(owner for owner in owners(one) if owner.get("uid") == meta["uid"])
            blocks += bool(reference.get("blockOwnerDeletion"))
            if "deletionTimestamp" not in one["metadata"]:
                view.delete(
                    of,
                    one,
                    "Foreground" if reference.get("blockOwnerDeletion") and view.dependents(one["metadata"]["uid"]) else "Background",
                )
        if not any(
            owner.get("blockOwnerDeletion")
            for _, one in view.dependents(meta["uid"])
            for owner in owners(one)
            if owner.get("uid") == meta["uid"]
        ):
            _without(view, kind, body, writes.FOREGROUND)
    elif kind is CLAIM and PROTECTED in finalizers:
        if not _used(view, body):
            _without(view, kind, body, PROTECTED)
    elif kind is POD and not finalizers:
        if writes.ends(body) <= view.now:
            view.delete(kind, body, grace=0)
        else:
            view.later(writes.ends(body))


def _without(view: View, kind: Kind, body: Body, finalizer: str) -> None:
    left = [one for one in body["metadata"]["finalizers"] if one != finalizer]
    rest = {key: value for key, value in body["metadata"].items() if key != "finalizers"}
    view.keep(kind, {**body, "metadata": rest | ({"finalizers": left} if left else {})})


def _used(view: View, claim: Body) -> bool:
    """Whether a pod that has not ended has a claim for a volume."""
    meta = claim["metadata"]
    for pod in view.all(POD, meta["namespace"]):
        if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            continue
        for volume in pod["spec"].get("volumes") or []:
            if ((volume or {}).get("persistentVolumeClaim") or {}).get("claimName") == meta["name"]:
                return True
    return False
