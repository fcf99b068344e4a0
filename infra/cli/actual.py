"""`accelform cost --actual`: the estimate beside what Google billed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infra.check import Checked, check, stack_files
from infra.cli.output import console, plain_table, print_json
from infra.errors import ExitCode

if TYPE_CHECKING:
    from decimal import Decimal

    from rich.console import Console
    from rich.table import Table

    from infra.cost.actual.billed import Actual, Part, Sum

ROWS_MAX = 25
"""Rows of the bill that people are shown; machines get all."""


def run(table: str, month: str | None, names: Sequence[str], folder: Path, *, as_json: bool) -> int:
    """Each project of the named stacks: one query, one comparison."""
    from infra.cost.actual import billed
    from infra.operate.billing_export import Reader

    billed.check_table(table)
    period = billed.Period.parse(month)
    projects: dict[str, list[Checked]] = {}
    for file in stack_files(names, folder):
        checked = check(file)
        projects.setdefault(checked.spec.project, []).append(checked)
    reader = Reader.of(table)
    every, read = [], []
    for project, stacks in projects.items():

        def say(reads: int, project: str = project) -> None:
            read.append(reads)
            if not as_json:
                sys.stderr.write(f"{project}: the query reads {reads / 1e6:,.1f} MB of {table}\n")

        rows = reader.rows(billed.query(table), billed.parameters(project, period), say)
        every.append(billed.compare(project, period, rows, {one.file.stack: one.estimate for one in stacks}))
    code = ExitCode.OK if all(one.complete for one in every) else ExitCode.INCOMPLETE
    if as_json:
        shown = [billed.as_json(one) | {"bytes_read": reads} for one, reads in zip(every, read, strict=True)]
        print_json({"exit_code": int(code), "billing_table": table, "projects": shown})
        return code
    for one in every:
        _print(console(), one)
    return code


def _print(out: Console, actual: Actual) -> None:
    from rich.text import Text

    out.print(Text.assemble((actual.project, "bold"), f": {actual.period}, USD before credits and without tax, beside {_month(actual)}"))
    out.print()
    if not actual.rows:
        out.print(
            Text("The export has no row of this project and period: it holds what was billed since it was turned on, some days late.")
        )
        out.print()
        return
    out.print(_parts(actual))
    for line in _remarks(actual):
        out.print(Text(line))
    out.print()
    out.print(_rows(actual))
    if len(actual.rows) > ROWS_MAX:
        out.print(Text(f"and {len(actual.rows) - ROWS_MAX} smaller rows: --json has all"))
    out.print()


def _month(actual: Actual) -> str:
    return "a month of 730 hours" if actual.period.invoice_month else f"{actual.period.hours} of its month's 730 hours"


def _parts(actual: Actual) -> Table:
    from rich.text import Text

    from infra.cost.report import cents

    shown = plain_table("stack", "low", "expected", "high", "billed", "", right=("low", "expected", "high", "billed"))
    for part in (*actual.stacks, *actual.others):
        amounts = [cents(amount) for amount in part.estimate] if part.estimate else ["-", "-", "-"]
        name = part.name if part.estimate else f"label {part.name}" if part.name else "no label"
        shown.add_row(Text(name), *amounts, _usd(part), Text(_said(part)))
    total = [cents(amount) for amount in actual.estimate]
    usd = "unknown" if actual.usd is None else _signed(actual.usd)
    said = "with other stacks in it" if any(part.name for part in actual.others) else actual.verdict
    shown.add_row(*(Text(cell, "bold") for cell in ("total", *total, usd)), Text(said))
    return shown


def _usd(part: Part) -> str:
    return "unknown" if part.usd is None else _signed(part.usd)


def _signed(amount: Decimal) -> str:
    from infra.cost.report import CENT, cents

    if amount >= 0:
        return cents(amount)
    return f"-{cents(-amount)}" if -amount >= CENT / 2 else ">-0.01"


def _said(part: Part) -> str:
    if part.estimate is None:
        return "not one of these stacks" if part.name else "in no stack's amount"
    missing = len(part.unknown)
    return f"{part.verdict}; {missing} line{'s' * (missing != 1)} of the estimate unknown" if missing else part.verdict


def _remarks(actual: Actual) -> list[str]:
    from infra.components.budget import NOT_IN_A_LABEL_BUDGET
    from infra.cost.headroom import share

    lines = []
    if actual.explained is not None:
        lines.append(f"explained: {share(actual.explained)} of the bill carries a label of these stacks, within its stack's high figure")
    if actual.unexplained:
        left = ", ".join(f"{_signed(usd)} {name or 'without label'}" for name, usd in actual.unexplained)
        lines.append(f"not explained, USD: {left}")
    if any(not part.name for part in actual.others):
        lines.append(f"no label is on {NOT_IN_A_LABEL_BUDGET.partition(': ')[2]}; the estimates hold some of that")
    lines += [f"{part.name}: no price of {', '.join(part.unknown)}" for part in actual.stacks if part.unknown]
    for name, sums in [(part.name or "no label", part.sums) for part in (*actual.stacks, *actual.others)]:
        lines += [f"{name}: {line}" for line in map(_of_currency, sums) if line]
    lines += [f"tax: {_signed(one.cost)} {one.currency}" for one in actual.tax]
    over = "" if actual.period.is_over() else "; the period is not over"
    lines.append(f"last exported on {actual.last_export}; late rows may still come, or stand on a later invoice{over}")
    return lines


def _of_currency(one: Sum) -> str:
    """What is to be known of an amount beside its USD: another currency, credits, and usage of another time."""
    how = (
        "in USD by the rates that Google billed with" if one.usd is not None else "of which some has no rate to USD: compared with nothing"
    )
    parts = [] if one.currency == "USD" else [f"{_signed(one.cost)} {one.currency}, {how}"]
    if one.credits:
        parts.append(f"credits of {_signed(one.credits)} {one.currency}")
    if one.earlier:
        parts.append(f"{_signed(one.earlier)} {one.currency} of usage before the period")
    if one.late:
        parts.append(f"{_signed(one.late)} {one.currency} exported after it")
    return "; ".join(parts)


def _rows(actual: Actual) -> Table:
    from rich.text import Text

    shown = plain_table("stack", "service", "SKU", "cluster/namespace", "billed", "credits", "", right=("billed", "credits"))
    for row in sorted(actual.rows, key=lambda row: -abs(row.cost))[:ROWS_MAX]:
        where = "/".join(filter(None, (row.cluster, row.namespace)))
        kind = "" if row.cost_type == "regular" else f" ({row.cost_type})"
        cells = (row.stack or "-", row.service, f"{row.sku}{kind}", where, _signed(row.cost), _signed(row.credits), row.currency)
        shown.add_row(*map(Text, cells))
    return shown
