"""The jobs of a stack, as `accelform check` shows them: what each tries in which order, when it runs next, and what a run costs at most."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from infra.catalog.wish import API_NAMES
from infra.check import Checked
from infra.cli.output import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from infra.components.job import JobSpec
    from infra.job_plan import JobPlan


def as_json(checked: Checked, now: float) -> list[dict[str, Any]]:
    """
    Each job, for machines.

    Args:
        now: Seconds since 1970, after which the next run is.
    """
    from infra.cost.jobs import at_most

    plans = _plans(checked)
    found = []
    for name, spec in checked.jobs.items():
        usd = at_most(plans[name])
        found.append(
            {
                "name": name,
                "workload": spec.runs,
                "machine_type": spec.machine_type,
                "accelerator_type": spec.accelerator,
                "accelerators": spec.chips,
                "hosts": spec.hosts,
                "way": spec.chosen_way,
                "provisioning": list(spec.provisioning),
                "zones": list(plans[name].zones),
                "schedule": spec.schedule,
                "timezone": spec.timezone,
                "paused": spec.paused,
                "next_run": _next(spec, now),
                "max_run_minutes": spec.max_run_minutes,
                "machine_usd_a_run_at_most": None if usd is None else f"{usd:f}",
            }
        )
    return found


def table(checked: Checked, now: float) -> Table:
    """Each job, for people."""
    from rich.text import Text

    shown = plain_table("job", "machine", "made by", "tries, in this order", "next run", "a run's machine, at most")
    for one in as_json(checked, now):
        hosts = f", {one['hosts']} hosts" if one["hosts"] > 1 else ""
        tries = "; ".join(f"{way} in {', '.join(one['zones'])}" for way in one["provisioning"])
        usd = one["machine_usd_a_run_at_most"]
        cost = "unknown" if usd is None else f"{float(usd):.2f} USD, {one['max_run_minutes']} min"
        way = API_NAMES[one["way"]]
        when = one["next_run"] or ("paused" if one["paused"] else "when somebody runs it")
        gpus = f"{one['machine_type']}, {one['accelerators']} x " if one["machine_type"] else ""
        row = (one["name"], f"{gpus}{one['accelerator_type']}{hosts}", way, tries, when, cost)
        shown.add_row(*(Text(cell) for cell in row))
    return shown


def _next(spec: JobSpec, now: float) -> str | None:
    """When it runs next, in its own time zone; None where no clock starts it."""
    clock = spec.clock
    if clock is None or spec.paused:
        return None
    due = dt.datetime.fromtimestamp(clock.next(now), ZoneInfo(clock.timezone))
    return f"{due:%Y-%m-%d %H:%M} {clock.timezone}"


def _plans(checked: Checked) -> dict[str, JobPlan]:
    from infra.planned_jobs import own_plan

    return {plan.job: plan for resource in checked.resources if (plan := own_plan(resource))}
