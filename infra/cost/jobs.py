"""
What a job costs: the machines that its runs make, by the hour, and the runner that waits for them.

They are not declared: the plan, in the environment of the Cloud Run job, says what they will be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from infra.catalog import tpu
from infra.catalog.gpu_machines import by_machine_type
from infra.catalog.vertex_prices import training_hour
from infra.cost.context import Context
from infra.cost.disks import Disk, disk_lines, share_of_month
from infra.cost.line import ALWAYS, LineItem, Triple, columns, joined, scaled, unknown
from infra.cost.machine import Machine, by_the_hour, tpu_line
from infra.cost.machine import machine_lines as lines_of
from infra.cost.usage import HOURS, Range
from infra.declared import Declared
from infra.job_plan import JobPlan, MachinePlan, Provisioning
from infra.schedule import Schedule, ScheduleError

CLOCK = "gcp:cloudscheduler/job:Job"
TEMPLATES = ("gcp:compute/instanceTemplate:InstanceTemplate", "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate")
SWEEP_MINUTES = Range(Decimal(1), Decimal(1), Decimal(5))
"""Of one sweep that finds nothing to do, where the stack file says nothing. An assumption, not a fact."""
MINUTES = Decimal(60)
WHOLE_RESERVATION = "counted while a run uses it: the reservation itself, which no stack makes, is billed for all of its hours"


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of a Cloud Run job in a month, by its clock."""

    month: Decimal
    note: str


def runs_of(resource: Declared, resources: Sequence[Declared]) -> Runs | None:
    """How often a Cloud Run job is started by the clocks of the stack; None where one of them is not known yet."""
    name, month, paused = resource.get("name"), Decimal(0), False
    for clock in resources:
        uri = clock.get("httpTarget.uri")
        if clock.type != CLOCK or not isinstance(uri, str) or not isinstance(name, str) or not uri.endswith(f"/jobs/{name}:run"):
            continue
        if clock.get("paused") is True:
            paused = True
            continue
        cron, zone = clock.get("schedule"), clock.get("timeZone")
        try:
            month += Schedule(cron, zone if zone is not None else "Etc/UTC").runs_a_month
        except (ScheduleError, TypeError, AttributeError):
            return None
    note = "" if month else "its schedule is paused: no run" if paused else "no schedule: no run"
    return Runs(month, note)


def machine_lines(resource: Declared, plan: JobPlan, runs: Triple, minutes: Triple, context: Context, note: str) -> Iterator[LineItem]:
    """
    The chips of a job's machines, their hosts included, or machines and GPUs; and their boot disks.

    Low is the cheapest of its ways of buying, expected the first, high the dearest: nobody can tell which one has room.

    Args:
        minutes: Of one run.
    """
    hours = _hours(runs, minutes)
    on_vertex = any(one.form == "custom-job" for one in plan.machines)
    if not on_vertex:
        context.stand(scaled(ALWAYS, plan.hosts), hours)
    for line in _machine(resource.name, plan, hours):
        yield replace(line, note=joined(note, line.note)) if line.status != "unknown" else line
    if on_vertex:
        yield unknown(resource.name, "boot disk", "no source says what Vertex AI charges for the disk of a custom job")
    made_from = next((one.template.rpartition("/")[2] for one in plan.machines if one.template), "")
    for template in context.resources:
        if made_from and template.type in TEMPLATES and template.get("name") == made_from:
            disk = Disk(template.get("disks.0.diskType"), template.get("disks.0.diskSizeGb"), None, None)
            yield from disk_lines(resource.name, "boot disk", disk, plan.region, share_of_month(scaled(hours, plan.hosts)))


def at_most(plan: JobPlan) -> Decimal | None:
    """USD that the machines of one run cost at most; None where a price is unknown."""
    hours = Decimal(plan.max_run_minutes) / MINUTES
    months = [line.usd_month for line in _machine(plan.job, plan, (hours, hours, hours))]
    known = [month[2] for month in months if month]
    return sum(known, Decimal(0)) if len(known) == len(months) else None


def _machine(name: str, plan: JobPlan, hours: Triple) -> list[LineItem]:
    """What the machine is billed as: the chips of a slice; a machine with its GPUs, and those that are attached to it."""
    ways = [one.provisioning for one in plan.machines]
    try:
        parts = zip(*(_of_way(name, plan, way, hours) for way in plan.machines), strict=True)
    except tpu.UnknownAcceleratorType as error:
        return [unknown(name, f"{plan.accelerator_type} {', '.join(ways)}", str(error))]
    return [_by_way(ways, lines) for lines in parts]


