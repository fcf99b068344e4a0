"""What runs without a machine of one's own: Cloud Run services and jobs, and schedules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from infra import planned_jobs
from infra.cost import jobs
from infra.cost.context import Context, elsewhere, whole
from infra.cost.line import ALWAYS, LineItem, Triple, columns, joined, listed, scaled, unknown
from infra.cost.usage import HOURS
from infra.declared import Declared

SECONDS = HOURS * 3600
DEFAULT_VCPUS, DEFAULT_GIB = Decimal(1), Decimal("0.5")
"""Of a container that says none. Source: https://cloud.google.com/run/docs/configuring/services/memory-limits and /cpu."""
UNITS = {
    "": Decimal(1) / 1024**3,
    "k": Decimal(1000) / 1024**3,
    "M": Decimal(1000**2) / 1024**3,
    "G": Decimal(1000**3) / 1024**3,
    "Ki": Decimal(1) / 1024**2,
    "Mi": Decimal(1) / 1024,
    "Gi": Decimal(1),
}
IDLE_MEMORY = "no source tells the rate of idle memory: at most that of active memory"
MILLION_OF_THOUSANDS = Decimal("0.001")


def vcpus(text: Any) -> Decimal | None:
    """`2`, `0.5` or `500m` as vCPUs; None for what is no such text."""
    match = re.fullmatch(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)(m?)", text) if isinstance(text, str) else None
    return None if match is None else Decimal(match[1]) / (1000 if match[2] else 1)


def gib(text: Any) -> Decimal | None:
    """`512Mi` or `2G` as GiB; None for what is no such text."""
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)(k|M|G|Ki|Mi|Gi)?", text) if isinstance(text, str) else None
    return None if match is None else Decimal(match[1]) * UNITS[match[2] or ""]


def _size(containers: Any) -> tuple[Decimal, Decimal] | None:
    """vCPUs and GiB of all containers of one instance; None where one is not known, or has what no table prices."""
    if not isinstance(containers, list | tuple) or not containers:
        return None
    total = (Decimal(0), Decimal(0))
    for index, _ in enumerate(containers):
        one = Declared("", "", {"containers": containers})
        limits = one.get(f"containers.{index}.resources.limits")
        if not isinstance(limits, dict | None) or set(limits or {}) - {"cpu", "memory"}:
            return None
        cpu = vcpus(limits["cpu"]) if limits and "cpu" in limits else DEFAULT_VCPUS
        memory = gib(limits["memory"]) if limits and "memory" in limits else DEFAULT_GIB
        if cpu is None or memory is None:
            return None
        total = (total[0] + cpu, total[1] + memory)
    return total


NO_SIZE = "the size of its containers is not known yet, or they have what no table prices"


def service(resource: Declared, context: Context) -> Iterator[LineItem]:
    """
    `gcp:cloudrunv2/service:Service`. Billed by request, unless its CPU is there between requests too; the API does the latter where
    `resources` is said and `cpuIdle` is not.
    """
    size = _size(resource.get("template.containers"))
    said = resource.get("template.containers.0.resources")
    by_request = said is None or resource.get("template.containers.0.resources.cpuIdle")
    least, most = _bounds(resource, "min"), _bounds(resource, "max")
    given = context.given(resource.name, "instances")
    if why := elsewhere(resource, context.region):
        yield unknown(resource.name, "Cloud Run service", why)
        return
    by_request = False if by_request is None else by_request
    if not isinstance(by_request, bool) or least is None or not (most is None or whole(most)):
        yield unknown(resource.name, "Cloud Run service", "its way of billing or its bounds are not known yet")
        return
    if most is None and given is None:
        say = f"say template.scaling.maxInstanceCount, or usage.resources.{resource.name}.instances"
        yield unknown(resource.name, "Cloud Run service", f"no maximum of its instances is declared: {say}")
        return
    bottom = Decimal(0 if by_request else least)
    top = Decimal(most) if most is not None else max(given.high if given else bottom, bottom)
    instances = context.between(resource.name, "instances", bottom, top)
    requests = context.per_resource(resource.name, "requests_thousands") if by_request else None
    if size is None:
        yield unknown(resource.name, "Cloud Run service", NO_SIZE)
        return
    cpu, memory = size
    if by_request:
        seconds = scaled(instances, SECONDS)
        yield context.metered(resource.name, "vCPU, busy", "run-cpu", context.region, scaled(seconds, cpu))
        yield context.metered(resource.name, "memory, busy", "run-memory", context.region, scaled(seconds, memory))
        if requests is not None:
            amount = scaled(columns(requests), MILLION_OF_THOUSANDS)
            yield context.metered(resource.name, "requests", "run-requests", context.region, amount)
        if least:
            yield from _idle(resource, least, cpu, memory, context)
    else:
        yield from _by_instance(resource, scaled(instances, SECONDS), cpu, memory, context)


