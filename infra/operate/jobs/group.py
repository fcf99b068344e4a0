"""
Several hosts of Compute Engine: a managed instance group in bulk mode, all of them at once or none.

What is of one try is the group's `allInstancesConfig`: labels and metadata over those of the template, so that no template is made for a
run that would have to be taken away again. The template's own run limit stays, since nothing of a group says another: the runner, not
Compute Engine, ends a later try in time. A group has no labels itself: whose it is, is read from the same place.
Source: https://docs.cloud.google.com/compute/docs/instance-groups/set-mig-aic, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.job_plan import JobPlan
from infra.labels import RUN_KEY
from infra.operate.jobs import instance
from infra.operate.jobs.machine import Machine, Order, Phase, in_zones
from infra.provider.calls import GoogleError
from infra.provider.google import NOT_THERE, Google

API = instance.API
MANAGERS = "instanceGroupManagers"
GONE = ("DELETING", "ABANDONING")


class Group:
    """Groups under the job's name."""

    form = "group"
    named = True

    def __init__(self, google: Google, plan: JobPlan) -> None:
        self._google = google
        self._plan = plan

    def at(self, places: Sequence[str]) -> tuple[str, ...]:
        return in_zones(places)

    def every(self, zone: str) -> list[Machine]:
        return [found] if (found := self.look(zone)) else []

    def look(self, zone: str) -> Machine | None:
        where = self._where(zone)
        try:
            found = self._google.call(API, f"{MANAGERS}.get", **where)
            hosts = self._google.pages(API, f"{MANAGERS}.listManagedInstances", "managedInstances", **where)
        except GoogleError as error:
            if error.code == NOT_THERE:
                return None
            raise
        labels = found.get("allInstancesConfig", {}).get("properties", {}).get("labels", {})
        state, phase = self._state(hosts)
        since = str(found.get("creationTimestamp", ""))
        return Machine.seen(self.form, zone, state, phase, labels, since)

    def _state(self, hosts: list[dict[str, Any]]) -> tuple[str, Phase]:
        """Of all its hosts: it works only as a whole."""
        states = [str(host.get("instanceStatus", "")) for host in hosts]
        running = states.count("RUNNING")
        said = f"{running} of {self._plan.hosts} hosts RUNNING"
        if any(host.get("currentAction") in GONE for host in hosts):
            return f"{said}, DELETING", "leaving"
        if running >= self._plan.hosts:
            return said, "running"
        other = sorted({state for state in states if state not in ("", "RUNNING")})
        if other:
            said += f", others {', '.join(other)}"
        broken = 0 < len(hosts) < self._plan.hosts  # all are made at once, or none: one of them is gone, and no other one joins a slice
        return said, "ended" if broken or any(instance.PHASES.get(state) in ("leaving", "ended") for state in states) else "coming"

    def make(self, zone: str, order: Order) -> dict[str, Any]:
        body = {
            "name": self._plan.machine_name,
            "baseInstanceName": order.way.base_instance_name,
            "versions": [{"instanceTemplate": order.way.template}],
            "targetSize": self._plan.hosts,
            "targetSizePolicy": {"mode": "BULK"},
            "resourcePolicies": {"workloadPolicy": order.way.workload_policy},
            "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},  # a host alone that is made anew joins no slice
            "allInstancesConfig": {"properties": {"labels": order.labels, "metadata": {RUN_KEY: order.metadata}}},
        }
        return self._google.call(
            API, f"{MANAGERS}.insert", project=self._plan.project, zone=zone, body=body, requestId=order.request_id(zone)
        )

    def failure(self, zone: str, operation: Mapping[str, Any]) -> tuple[int | str, str] | None:
        """Of the group itself, else what it says of its hosts: a group without room is there, and goes on asking for them."""
        if failed := instance.failure(self._google, self._plan.project, zone, operation):
            return failed
        try:
            said = self._google.pages(API, f"{MANAGERS}.listErrors", "items", **self._where(zone))
        except GoogleError as error:
            if error.code == NOT_THERE:
                return None
            raise
        errors = [one.get("error", {}) for one in said]
        return (str(errors[0].get("code", "")), str(errors[0].get("message", ""))) if errors else None

    def remove(self, machine: Machine) -> None:
        self._google.call(API, f"{MANAGERS}.delete", **self._where(machine.zone))

    def _where(self, zone: str) -> dict[str, Any]:
        return {"project": self._plan.project, "zone": zone, "instanceGroupManager": self._plan.machine_name}
