"""Keys of a stack file, written by a command: nothing else of the file changes; comments, quotes and order stay."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

from infra.errors import Problem, SpecError
from infra.yaml_file import KeyPath, YamlFile, read

PLAIN = re.compile(r"(?!(?i:true|false|null|yes|no|on|off|y|n)$)[A-Za-z/][\w./:@-]*[\w/]")
"""Text that needs no quotes."""


def check_writable(path: Path) -> None:
    """
    Raises:
        SpecError: The file, or its folder, cannot be written.
    """
    target = path.resolve()
    if not (os.access(target, os.W_OK) and os.access(target.parent, os.W_OK)):
        raise SpecError(str(path), [Problem("", "cannot be written, or its folder cannot", fix="make both writable")])


def edited(text: str, values: Mapping[KeyPath, Any], gone: Iterable[KeyPath] = ()) -> str:
    """
    The text of a file with other values at some of its keys.

    Args:
        values: By path. A mapping that is not there is made; what is above it must be one.
        gone: Keys that are taken away.
    """
    from ruamel.yaml.comments import CommentedMap

    def change(loaded: Any) -> None:
        for path, value in values.items():
            holder = loaded
            for step in path[:-1]:
                if holder.get(step) is None:
                    holder[step] = CommentedMap()
                holder = holder[step]
            holder[path[-1]] = _as_before(value, holder.get(path[-1]))
        for path in gone:
            holder = loaded
            for step in path[:-1]:
                holder = holder[step]
            del holder[path[-1]]

    return changed(text, change)


def changed(text: str, change: Callable[[Any], None]) -> str:
    """
    The text of a file with any change.

    Args:
        change: Changes the file's data, whose mappings and lists carry their comments.
    """
    from ruamel.yaml import YAML

    if text and not text.endswith("\n"):
        text += "\n"  # else what is added behind the last line would be a part of it
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.indent(**_indents(text))
    loaded: Any = yaml.load(text)
    change(loaded)
    out = io.StringIO()
    yaml.dump(loaded, out)
    return "".join(_merged(text.splitlines(keepends=True), out.getvalue().splitlines(keepends=True)))


def applied(data: Mapping[str, Any], values: Mapping[KeyPath, Any], gone: Iterable[KeyPath] = ()) -> dict[str, Any]:
    """The same of a file's data: what the edited text must read as."""
    import copy

    wanted = copy.deepcopy(dict(data))
    for path, value in values.items():
        holder: Any = wanted
        for step in path[:-1]:
            if holder.get(step) is None:
                holder[step] = {}
            holder = holder[step]
        holder[path[-1]] = value
    for path in gone:
        holder = wanted
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
    return wanted


def replace(path: Path, text: str, wanted: Mapping[str, Any], what: str) -> YamlFile:
    """
    Puts *text* in place of a file, whole or not at all.

    Args:
        wanted: What it must read as.
        what: Key that errors speak of.

    Raises:
        SpecError: The file cannot be written, or reads as something else.
    """
    with Beside(path, text) as unfinished:
        found = unfinished.read(wanted, what)
        unfinished.put()
    return found


class Beside:
    """A new text beside its file, which is gone at the end unless it was put in the file's place."""

    def __init__(self, path: Path, text: str) -> None:
        self._shown, self._path = path, path.resolve()  # what a link points to is replaced, and not the link
        self._text = text
        self._unfinished = self._path.with_name(f".{self._path.name}.{os.getpid()}")

    def __enter__(self) -> Beside:
        try:
            self._unfinished.write_text(self._text, encoding="utf-8")
        except OSError as error:
            self._unfinished.unlink(missing_ok=True)
            raise SpecError(str(self._shown), [Problem("", f"cannot be written: {error.strerror or error}")]) from None
        return self

    def __exit__(self, *error: object) -> None:
        self._unfinished.unlink(missing_ok=True)

    def read(self, wanted: Mapping[str, Any], what: str) -> YamlFile:
        """
        Raises:
            SpecError: It reads as something else than *wanted*.
        """
        found = read(self._unfinished, str(self._shown))
        if found.data != wanted:
            raise SpecError(
                str(self._shown), [Problem(what, "cannot be written without changing other lines", fix="write it by hand, and try again")]
            )
        return found

    def put(self) -> None:
        """
        Raises:
            SpecError: The file cannot be written.
        """
        try:
            self._unfinished.chmod(self._path.stat().st_mode)
            self._unfinished.replace(self._path)
        except OSError as error:
            raise SpecError(str(self._shown), [Problem("", f"cannot be written: {error.strerror or error}")]) from None


def _as_before(value: Any, before: Any) -> Any:
    """A list or mapping in the form, on one line or on several, that the one before it had; on one line where there was none."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if not isinstance(value, list | dict):
        return _quoted(value)
    made = CommentedSeq(map(_quoted, value)) if isinstance(value, list) else CommentedMap({key: _quoted(one) for key, one in value.items()})
    if isinstance(before, CommentedSeq | CommentedMap) and not before.fa.flow_style():
        made.fa.set_block_style()
    else:
        made.fa.set_flow_style()
    return made


def _quoted(value: Any) -> Any:
    """Text as the files here have it: without quotes where nobody can take it for something else, else in double ones."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    return DoubleQuotedScalarString(value) if isinstance(value, str) and not PLAIN.fullmatch(value) else value


def _merged(before: list[str], after: list[str]) -> list[str]:
    """
    The new lines, but where they differ from an old one by spaces alone the old one: ruamel writes `{ a: 1 }` as `{a: 1}`.

    What stands before the next key, a gap or its comment, is to ruamel the end of the last entry: a new entry goes before it, and where
    the last entry goes it stays.
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
        if what in ("delete", "replace"):
            kept = {line for line in after[k:m] if _is_comment(line)}
            behind = [line for line in before[i:j] if _is_comment(line) and line not in kept]
        found += [_closed(line) for line in after[k:m]] + behind
    return found


def _closed(line: str) -> str:
    """A changed line whose comment stands a space behind it: ruamel keeps its column. Where a quote may hold a `#`, it stays."""
    return line if "'" in line or '"' in line else re.sub(r" {2,}#", " #", line) if line.strip()[:1] != "#" else line


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


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
