"""What commands print with: one console, tables, JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from infra.errors import Problem, SpecError


def console() -> Console:
    """Standard output. Piped, it is 120 columns wide and without colour, so that two runs can be compared."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 120)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without a frame: it can be pasted into a message."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def problem_json(problem: Problem, file: str) -> dict[str, Any]:
    return {
        "file": file,
        "line": problem.line,
        "path": problem.path,
        "message": problem.message,
        "allowed": problem.allowed,
        "fix": problem.fix,
    }


def spec_error_json(error: SpecError) -> list[dict[str, Any]]:
    return [problem_json(problem, error.file) for problem in error.problems]
