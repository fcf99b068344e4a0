"""A stack file that a command changes: comments, quotes, gaps and the order of the rest stay as somebody wrote them."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any


def edited(text: str, change: Callable[[Any], None]) -> str:
    """
    The text with a change.

    Args:
        change: Changes the file's data, whose mappings and lists carry their comments.
    """
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.indent(**_indents(text))
    loaded: Any = yaml.load(text)
    change(loaded)
    out = io.StringIO()
    yaml.dump(loaded, out)
    return "".join(merged(text.splitlines(keepends=True), out.getvalue().splitlines(keepends=True)))


def merged(before: list[str], after: list[str]) -> list[str]:
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
        found += [_closed(line) for line in after[k:m]] + behind
    return found


def _closed(line: str) -> str:
    """A changed line whose comment stands a space behind it: ruamel keeps its column. Where a quote may hold a `#`, it stays."""
    return line if "'" in line or '"' in line else re.sub(r" {2,}#", " #", line) if line.strip()[:1] != "#" else line


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
