"""`accelform report`."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from infra.check import Checked, check, stack_files
from infra.errors import ExitCode, SpecError


def run(names: Sequence[str], folder: Path, *, html: str | None, force: bool, show: bool) -> int:
    """Writes a page for every named stack, or none: what is wrong with any of them is said first."""
    from infra.report import write

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
    written = write.write(_pages(stacks, targets))
    sys.stdout.write("".join(f"wrote {path}\n" for path in written))
    if show and not webbrowser.open(written[0].resolve().as_uri()):
        sys.stderr.write(f"no browser could be opened\n  fix: open {written[0]} yourself\n")
    return ExitCode.OK


def _pages(stacks: Sequence[Checked], targets: Mapping[str, Path]) -> Iterator[tuple[Path, str]]:
    """The index first, where there is one: it is what `--open` opens."""
    from infra.report.index import index
    from infra.report.page import page

    if "" in targets:
        yield targets[""], index(stacks, {stack: path.name for stack, path in targets.items()})
    for one in stacks:
        yield targets[one.file.stack], page(one)
