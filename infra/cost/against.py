"""Two estimates of one stack, line by line: what a change of its file costs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from infra.cost.estimate import Estimate
from infra.cost.line import ZERO, LineItem, Triple
from infra.cost.report import CENT, cents, title, triple

Change = Literal["new", "gone", "dearer", "cheaper", "same", "unknown"]
"""`unknown`: one of the two has no price, so that nobody can say."""

Amounts = tuple[str, str, str]
"""Low, expected and high as they are shown."""

MARKER = "<!-- accelform cost -->"
"""First line of the comment: what posts it finds its own by this line, and writes it anew."""


@dataclass(frozen=True, slots=True)
class LineDifference:
    """One line of the month, before and after."""

    change: Change
    before: LineItem | None
    after: LineItem | None

    @property
    def usd_month(self) -> Triple | None:
        """After less before, each column by itself; None where either is unknown."""
        months = [(ZERO, ZERO, ZERO) if line is None else _month(line) for line in (self.before, self.after)]
        before, after = months
        return None if before is None or after is None else _less(after, before)


@dataclass(frozen=True, slots=True)
class Difference:
    """A stack's month after a change, against the month before it; either is None where there was, or is, no such stack."""

    before: Estimate | None
    after: Estimate | None
    lines: Sequence[LineDifference]

    @property
    def complete(self) -> bool:
        """Whether every line on both sides has a price. Else the difference is of what has one, and can be wrong both ways."""
        return all(one.complete for one in (self.before, self.after) if one is not None)

    @property
    def usd_month(self) -> Triple:
        """Total after less total before, of what has a price."""
        return _less(_total(self.after), _total(self.before))


class Row(NamedTuple):
    """A line of a difference as it is shown."""

    what: str
    change: Change
    amounts: Amounts
    why: str


def difference(before: Estimate | None, after: Estimate | None) -> Difference:
    """
    Every line of both estimates, once: those of *after* in its order, then those that are gone.

    Lines are one where resource and name are. What else a resource had one of before and has one of after is the same line changed,
    such as a machine of another type.
    """
    left = dict(_keyed(before))
    pairs: list[tuple[LineItem | None, LineItem | None]] = [(left.pop(key, None), line) for key, line in _keyed(after)]
    gone = list(left.values())
    for index, (earlier, line) in enumerate(pairs):
        alone = [one for first, one in pairs if first is None and one is not None and line is not None and one.resource == line.resource]
        of_it = [one for one in gone if line is not None and line.resource and one.resource == line.resource]
        if earlier is None and len(alone) == len(of_it) == 1:
            pairs[index] = (of_it[0], line)
            gone.remove(of_it[0])
    return Difference(before, after, [LineDifference(_change(*pair), *pair) for pair in [*pairs, *((line, None) for line in gone)]])


def _keyed(estimate: Estimate | None) -> list[tuple[tuple[str, str, int], LineItem]]:
    """Lines by resource, name, and how many of both came before: names of resources are unique for their type only."""
    seen: dict[tuple[str, str], int] = {}
    keyed = []
    for line in estimate.lines if estimate else ():
        name = (line.resource, line.what)
        seen[name] = seen.get(name, -1) + 1
        keyed.append(((*name, seen[name]), line))
    return keyed


def _change(before: LineItem | None, after: LineItem | None) -> Change:
    if before is None:
        return "new"
    if after is None:
        return "gone"
    earlier, later = _month(before), _month(after)
    if earlier is None or later is None:
        return "unknown"
    low, expected, high = _less(later, earlier)
    first = next((one for one in (expected, high, low) if one), ZERO)
    return "dearer" if first > 0 else "cheaper" if first < 0 else "same"


def _month(line: LineItem) -> Triple | None:
    """What others pay for is nothing to this stack."""
    return (ZERO, ZERO, ZERO) if line.status == "others pay" else line.usd_month


def _total(estimate: Estimate | None) -> Triple:
    return estimate.total if estimate else (ZERO, ZERO, ZERO)


def _less(later: Triple, earlier: Triple) -> Triple:
    low, expected, high = (one - other for one, other in zip(later, earlier, strict=True))
    return low, expected, high


def name(line: LineDifference) -> str:
    """The line's title; where it was another one before, that one too."""
    now, was = line.after, line.before
    if now is not None and was is not None and now.what != was.what:
        return f"{title(now)}, was {was.what}"
    return title(now or was)  # type: ignore[arg-type]  # one of the two is there


