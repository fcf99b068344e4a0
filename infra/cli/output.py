"""What commands print with: one console, tables, JSON."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from infra.errors import AccelformError


def console() -> Console:
    """Standard output. Piped, it is 120 columns wide and without colour, so that two runs can be compared."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """The command line ends it quietly: rich would call it a fault."""
            raise BrokenPipeError

    return Plain(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 120)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without a frame: it can be pasted into a message."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def aligned(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: tuple[str, ...] = (), fold: int) -> str:
    """A table as text, cells folded at so many letters: long tables take rich longer than a command may."""
    folded = [
        [[cell] if len(cell) <= fold else textwrap.wrap(cell, fold, break_on_hyphens=False) for cell in row] for row in (columns, *rows)
    ]
    lines = [line for row in folded for line in zip_longest(*row, fillvalue="")]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    pads = [str.rjust if column in right else str.ljust for column in columns]
    return "\n".join("  ".join(pad(cell, width) for pad, cell, width in zip(pads, line, widths, strict=True)).rstrip() for line in lines)


def print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")


def problems_json(error: AccelformError) -> list[dict[str, Any]]:
    """What is wrong, for machines: every problem of a stack file; of another error its sentence."""
    from infra.errors import SpecError

    if not isinstance(error, SpecError):
        return [{"message": str(error)}]
    return [
        {
            "file": error.file,
            "line": problem.line,
            "path": problem.path,
            "message": problem.message,
            "allowed": problem.allowed,
            "fix": problem.fix,
        }
        for problem in error.problems
    ]
