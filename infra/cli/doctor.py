"""`accelform doctor`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infra.cli.output import console, plain_table, print_json
from infra.errors import ExitCode, MachineError, Problem, SpecError

if TYPE_CHECKING:
    from infra.operate.doctor_cloud import CloudNeeds
    from infra.operate.google import Connect

MARKS = {"ok": "green", "warning": "yellow", "failed": "red", "unknown": "yellow"}


def run(names: Sequence[str], folder: Path, *, cloud: bool, sandbox: bool, as_json: bool) -> int:
    from infra.local import machine

    if cloud and sandbox:
        raise SpecError("doctor", [Problem("--sandbox", "is said besides --cloud", "one of the two", "leave one out")])
    if names and not (cloud or sandbox):
        raise SpecError("doctor", [Problem("", "stacks are looked at with --cloud only", fix="add --cloud")])
    found_here = machine.inspect()
    groups = [("this machine", found_here)]
    code = ExitCode.ENVIRONMENT if any(finding.level == "failed" for finding in found_here) else ExitCode.OK
    if cloud or sandbox:
        from infra.operate import doctor_cloud

        wanted = _needs(names, folder)
        connect = _sandbox(wanted[0][1].project) if sandbox else None
        for title, needs in wanted:
            found = doctor_cloud.inspect(needs, connect=connect, progress=None if as_json else _say)
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


def _sandbox(project: str) -> Connect:
    """A transport to the sandbox of this checkout."""
    from infra.local import project as projects
    from infra.local.home import Home
    from infra.operate.live import ToSandbox
    from infra.sandbox import process

    found = process.running(Home.of(projects.checkout(Path.cwd())).sandbox)
    if found is None:
        raise MachineError(f"doctor: the sandbox does not run\n  fix: accelform sandbox start --project {project}")
    return lambda: ToSandbox(found.base)


def _say(what: str) -> None:
    sys.stderr.write(f"looking at {what}\n")


def _needs(names: Sequence[str], folder: Path) -> list[tuple[str, CloudNeeds]]:
    """What each stack needs of its project."""
    from infra import stack_kinds
    from infra.apps import AppsSpec
    from infra.check import stack_files
    from infra.cli.needs import needs, needs_of_apps, needs_of_foundation
    from infra.foundation import FoundationSpec
    from infra.stack import StackSpec

    found = []
    for file in stack_files(names, folder):
        spec = stack_kinds.load(file.path)
        if isinstance(spec, FoundationSpec):
            wanted = needs_of_foundation(spec, file.stack)
        elif isinstance(spec, AppsSpec):
            wanted = needs_of_apps(spec)
        else:
            assert isinstance(spec, StackSpec)
            wanted = needs(spec, file.stack)
        found.append((f"project {spec.project}, for stack {file.stack}", wanted))
    return found