def _bounds(resource: Declared, which: str) -> Any:
    """Instances at least or at most, of the revision or of the service; None at least: not known yet."""
    if resource.get("scaling.scalingMode") == "MANUAL":
        return resource.get("scaling.manualInstanceCount")
    values = [resource.get(f"{path}.{which}InstanceCount") for path in ("template.scaling", "scaling")]
    said = [one for one in values if one is not None]
    if which == "max":
        return min(said) if said and all(map(whole, said)) else said[0] if said else None
    return None if not all(map(whole, said)) else max(said, default=0)


def _idle(resource: Declared, least: int, cpu: Decimal, memory: Decimal, context: Context) -> Iterator[LineItem]:
    """Instances that are kept warm. Counted as idle all month, busy seconds on top: so never too low."""
    seconds = scaled(ALWAYS, least * SECONDS)
    note = f"{least} kept warm, all month"
    yield listed(resource.name, "vCPU, idle", "run-cpu-idle", context.region, scaled(seconds, cpu), note)
    line = listed(resource.name, "memory, idle", "run-memory", context.region, scaled(seconds, memory))
    if line.price is None:
        yield line
        return
    bounds = (Decimal(0), line.price.usd, line.price.usd)
    yield replace(line, status="bounded", unit_usd=bounds, note=joined(note, IDLE_MEMORY))


def _by_instance(
    resource: Declared, seconds: Triple, cpu: Decimal, memory: Decimal, context: Context, note: str = ""
) -> Iterator[LineItem]:
    yield context.metered(resource.name, "vCPU", "run-cpu-instance", context.region, scaled(seconds, cpu), note)
    yield context.metered(resource.name, "memory", "run-memory-instance", context.region, scaled(seconds, memory))


def job(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`gcp:cloudrunv2/job:Job`: each task is billed while it runs; and so are the machines that a job's runner makes."""
    said = context.given(resource.name, "hours_month")
    tasks = 1 if resource.get("template.taskCount") is None else resource.get("template.taskCount")
    size = _size(resource.get("template.template.containers"))
    hours, note = None if said is None else columns(said), ""
    plans = planned_jobs.plans_of(resource)
    if plans is None:
        yield unknown(resource.name, "machines", "what its runs make is not known yet")
    elif planned_jobs.is_sweep(resource):
        hours = hours or jobs.sweep(resource, context)
    elif plans:
        found = jobs.job(resource, plans[0], context)
        if found is None:
            yield unknown(resource.name, "machines", "when it runs is not known yet")
        else:
            machines, waits = found
            yield from machines
            if hours is None:
                hours, note = waits, "while a machine stands; high: as long as a run may take"
    if why := elsewhere(resource, context.region):
        yield unknown(resource.name, "Cloud Run job", why)
    elif size is None or not whole(tasks):
        yield unknown(resource.name, "Cloud Run job", NO_SIZE)
    elif hours is None:
        say = f"say usage.resources.{resource.name}.hours_month"
        yield unknown(resource.name, "Cloud Run job", f"no assumption says how long its tasks run: {say}")
    else:
        yield from _by_instance(resource, scaled(hours, Decimal(3600) * tasks), *size, context, note)


def schedule(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`gcp:cloudscheduler/job:Job`: a paused one is billed too, what it starts is billed where it runs."""
    yield context.metered(resource.name, "schedule", "scheduler-job", context.region, ALWAYS)


LINES = {
    "gcp:cloudrunv2/service:Service": service,
    "gcp:cloudrunv2/job:Job": job,
    "gcp:cloudscheduler/job:Job": schedule,
}
