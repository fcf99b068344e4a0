"""`accelform status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, plain_table, print_json
from infra.cli.reached import reached, stack_sandbox
from infra.errors import ExitCode

if TYPE_CHECKING:
    from infra.check import StackFile
    from infra.operate.status import Seen

MARKS = {"failed": "!!", "warning": "!", "unknown": "?", "ok": ""}
"""What stands before a line, so that it is found without colour."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of one stack."""

    stack: str
    up: bool
    seen: Sequence[Seen] = ()
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> ExitCode:
        """By the worst that was seen."""
        levels = {one.level for one in self.seen} if self.up else set()
        if levels & {"failed", "warning"}:
            return ExitCode.FINDINGS
        return ExitCode.CLOUD if "unknown" in levels else ExitCode.OK


def run(names: Sequence[str], folder: Path, *, cloud: bool, as_json: bool) -> int:
    """What stands of each stack."""
    from infra import stack_kinds
    from infra.check import stack_files

    files = stack_kinds.in_order(stack_files(names, stacks_folder(folder)))
    told = [_told(file, cloud=cloud) for file in files]
    codes = [one.code for one in told]
    code = next((one for one in (ExitCode.FINDINGS, ExitCode.CLOUD) if one in codes), ExitCode.OK)
    if as_json:
        stacks = [{"stack": one.stack, "up": one.up, "note": one.note, "seen": [row.shown() for row in one.seen]} for one in told]
        print_json({"exit_code": int(code), "cloud": "google" if cloud else "sandbox", "stacks": stacks})
        return code
    for number, one in enumerate(told):
        if number and (one.up or told[number - 1].up):
            console().print()
        _print(one)
    return code


def stacks_folder(folder: Path) -> Path:
    """Stack files of the checkout, from wherever in it the command is run."""
    from infra.cli.arguments import STACKS
    from infra.errors import MachineError
    from infra.local import project

    if folder != STACKS or folder.is_dir():
        return folder
    try:
        return project.checkout(Path.cwd()) / STACKS
    except MachineError:
        return folder


def _told(file: StackFile, *, cloud: bool) -> Told:
    from infra import stack_kinds
    from infra.errors import MachineError
    from infra.operate import status

    spec = stack_kinds.load(file.path)
    try:
        sandbox = stack_sandbox(file.stack, cloud=cloud)
    except MachineError as error:
        first, _, fix = str(error).partition("\n  fix: ")
        if "is not up" not in first:
            raise
        return Told(file.stack, False, note=f"is not up on this machine: {fix}")
    with reached(spec.project, sandbox) as (google, time):
        seen = status.look(google, spec, file.stack, time.now())
    if not status.stands(seen):
        return Told(file.stack, False, seen, f"nothing of it stands in {spec.project}: pulumi up")
    return Told(file.stack, True, seen)


def _print(told: Told) -> None:
    from rich.text import Text

    out = console()
    if not told.up:
        out.print(Text(f"{told.stack}: {told.note}"), soft_wrap=True)
        return
    bad = [one for one in told.seen if one.level != "ok"]
    out.print(Text(f"{told.stack}: {len(told.seen) - len(bad)} of {len(told.seen)} well"), soft_wrap=True)
    table = plain_table("", "thing", "is", "")
    for one in told.seen:
        table.add_row(*map(Text, (MARKS[one.level], one.path, one.state, one.detail)))
        if one.fix:
            table.add_row("", "", "", Text(f"fix: {one.fix}"))
    out.print(table)
