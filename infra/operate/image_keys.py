"""The key `images:` of a stack file, written by a command: nothing else of the file changes, comments stay."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from infra.errors import Problem, SpecError
from infra.operate.file_edit import edited
from infra.yaml_file import read

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
    new = {name: images[name] for name in changed}
    _replace(path, _written(path.read_text(encoding="utf-8"), new, note), {**before, **new})
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
    target = path.resolve()
    if not (os.access(target, os.W_OK) and os.access(target.parent, os.W_OK)):
        raise SpecError(str(path), [Problem("", "cannot be written, or its folder cannot", fix="make both writable")])
    return dict(config.get(KEY) or {})


def _written(text: str, images: Mapping[str, str], note: str) -> str:
    from ruamel.yaml.comments import CommentedMap

    def change(loaded: Any) -> None:
        kept = loaded["config"].get(KEY)
        if kept is None:
            kept = CommentedMap()
            loaded["config"][KEY] = kept
        for name, reference in images.items():
            kept[name] = reference

    lines = edited(text, change).splitlines(keepends=True)
    return "".join(_noted(line, images.values(), note) for line in lines)


def _noted(line: str, references: Iterable[str], note: str) -> str:
    """A line with one of the references: its note is the new one. Another comment beside it stays where there is no new one."""
    if not any(reference in line for reference in references):
        return line
    head, _, comment = line.rstrip("\n").partition(" #")
    kept = "" if comment.strip() == NOTE else f" #{comment}" if comment else ""
    return f"{head.rstrip()}{f' # {note}' if note else kept}\n"


def _replace(path: Path, text: str, images: Mapping[str, str]) -> None:
    path = path.resolve()  # what a link points to is replaced, and not the link
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        wanted = read(path).data
        wanted["config"][KEY] = dict(images)
        if read(unfinished).data != wanted:
            raise SpecError(
                str(path), [Problem("images", "cannot be written without changing other lines", fix=f"write it: {dict(images)}")]
            )
        unfinished.chmod(path.stat().st_mode)
        unfinished.replace(path)
    except OSError as error:
        raise SpecError(str(path), [Problem("", f"cannot be written: {error.strerror or error}")]) from None
    finally:
        unfinished.unlink(missing_ok=True)
