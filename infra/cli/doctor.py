"""`accelform doctor`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infra.cli.output import console, plain_table, print_json
from infra.errors import ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.operate.doctor_cloud import CloudNeeds

MARKS = {"ok": "green", "warning": "yellow", "failed": "red", "unknown": "yellow"}


def run(names: Sequence[str], folder: Path, *, cloud: bool, as_json: bool) -> int:
    from infra.local import machine

    if names and not cloud:
        raise SpecError("doctor", [Problem("", "stacks are looked at with --cloud only", fix="add --cloud")])
    found_here = machine.inspect()
    groups = [("this machine", found_here)]
    code = ExitCode.ENVIRONMENT if any(finding.level == "failed" for finding in found_here) else ExitCode.OK
    if cloud:
        from infra.operate import doctor_cloud

        for title, needs in _needs(names, folder):
            found = doctor_cloud.inspect(needs, progress=None if as_json else _say)
            groups.append((title, found))
            if any(finding.level in ("failed", "unknown") for finding in found):
                code = ExitCode.CLOUD
    if as_json:
        print_json(
            {
                "exit_code": int(code),
                "findings": [
                    {
                        "about": title,
                        "check": finding.check,
                        "level": finding.level,
                        "message": finding.message,
                        "fix": finding.fix,
                    }
                    for title, findings in groups
                    for finding in findings
                ],
            }
        )
        return code
    from rich.text import Text

    out = console()
    for title, findings in groups:
        out.print(Text(title, "bold"))
        table = plain_table("check", "", "found", "fix")
        for finding in findings:
            table.add_row(Text(finding.check), Text(finding.level, MARKS[finding.level]), Text(finding.message), Text(finding.fix))
        out.print(table)
        out.print()
    return code


def _say(what: str) -> None:
    sys.stderr.write(f"looking at {what}\n")


def _needs(names: Sequence[str], folder: Path) -> list[tuple[str, CloudNeeds]]:
    """What each stack needs of its project."""
    from infra import stack_kinds
    from infra.apps import AppsSpec
    from infra.check import stack_files
    from infra.cli.needs import needs, needs_of_foundation
    from infra.foundation import FoundationSpec
    from infra.stack import StackSpec

    found = []
    for file in stack_files(names, folder):
        spec = stack_kinds.load(file.path)
        if isinstance(spec, AppsSpec):  # what a cluster's pods need of the project is what its nodes do
            spec = spec.of_region
        assert isinstance(spec, StackSpec | FoundationSpec)
        wanted = needs_of_foundation(spec, file.stack) if isinstance(spec, FoundationSpec) else needs(spec)
        found.append((f"project {spec.project}, for stack {file.stack}", wanted))
    return found
