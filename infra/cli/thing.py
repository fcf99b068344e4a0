"""One thing of the stack files, by the name that a person says, and the cloud that its stack stands in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.operate.things import Thing
    from infra.stack_file import FileSpec


def named(word: str, stack: str | None, folder: Path, command: str) -> tuple[Thing, FileSpec]:
    """
    The thing, and the file of its stack.

    Raises:
        SpecError: There is none of that name, or there are several.
    """
    from infra import stack_kinds
    from infra.check import stack_files
    from infra.cli.status import stacks_folder
    from infra.operate import things

    specs = {file.stack: stack_kinds.load(file.path) for file in stack_files([stack] if stack else [], stacks_folder(folder))}
    every = [one for name, spec in specs.items() for one in things.of(spec, name)]
    found = things.find(word, every, command)
    return found, specs[found.stack]
