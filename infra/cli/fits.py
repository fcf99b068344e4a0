"""`accelform catalog fits`."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from typing import Any

from infra.catalog import fits_tpu, fits_vertex
from infra.catalog.fits import Verdict, judge
from infra.catalog.gpu import Gpu, UnknownGpu, gpu
from infra.catalog.gpu_machines import machines, n1_size
from infra.catalog.named import UnknownName, resolve
from infra.catalog.things import Hour
from infra.catalog.tpu import TpuShape
from infra.catalog.wish import API_NAMES, APIS, WAYS, Near, Wish
from infra.cli.output import aligned, print_json
from infra.errors import ExitCode, Problem, SpecError, nearest

COMMAND = "accelform catalog fits"
PLACEMENTS = ("compact", "spread")
USES = ("prediction", "training")
SAYS = {
    "works": "works",
    "unconfirmed": "unconfirmed: a weak source alone has it",
    "unknown": "unknown: no source that was read has it, and none is complete",
    "impossible": "impossible",
}


def run(
    name: str,
    options: dict[str, str | None],
    *,
    count: int | None,
    nodes: int | None,
    unconfirmed: bool,
    as_json: bool,
) -> int:
    """
    Args:
        options: Values of --zone, --region, --as, --on, --topology, --with, --use, --placement, --partition, --reservation, by these words.

    Raises:
        SpecError: With every option that is none.
    """
    verdict = judge(_wish(name, options, count=count, nodes=nodes), unconfirmed=unconfirmed)
    if as_json:
        print_json(_plain(name, verdict))
    else:
        sys.stdout.write(_text(verdict))
    return ExitCode.OK if verdict.kind == "works" else ExitCode.FINDINGS


def _wish(name: str, options: dict[str, str | None], *, count: int | None, nodes: int | None) -> Wish:
    """The wish of a command line; names that mean one thing are put right."""
    problems: list[Problem] = []

    def word(option: str, known: tuple[str, ...], default: str) -> Any:
        value = options.get(option)
        if value is None:
            return default
        if value not in known:
            close = nearest(value.lower()[:60], known, 1)
            fix = f"--{option} {close[0]}" if close else ""
            problems.append(Problem(f"--{option}", f"{value[:60]!r} is not one of the words here", ", ".join(known), fix))
        return value

    machine, accelerator, api = _named(name, problems)
    is_named = not problems
    wanted = options.get("with")
    if wanted is not None:
        attached = _gpu(wanted, problems)
        if is_named and accelerator and accelerator != attached:
            problems.append(
                Problem("--with", f"{name[:60]} is an accelerator itself", "a machine type such as n1-standard-4", "leave it out")
            )
        accelerator = attached
    topology = options.get("topology") or ""
    if topology and not re.fullmatch(r"[0-9]{1,4}(x[0-9]{1,4}){1,2}", topology):
        problems.append(Problem("--topology", f"{topology[:60]!r} is no topology", "chips along each axis, such as 2x4 or 2x2x1"))
    wish = Wish(
        word("on", APIS, api),
        accelerator,
        machine,
        count,
        topology,
        options.get("zone") or "",
        options.get("region") or "",
        word("as", WAYS, "on-demand"),
        options.get("reservation") or "",
        word("placement", PLACEMENTS, ""),
        word("use", USES, "prediction"),
        nodes,
        options.get("partition") or "",
    )
    if problems:
        raise SpecError(COMMAND, problems)
    return wish


def _named(name: str, problems: list[Problem]) -> tuple[str, str, str]:
    """Machine type, accelerator, and the API that makes it unless another is named."""
    lower = name.strip().lower()
    if lower in machines() or n1_size(lower):
        return lower, "", "compute-engine"
    if lower in fits_tpu.machines():
        return lower, "", fits_tpu.able(fits_tpu.machines()[lower][0])[0]
    try:
        found = resolve(name)
    except UnknownName as error:
        allowed = ", ".join(error.nearest) or "a TPU slice such as v6e-8, a GPU such as nvidia-l4, a machine type such as g2-standard-4"
        fix = f"{COMMAND} {error.nearest[0]}" if error.nearest else ""
        problems.append(Problem("NAME", f"{name[:60]!r} {error.message}", allowed, fix))
        return "", name, "compute-engine"
    if isinstance(found, TpuShape):
        return "", found.accelerator_type, fits_tpu.able(found)[0]
    return ("", found.accelerator_type, "compute-engine") if isinstance(found, Gpu) else (found.machine_type, "", "compute-engine")


def _gpu(name: str, problems: list[Problem]) -> str:
    plain = fits_vertex.plain_names().get(name, name)
    try:
        return gpu(plain).accelerator_type
    except UnknownGpu as error:
        if error.right:
            return error.right
        allowed = ", ".join(error.nearest) or "a GPU such as nvidia-tesla-t4"
        problems.append(Problem("--with", f"{name[:60]!r} is not a GPU of Google Cloud", allowed))
        return name


def _text(verdict: Verdict) -> str:
    lines = [f"{verdict.wish.words()}: {SAYS[verdict.kind]}"]
    if verdict.kind == "works":
        if verdict.shape is not None:
            machine = f" of {verdict.shape.machine_type}" if verdict.shape.machine_type else ""
            lines.append(f"hosts: {verdict.shape.hosts}{machine}, topology {verdict.shape.topology or 'unknown'}")
        hour = verdict.hour
        lines.append("USD an hour: unknown" if hour is None else f"USD an hour: {_usd(hour)} ({hour.trust}, as of {hour.as_of})")
        lines += [f"note: {note}" for note in verdict.notes]
        return "\n".join(lines) + "\n"
    rows = [(one.part, _value(verdict.wish, one.part), one.message, ", ".join(one.allowed[:8]), one.source) for one in verdict.reasons]
    lines += ["", aligned(("part", "is", "which", "allowed", "source"), rows, fold=44), ""]
    if verdict.nearest:
        lines += ["what works instead, nearest first:", "", _near(verdict.nearest), ""]
    else:
        lines.append("nothing near is known to work")
    if verdict.kind in ("unconfirmed", "unknown"):
        lines.append("whoever knows better says so in the stack file, under `accelform:confirmed`: what, zone, because")
    return "\n".join(lines) + "\n"


def _usd(hour: Hour) -> str:
    """A price, with its bounds where no source has it exactly."""
    between = f", {hour.usd_low:.4f} to {hour.usd_high:.4f}" if hour.usd_low != hour.usd_high else ""
    return f"{hour.usd:.4f}{between}"


def _hour(hour: Hour) -> dict[str, str]:
    amounts = {"usd": f"{hour.usd:f}", "usd_low": f"{hour.usd_low:f}", "usd_high": f"{hour.usd_high:f}"}
    return {**amounts, "trust": hour.trust, "as_of": hour.as_of, "source": hour.source}


def _value(wish: Wish, part: str) -> str:
    value = getattr(wish, part)
    return "not said" if value in ("", None) else str(value)


def _near(found: tuple[Near, ...]) -> str:
    columns = ("what", "on", "in", "as", "else", "USD an hour")
    rows = []
    for near in found:
        one = near.wish
        what = " ".join(filter(None, (one.machine_type, f"{one.count} x" if one.count is not None else "", one.accelerator_type)))
        nodes = "" if one.nodes is None else f"{one.nodes} nodes"
        weak = "" if near.kind == "works" else near.kind
        rest = ", ".join(filter(None, (one.topology, nodes, one.placement, one.partition, one.reservation, weak)))
        price = "unknown" if near.usd is None else f"{near.usd:.4f}"
        rows.append((what, API_NAMES[one.api], one.place, one.provisioning, rest, price))
    return aligned(columns, rows, right=("USD an hour",), fold=48)


def _plain(asked: str, verdict: Verdict) -> dict[str, Any]:
    """For machines: amounts as text."""
    hour, slice_ = verdict.hour, verdict.shape
    return {
        "asked": asked,
        "wish": asdict(verdict.wish),
        "kind": verdict.kind,
        "works": verdict.kind == "works",
        "hosts": None if slice_ is None else slice_.hosts,
        "topology": None if slice_ is None else slice_.topology or None,
        "hour": None if hour is None else _hour(hour),
        "notes": verdict.notes,
        "reasons": [
            {"part": one.part, "kind": one.kind, "message": one.message, "allowed": one.allowed, "source": one.source}
            for one in verdict.reasons
        ],
        "nearest": [
            {"wish": asdict(one.wish), "kind": one.kind, "usd_hour": None if one.usd is None else f"{one.usd:f}"} for one in verdict.nearest
        ],
    }
