"""
What Google's APIs and the engine say when they refuse, in the form of this project's errors: what happened, what mends it, who says so.
What was said stays below, whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from infra import locked
from infra.translations import KNOWN, Known, Words

FIX = re.compile(r"^\s*fix: ", re.MULTILINE)
"""What is told in this project's form already."""
SAID_MAX = 4000
"""Letters of an original that are kept."""


@dataclass(frozen=True, slots=True)
class Translated:
    """What an error means."""

    key: str
    """Which kind it is."""
    what: str
    fix: str
    source: str
    said: str
    """The original."""
    allowed: str = ""
    where: str = ""

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        lines += [f"  allowed: {self.allowed}"] if self.allowed else []
        lines += [f"  fix: {self.fix}", f"  source: {self.source}"]
        first, *rest = self.said.splitlines() or [""]
        return "\n".join([*lines, f"  said: {first}", *(f"    {line}" for line in rest)])


def translated(text: str, *, where: str = "", machine: str = "") -> Translated | None:
    """
    What an error means; None where it is none that is known, or is in our own words already.

    Args:
        text: As the API, the provider or the engine said it.
        where: What it was said of, such as a resource.
        machine: Machine or accelerator type that was asked for, where it is known.
    """
    if FIX.search(text):
        return None
    said = text.strip()[:SAID_MAX]
    flat = " ".join(said.split())
    for known in KNOWN:
        if (match := known.says.search(flat)) is not None:
            return _in_words(known, match, said, where, machine)
    return None


def told(text: str, *, where: str = "", machine: str = "") -> str:
    """The translation with the original below it; where there is none, the original."""
    found = translated(text, where=where, machine=machine)
    return str(found) if found else f"{where}: {text}" if where else text


def _in_words(known: Known, match: re.Match[str], said: str, where: str, machine: str) -> Translated:
    words = Words({key: value.strip("'\"`.,;:") for key, value in match.groupdict().items() if value})
    words["machine"] = machine or words.get("machine", "")
    if known.key == "locked":
        return _of_lock(known, said, where)
    if known.more is not None:
        words.update(known.more(words, said))
    parts: Mapping[str, str] = {name: getattr(known, name).format_map(words) for name in ("what", "allowed", "fix")}
    return Translated(known.key, parts["what"], parts["fix"], known.source, said, parts["allowed"], where)


def _of_lock(known: Known, said: str, where: str) -> Translated:
    """Whoever holds it, with the way out of the one that can be waited for longest."""
    every = sorted(locked.holders(said), key=lambda one: ("dead", "on another host", "alive").index(one.state))
    if not every:
        return Translated(known.key, known.what, known.fix, known.source, said, where=where)
    what = "; ".join(one.line() for one in every)
    return Translated(known.key, what, every[-1].fix(), known.source, said, where=where)
