"""
Deployments, ReplicaSets, StatefulSets and DaemonSets.

Source: the controllers in `pkg/controller` of k8s.io/kubernetes, release 1.35; their conditions and words.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from typing import Any

from infra.catalog.pods import judge
from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds, pods, scheduler
from infra.sandbox.services.kubernetes.objects import seconds
from infra.sandbox.services.kubernetes.view import MOST, POD, View, condition, with_condition
from infra.sandbox.services.kubernetes.writes import DRAWN

DEPLOYMENT, REPLICA_SET = kinds.named("apps", "Deployment"), kinds.named("apps", "ReplicaSet")
STATEFUL_SET, DAEMON_SET = kinds.named("apps", "StatefulSet"), kinds.named("apps", "DaemonSet")
CLAIM = kinds.named("", "PersistentVolumeClaim")
HASH, REVISION_HASH = "pod-template-hash", "controller-revision-hash"
REVISION = "deployment.kubernetes.io/revision"


def hashed(template: Any) -> str:
    """Ten letters that tell a template from others."""
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).digest()
    return "".join(DRAWN[byte % len(DRAWN)] for byte in digest[:10])


def parts(value: Any, whole: int, *, up: bool) -> int:
    """A count, or a percentage of *whole*."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdecimal():
        exact = whole * int(value[:-1]) / 100
        return math.ceil(exact) if up else math.floor(exact)
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else 0


def pod_of(template: Body, meta: Body, name: str = "", **labels: str) -> Body:
    """A pod of a template."""
    body: Body = {"metadata": copy.deepcopy(template.get("metadata") or {}), "spec": copy.deepcopy(template.get("spec") or {})}
    body["metadata"] |= {"namespace": meta["namespace"]} | ({"name": name} if name else {"generateName": f"{meta['name']}-"})
    body["metadata"]["labels"] = (body["metadata"].get("labels") or {}) | labels
    return body


# Deployments


def deployments(view: View) -> None:
    for body in view.all(DEPLOYMENT):
        if "deletionTimestamp" not in body["metadata"]:
            _deployment(view, body)


def _deployment(view: View, body: Body) -> None:
    meta, spec = body["metadata"], body["spec"]
    sets = view.owned(body, REPLICA_SET)
    wanted = hashed(spec["template"])
    new = next((one for one in sets if one["metadata"]["labels"].get(HASH) == wanted), None)
    if new is None and not spec.get("paused"):
        new = _replica_set(view, body, wanted, 1 + max((_revision(one) for one in sets), default=0))
    elif new is not None and _revision(new) < max(map(_revision, sets)):
        new = _numbered(view, new, 1 + max(map(_revision, sets)))
    sets = view.owned(body, REPLICA_SET)
    old = [one for one in sets if new is None or one["metadata"]["uid"] != new["metadata"]["uid"]]
    if new is not None and not spec.get("paused"):
        if spec["strategy"].get("type") == "Recreate":
            _recreate(view, body, new, old)
        else:
            _roll(view, body, new, old)
    idle = [one for one in view.owned(body, REPLICA_SET) if new is None or one["metadata"]["uid"] != new["metadata"]["uid"]]
    idle = sorted((one for one in idle if not one["spec"]["replicas"] and not one.get("status", {}).get("replicas")), key=_revision)
    for one in idle[: max(0, len(idle) - int(spec.get("revisionHistoryLimit", 10)))]:
        view.delete(REPLICA_SET, one)
    if new is not None and (meta.get("annotations") or {}).get(REVISION) != str(_revision(new)):
        annotations = (meta.get("annotations") or {}) | {REVISION: str(_revision(new))}
        body = view.keep(DEPLOYMENT, {**body, "metadata": {**meta, "annotations": annotations}})
    _deployment_status(view, body, wanted)


def _revision(body: Body) -> int:
    text = str((body["metadata"].get("annotations") or {}).get(REVISION, "0"))
    return int(text) if text.isdecimal() else 0


def _numbered(view: View, body: Body, revision: int) -> Body:
    annotations = (body["metadata"].get("annotations") or {}) | {REVISION: str(revision)}
    return view.keep(REPLICA_SET, {**body, "metadata": {**body["metadata"], "annotations": annotations}})


