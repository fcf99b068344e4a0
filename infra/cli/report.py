"""`accelform report`."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from infra.check import Checked, check, stack_files
from infra.errors import ExitCode, SpecError


def run(names: Sequence[str], folder: Path, *, html: str | None, force: bool, show: bool) -> int:
    """Writes a page for every named stack, or none: what is wrong with any of them is said first."""
    from infra.report import write
    from infra.report.index import index
    from infra.report.page import page

    files = stack_files(names, folder)
    targets = write.targets(html, [file.stack for file in files])
    write.check(list(targets.values()), force=force)
    stacks: list[Checked] = []
    wrong: list[SpecError] = []
    for file in files:
        try:
            stacks.append(check(file))
        except SpecError as error:
            wrong.append(error)
    if wrong:
        sys.stderr.write("".join(f"{error}\n" for error in wrong))
        return ExitCode.SPEC
    pages = {targets[one.file.stack]: page(one) for one in stacks}
    first = next(iter(pages))
    if "" in targets:
        first = targets[""]
        pages = {first: index(stacks, {stack: path.name for stack, path in targets.items()}), **pages}
    write.write(pages)
    sys.stdout.write("".join(f"wrote {path}\n" for path in pages))
    if show and not webbrowser.open(first.resolve().as_uri()):
        sys.stderr.write(f"no browser could be opened\n  fix: open {first} yourself\n")
    return ExitCode.OK