def signed(amount: Triple | None) -> Amounts:
    """A difference as it is shown: always with its sign, nothing as 0.00."""
    if amount is None:
        return ("unknown", "unknown", "unknown")
    low, expected, high = (_signed(one) for one in amount)
    return low, expected, high


def _signed(one: Decimal) -> str:
    if one and abs(one) < CENT / 2:
        return "<+0.01" if one > 0 else ">-0.01"
    return f"{'-' if one < 0 else '+'}{cents(abs(one))}" if one else "0.00"


def rows(one: Difference) -> list[Row]:
    """Every line as it is shown: what is free stands in one row for each change, at the end."""
    free: dict[Change, int] = {}
    shown = []
    for line in one.lines:
        if all(side is None or side.status == "free" for side in (line.before, line.after)):
            free[line.change] = free.get(line.change, 0) + 1
        else:
            shown.append(Row(name(line), line.change, signed(line.usd_month), _why(line)))
    return shown + [Row(f"{count} free line{'s' * (count != 1)}", change, ("0.00", "0.00", "0.00"), "") for change, count in free.items()]


def _why(line: LineDifference) -> str:
    """Why a line has no price, on the side where it has none; the later one where both have none."""
    return next((side.note for side in (line.after, line.before) if side is not None and side.status == "unknown"), "")


def totals(one: Difference) -> list[tuple[str, Amounts, str]]:
    """Before, after and the difference: a name, the amounts, and a remark where lines are unknown."""
    rows = []
    for when, estimate in (("before", one.before), ("after", one.after)):
        if estimate is None:
            rows.append((when, ("-", "-", "-"), "no such stack"))
            continue
        missing = len(estimate.unknown)
        low, expected, high = (cents(amount) for amount in estimate.total)
        remark = f"incomplete: {missing} line{'s' * (missing != 1)} unknown" if missing else ""
        rows.append((f"{when}, at least" if missing else when, (low, expected, high), remark))
    rows.append(("difference", signed(one.usd_month), "" if one.complete else "of what has a price on both sides of the change"))
    return rows


def as_json(one: Difference) -> dict[str, Any]:
    """Amounts as text, exact."""
    return {
        "currency": "USD",
        "complete": one.complete,
        "before_usd_month": _side(one.before),
        "after_usd_month": _side(one.after),
        "difference_usd_month": triple(one.usd_month),
        "lines": [
            {
                "change": line.change,
                "resource": (line.after or line.before).resource,  # type: ignore[union-attr]  # one of the two is there
                "before": line.before.what if line.before else None,
                "after": line.after.what if line.after else None,
                "before_usd_month": triple(_month(line.before)) if line.before else None,
                "after_usd_month": triple(_month(line.after)) if line.after else None,
                "difference_usd_month": triple(line.usd_month),
            }
            for line in one.lines
        ],
    }


def _side(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else {"complete": estimate.complete, **(triple(estimate.total) or {})}


def markdown(one: Difference) -> list[str]:
    """The changed lines and the totals as a table for a pull request; what is the same is counted."""
    said = same(one)
    return table(changed(one), totals(one)) + (["", f"{said[0].upper()}{said[1:]}."] if said else [])


def changed(one: Difference) -> list[Row]:
    """The rows that are not the same on both sides."""
    return [row for row in rows(one) if row.change != "same"]


def same(one: Difference) -> str:
    """How many lines are the same, in words; empty where none is."""
    count = sum(line.change == "same" for line in one.lines)
    alone = "nothing changes: " if count == len(one.lines) else ""
    return f"{alone}{count} line{'s' * (count != 1)} the same" if count else ""


def table(every: Sequence[Row], sums: Sequence[tuple[str, Amounts, str]]) -> list[str]:
    """A table of lines and sums, in Markdown."""
    head = ["| USD a month | | low | expected | high | |", "|---|---|---:|---:|---:|---|"]
    body = [_row(escaped(row.what), row.change, *map(escaped, row.amounts), escaped(row.why)) for row in every]
    return head + body + [_row(f"**{escaped(what)}**", "", *map(escaped, amounts), escaped(remark)) for what, amounts, remark in sums]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """What a stack file says, so that it neither ends a cell nor becomes a link or HTML."""
    said = re.sub(r"([\\`*_\[\]|~#!])", r"\\\1", " ".join(text.split()))
    return said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
