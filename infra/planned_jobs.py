"""What the runner of a job will make, read off its declaration: machines that no program declares, and that rules and prices know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from infra.declared import Declared
from infra.labels import CONTAINER_KEY
from infra.queued_nodes import NODE

if TYPE_CHECKING:
    from infra.job_plan import JobPlan, MachinePlan

RUN_JOB = "gcp:cloudrunv2/job:Job"
ENVIRONMENT = "template.template.containers.0.envs"
PATH = "template.template.containers[0].envs"
CUSTOM_JOB = "google:aiplatform/v1:CustomJob"
"""No provider has such a resource: a custom job runs, and ends."""
CONTAINER = f"metadata.{CONTAINER_KEY}"
"""A template with this is one that a job's machines are made from."""


def plans_of(resource: Declared) -> tuple[JobPlan, ...] | None:
    """The plans of a Cloud Run job: none where it runs no job; None where they are not known yet, or are no plans."""
    if resource.type != RUN_JOB:
        return ()
    from pydantic import ValidationError

    from infra.job_plan import PLANS_VARIABLE, VARIABLE, JobPlan

    found: list[JobPlan] = []
    for one in _environment(resource):
        if one.get("name") not in (VARIABLE, PLANS_VARIABLE):
            continue
        try:
            said: Any = json.loads(one["value"])
            found += [JobPlan.model_validate(plan) for plan in (said if one["name"] == PLANS_VARIABLE else [said])]
        except (KeyError, TypeError, ValueError, RecursionError, ValidationError):
            return None
    return tuple(found)


def is_sweep(resource: Declared) -> bool:
    """Whether it looks after all jobs of the stack: what it may make is said by each of them already."""
    from infra.job_plan import PLANS_VARIABLE

    return any(one.get("name") == PLANS_VARIABLE for one in _environment(resource))


def own_plan(resource: Declared) -> JobPlan | None:
    """The plan of a job's runner; None for anything else, and where it is not known yet."""
    plans = plans_of(resource)
    return plans[0] if plans and not is_sweep(resource) else None


def nodes(resource: Declared) -> Iterator[tuple[str, Declared]]:
    """Nodes of the Cloud TPU API that it may make, each in each zone, as if they were declared by themselves; with what they are called."""
    plan = own_plan(resource)
    for machine in plan.machines if plan else ():
        for zone in plan.zones if plan and machine.form == "node" else ():
            yield f"{machine.provisioning} in {zone}", _node(resource, machine, zone)


def custom_jobs(resource: Declared) -> Iterator[tuple[str, Declared]]:
    """Custom jobs of Vertex AI that it may ask for, one for each way of buying, as if they were declared; with what they are called."""
    plan = own_plan(resource)
    for machine in plan.machines if plan else ():
        if machine.form == "custom-job":
            yield machine.provisioning, Declared(CUSTOM_JOB, resource.name, machine.custom_job, resource.urn)


def _node(resource: Declared, machine: MachinePlan, zone: str) -> Declared:
    account = dict(machine.node.get("serviceAccount") or {})
    inputs = machine.node | {"zone": zone, "serviceAccount": account | {"scopes": account.get("scope")}}
    return Declared(NODE, resource.name, inputs, resource.urn)


def _environment(resource: Declared) -> Iterator[dict[str, Any]]:
    found = resource.get(ENVIRONMENT)
    yield from (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()
