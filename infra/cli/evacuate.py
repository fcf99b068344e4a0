"""`accelform evacuate`: the files of a pull request that leaves a region, and what is to be done around it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import print_json
from infra.errors import ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from decimal import Decimal

    from infra.cost.usage import Range
    from infra.gitops.evacuate import Copy, Evacuation, NewFile

WHERE = "accelform evacuate"
SIZES = ("data", "models", "images")
COLUMNS = ("low", "expected", "high")


def run(
    name: str, folder: Path, region: str, *, stack: str | None, said: Sequence[str], gib: Sequence[str], dry_run: bool, as_json: bool
) -> int:
    """Writes what the pull request holds. Where a person must decide something, the files are written too, and the code says so."""
    from infra.gitops import evacuate

    found = evacuate.plan(name, folder, region, stack=stack, said=said, gib=_sizes(gib))
    if not dry_run:
        evacuate.write(found)
    code = ExitCode.OK if found.is_decided else ExitCode.FINDINGS
    if as_json:
        print_json({"exit_code": int(code), "dry_run": dry_run, **_plain(found)})
    else:
        sys.stdout.write("\n".join(_text(found, dry_run=dry_run)) + "\n")
    return code


def _sizes(every: Sequence[str]) -> dict[str, Range]:
    """
    Raises:
        SpecError: One is not of its form.
    """
    from decimal import Decimal

    from infra.cost.usage import QUANTITY_MAX, Range

    found, problems = {}, []
    for text in every:
        key, _, value = text.partition("=")
        if key not in SIZES or not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", value) or Decimal(value) > QUANTITY_MAX:
            problems.append(Problem("--gib", f"{text[:60]!r} is no size", f"one of {', '.join(SIZES)}, = and GiB: data=120"))
            continue
        found[key] = Range(Decimal(value), Decimal(value), Decimal(value))
    if problems:
        raise SpecError(WHERE, problems)
    return found


def _text(found: Evacuation, *, dry_run: bool) -> Iterator[str]:
    move = found.move
    yield f"stack {move.old} of {move.old_region} to {move.new} of {move.region}"
    for one in found.files:
        yield ""
        yield from _file(one, dry_run=dry_run)
    yield from ("", "data to copy, each over the network between the regions, whose price is bounded and of low trust:")
    for copy in found.copies:
        yield from _copied(copy)
    yield from ("", "what else another region changes:")
    yield from (f"  {one}" for one in found.notes)
    yield from ("", "in this order:")
    for number, (what, commands) in enumerate(found.steps, 1):
        yield f"  {number}. {what}"
        yield from (f"       {one}" for one in commands)
    if found.stays:
        yield from ("", f"protected, and left of {move.old_region} until a person takes it away:")
        yield from (f"  {one}" for one in found.stays)


def _file(one: NewFile, *, dry_run: bool) -> Iterator[str]:
    yield f"{'would write' if dry_run else 'wrote'} {one.path}, from that of {one.old}:"
    for change in one.changes:
        key = f"{change.path}: " if change.path else ""
        before = f"{change.before} -> " if change.before and change.after else f"{change.before} is left out" if change.before else ""
        yield f"  {key}{before}{change.after}: {change.why}"
    if one.undecided or one.problems:
        yield "  to be decided; `accelform check` refuses the file until then:"
    for undecided in one.undecided:
        yield f"    {undecided.path}: {undecided.why}"
        if undecided.nearest:
            yield f"      nearest that has it: {undecided.nearest}"
    told = {undecided.path for undecided in one.undecided}
    for problem in one.problems:
        if not any(problem.path == path or problem.path.startswith(f"{path}.") for path in told):
            yield f"    {problem.path}: {problem.message}" + (f" (allowed: {problem.allowed})" if problem.allowed else "")
    yield f"  {_month(one)}"


def _month(one: NewFile) -> str:
    if one.cost is None or one.cost.before is None or one.cost.after is None:
        return "USD a month there: unknown, until the file is right"
    before, after = (_bounds(side.total) for side in (one.cost.before, one.cost.after))
    at_least = "" if one.cost.complete else "; of what has a price, some has none"
    low, expected, high = one.cost.usd_month
    return f"USD a month: {before} here, {after} there; difference {_signed(low)}, {_signed(expected)}, {_signed(high)}{at_least}"


def _bounds(amounts: tuple[Decimal, Decimal, Decimal]) -> str:
    low, expected, high = (f"{one:,.2f}" for one in amounts)
    return f"{expected} ({low} to {high})"


def _signed(amount: Decimal) -> str:
    return f"{amount:+,.2f}"


def _copied(one: Copy) -> Iterator[str]:
    yield f"  {one.what}"
    yield from (f"    {command}" for command in one.commands)
    rate = "" if one.usd_gib is None else f"{one.usd_gib[0]:f} to {one.usd_gib[2]:f} USD a GiB"
    if one.gib is not None and one.usd is not None:
        yield f"    {one.gib[1]:f} GiB: {_bounds(one.usd)} USD, at {rate}"
    elif rate:
        size = "its size is unknown: say it with --gib, or under `usage`" if one.gib is None else f"{one.gib[1]:f} GiB"
        yield f"    {size}; {rate}"
    elif one.gib is not None:
        yield f"    {one.gib[1]:f} GiB; no price between these regions is known"
    if one.note:
        yield f"    {one.note}"


def _plain(found: Evacuation) -> dict[str, Any]:
    """For machines: amounts as text."""
    from infra.cost import against

    return {
        "move": asdict(found.move),
        "decided": found.is_decided,
        "files": [
            {
                "stack": one.stack,
                "from": one.old,
                "path": str(one.path),
                "text": one.text,
                "changes": [asdict(change) for change in one.changes],
                "undecided": [asdict(undecided) for undecided in one.undecided],
                "problems": [asdict(problem) for problem in one.problems],
                "cost": None if one.cost is None else against.as_json(one.cost),
            }
            for one in found.files
        ],
        "copies": [
            {
                "what": one.what,
                "commands": list(one.commands),
                "gib": _triple(one.gib),
                "usd": _triple(one.usd),
                "usd_gib": _triple(one.usd_gib),
                "note": one.note,
            }
            for one in found.copies
        ],
        "notes": list(found.notes),
        "steps": [{"what": what, "commands": list(commands)} for what, commands in found.steps],
        "stays": list(found.stays),
    }


def _triple(amounts: tuple[Decimal, Decimal, Decimal] | None) -> dict[str, str] | None:
    return None if amounts is None else {column: f"{one:f}" for column, one in zip(COLUMNS, amounts, strict=True)}
