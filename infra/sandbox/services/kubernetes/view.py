"""The objects of a cluster as its controllers see them: read once, written through."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds, nodes, writes
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import Cluster, stamp
from infra.sandbox.services.kubernetes.statuses import Failure

Key = tuple[str, str]
_TAKEN: set[str] = set()
"""What was held against its schema already: of many pods of one template the first is."""
KEPT = 4096


class View:
    """All objects of one cluster at one moment."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.now = cluster.cloud.moment
        self.writes = 0
        """How often something was written so far."""
        self.wakes: float | None = None
        """When something is to be looked at again."""
        self._machines: list[nodes.Machine] | None = None
        self._by: dict[Kind, dict[Key, Body]] = {}
        self._owned: dict[str, dict[tuple[Kind, Key], None]] = {}
        for kind, body in cluster.every():
            self._put(kind, body)

    def machines(self) -> list[nodes.Machine]:
        """Those of the cluster's pools; read once in a round."""
        if self._machines is None:
            self._machines = nodes.machines(self.cluster)
        return self._machines

    def resized(self) -> None:
        """The cluster's machines have changed."""
        self._machines = None
        self.writes += 1

    def begin(self) -> None:
        """A new round: what may have changed beside the objects is read again."""
        self.wakes, self._machines = None, None

    @property
    def stamp(self) -> str:
        return stamp(self.now)

    def later(self, moment: float) -> None:
        """Has the controllers run again then."""
        self.wakes = moment if self.wakes is None else min(self.wakes, moment)

    def all(self, kind: Kind, namespace: str = "") -> list[Body]:
        """Oldest first."""
        found = self._by.get(kind, {}).values()
        return [body for body in found if not namespace or body["metadata"].get("namespace") == namespace]

    def kinds(self) -> list[Kind]:
        return list(self._by)

    def get(self, kind: Kind, namespace: str, name: str) -> Body | None:
        return self._by.get(kind, {}).get((namespace if kind.namespaced else "", name))

    def owned(self, owner: Body, kind: Kind) -> list[Body]:
        """What belongs to an object, oldest first."""
        keys = self._owned.get(owner["metadata"]["uid"], {})
        return [self._by[kind][key] for of, key in keys if of is kind]

    def dependents(self, uid: str) -> list[tuple[Kind, Body]]:
        return [(kind, self._by[kind][key]) for kind, key in self._owned.get(uid, {})]

    def uids(self) -> set[str]:
        return {body["metadata"]["uid"] for bodies in self._by.values() for body in bodies.values()}

    def keep(self, kind: Kind, body: Body) -> Body:
        """Writes a changed object."""
        meta = body["metadata"]
        old = self.get(kind, meta.get("namespace", ""), meta["name"])
        after = writes.keep(self.cluster, kind, old, body) if old is not None else self.cluster.keep(kind, body)
        if old is not None and owners(old) != owners(after):
            self._forget(kind, old)
        if "deletionTimestamp" in meta and self.cluster.get(kind, meta.get("namespace", ""), meta["name"]) is None:
            self._forget(kind, after)
        else:
            self._put(kind, after)
        self.writes += 1
        return after

    def status(self, kind: Kind, body: Body, status: Body) -> Body:
        """Writes a status where it is another one."""
        if body.get("status") == status:
            return body
        return self.keep(kind, {**body, "status": status})

    def make(self, kind: Kind, body: Body, owner: tuple[Kind, Body] | None = None) -> Body | None:
        """
        Makes an object, of the one that it belongs to. None where the server refuses: the controller tries again at its next look.
        """
        if len(self._by.get(kind, ())) >= MOST:
            return None
        body = copy.deepcopy(body)
        if owner is not None:
            of, one = owner
            body["metadata"]["ownerReferences"] = [
                {
                    "apiVersion": of.api_version,
                    "kind": of.name,
                    "name": one["metadata"]["name"],
                    "uid": one["metadata"]["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ]
        said = json.dumps([kind.words, body.get("spec")], sort_keys=True)
        writer = writes.Writer(MANAGER, kind.api_version, trusted=said in _TAKEN)
        try:
            made = writes.create(self.cluster, kind, body["metadata"].get("namespace", ""), body, writer)
        except Failure:
            return None
        if len(_TAKEN) >= KEPT:
            _TAKEN.clear()
        _TAKEN.add(said)
        self._put(kind, made)
        self.writes += 1
        return made

    def delete(self, kind: Kind, body: Body, policy: str = "Background", grace: float | None = None) -> None:
        left = writes.delete(self.cluster, kind, body, policy, grace)
        if left is body:
            return
        if left is None:
            self._forget(kind, body)
        else:
            self._put(kind, left)
        self.writes += 1

    def _put(self, kind: Kind, body: Body) -> None:
        key = (body["metadata"].get("namespace", ""), body["metadata"]["name"])
        self._by.setdefault(kind, {})[key] = body
        for one in owners(body):
            self._owned.setdefault(str(one.get("uid")), {})[kind, key] = None

    def _forget(self, kind: Kind, body: Body) -> None:
        key = (body["metadata"].get("namespace", ""), body["metadata"]["name"])
        self._by.get(kind, {}).pop(key, None)
        for one in owners(body):
            self._owned.get(str(one.get("uid")), {}).pop((kind, key), None)


MANAGER = "kube-controller-manager"
POD = kinds.named("", "Pod")
MOST = 300
"""Objects of one kind in a cluster here: controllers make no more, whatever asks for them."""


def owners(body: Body) -> list[Body]:
    found = body["metadata"].get("ownerReferences")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def controller(body: Body) -> Body | None:
    """The reference to what made an object."""
    return next((one for one in owners(body) if one.get("controller")), None)


def condition(conditions: Any, name: str) -> Body | None:
    """The condition of that type."""
    return next((one for one in conditions or [] if isinstance(one, dict) and one.get("type") == name), None)


def is_true(body: Body, name: str) -> bool:
    found = condition(body.get("status", {}).get("conditions"), name)
    return found is not None and found.get("status") == "True"


def with_condition(
    view: View, conditions: Iterable[Body] | None, name: str, status: bool, reason: str, message: str = "", **more: Any
) -> list[Body]:
    """Conditions with one of them set: its time of transition changes only with its status."""
    kept = [dict(one) for one in conditions or []]
    old = condition(kept, name)
    said = "True" if status else "False"
    new: Body = {"type": name, "status": said, "reason": reason, "message": message, **more}
    new["lastTransitionTime"] = old["lastTransitionTime"] if old and old["status"] == said else view.stamp
    if old is None:
        return [*kept, new]
    return [new if one is old else one for one in kept]
