"""
The scheduler: gives pods the nodes that hold them, by the catalogue's judge (`infra.catalog.pods`).

What depends on other pods (affinity between them, spread) is not looked at, and no pod is taken away for one of higher priority.
"""

from __future__ import annotations

import json

from infra.catalog.nodes import Node
from infra.catalog.pods import PodNeed, judge, taken
from infra.catalog.quantities import BadQuantity
from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import volumes
from infra.sandbox.services.kubernetes.pods import is_over, lives
from infra.sandbox.services.kubernetes.view import POD, View, condition, with_condition

_NEEDS: dict[str, PodNeed | None] = {}
KEPT = 4096
"""Needs that are remembered: pods of one template have the same."""


def need_of(pod: Body) -> PodNeed | None:
    """What a pod asks of a node; None where it asks for something that is no quantity."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    text = json.dumps(spec, sort_keys=True)
    if text not in _NEEDS:
        if len(_NEEDS) >= KEPT:
            _NEEDS.clear()
        try:
            _NEEDS[text] = PodNeed.of(spec)
        except BadQuantity:
            _NEEDS[text] = None
    return _NEEDS[text]


def waiting(view: View) -> list[Body]:
    """Pods without a node that want one, the most important first."""
    found = [pod for pod in view.all(POD) if lives(pod) and not pod["spec"].get("nodeName") and not pod["spec"].get("schedulingGates")]
    return sorted(found, key=lambda pod: -int(pod["spec"].get("priority") or 0))


def standing(view: View) -> dict[str, list[Body]]:
    """Node -> the pods on it that have not ended."""
    found: dict[str, list[Body]] = {}
    for pod in view.all(POD):
        if pod["spec"].get("nodeName") and not is_over(pod):
            found.setdefault(pod["spec"]["nodeName"], []).append(pod)
    return found


def free(view: View) -> dict[str, Node]:
    """Machine -> what is left of it, those that begin among them."""
    on = standing(view)
    return {
        machine.name: taken(machine.node, [need for pod in on.get(machine.name, ()) if (need := need_of(pod))])
        for machine in view.machines()
    }


def run(view: View) -> None:
    pods = waiting(view)
    if not pods:
        return
    ready = {machine.name for machine in view.machines() if not machine.down and machine.ready <= view.now}
    for machine in view.machines():
        if machine.name not in ready:
            view.later(max(machine.ready, view.now + 1.0))
    left = {name: node for name, node in free(view).items() if name in ready}
    counts = {name: len(pods) for name, pods in standing(view).items()}
    for pod in pods:
        if why := volumes.missing(view, pod):
            refuse(view, pod, why)
            continue
        need = need_of(pod)
        fit = judge(need, left.values()) if need is not None else None
        if fit is not None and fit.holds:
            assert need is not None
            node = min(fit.holds, key=lambda node: (counts.get(node.name, 0), node.name))
            left[node.name] = taken(node, [need])
            counts[node.name] = counts.get(node.name, 0) + 1
            conditions = with_condition(view, pod.get("status", {}).get("conditions"), "PodScheduled", True, "")
            bound = {**pod, "spec": {**pod["spec"], "nodeName": node.name}}
            view.keep(POD, {**bound, "status": {**pod.get("status", {"phase": "Pending"}), "conditions": conditions}})
        else:
            reasons = list(dict.fromkeys(why for _, several in (fit.near if fit else ()) for why in several))
            refuse(view, pod, f"0/{len(left)} nodes are available: {'; '.join(reasons) or 'there is none'}.")


def refuse(view: View, pod: Body, message: str) -> None:
    """Says why a pod has no node."""
    old = condition(pod.get("status", {}).get("conditions"), "PodScheduled")
    if old is None or old.get("message") != message:
        conditions = with_condition(view, pod.get("status", {}).get("conditions"), "PodScheduled", False, "Unschedulable", message)
        view.status(POD, pod, {**pod.get("status", {"phase": "Pending"}), "conditions": conditions})
