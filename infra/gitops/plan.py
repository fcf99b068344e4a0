"""
What a preview would do, without a single value: operations, names, and the names of properties.

It leaves the machine that previewed, in an artifact that many can read, so nothing of it can be a secret: the engine's own events hold
every input of every resource.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from infra import translated
from infra.errors import Problem, SpecError
from infra.local.engine import events

QUIET = ("same", "read", "refresh")
"""Operations that change nothing."""
PARTS = ("create-replacement", "delete-replaced", "read-replacement", "import-replacement", "discard-replaced")
"""Parts of a replacement, which is told as a whole."""
OWN = ("accelform:vertex:Model", "accelform:vertex:DeployedModels", "accelform:tpu:QueuedResource", "accelform:billing:SpendCap")
"""Resources of this project's own provider; its other types are components."""
SAID_MAX = 40
"""Lines of what went wrong."""
LINE_MAX = 600
"""Letters of one of them."""


@dataclass(frozen=True, slots=True)
class Change:
    """One resource that would change."""

    op: str
    """`create`, `update`, `delete`, `replace`, `import` ..."""
    type: str
    name: str
    causes: Sequence[str] = ()
    """Properties that make it anew, or that differ where it is changed in its place, by path; empty for other operations."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a preview said."""

    changes: Sequence[Change] = ()
    same: int = 0
    """Resources that stay as they are."""
    violations: Sequence[str] = ()
    """Mandatory rules that do not hold."""
    errors: Sequence[str] = ()
    """Why it failed; empty where it ended well."""
    warnings: Sequence[str] = ()

    @property
    def failed(self) -> bool:
        """Whether it ended before it had seen everything: then `changes` may lack some."""
        return bool(self.errors)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        """Reads the engine's events: `PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json`, standard error with it."""
        outcome = events.Outcome()
        steps: list[events.Step] = []
        events.read(lines, outcome, steps.append)
        same = {one.urn for one in steps if one.op == "same" and not one.done and not is_component(one.type)}
        changes = list(begun(steps, outcome).values())
        # The engine's last word is its summary. Where a rule stopped it, it has none.
        stopped = not outcome.changes and not outcome.violations
        errors = _few(outcome.errors) or (_told(outcome.said) or ("the engine said nothing",) if stopped else ())
        return cls(changes, len(same), _few(outcome.violations), errors, _few(outcome.warnings))

    @classmethod
    def parse(cls, text: str, file: str) -> Self:
        """
        Reads what `as_json` gave.

        Raises:
            SpecError: It is not that.
        """
        try:
            data = json.loads(text)
            changes = [Change(str(one["op"]), str(one["type"]), str(one["name"]), _texts(one["causes"])) for one in data["changes"]]
            return cls(changes, int(data["same"]), _texts(data["violations"]), _texts(data["errors"]), _texts(data["warnings"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise SpecError(file, [Problem("", "is not what `accelform gitops plan` writes", fix="write it again")]) from None


def begun(steps: Iterable[events.Step], outcome: events.Outcome) -> dict[str, Change]:
    """What would change, by URN, by type and name: the engine goes at many at a time, in another order each time."""
    found: dict[str, Change] = {}
    for one in steps:
        if not (one.done or one.op in PARTS or one.op in QUIET or is_component(one.type)):
            causes = outcome.replaced.get(one.urn, one.paths if one.op == "update" else ())
            found[one.urn] = Change(one.op, one.type, one.name, tuple(causes))
    return dict(sorted(found.items(), key=lambda item: (item[1].type, item[1].name)))


def is_component(type_: str) -> bool:
    """What only groups others."""
    return type_.startswith("pulumi:") or (type_.startswith("accelform:") and type_ not in OWN)


def _told(said: Sequence[str]) -> tuple[str, ...]:
    """What the engine said besides its events, with what is known of it first."""
    found = translated.translated("\n".join(said))
    return _few([*str(found).partition("\n  said: ")[0].splitlines(), *said] if found else said)


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    """Each once, the first ones, none longer than a person reads."""
    kept = [line if len(line) <= LINE_MAX else f"{line[:LINE_MAX]} ..." for line in dict.fromkeys(filter(None, map(str.strip, lines)))]
    return (*kept[:SAID_MAX], *([f"... and {len(kept) - SAID_MAX} more lines: see the log"] if len(kept) > SAID_MAX else []))


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(str(one) for one in value)
