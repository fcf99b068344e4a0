"""`accelform cost`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infra.check import check, stack_files
from infra.cli.output import console, print_json
from infra.errors import ExitCode


def run(names: Sequence[str], folder: Path, *, as_json: bool) -> int:
    from infra.cost import report

    results = [check(file) for file in stack_files(names, folder)]
    complete = all(result.estimate.complete for result in results)
    code = ExitCode.OK if complete else ExitCode.INCOMPLETE
    if as_json:
        stacks = [{"stack": result.file.stack} | report.as_json(result.estimate) for result in results]
        print_json({"exit_code": int(code), "stacks": stacks})
        return code
    from rich.text import Text

    out = console()
    for result in results:
        out.print(Text.assemble((result.file.stack, "bold"), f": {result.spec.region}, USD a month of 730 hours, without tax"))
        out.print()
        out.print(report.table(result.estimate))
        for line in report.headroom_lines(result.estimate, result.spec.budgets):
            out.print(Text(line))
        out.print()
        out.print(report.sources(result.estimate))
        out.print()
    return code
