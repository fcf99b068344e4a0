"""`accelform cost --against`: what the change of a stack file costs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.check import FILE, Checked, StackFile, check, stack_files
from infra.cli.output import console, plain_table, print_json, problems_json
from infra.errors import ExitCode, SpecError

if TYPE_CHECKING:
    from rich.table import Table

    from infra.cost.against import Difference
    from infra.cost.headroom import Headroom
    from infra.operate.git import Commit

SAID = "program, prices and usage defaults are this checkout's on both sides: what differs is the stack file"

STYLES = {"dearer": "red", "new": "red", "cheaper": "green", "gone": "green", "unknown": "yellow", "same": ""}


@dataclass(frozen=True, slots=True)
class Compared:
    """One stack now and at the ref."""

    stack: str
    difference: Difference
    wrong: SpecError | None
    """What was wrong with its file at the ref: it then has no estimate there."""
    budgets: Sequence[Headroom] = ()
    """How the budgets of the file as it is now fare."""

    @property
    def told(self) -> str:
        """What is to be known of the stack as a whole."""
        if self.wrong:
            count = len(self.wrong.problems)
            return f"its file was wrong there ({count} problem{'s' * (count != 1)}), so that nothing can be compared"
        if self.difference.before is None:
            return "new: there was no such stack"
        return "" if self.difference.after else "gone: there is no such stack any more"


def run(ref: str, names: Sequence[str], folder: Path, *, as_json: bool, as_markdown: bool) -> int:
    """Compares every named stack with its file at *ref*. The exit code is that of `cost`: it judges what is, not what was."""
    from infra.operate.git import Commit

    paths = [path for path in map(Path, names) if FILE.fullmatch(path.name)]
    commit = Commit.at(ref, paths[0].parent if paths else folder)
    files, gone = _files(names, folder, commit)
    every = [_compared(check(file), commit) for file in files] + [_gone(path, commit) for path in gone]
    if not names:
        every.sort(key=lambda one: one.stack)
    complete = all(one.difference.after.complete for one in every if one.difference.after)
    code = ExitCode.OK if complete else ExitCode.INCOMPLETE
    if as_json:
        print_json({"exit_code": int(code), "against": {"ref": ref, "commit": commit.sha}, "stacks": [_as_json(one) for one in every]})
    elif as_markdown:
        sys.stdout.write("\n".join(_markdown(every, commit)) + "\n")
    else:
        _print(every, commit)
    return code


def _files(names: Sequence[str], folder: Path, commit: Commit) -> tuple[list[StackFile], list[Path]]:
    """The stack files that *names* mean, and paths of those that only the commit has."""
    by_name = not names or not all(FILE.fullmatch(Path(name).name) for name in names)
    then = {match[1]: folder / name for name in commit.files(folder) if (match := FILE.fullmatch(name))} if by_name else {}
    if not names:
        now = {match[1] for path in folder.glob("Pulumi.*.yaml") if (match := FILE.fullmatch(path.name))}
        return stack_files([], folder) if now or not then else [], [path for stack, path in then.items() if stack not in now]
    left, gone = [], []
    for name in dict.fromkeys(names):
        path = then.get(name) or (Path(name) if FILE.fullmatch(Path(name).name) else None)
        if path and not os.path.exists(path) and commit.content(path) is not None:
            gone.append(path)
        else:
            left.append(name)
    return stack_files(left, folder) if left else [], gone


def _compared(now: Checked, commit: Commit) -> Compared:
    from infra.cost.against import difference

    then = _then(now.file, commit)
    wrong = then if isinstance(then, SpecError) else None
    before = then.estimate if isinstance(then, Checked) else None
    return Compared(now.file.stack, difference(before, now.estimate), wrong, now.headroom)


def _gone(path: Path, commit: Commit) -> Compared:
    from infra.cost.against import difference

    match = FILE.fullmatch(path.name)
    stack = match[1] if match else path.name
    then = _then(StackFile(stack, path), commit)
    before = then.estimate if isinstance(then, Checked) else None
    return Compared(stack, difference(before, None), then if isinstance(then, SpecError) else None)


def _then(file: StackFile, commit: Commit) -> Checked | SpecError | None:
    """The stack by its file at the commit; None where there was none. The folder's files are read from a folder of their own."""
    content = commit.content(file.path)
    if content is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(FILE.fullmatch, commit.files(file.path.parent)):  # a stack may read the file of another
            (Path(folder) / name).write_bytes(commit.content(file.path.parent / name) or b"")
        path = Path(folder) / file.path.name
        path.write_bytes(content)
        try:
            return check(StackFile(file.stack, path), f"{commit.ref}:{commit.path_of(file.path)}")
        except SpecError as error:
            return error


