"""
When an object is ready, by its kind, and what keeps it from being so, in the cluster's own words.

Source: pulumi-kubernetes at 2026-07 (`pkg/await`): which kinds it waits for, and until what. Others are ready when they are there; so are
custom resources, and every object whose program says `pulumi.com/skipAwait`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from infra.local.kubernetes.kinds import Kind
from infra.local.kubernetes.manifest import Data, annotation, dig, name_of, namespace_of
from infra.local.kubernetes.rest import Client

POD = Kind("", "v1", "Pod")
ENDPOINTS = Kind("", "v1", "Endpoints")
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "StorageClass")
STARTING = ("ContainerCreating", "PodInitializing")
"""Reasons for which a container waits as every one does."""
FIELD = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d+)\]")
JSON_PATH = re.compile(r"jsonpath='?\{(?P<path>[^{}]*)\}'?(?:=(?P<value>.*))?")
CONDITION = re.compile(r"condition=(?P<type>[\w./-]+)(?:=(?P<status>\w+))?", re.IGNORECASE)


class Seen(NamedTuple):
    """How an object was found."""

    ready: bool
    says: str = ""
    """How far it is."""
    problems: tuple[str, ...] = ()
    """What keeps it."""
    failed: bool = False
    """Whether it will not become ready any more."""


Judge = Callable[[Client, Data], Seen]


class Rule(NamedTuple):
    """How one kind is waited for."""

    judge: Judge
    seconds: float = 600.0
    """How long, where the program does not say."""
    read: bool = False
    """Whether a refresh says that it is not ready, too."""


def rule(kind: Kind, inputs: Data) -> Rule | None:
    """How to wait for an object; None where it is not waited for. What the program says itself counts first."""
    if annotation(inputs, "skipAwait") == "true":
        return None
    if wanted := annotation(inputs, "waitFor"):
        found = [_expression(one) for one in _listed(wanted)]
        return Rule(lambda client, live: _every([one(client, live) for one in found]))
    return RULES.get((kind.group, kind.name))


def faults(inputs: Data) -> list[str]:
    """What is wrong with the program's own `pulumi.com/waitFor`."""
    wanted = annotation(inputs, "waitFor")
    wrong = [one for one in _listed(wanted) if not (CONDITION.fullmatch(one) or _fields(one) is not None)] if wanted else []
    return [f"{one!r} is neither `condition=TYPE[=STATUS]` nor `jsonpath={{.A.B}}[=VALUE]`" for one in wrong]


# What the kinds need


def _deployment(client: Client, live: Data) -> Seen:
    wanted, status, states = _replicas(live), _status(live), _conditions(live)
    have = min(_count(status, "updatedReplicas"), _count(status, "readyReplicas"))
    available = _is(states, "Available")
    rolled = _revision(live) == "1" or _reason(states, "Progressing") == "NewReplicaSetAvailable"
    if _observed(live) and available and rolled and have >= wanted:
        return Seen(True)
    problems = [f"[{one['reason']}] {one['message']}" for name in ("Progressing", "Available") if (one := _false(states, name))]
    return _waiting(client, live, have, wanted, problems)


def _stateful_set(client: Client, live: Data) -> Seen:
    wanted, status = _replicas(live), _status(live)
    current, newest = (str(status.get(f"{which}Revision") or "") for which in ("current", "update"))
    by_hand = dig(live, "spec", "updateStrategy", "type") == "OnDelete" and (dig(live, "metadata", "generation") or 0) > 1
    counted = ("replicas", "readyReplicas") if by_hand else ("replicas", "readyReplicas", "currentReplicas")
    if _observed(live) and all(_count(status, name) == wanted for name in counted) and (by_hand or (current and current == newest)):
        return Seen(True)
    return _waiting(client, live, _count(status, "readyReplicas"), wanted)