def _replica_set(view: View, body: Body, wanted: str, revision: int) -> Body | None:
    meta, spec = body["metadata"], body["spec"]
    template = copy.deepcopy(spec["template"])
    template.setdefault("metadata", {})["labels"] = (template.get("metadata", {}).get("labels") or {}) | {HASH: wanted}
    selector = copy.deepcopy(spec["selector"])
    selector["matchLabels"] = (selector.get("matchLabels") or {}) | {HASH: wanted}
    made = {
        "metadata": {
            "name": f"{meta['name']}-{wanted}",
            "namespace": meta["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": {REVISION: str(revision)},
        },
        "spec": {"replicas": 0, "selector": selector, "template": template} | _least(spec),
    }
    return view.make(REPLICA_SET, made, (DEPLOYMENT, body))


def _least(spec: Body) -> Body:
    return {"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}


def _size(view: View, body: Body, replicas: int) -> None:
    if body["spec"]["replicas"] != replicas:
        view.keep(REPLICA_SET, {**body, "spec": {**body["spec"], "replicas": replicas}})


def _recreate(view: View, body: Body, new: Body, old: list[Body]) -> None:
    for one in old:
        _size(view, one, 0)
    if not any(view.owned(one, POD) for one in old):
        _size(view, new, body["spec"]["replicas"])


def _roll(view: View, body: Body, new: Body, old: list[Body]) -> None:
    """New ones beyond what is wanted, old ones away as new ones are available. Source: `rolling.go`."""
    spec = body["spec"]
    wanted, rolling = spec["replicas"], spec["strategy"].get("rollingUpdate") or {}
    surge = parts(rolling.get("maxSurge"), wanted, up=True)
    lacking = parts(rolling.get("maxUnavailable"), wanted, up=False)
    lacking = lacking if surge or lacking else 1
    total = new["spec"]["replicas"] + sum(one["spec"]["replicas"] for one in old)
    if new["spec"]["replicas"] > wanted:
        _size(view, new, wanted)
    elif new["spec"]["replicas"] < wanted:
        _size(view, new, min(wanted, new["spec"]["replicas"] + max(0, wanted + surge - total)))
    new = view.get(REPLICA_SET, new["metadata"]["namespace"], new["metadata"]["name"]) or new
    total = new["spec"]["replicas"] + sum(one["spec"]["replicas"] for one in old)
    room = total - (wanted - lacking) - (new["spec"]["replicas"] - new.get("status", {}).get("availableReplicas", 0))
    for unhealthy in (True, False):  # those that do not run go first
        for one in sorted(old, key=_revision):
            one = view.get(REPLICA_SET, one["metadata"]["namespace"], one["metadata"]["name"]) or one
            has, runs = one["spec"]["replicas"], one.get("status", {}).get("availableReplicas", 0)
            less = min(max(0, room), max(0, has - runs) if unhealthy else has)
            _size(view, one, has - less)
            room -= less


def _deployment_status(view: View, body: Body, wanted: str) -> None:
    spec, before = body["spec"], body.get("status", {})
    sets = view.owned(body, REPLICA_SET)
    new = [one for one in sets if one["metadata"]["labels"].get(HASH) == wanted]

    def count(field: str, several: list[Body]) -> int:
        return sum(int(one.get("status", {}).get(field, 0)) for one in several)

    replicas, updated, available = count("replicas", sets), count("replicas", new), count("availableReplicas", sets)
    status: Body = {"observedGeneration": body["metadata"]["generation"]}
    counts = {
        "replicas": replicas,
        "updatedReplicas": updated,
        "readyReplicas": count("readyReplicas", sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, spec["replicas"] - available),
    }
    status |= {key: value for key, value in counts.items() if value}
    rolling = spec["strategy"].get("rollingUpdate") or {}
    surge = parts(rolling.get("maxSurge"), spec["replicas"], up=True)
    lacking = parts(rolling.get("maxUnavailable"), spec["replicas"], up=False) if spec["strategy"].get("type") != "Recreate" else 0
    enough = available >= spec["replicas"] - (lacking if surge or lacking else (1 if rolling else 0))
    conditions = with_condition(
        view,
        before.get("conditions"),
        "Available",
        enough,
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "Deployment has minimum availability." if enough else "Deployment does not have minimum availability.",
    )
    done = updated == spec["replicas"] == replicas and available >= spec["replicas"]
    name = new[0]["metadata"]["name"] if new else ""
    status["conditions"] = _progress(view, body, before, conditions, counts, done=done, name=name)
    view.status(DEPLOYMENT, body, status)


def _progress(view: View, body: Body, before: Body, conditions: list[Body], counts: Body, *, done: bool, name: str) -> list[Body]:
    """Whether a rollout goes on; after its deadline without a step it does not."""
    old = condition(before.get("conditions"), "Progressing")
    moved = (
        any(before.get(key, 0) != value for key, value in counts.items())
        or before.get("observedGeneration") != body["metadata"]["generation"]
    )
    last = old["lastUpdateTime"] if old and not moved else view.stamp
    if done:
        said = (True, "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.')
    elif body["spec"].get("paused"):
        return conditions
    elif seconds(last) + body["spec"].get("progressDeadlineSeconds", 600) <= view.now:
        said = (False, "ProgressDeadlineExceeded", f'ReplicaSet "{name}" has timed out progressing.')
    else:
        view.later(seconds(last) + body["spec"].get("progressDeadlineSeconds", 600))
        said = (True, "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.')
    if old and old.get("reason") == said[1] and not moved:
        last = old["lastUpdateTime"]
    return with_condition(view, conditions, "Progressing", *said, lastUpdateTime=last)


# ReplicaSets


def replica_sets(view: View) -> None:
    for body in view.all(REPLICA_SET):
        if "deletionTimestamp" in body["metadata"]:
            continue
        spec = body["spec"]
        for pod in [pod for pod in view.owned(body, POD) if pods.is_over(pod)]:
            view.delete(POD, pod)
        mine = [pod for pod in view.owned(body, POD) if pods.lives(pod)]
        for _ in range(spec["replicas"] - len(mine)):
            if view.make(POD, pod_of(spec["template"], body["metadata"]), (REPLICA_SET, body)) is None:
                break
        if len(mine) > spec["replicas"]:
            # Those without a node go first, then those that are not ready, then the youngest. Source: `ActivePods` of controller_utils.go.
            order = sorted(enumerate(mine), key=lambda one: (bool(one[1]["spec"].get("nodeName")), pods.is_ready(one[1]), -one[0]))
            for _, pod in order[: len(mine) - spec["replicas"]]:
                view.delete(POD, pod)
        mine = [pod for pod in view.owned(body, POD) if pods.lives(pod)]
        status = {"replicas": len(mine), "observedGeneration": body["metadata"]["generation"]}
        more = {
            "fullyLabeledReplicas": len(mine),
            "readyReplicas": sum(map(pods.is_ready, mine)),
            "availableReplicas": sum(pods.is_available(view, pod, spec.get("minReadySeconds", 0)) for pod in mine),
        }
        now = view.get(REPLICA_SET, body["metadata"]["namespace"], body["metadata"]["name"]) or body
        view.status(REPLICA_SET, now, status | {key: value for key, value in more.items() if value})


# StatefulSets


def stateful_sets(view: View) -> None:
    for body in view.all(STATEFUL_SET):
        if "deletionTimestamp" not in body["metadata"]:
            _stateful_set(view, body)


def _stateful_set(view: View, body: Body) -> None:
    meta, spec = body["metadata"], body["spec"]
    revision = f"{meta['name']}-{hashed(spec['template'])}"
    first = int((spec.get("ordinals") or {}).get("start", 0))
    ordered = spec.get("podManagementPolicy") != "Parallel"
    least = spec.get("minReadySeconds", 0)

    def pod(ordinal: int) -> Body | None:
        return view.get(POD, meta["namespace"], f"{meta['name']}-{ordinal}")

    for ordinal in range(first, first + min(spec["replicas"], MOST)):
        found = pod(ordinal)
        if found is not None and pods.is_over(found) and "deletionTimestamp" not in found["metadata"]:
            view.delete(POD, found)
            found = pod(ordinal)
        if found is None:
            _member(view, body, ordinal, revision)
        if ordered and not ((found := pod(ordinal)) and pods.is_available(view, found, least)):
            break
    else:
        _update(view, body, first, revision)
    extra = [one for one in view.owned(body, POD) if not first <= _ordinal(one) < first + spec["replicas"]]
    for one in sorted(extra, key=_ordinal, reverse=True):
        if "deletionTimestamp" not in one["metadata"]:
            view.delete(POD, one)
        if ordered:
            break
    mine = [one for one in view.owned(body, POD) if pods.lives(one)]
    updated = sum(one["metadata"]["labels"].get(REVISION_HASH) == revision for one in mine)
    before = body.get("status", {})
    done = updated == len(mine) == spec["replicas"]
    status = {
        "observedGeneration": meta["generation"],
        "replicas": len(mine),
        "currentRevision": revision if done or "currentRevision" not in before else before["currentRevision"],
        "updateRevision": revision,
        "collisionCount": 0,
        "availableReplicas": sum(pods.is_available(view, one, least) for one in mine),
    }
    more = {
        "readyReplicas": sum(map(pods.is_ready, mine)),
        "updatedReplicas": updated,
        "currentReplicas": len(mine) if done else len(mine) - updated,
    }
    view.status(STATEFUL_SET, body, status | {key: value for key, value in more.items() if value})


def _ordinal(pod: Body) -> int:
    text = str(pod["metadata"]["name"]).rpartition("-")[2]
    return int(text) if text.isdecimal() else -1


def _member(view: View, body: Body, ordinal: int, revision: str) -> None:
    meta, spec = body["metadata"], body["spec"]
    name = f"{meta['name']}-{ordinal}"
    labels = {REVISION_HASH: revision, "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
    pod = pod_of(spec["template"], meta, name, **labels)
    pod["spec"] |= {"hostname": name} | ({"subdomain": spec["serviceName"]} if spec.get("serviceName") else {})
    volumes = list(pod["spec"].get("volumes") or [])
    for claim in spec.get("volumeClaimTemplates") or []:
        of = f"{claim['metadata']['name']}-{name}"
        if view.get(CLAIM, meta["namespace"], of) is None:
            rest = {key: value for key, value in claim["metadata"].items() if key != "name"}
            view.make(CLAIM, {"metadata": {**rest, "name": of, "namespace": meta["namespace"]}, "spec": claim["spec"]})
        volumes = [one for one in volumes if one.get("name") != claim["metadata"]["name"]]
        volumes.append({"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": of}})
    if volumes:
        pod["spec"]["volumes"] = volumes
    view.make(POD, pod, (STATEFUL_SET, body))


def _update(view: View, body: Body, first: int, revision: str) -> None:
    """From the last to the first, one after the other."""
    spec = body["spec"]
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return
    partition = int((strategy.get("rollingUpdate") or {}).get("partition") or 0)
    for one in sorted(view.owned(body, POD), key=_ordinal, reverse=True):
        if _ordinal(one) < max(first, partition):
            return
        if one["metadata"]["labels"].get(REVISION_HASH) != revision and "deletionTimestamp" not in one["metadata"]:
            view.delete(POD, one)
            return
        if not pods.is_ready(one):
            return


# DaemonSets


def daemon_sets(view: View) -> None:
    for body in view.all(DAEMON_SET):
        if "deletionTimestamp" not in body["metadata"]:
            _daemon_set(view, body)


def _daemon_set(view: View, body: Body) -> None:
    meta, spec = body["metadata"], body["spec"]
    revision = hashed(spec["template"])
    need = scheduler.need_of({"spec": spec["template"].get("spec") or {}})
    ready = [machine for machine in view.machines() if not machine.down and machine.ready <= view.now]
    for machine in view.machines():
        if machine not in ready:
            view.later(max(machine.ready, view.now + 1.0))
    wanted = {machine.name for machine in ready if need is not None and judge(need, [machine.node]).holds}
    stays: dict[str, Body] = {}
    for pod in view.owned(body, POD):
        on = _bound(pod)
        if not pods.lives(pod):
            if pods.is_over(pod):
                view.delete(POD, pod)
        elif on not in wanted or on in stays:
            view.delete(POD, pod)
        elif pod["metadata"]["labels"].get(REVISION_HASH) != revision and (spec.get("updateStrategy") or {}).get("type") != "OnDelete":
            view.delete(POD, pod)  # all at once: how many may be lacking is not looked at
        else:
            stays[on] = pod
    for name in sorted(wanted - stays.keys()):
        pod = pod_of(spec["template"], meta, **{REVISION_HASH: revision})
        own = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        node = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
        terms = (node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or [{}]
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [{**term, **own} for term in terms]}
        view.make(POD, pod, (DAEMON_SET, body))
    mine = [pod for pod in view.owned(body, POD) if pods.lives(pod)]
    available = sum(pods.is_available(view, pod, spec.get("minReadySeconds", 0)) for pod in mine)
    status = {
        "observedGeneration": meta["generation"],
        "currentNumberScheduled": len(mine),
        "desiredNumberScheduled": len(wanted),
        "numberMisscheduled": 0,
        "numberReady": sum(map(pods.is_ready, mine)),
    }
    more = {"updatedNumberScheduled": len(mine), "numberAvailable": available, "numberUnavailable": len(wanted) - available}
    view.status(DAEMON_SET, body, status | {key: value for key, value in more.items() if value})


def _bound(pod: Body) -> str:
    """The node that a pod of a DaemonSet is for."""
    try:
        required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])
    except (KeyError, IndexError, TypeError):
        return ""
