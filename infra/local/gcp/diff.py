"""Diff: what changed between two runs' inputs, by path, and whether it replaces the resource."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pulumi.runtime.proto import provider_pb2

from infra.local.gcp import schema
from infra.local.gcp.resource_type import ResourceType, placeholders
from infra.local.gcp.values import DEFAULTS, Path, Unknown

PropertyDiff = provider_pb2.PropertyDiff


class Change(NamedTuple):
    """One change in one place."""

    path: Path
    kind: str
    """ADD, DELETE or UPDATE."""
    replaces: bool

    @property
    def diff(self) -> Any:
        return PropertyDiff(kind=PropertyDiff.Kind.Value(f"{self.kind}_REPLACE" if self.replaces else self.kind), inputDiff=True)


def changes(row: ResourceType, old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """
    Every change, by path.

    An object's own `replaces` speaks of its being there or not; what is in it speaks for itself. A list of plain values, and a map,
    count as one property. What an id is made of replaces always.
    """
    return list(_objects(row, schema.of(row.token).inputs, old, new, (), ""))


def _objects(
    row: ResourceType, known: schema.Properties, old: dict[str, Any], new: dict[str, Any], path: Path, dotted: str
) -> Iterator[Change]:
    names = [] if dotted else placeholders(row.id_template)
    for key in sorted({*old, *new} - {DEFAULTS}):
        inner = f"{dotted}.{key}" if dotted else key
        declared = known.get(key, {}) | ({"replaces": True} if key in names else {})
        yield from _values(row, declared, old.get(key), new.get(key), (*path, key), inner)


def _values(row: ResourceType, declared: dict[str, Any], old: Any, new: Any, path: Path, dotted: str) -> Iterator[Change]:
    replaces = bool(declared.get("replaces"))
    if old is None or new is None:
        if old is not new:
            yield Change(path, "ADD" if old is None else "DELETE", replaces)
        return
    if isinstance(new, Unknown) or isinstance(old, Unknown):
        yield Change(path, "UPDATE", replaces)
    elif isinstance(old, dict) and isinstance(new, dict):
        if inside := schema.properties(declared):
            yield from _objects(row, inside, old, new, path, dotted)
        else:
            part = declared.get("additionalProperties", {}) | {"replaces": replaces}
            for key in sorted({*old, *new}):
                yield from _values(row, part, old.get(key), new.get(key), (*path, key), dotted)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(row, declared, old, new, path, dotted)
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield Change(path, "UPDATE", replaces)


def _lists(row: ResourceType, declared: dict[str, Any], old: list[Any], new: list[Any], path: Path, dotted: str) -> Iterator[Change]:
    if dotted in row.sets and sorted(map(str, old)) == sorted(map(str, new)):
        return
    part = declared.get("items", {})
    part = part | {"replaces": bool(declared.get("replaces"))}
    for index in range(max(len(old), len(new))):
        before = old[index] if index < len(old) else None
        after = new[index] if index < len(new) else None
        yield from _values(row, part, before, after, (*path, index), dotted)
