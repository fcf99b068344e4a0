"""
Two things of one stack under one name: two keys, and the namespaces that they are in, can read the same where they are put together.

The engine refuses that too, but only when it makes them, and without the keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from infra.declared import Declared
from infra.errors import Problem


def problems(resources: Sequence[Declared]) -> Iterator[Problem]:
    """Keys whose things would have one name. Of several things of the same keys one is told."""
    parents = {one.urn: one.parent for one in resources}
    named = {one.urn: f"{one.name} ({one.type.split(':')[-1]})" for one in resources}
    whose: dict[str, list[str]] = defaultdict(list)
    for one in resources:
        whose[one.urn].append(one.parent)
    told = set()
    for urn, above in whose.items():
        keys = tuple(named[_outermost(parent, parents)] if parent else "the stack" for parent in above)
        if len(keys) > 1 and keys not in told:
            told.add(keys)
            yield Problem("", f"{' and '.join(keys)} would both make {named[urn]}", "one of each name", "rename one of the two keys")


def _outermost(urn: str, parents: dict[str, str]) -> str:
    while parents.get(urn):
        urn = parents[urn]
    return urn
