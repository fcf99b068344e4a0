"""Diff: what changed between two runs' inputs, by path, and whether it replaces the resource."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pulumi.runtime.proto import provider_pb2

from infra.local.gcp import body as bodies
from infra.local.gcp import schema
from infra.local.gcp.resource_type import ResourceType, placeholders
from infra.provider.values import DEFAULTS, Path, Unknown, is_empty

PropertyDiff = provider_pb2.PropertyDiff
FAMILY = re.compile(r"images/family/([^/]+)$")


class Change(NamedTuple):
    """One change in one place."""

    path: Path
    kind: str
    """ADD, DELETE or UPDATE."""
    replaces: bool

    @property
    def diff(self) -> Any:
        return PropertyDiff(kind=PropertyDiff.Kind.Value(f"{self.kind}_REPLACE" if self.replaces else self.kind), inputDiff=True)


def changes(row: ResourceType, old: dict[str, Any], new: dict[str, Any], state: dict[str, Any] | None = None) -> list[Change]:
    """
    Every change, by path.

    An object's own `replaces` speaks of its being there or not; what is in it speaks for itself, also when it comes or goes with the
    object. A list of plain values, and a map, count as one property. What an id is made of replaces always.

    Args:
        row: The type.
        old: The last run's inputs.
        new: This run's.
        state: The outputs: to write what is so already changes nothing.
    """
    return list(Diff(row).objects(schema.of(row.token).inputs, old, new, state or {}, (), ""))


class Diff:
    """The walk through two runs' inputs of one type."""

    def __init__(self, row: ResourceType) -> None:
        self.row = row
        self.special = row.by_path
        self.names = placeholders(row.id_template)
        self.computed = {*row.computed, *bodies.PLACES}

    def objects(
        self, known: schema.Properties, old: dict[str, Any], new: dict[str, Any], state: dict[str, Any], path: Path, dotted: str
    ) -> Iterator[Change]:
        for key in sorted({*old, *new} - {DEFAULTS}):
            inner = f"{dotted}.{key}" if dotted else key
            declared = known.get(key, {}) | ({"replaces": True} if inner in self.names else {})
            yield from self.values(declared, old.get(key), new.get(key), state.get(key), (*path, key), inner)

    def values(self, declared: dict[str, Any], old: Any, new: Any, state: Any, path: Path, dotted: str) -> Iterator[Change]:
        replaces = bool(declared.get("replaces"))
        if old is None or new is None:
            if old is None and new is not None and not bodies.says(new, state):
                yield Change(path, "ADD", replaces or self._within(declared, type(new)(), new, state, path, dotted))
            elif new is None and old is not None and dotted not in self.computed and not is_empty(old):
                yield Change(path, "DELETE", replaces or self._within(declared, old, type(old)(), state, path, dotted))
        elif isinstance(new, Unknown) or isinstance(old, Unknown):
            yield Change(path, "UPDATE", replaces)
        elif isinstance(old, dict) and isinstance(new, dict):
            found = state if isinstance(state, dict) else {}
            if inside := schema.properties(declared):
                yield from self.objects(inside, old, new, found, path, dotted)
            else:
                part = declared.get("additionalProperties", {}) | {"replaces": replaces}
                for key in sorted({*old, *new}):
                    if key not in new and dotted in self.computed:  # Google fills in the map, and not one of its entries
                        yield Change((*path, key), "DELETE", replaces)
                        continue
                    yield from self.values(part, old.get(key), new.get(key), found.get(key), (*path, key), dotted)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self.lists(declared, old, new, state if isinstance(state, list) else [], path, dotted)
        elif not _equal(self._canonical(old, dotted), self._canonical(new, dotted), dotted):
            yield Change(path, "UPDATE", replaces)

    def _canonical(self, value: Any, dotted: str) -> Any:
        """A plain value in its one form."""
        return self.special[dotted].canonical(value) if dotted in self.special and not isinstance(value, dict | list | Unknown) else value

    def _within(self, declared: dict[str, Any], old: Any, new: Any, state: Any, path: Path, dotted: str) -> bool:
        """Whether something in an object or a list that comes or goes as a whole replaces the resource."""
        return isinstance(old, dict | list) and any(change.replaces for change in self.values(declared, old, new, state, path, dotted))

    def lists(
        self, declared: dict[str, Any], old: list[Any], new: list[Any], state: list[Any], path: Path, dotted: str
    ) -> Iterator[Change]:
        if dotted in self.row.sets:
            was, becomes = (sorted(str(self._canonical(one, dotted)) for one in all_of_them) for all_of_them in (old, new))
            if was == becomes:
                return
        part = declared.get("items", {}) | {"replaces": bool(declared.get("replaces"))}
        for index in range(max(len(old), len(new))):
            before, after, found = (one[index] if index < len(one) else None for one in (old, new, state))
            if index >= len(new) and dotted in self.computed:  # Google fills in the list, and not one of its elements
                yield Change((*path, index), "DELETE", part["replaces"])
                continue
            yield from self.values(part, before, after, found, (*path, index), dotted)


def _equal(old: Any, new: Any, dotted: str) -> bool:
    """Whether two written values are the same; a link may be in full or short, an image said by its family, a place in capitals."""
    if isinstance(old, str) and isinstance(new, str):
        if dotted in bodies.PLACES:
            old, new = old.lower(), new.lower()
        if family := FAMILY.search(new):
            return old.rpartition("/")[2].startswith(family[1]) and ("/family/" not in old or old.endswith(family[0]))
        return bodies.same_link(old, new)
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)