def _daemon_set(client: Client, live: Data) -> Seen:
    status = _status(live)
    wanted = _count(status, "desiredNumberScheduled")
    counted = ("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
    have = min(_count(status, name) for name in counted)
    if _observed(live) and "desiredNumberScheduled" in status and have >= wanted:
        return Seen(True)
    return _waiting(client, live, have, wanted)


def _job(client: Client, live: Data) -> Seen:
    states, status = _conditions(live), _status(live)
    if _is(states, "Complete") and status.get("startTime"):
        return Seen(True)
    counts = " | ".join(f"{word}: {_count(status, word.lower())}" for word in ("Active", "Succeeded", "Failed"))
    says = f'Waiting for Job "{_whole(live)}" to succeed ({counts})'
    if _is(states, "Failed"):
        why = states["Failed"]
        return Seen(False, says, (f"[{why.get('reason', 'Failed')}] {why.get('message', '')}".strip(),), failed=True)
    return Seen(False, says, _troubles(client, live))


def _pod(_: Client, live: Data) -> Seen:
    if _is(_conditions(live), "Ready") or _status(live).get("phase") == "Succeeded":
        return Seen(True)
    return Seen(False, f'Waiting for Pod "{_whole(live)}" to be ready', tuple(pod_troubles(live)))


def _service(client: Client, live: Data) -> Seen:
    spec = live.get("spec") or {}
    balanced = spec.get("type") == "LoadBalancer"
    if balanced and not dig(_status(live), "loadBalancer", "ingress"):
        why = "Service was not allocated an IP address; does your cloud provider support this?"
        return Seen(False, "[2/3] Attempting to allocate IP address to Service", (why,))
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None" or not spec.get("selector"):
        return Seen(True)
    points = client.there(ENDPOINTS, namespace_of(live), name_of(live))
    if points is not None and any(one.get("notReadyAddresses") for one in points.get("subsets") or []):
        why = "Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' may not match labels on any Pods"
        return Seen(False, "[1/3] Finding Pods to direct traffic to", (why,))
    return Seen(True)


def _ingress(_: Client, live: Data) -> Seen:
    if dig(_status(live), "loadBalancer", "ingress"):
        return Seen(True)
    why = "Ingress .status.loadBalancer field was not updated with a hostname/IP address."
    return Seen(False, "Waiting for the Ingress to be allocated an address", (why,))


def _claim(client: Client, live: Data) -> Seen:
    phase = str(_status(live).get("phase") or "")
    if phase == "Bound":
        return Seen(True)
    name = dig(live, "spec", "storageClassName")
    kept = client.there(STORAGE_CLASS, "", name) if isinstance(name, str) and name else None
    if phase == "Pending" and kept and kept.get("volumeBindingMode") == "WaitForFirstConsumer":
        return Seen(True)
    return Seen(False, f"PersistentVolumeClaim: [{name_of(live)}] is not ready. status.phase currently at: {phase}")


def _volume(_: Client, live: Data) -> Seen:
    phase = str(_status(live).get("phase") or "")
    return Seen(phase in ("Available", "Bound"), f"PersistentVolume: [{name_of(live)}] is {phase or 'new'}")


def _quota(_: Client, live: Data) -> Seen:
    return Seen(dig(live, "spec", "hard") == dig(live, "status", "hard"), "Waiting for the ResourceQuota to count")


RULES: Mapping[tuple[str, str], Rule] = {
    ("apps", "Deployment"): Rule(_deployment, read=True),
    ("apps", "StatefulSet"): Rule(_stateful_set, read=True),
    ("apps", "DaemonSet"): Rule(_daemon_set, read=True),
    ("batch", "Job"): Rule(_job, read=True),
    ("", "Pod"): Rule(_pod, read=True),
    ("", "Service"): Rule(_service, read=True),
    ("networking.k8s.io", "Ingress"): Rule(_ingress, read=True),
    ("", "PersistentVolumeClaim"): Rule(_claim, 300.0),
    ("", "PersistentVolume"): Rule(_volume, 300.0),
    ("", "ResourceQuota"): Rule(_quota, 60.0),
}


# Pods


def pod_troubles(pod: Data) -> list[str]:
    """What keeps a pod from running."""
    states = _conditions(pod)
    scheduled = states.get("PodScheduled") or {}
    if scheduled and scheduled.get("status") != "True":
        return [str(scheduled["message"])] if scheduled.get("reason") and scheduled.get("message") else []
    found = []
    for one in _status(pod).get("containerStatuses") or []:
        waiting, ended = dig(one, "state", "waiting") or {}, dig(one, "state", "terminated") or {}
        if waiting and waiting.get("reason") not in STARTING:
            found.append(f"[{waiting.get('reason', '')}] {waiting.get('message', '')}".strip())
        if ended.get("reason") and ended["reason"] != "Completed":
            found.append(f'container "{one.get("name", "")}" completed with exit code {ended.get("exitCode", 0)}')
    return found


def _troubles(client: Client, live: Data) -> tuple[str, ...]:
    """What keeps the pods that an object selects, each reason once."""
    labels = dig(live, "spec", "selector", "matchLabels")
    pods = client.list(POD, namespace_of(live), labels) if isinstance(labels, dict) and labels else []
    return tuple(dict.fromkeys(why for pod in pods for why in pod_troubles(pod)))


def _waiting(client: Client, live: Data, have: int, wanted: int, problems: list[str] | None = None) -> Seen:
    troubles = _troubles(client, live)
    says = f"{have} of {wanted} pods ready"
    return Seen(False, f"{says}: {'; '.join(troubles)}" if troubles else says, (*(problems or []), *troubles))


# What the program says itself


def _listed(wanted: str) -> list[str]:
    try:
        found = json.loads(wanted)
    except ValueError:
        found = None
    return [str(one) for one in found] if isinstance(found, list) and found else [wanted]


def _expression(text: str) -> Judge:
    if match := CONDITION.fullmatch(text):
        name, wanted = match["type"], (match["status"] or "True")
        return lambda _, live: _by_condition(live, name, wanted)
    fields = _fields(text)
    value = _value(text)
    if fields is None:
        return lambda _, __: Seen(False, problems=tuple(faults({"metadata": {"annotations": {"pulumi.com/waitFor": text}}})), failed=True)
    return lambda _, live: _by_field(live, fields, value)


def _by_condition(live: Data, name: str, wanted: str) -> Seen:
    found = next((one for key, one in _conditions(live).items() if key.lower() == name.lower()), None)
    ready = found is not None and str(found.get("status")).lower() == wanted.lower() and _observed(live)
    return Seen(ready, f"Waiting for condition {name}={wanted}", (str(found["message"]),) if found and found.get("message") else ())


def _by_field(live: Data, fields: list[str | int], value: str | None) -> Seen:
    found: Any = live
    for step in fields:
        in_list = isinstance(step, int) and isinstance(found, list) and step < len(found)
        found = found[step] if in_list else dig(found, str(step))
    text = str(found).lower() if isinstance(found, bool) else str(found)
    ready = found is not None and (value is None or text == value)
    return Seen(ready, f"Waiting for {'.'.join(map(str, fields))}" + (f" to be {value}" if value is not None else ""))


def _fields(text: str) -> list[str | int] | None:
    match = JSON_PATH.fullmatch(text)
    if match is None:
        return None
    found: list[str | int] = []
    at, path = 0, match["path"]
    while at < len(path):
        step = FIELD.match(path, at)
        if step is None:
            return None
        found.append(step[1] if step[1] is not None else int(step[2]))
        at = step.end()
    return found or None


def _value(text: str) -> str | None:
    match = JSON_PATH.fullmatch(text)
    return match["value"] if match else None


def _every(seen: list[Seen]) -> Seen:
    says = "; ".join(one.says for one in seen if not one.ready)
    problems = tuple(why for one in seen if not one.ready for why in one.problems)
    return Seen(all(one.ready for one in seen), says, problems, any(one.failed for one in seen))


# Parts of a live object


def _status(live: Data) -> Data:
    found = live.get("status")
    return found if isinstance(found, dict) else {}


def _count(status: Data, name: str) -> int:
    found = status.get(name)
    return found if isinstance(found, int) else 0


def _replicas(live: Data) -> int:
    found = dig(live, "spec", "replicas")
    return found if isinstance(found, int) else 1


def _observed(live: Data) -> bool:
    """Whether what is said of it is of its newest version. What does not count its versions is taken at its word."""
    seen, newest = _status(live).get("observedGeneration"), dig(live, "metadata", "generation")
    return seen is None or newest is None or seen >= newest if _status(live) else False


def _conditions(live: Data) -> dict[str, Data]:
    found = _status(live).get("conditions") or []
    return {str(one.get("type")): one for one in found if isinstance(one, dict)}


def _is(states: dict[str, Data], name: str) -> bool:
    return states.get(name, {}).get("status") == "True"


def _false(states: dict[str, Data], name: str) -> Data | None:
    found = states.get(name)
    return found if found and found.get("status") == "False" and found.get("reason") and found.get("message") else None


def _reason(states: dict[str, Data], name: str) -> str:
    return str(states.get(name, {}).get("reason") or "")


def _revision(live: Data) -> str:
    return str(dig(live, "metadata", "annotations", "deployment.kubernetes.io/revision") or "")


def _whole(live: Data) -> str:
    """`namespace/name`; the name alone in the default one."""
    return name_of(live) if namespace_of(live) in ("", "default") else f"{namespace_of(live)}/{name_of(live)}"
