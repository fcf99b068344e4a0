"""The key `images:` of a stack file, written by a command: nothing else of the file changes, comments stay."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

from infra.errors import Problem, SpecError
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
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.indent(**_indents(text))
    loaded: Any = yaml.load(text)
    kept = loaded["config"].get(KEY)
    if kept is None:
        kept = CommentedMap()
        loaded["config"][KEY] = kept
    for name, reference in images.items():
        kept[name] = reference
    out = io.StringIO()
    yaml.dump(loaded, out)
    lines = _merged(text.splitlines(keepends=True), out.getvalue().splitlines(keepends=True))
    return "".join(_noted(line, images.values(), note) for line in lines)


def _noted(line: str, references: Iterable[str], note: str) -> str:
    """A line with one of the references: its note is the new one. Another comment beside it stays where there is no new one."""
    if not any(reference in line for reference in references):
        return line
    head, _, comment = line.rstrip("\n").partition(" #")
    kept = "" if comment.strip() == NOTE else f" #{comment}" if comment else ""
    return f"{head.rstrip()}{f' # {note}' if note else kept}\n"


def _merged(before: list[str], after: list[str]) -> list[str]:
    """
    The new lines, but where they differ from an old one by spaces alone the old one: ruamel writes `{ a: 1 }` as `{a: 1}`.

    What stands before the next key, a gap or its comment, is to ruamel the end of the last entry: a new entry goes before it.
    """
    bare_before, bare_after = (["".join(line.split()) for line in lines] for lines in (before, after))
    found: list[str] = []
    for what, i, j, k, m in SequenceMatcher(None, bare_before, bare_after, autojunk=False).get_opcodes():
        if what == "equal":
            found += before[i:j]
            continue
        behind: list[str] = []
        while what == "insert" and found and _is_of_the_next(found[-1], after[k]):
            behind.insert(0, found.pop())
        found += after[k:m] + behind
    return found


def _is_of_the_next(line: str, entry: str) -> bool:
    """Whether a line is a gap, or a comment that stands further left than an entry."""
    depths = [len(one) - len(one.lstrip()) for one in (line, entry)]
    return not line.strip() or (line.lstrip().startswith("#") and depths[0] < depths[1])


def _indents(text: str) -> dict[str, int]:
    """How the file indents: its first list's dash, and its first key inside of `config`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    depths = [(len(line) - len(line.lstrip()), line.lstrip()) for line in lines]
    mapping = next((depth for depth, _ in depths if depth), 2)
    for (above, key), (depth, item) in pairwise(depths):
        if item.startswith("- ") and key.split(" #")[0].rstrip().endswith(":"):
            offset = depth - above
            return {"mapping": mapping, "sequence": offset + 2, "offset": offset}
    return {"mapping": mapping, "sequence": mapping + 2, "offset": mapping}


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
