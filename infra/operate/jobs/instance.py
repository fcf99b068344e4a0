"""One host of Compute Engine, made of an instance template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.job_plan import JobPlan
from infra.labels import RUN_KEY
from infra.operate.jobs.machine import Machine, Order, Phase, in_zones
from infra.provider.google import Google

API = "compute.v1"
PHASES: Mapping[str, Phase] = {
    "PENDING": "coming",
    "PROVISIONING": "coming",
    "STAGING": "coming",
    "RUNNING": "running",
    "STOPPING": "leaving",
    "PENDING_STOP": "leaving",
    "SUSPENDING": "leaving",
    "DEPROVISIONING": "leaving",
    "STOPPED": "ended",
    "SUSPENDED": "ended",
    "TERMINATED": "ended",
}
"""Instance's status. Source: discovery document compute v1. Another one is `coming`: it may yet run."""
FLEX_WAIT_SECONDS = (90, 7200)
"""Least and most of `requestValidForDuration`.
Source: https://docs.cloud.google.com/compute/docs/instances/create-flex-start-vm, read 2026-11."""


class Instance:
    """
    Instances under the job's name.

    What is sent beside the template replaces parts of it as RFC 7396 has it: maps are merged, lists are replaced. So the metadata's items
    are sent whole. Source: https://docs.cloud.google.com/compute/docs/instances/create-vm-from-instance-template, read 2026-11.
    """

    form = "instance"
    named = True

    def __init__(self, google: Google, plan: JobPlan) -> None:
        self._google = google
        self._plan = plan

    def at(self, places: Sequence[str]) -> tuple[str, ...]:
        return in_zones(places)

    def every(self, zone: str) -> list[Machine]:
        return [found] if (found := self.look(zone)) else []

    def look(self, zone: str) -> Machine | None:
        found = self._google.found(API, "instances.get", project=self._plan.project, zone=zone, instance=self._plan.machine_name)
        if found is None:
            return None
        state = str(found.get("status", ""))
        since = str(found.get("lastStartTimestamp") or found.get("creationTimestamp", ""))
        return Machine.seen(self.form, zone, state, PHASES.get(state, "coming"), found.get("labels", {}), since)

    def make(self, zone: str, order: Order) -> dict[str, Any]:
        template = template_of(self._google, order.way.template)
        items = [one for one in template.get("metadata", {}).get("items", []) if one["key"] != RUN_KEY]
        scheduling = template.get("scheduling", {}) | {
            "maxRunDuration": {"seconds": str(order.run_seconds)},
            "instanceTerminationAction": "DELETE",
        }
        body: dict[str, Any] = {
            "name": self._plan.machine_name,
            "labels": template.get("labels", {}) | order.labels,
            "metadata": {"items": [*items, {"key": RUN_KEY, "value": order.metadata}]},
            "scheduling": scheduling,
        }
        if order.way.provisioning == "flex-start":
            least, most = FLEX_WAIT_SECONDS
            body["params"] = {"requestValidForDuration": {"seconds": str(min(most, max(least, order.wait_seconds)))}}
        return self._google.call(
            API,
            "instances.insert",
            project=self._plan.project,
            zone=zone,
            body=body,
            sourceInstanceTemplate=order.way.template,
            requestId=order.request_id(zone),
        )

    def failure(self, zone: str, operation: Mapping[str, Any]) -> tuple[int | str, str] | None:
        return failure(self._google, self._plan.project, zone, operation)

    def remove(self, machine: Machine) -> None:
        self._google.call(API, "instances.delete", project=self._plan.project, zone=machine.zone, instance=self._plan.machine_name)


def template_of(google: Google, name: str) -> dict[str, Any]:
    """Properties of a template: `projects/P/regions/R/instanceTemplates/T`, or `projects/P/global/instanceTemplates/T`."""
    words = name.split("/")
    if "regions" in words:
        found = google.call(API, "regionInstanceTemplates.get", project=words[1], region=words[3], instanceTemplate=words[5])
    else:
        found = google.call(API, "instanceTemplates.get", project=words[1], instanceTemplate=words[4])
    return dict(found.get("properties", {}))


def failure(google: Google, project: str, zone: str, operation: Mapping[str, Any]) -> tuple[int | str, str] | None:
    """
    Code and words of a zone's operation that has failed.

    What it says of itself counts: one that is not known any more has nothing to say.
    """
    ended = google.found(API, "zoneOperations.get", project=project, zone=zone, operation=str(operation["name"])) or {}
    errors = ended.get("error", {}).get("errors", [])
    return (str(errors[0].get("code", "")), str(errors[0].get("message", ""))) if errors else None
