"""Files that a command writes into somebody's checkout: all or none, and none over what somebody has changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from infra.errors import Problem, SpecError
from infra.local.engine import atomic


def write(files: Mapping[Path, str], *, force: bool) -> dict[Path, str]:
    """
    Writes each file whose text is not that already.

    Returns:
        What became of each: `new`, `same` or `overwritten`.

    Raises:
        SpecError: Files differ from what would be written and *force* is not set, or one cannot be written; nothing was written then, or
            what the error says.
    """
    states: dict[Path, str] = {}
    problems = []
    for path, text in files.items():
        try:
            before = path.read_bytes() if path.exists() or path.is_symlink() else None
        except OSError as error:
            problems.append(Problem(str(path), f"cannot be read: {error.strerror or error}", fix="move it away"))
            continue
        states[path] = "new" if before is None else "same" if before == text.encode() else "overwritten"
        if states[path] == "overwritten" and not force:
            fix = "--force overwrites it, and git diff shows what that changes"
            problems.append(Problem(str(path), "is there, and is not what would be written", fix=fix))
    if problems:
        raise SpecError("accelform gitops init", problems)
    for path, text in files.items():
        if states[path] != "same":
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                atomic.write(path, text, mode=0o644)
            except OSError as error:
                raise SpecError("accelform gitops init", [Problem(str(path), f"cannot be written: {error.strerror or error}")]) from None
    return states
