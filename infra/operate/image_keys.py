"""The key `images:` of a stack file, written by a command: nothing else of the file changes, comments stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from infra.errors import Problem, SpecError
from infra.operate import file_keys
from infra.yaml_file import KeyPath, read

KEY = "accelform:images"
NOTE = "sandbox: nothing was built"
"""Comment beside a reference that no registry has. It goes with the reference."""


def write(path: Path, images: Mapping[str, str], note: str = "") -> list[str]:
    """
    Writes references by name, and answers the names whose reference is another than before.

    Args:
        note: Comment beside each of them.

    Raises:
        SpecError: The file cannot be read or written, or its `images` are no mapping.
    """
    before = check(path)
    changed = [name for name, reference in images.items() if before.get(name) != reference]
    if not changed:
        return []
    new: dict[KeyPath, Any] = {("config", KEY, name): images[name] for name in changed}
    text = noted(file_keys.edited(path.read_text(encoding="utf-8"), new), new.values(), note)
    file_keys.replace(path, text, file_keys.applied(read(path).data, new), "images")
    return changed


def check(path: Path) -> dict[str, Any]:
    """
    The references that the file has: before a build is begun that takes minutes, and whose end could not be written.

    Raises:
        SpecError: The file cannot be read or written, or its `images` are no mapping.
    """
    config = read(path).data.get("config")
    if not isinstance(config, dict) or not isinstance(config.get(KEY) or {}, dict):
        raise SpecError(str(path), [Problem("images", "is no mapping of names", fix="remove it, and build again")])
    file_keys.check_writable(path)
    return dict(config.get(KEY) or {})


def noted(text: str, references: Iterable[str], note: str = "") -> str:
    """A text whose lines with one of the references have a new note. Another comment beside one stays where there is no new one."""
    every = list(references)
    return "".join(_noted(line, every, note) for line in text.splitlines(keepends=True))


def _noted(line: str, references: Iterable[str], note: str) -> str:
    if not any(reference in line for reference in references):
        return line
    head, _, comment = line.rstrip("\n").partition(" #")
    kept = "" if comment.strip() == NOTE else f" #{comment}" if comment else ""
    return f"{head.rstrip()}{f' # {note}' if note else kept}\n"
