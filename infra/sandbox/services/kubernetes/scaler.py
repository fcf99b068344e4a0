"""
The cluster autoscaler: nodes for pods that have none, and away with those that hold no pod.

A pool grows where a node of it would hold a pod, by the same judge as the scheduler's, within its limits. Nodes without pods go after ten
minutes, down to the pool's minimum; nodes with pods stay, however little those use. A zone without capacity is tried again after five
minutes; until then another zone, another pool, or the next rung of a compute class is taken.

Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler, read 2026-11.
"""

from __future__ import annotations

from typing import Any

from infra.catalog.nodes import Node
from infra.catalog.pods import PodNeed, judge, reasons, taken
from infra.sandbox.service import Body
from infra.sandbox.services.container import autoscaler, groups, parts, ways
from infra.sandbox.services.kubernetes import classes, nodes, scheduler, volumes
from infra.sandbox.services.kubernetes.objects import STORED
from infra.sandbox.services.kubernetes.view import View, controller


class Scaler:
    """What one look at a cluster's nodes knows."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._key = f"{STORED}/scaler/{view.cluster.name}"
        kept: dict[str, Any] = view.cluster.cloud.store.fact(self._key) or {}
        self._before = {"dry": dict(kept.get("dry", {})), "empty": dict(kept.get("empty", {}))}
        self.dry: dict[str, float] = {key: until for key, until in self._before["dry"].items() if until > view.now}
        """Pool and zone -> when it is tried again."""
        self.empty: dict[str, float] = dict(self._before["empty"])
        """Machine -> since when it holds no pod."""

    def keep(self) -> None:
        after = {"dry": self.dry, "empty": self.empty}
        if after != self._before:
            self.view.cluster.cloud.store.set_fact(self._key, after)

    def pools(self) -> dict[str, Body]:
        """Those that are scaled by their pods."""
        cloud = self.view.cluster.cloud
        found = cloud.store.items(parts.HOST, f"{self.view.cluster.name}/nodePools")
        return {
            name: body
            for name, body in found
            if body.get("autoscaling", {}).get("enabled") and body["status"] in autoscaler.RESTS and not autoscaler.is_declared(cloud, name)
        }

    def grow(self, name: str, pool: Body, need: PodNeed) -> dict[str, Node]:
        """Adds what of a pool would hold a pod: a node, or a whole slice. Answers the new machines, and what they offer."""
        cloud, shape = self.view.cluster.cloud, ways.slice_of(pool)
        step = shape.hosts if shape else 1
        able = []
        for zone in pool["locations"]:
            offered = nodes.template(pool, zone)
            if f"{name} {zone}" not in self.dry and offered is not None and not reasons(need, offered):
                able.append(zone)
        while able:
            sizes = groups.sizes_of(cloud, pool)
            if sum(sizes.values()) + step > autoscaler.most(pool):
                return {}
            able = [zone for zone in able if sizes[zone] + step <= autoscaler.room(pool)]
            if not able:
                return {}
            zone = able[0] if autoscaler.is_any(pool) else min(able, key=lambda zone: sizes[zone])
            known = {machine.name for machine in self.view.machines()}
            groups.resize(cloud, pool, {zone: sizes[zone] + step})
            gone = autoscaler.give_up(cloud, pool)
            self.view.resized()
            if not gone:
                return {machine.name: machine.node for machine in self.view.machines() if machine.name not in known}
            for one in gone:
                self.dry[f"{name} {one}"] = self.view.now + autoscaler.BACKOFF_SECONDS
            able = [zone for zone in able if zone not in gone]
        return {}


def run(view: View) -> None:
    scaler = Scaler(view)
    _up(scaler)
    _down(scaler)
    scaler.keep()


def _up(scaler: Scaler) -> None:
    view = scaler.view
    pods = scheduler.waiting(view)
    left = scheduler.free(view) if pods else {}
    lacking = False
    for pod in pods:
        need = scheduler.need_of(pod)
        if need is None or volumes.missing(view, pod):
            continue
        fit = judge(need, left.values())
        if not fit.holds:
            new = _more(scaler, pod, need)
            left |= new
            fit = judge(need, new.values())
        if fit.holds:
            left[fit.holds[0].name] = taken(fit.holds[0], [need])
        else:
            lacking = True
    if lacking and scaler.dry:
        view.later(min(scaler.dry.values()))


def _more(scaler: Scaler, pod: Body, need: PodNeed) -> dict[str, Node]:
    """
    New machines for a pod. Of several pools the one with the fewest accelerators, then the smallest node, is taken: which one Google's
    expander takes, no source says exactly.
    """
    if name := classes.chosen(pod):
        return classes.more(scaler, pod, need, name)

    def size(pool: Body) -> tuple[int, Any]:
        offered = nodes.template(pool, pool["locations"][0])
        return (sum(offered.extended.values()), offered.cpu) if offered else (0, 0)

    for name, pool in sorted(scaler.pools().items(), key=lambda one: size(one[1])):
        if new := scaler.grow(name, pool, need):
            return new
    return classes.automatic(scaler, pod, need)


def _down(scaler: Scaler) -> None:
    """Nodes that hold nothing but pods of DaemonSets go, those of a slice together."""
    view, cloud = scaler.view, scaler.view.cluster.cloud
    on = scheduler.standing(view)
    wanted = {name for name, pods in on.items() if any((controller(pod) or {}).get("kind") != "DaemonSet" for pod in pods)}
    pools = scaler.pools()
    mine = [machine for machine in view.machines() if machine.pool in pools]
    scaler.empty = {
        machine.name: scaler.empty.get(machine.name, view.now)
        for machine in mine
        if machine.name not in wanted and machine.ready <= view.now
    }
    for name, pool in pools.items():
        has = [machine for machine in mine if machine.pool == name]
        empty = [machine.name for machine in has if machine.name in scaler.empty]
        if ways.slice_of(pool) and len(empty) < len(has):
            continue
        over = [machine for machine in empty if scaler.empty[machine] + autoscaler.UNNEEDED_SECONDS <= view.now]
        room = max(0, len(has) - autoscaler.least(pool))
        if over and room:
            groups.take(cloud, pool, set(over[-room:]))
            scaler.empty = {machine: since for machine, since in scaler.empty.items() if machine not in over[-room:]}
            view.resized()
        elif empty and room:
            view.later(min(scaler.empty[machine] for machine in empty) + autoscaler.UNNEEDED_SECONDS)
    classes.clear(scaler)
