"""`accelform cost`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.check import check, stack_files
from infra.cli.output import console, print_json
from infra.errors import ExitCode, Problem, SpecError


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's options."""

    against: str | None = None
    markdown: bool = False
    actual: bool = False
    billing_table: str | None = None
    month: str | None = None
    as_json: bool = False


def run(names: Sequence[str], folder: Path, asked: Asked) -> int:
    _consistent(asked)
    if asked.against is not None:
        from infra.cli import against

        return against.run(asked.against, names, folder, as_json=asked.as_json, as_markdown=asked.markdown)
    if asked.actual:
        from infra.cli import actual

        return actual.run(asked.billing_table or "", asked.month, names, folder, as_json=asked.as_json)
    return _estimates(names, folder, as_json=asked.as_json)


def _consistent(asked: Asked) -> None:
    """
    Raises:
        SpecError: With every option that would do nothing, or lacks another.
    """
    problems = []
    if asked.markdown and asked.against is None:
        problems.append(Problem("--markdown", "is a form of --against", fix="add --against REF, for example --against origin/main"))
    if asked.markdown and asked.as_json:
        problems.append(Problem("--markdown", "is for people, --json for machines", fix="leave one of them out"))
    if asked.actual and asked.against is not None:
        problems.append(Problem("--actual", "looks at the bill, --against at a git ref", fix="run the command once with each"))
    if asked.actual and asked.billing_table is None:
        fix = "turn the detailed usage cost export on: https://cloud.google.com/billing/docs/how-to/export-data-bigquery-setup"
        problems.append(
            Problem("--billing-table", "is missing: --actual reads it", "project.dataset.gcp_billing_export_resource_v1_ACCOUNT", fix)
        )
    for option, value in (("--billing-table", asked.billing_table), ("--month", asked.month)):
        if value is not None and not asked.actual:
            problems.append(Problem(option, "belongs to --actual", fix="add --actual"))
    if problems:
        raise SpecError("accelform cost", problems)


def _estimates(names: Sequence[str], folder: Path, *, as_json: bool) -> int:
    from infra.cost import headroom, report

    results = [check(file) for file in stack_files(names, folder)]
    complete = all(result.estimate.complete for result in results)
    code = ExitCode.OK if complete else ExitCode.INCOMPLETE
    if as_json:
        stacks = [
            {"stack": result.file.stack} | report.as_json(result.estimate) | {"budgets": headroom.as_json(result.headroom)}
            for result in results
        ]
        print_json({"exit_code": int(code), "stacks": stacks})
        return code
    from rich.text import Text

    out = console()
    for result in results:
        out.print(Text.assemble((result.file.stack, "bold"), f": {result.spec.region}, USD a month of 730 hours, without tax"))
        out.print()
        out.print(report.table(result.estimate))
        for line in headroom.lines(result.headroom):
            out.print(Text(line))
        out.print()
        out.print(report.sources(result.estimate))
        out.print()
    return code
