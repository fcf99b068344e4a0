"""
Refresh: the inputs that would make what was found.

What Google says in other words stays as the program wrote it. What it says otherwise takes that place; and so does what the program did
not write, was empty before and is not so any more: somebody has set it, and the next update unsets it.
"""

from __future__ import annotations

from typing import Any

from infra.local.gcp import body as bodies
from infra.local.gcp import schema
from infra.local.gcp.resource_type import ResourceType
from infra.provider.values import DEFAULTS, is_empty


def inputs(row: ResourceType, written: dict[str, Any], before: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """
    Args:
        row: The type.
        written: The inputs of the last update.
        before: The outputs that the state has.
        found: The outputs as they are now.
    """
    return Refresh(row).objects(schema.of(row.token).inputs, written, before, found, "")


class Refresh:
    """The walk through one resource's inputs."""

    def __init__(self, row: ResourceType) -> None:
        self.row = row
        self.special = row.by_path
        self.not_set = {*row.computed, *row.virtual, *bodies.PLACES, "deletionPolicy"}
        """What changes without anybody setting it."""

    def objects(
        self, known: schema.Properties, written: dict[str, Any], before: dict[str, Any], found: dict[str, Any], dotted: str
    ) -> dict[str, Any]:
        made = {}
        for key, value in written.items():
            declared, path = known.get(key, {}), f"{dotted}.{key}" if dotted else key
            now = self.values(declared, value, before.get(key), found[key], path) if key != DEFAULTS and key in found else value
            if now is not None:
                made[key] = now
        for key in sorted(known.keys() - written.keys()):
            if (f"{dotted}.{key}" if dotted else key) not in self.not_set and key in before and is_empty(before[key]):
                now = _as_input(known[key], found.get(key))
                if not (is_empty(now) or _hollow(now)):
                    made[key] = now
        return made

    def values(self, declared: dict[str, Any], written: Any, before: Any, found: Any, dotted: str) -> Any:
        if isinstance(written, dict) and isinstance(found, dict) and DEFAULTS in written:
            return self.objects(schema.properties(declared), written, before if isinstance(before, dict) else {}, found, dotted)
        if isinstance(written, list) and isinstance(found, list) and len(written) == len(found):
            items = declared.get("items", {})
            if dotted in self.row.sets:
                found = self._in_order(items, written, found, dotted)
                before = None
            befores = before if isinstance(before, list) and len(before) == len(found) else [None] * len(found)
            return [self.values(items, *parts, dotted) for parts in zip(written, befores, found, strict=True)]
        if found is None and _hollow(written):
            return written
        place = dotted.rpartition(".")[2] in bodies.PLACES and isinstance(written, str) and isinstance(found, str)
        if (place and written.lower() == found.lower()) or bodies.same(written, found) or self._canonical(written, found, dotted):
            return written
        return _as_input(declared, found)

    def _canonical(self, written: Any, found: Any, dotted: str) -> bool:
        """Whether two plain values are one, said in two ways."""
        field = self.special.get(dotted)
        if field is None or isinstance(written, dict | list):
            return False
        return field.canonical(written) in (found, found if found is None else field.canonical(found))

    def _in_order(self, items: dict[str, Any], written: list[Any], found: list[Any], dotted: str) -> list[Any]:
        """What was found, in the order of what was written where it is the same."""
        left = list(found)
        ordered: list[Any] = []
        for part in written:
            match = next((other for other in left if self.values(items, part, None, other, dotted) == part), None)
            ordered.append(match)
            if match is not None:
                left.remove(match)
        return [left.pop(0) if part is None else part for part in ordered]


def _as_input(declared: dict[str, Any], found: Any) -> Any:
    """What was found as Check would leave it: without what is empty."""
    if schema.kind(declared) == "object" and isinstance(found, dict):
        known = schema.properties(declared)
        parts = {key: _as_input(known.get(key, {}), part) for key, part in found.items()}
        return {key: part for key, part in parts.items() if not (is_empty(part) or _hollow(part))} | {DEFAULTS: []}
    if schema.kind(declared) == "array" and isinstance(found, list):
        return [_as_input(declared.get("items", {}), part) for part in found]
    return found


def _hollow(value: Any) -> bool:
    """Whether an object holds nothing that Google would be sent: it answers as if there were none."""
    return isinstance(value, dict) and all(key == DEFAULTS or is_empty(part) or _hollow(part) for key, part in value.items())