def _print(every: Sequence[Compared], commit: Commit) -> None:
    from rich.text import Text

    from infra.cost import against, headroom

    out = console()
    out.print(Text(f"USD a month of 730 hours, without tax, against {commit.ref} ({commit.sha[:12]})"))
    out.print(Text(SAID))
    out.print()
    for one in every:
        out.print(Text.assemble((one.stack, "bold"), f": {one.told}" if one.told else ""))
        if one.wrong:
            out.print(Text(str(one.wrong)), soft_wrap=True)
        else:
            if any(line.change != "same" for line in one.difference.lines):
                out.print(_lines(one.difference))
            out.print(Text(against.same(one.difference)))
        out.print()
        totals = plain_table("", "low", "expected", "high", " ", right=("low", "expected", "high"))
        for what, amounts, remark in against.totals(one.difference) if not one.wrong else _now(one.difference):
            totals.add_row(what, *amounts, Text(remark))
        out.print(totals)
        for line in headroom.lines(one.budgets):
            out.print(Text(line))
        out.print()


def _lines(difference: Difference) -> Table:
    from rich.text import Text

    from infra.cost import against

    shown = plain_table("difference, USD a month", "", "low", "expected", "high", " ", right=("low", "expected", "high"))
    for row in against.changed(difference):
        shown.add_row(Text(row.what), Text(row.change, STYLES[row.change]), *row.amounts, Text(row.why))
    return shown


def _now(difference: Difference) -> list[tuple[str, tuple[str, str, str], str]]:
    """The total that there is, of a stack whose file was wrong."""
    from infra.cost import against

    return [row for row in against.totals(difference) if row[0].startswith("after")]


def _markdown(every: Sequence[Compared], commit: Commit) -> list[str]:
    from infra.cost import against, headroom

    lines = [against.MARKER, f"## Cost against {_code(commit.ref)} ({commit.sha[:12]})"]
    for one in every:
        lines += ["", f"### {against.escaped(one.stack)}", ""]
        if one.told:
            lines += [f"{one.told[0].upper()}{one.told[1:]}.", ""]
        if one.wrong is None:
            lines += against.markdown(one.difference)
        else:
            lines += against.table([], _now(one.difference))
        if said := headroom.lines(one.budgets):
            lines += ["", *(f"- {against.escaped(line.strip())}" for line in said)]
    return [*lines, "", f"USD a month of 730 hours at list prices, without tax; {SAID}."]


def _code(ref: str) -> str:
    """A ref as a code span, in which nothing is a link or a mention; a ref with backticks has none that fits."""
    return f"`{ref}`" if "`" not in ref else "a ref"


def _as_json(one: Compared) -> dict[str, Any]:
    from infra.cost import against, headroom

    state = "wrong at ref" if one.wrong else "new" if one.difference.before is None else "compared" if one.difference.after else "gone"
    head: dict[str, Any] = {"stack": one.stack, "state": state, "problems_at_ref": problems_json(one.wrong) if one.wrong else []}
    head["budgets"] = headroom.as_json(one.budgets)
    if one.wrong:
        return head | {"difference": None, "after_usd_month": against.as_json(one.difference)["after_usd_month"]}
    return head | {"difference": against.as_json(one.difference)}
