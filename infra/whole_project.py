"""What all stacks of a project cost together, by their files in one folder: what the budget of their foundation counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from infra.check import Checked, StackFile, check, stack_files
from infra.cost.estimate import Estimate
from infra.cost.line import LineItem, unknown
from infra.errors import SpecError
from infra.refusals import PROJECT_KEY
from infra.yaml_file import read


def estimate(checked: Checked) -> Estimate:
    """The month of a stack and of all others of its project beside it. What a file that is wrong would cost is not known."""
    return Estimate([*checked.estimate.lines, *_of_others(checked)], checked.estimate.assumptions)


def _of_others(checked: Checked) -> Iterator[LineItem]:
    folder = checked.file.path.parent
    for other in stack_files([], folder):
        if other.path.name == checked.file.path.name or not _is_of(other.path, checked.spec.project):
            continue
        lines = _lines(other, other.path.stat().st_mtime_ns)
        yield from lines or [unknown("", f"stack {other.stack}", f"its file is wrong: accelform check {other.stack}")]


def _is_of(path: Path, project: str) -> bool:
    """Whether a file is of the project; one that nobody can read may be."""
    try:
        return bool(read(path).config.get(PROJECT_KEY) == project)
    except SpecError:
        return True


@lru_cache(maxsize=64)
def _lines(file: StackFile, modified: int) -> tuple[LineItem, ...]:
    """Lines of one stack; none where its file is wrong. Kept, as each stack of a project asks for all others."""
    try:
        return tuple(check(file).estimate.lines)
    except SpecError:
        return ()