def _of_way(name: str, plan: JobPlan, machine: MachinePlan, hours: Triple) -> list[LineItem]:
    way = machine.provisioning
    if machine.form == "custom-job":
        machine_type, accelerator = machine.machine_of_vertex
        hour = partial(training_hour, machine_type, accelerator, plan.region)
        return [by_the_hour(name, f"{machine_type} on Vertex AI {way}", way, hour, hours)]
    if not plan.machine_type:
        return [tpu_line(name, tpu.shape(plan.accelerator_type), plan.region, way, hours)]
    attached = () if by_machine_type(plan.machine_type) else ((plan.accelerator_type, plan.chips),)
    return list(lines_of(Machine(name, plan.machine_type, plan.region, way, hours, attached)))


def _by_way(ways: list[Provisioning], lines: Sequence[LineItem]) -> LineItem:
    """One part of the machine, bought in any of its ways: a line for each."""
    what = f"{lines[0].what.removesuffix(ways[0])}{', '.join(ways)}"
    prices = [line.unit_usd for line in lines]
    known = [price for price in prices if price]
    if len(known) < len(prices):
        return replace(next(line for line in lines if not line.unit_usd), what=what)
    unit = (min(one[0] for one in known), known[0][1], max(one[2] for one in known))
    ceiling = max(lines, key=lambda line: line.unit_usd[2] if line.unit_usd else Decimal(0))
    note = lines[0].note
    if len(ways) > 1:
        cheapest = ways[[one[0] for one in known].index(unit[0])]
        dearest = "on-demand" if ceiling.ceiling else ways[lines.index(ceiling)]
        bounds = f"low: {cheapest}, {unit[0].normalize():f}; high: {dearest}, {unit[2].normalize():f}"
        note = joined("Spot prices change monthly" if ways[0] == "spot" else note, bounds if unit[0] < unit[2] else "")
    if "reservation" in ways:
        note = joined(note, WHOLE_RESERVATION)
    status = "bounded" if len(ways) > 1 else lines[0].status
    return replace(lines[0], what=what, unit_usd=unit, status=status, ceiling=ceiling.ceiling or ceiling.price, note=note)


def job(resource: Declared, plan: JobPlan, context: Context) -> tuple[list[LineItem], Triple] | None:
    """
    Lines of a job's machines, and the hours that its runner runs in a month; None where its clock is not known yet.

    A run is counted with all the machine time that it may use, unless `usage` says how long one is: no other figure is known.
    """
    found = runs_of(resource, context.resources)
    said_runs, said_minutes = context.given(resource.name, "runs_month"), context.given(resource.name, "run_minutes")
    if found is None and said_runs is None:
        context.machines.append(None)
        return None
    runs = columns(said_runs) if said_runs else scaled(ALWAYS, found.month if found else Decimal(0))
    longest = Decimal(plan.max_run_minutes)
    minutes = (longest, longest, longest)
    if said_minutes is not None:
        if said_minutes.high > longest:
            context.outside(resource.name, "run_minutes", f"{said_minutes.high:f} is more than max_run_minutes", f"0 to {longest:f}")
        minutes = (said_minutes.low, said_minutes.expected, longest)
    else:
        context.default(resource.name, "run_minutes", Range(*minutes))
    note = joined("" if said_runs or found is None else found.note, _each(runs, minutes))
    if runs[2] * minutes[2] > HOURS * MINUTES:
        note = joined(note, f"never two at once: {HOURS:f} h a month at most")
    machines = list(machine_lines(resource, plan, runs, minutes, context, note))
    seconds = _seconds(resource.get("template.template.timeout"))
    task = (minutes[0], minutes[1], max(minutes[2], Decimal(seconds) / MINUTES))
    return machines, _hours(runs, task)


def sweep(resource: Declared, context: Context) -> Triple | None:
    """Hours that the sweep runs in a month; None where its clock is not known yet. A run that it goes on with is counted with its job."""
    found, said = runs_of(resource, context.resources), context.given(resource.name, "run_minutes")
    if found is None:
        return None
    if said is None:
        said = SWEEP_MINUTES
        context.default(resource.name, "run_minutes", said)
    return scaled(columns(said), found.month / MINUTES)


def _each(runs: Triple, minutes: Triple) -> str:
    return f"{runs[1].quantize(Decimal('0.1')):f} runs of {minutes[1]:f} min" if runs[1] else ""


def _seconds(timeout: object) -> int:
    """Of a duration as Cloud Run writes it: `600s`."""
    text = timeout.removesuffix("s") if isinstance(timeout, str) else ""
    return int(text) if text.isascii() and text.isdigit() else 0


def _hours(runs: Triple, minutes: Triple) -> Triple:
    """Hours of all runs of a month: a job has one machine, and a run that finds another one at work ends, so no more than the month has."""
    low, expected, high = (min(HOURS, many * long / MINUTES) for many, long in zip(runs, minutes, strict=True))
    return (low, expected, high)
