"""A node of the Cloud TPU API. It has no run limit of its own: it stays until it is removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.job_plan import JobPlan
from infra.labels import RUN_KEY
from infra.operate.jobs.machine import Machine, Order, Phase, in_zones
from infra.provider.google import Google

API = "tpu.v2"
NODES = "projects.locations.nodes"
PHASES: Mapping[str, Phase] = {
    "CREATING": "coming",
    "STARTING": "coming",
    "RESTARTING": "coming",
    "REIMAGING": "coming",
    "REPAIRING": "coming",
    "READY": "running",
    "DELETING": "leaving",
    "STOPPING": "leaving",
    "STOPPED": "ended",
    "PREEMPTED": "ended",
    "TERMINATED": "ended",
}
"""Node's state. Source: discovery document tpu v2. Another one is `coming`: it may yet run, and is waited for no longer than others."""


class Node:
    """Nodes under the job's name."""

    form = "node"
    named = True

    def __init__(self, google: Google, plan: JobPlan) -> None:
        self._google = google
        self._plan = plan

    def at(self, places: Sequence[str]) -> tuple[str, ...]:
        return in_zones(places)

    def every(self, zone: str) -> list[Machine]:
        return [found] if (found := self.look(zone)) else []

    def look(self, zone: str) -> Machine | None:
        found = self._google.found(API, f"{NODES}.get", name=self._name(zone))
        if found is None:
            return None
        state, since = str(found.get("state", "")), str(found.get("createTime", ""))
        return Machine.seen(self.form, zone, state, PHASES.get(state, "coming"), found.get("labels", {}), since)

    def make(self, zone: str, order: Order) -> dict[str, Any]:
        node = dict(order.way.node)
        body = node | {
            "labels": node.get("labels", {}) | order.labels,
            "metadata": node.get("metadata", {}) | {RUN_KEY: order.metadata},
        }
        parent = f"projects/{self._plan.project}/locations/{zone}"
        return self._google.call(API, f"{NODES}.create", parent=parent, nodeId=self._plan.machine_name, body=body)

    def failure(self, zone: str, operation: Mapping[str, Any]) -> tuple[int | str, str] | None:
        ended = self._google.found(API, "projects.locations.operations.get", name=str(operation["name"])) or {}
        failed = ended.get("error")
        return (int(failed.get("code", 0)), str(failed.get("message", ""))) if failed else None

    def remove(self, machine: Machine) -> None:
        self._google.call(API, f"{NODES}.delete", name=self._name(machine.zone))

    def _name(self, zone: str) -> str:
        return f"projects/{self._plan.project}/locations/{zone}/nodes/{self._plan.machine_name}"
