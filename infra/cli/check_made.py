"""What `accelform check` shows of what a stack makes: a row for each resource, and one for each part that lives in a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from infra.check import place, shown_name
from infra.cli.output import plain_table
from infra.declared import Declared

if TYPE_CHECKING:
    from rich.console import Console

IN_CLUSTER = "kubernetes:"


def show(out: Console, resources: Sequence[Declared]) -> None:
    """
    Prints the tables. A part of a cluster is many small objects, most of one name: eighty rows would say less than ten, and `--json` has
    them all.
    """
    from rich.text import Text

    parents = {one.urn: one.parent for one in resources}
    roots = {one.urn: one for one in resources if one.is_component and not one.parent}
    parts: dict[str, list[Declared]] = {}
    for one in resources:
        if not one.is_component and not one.type.startswith("pulumi:"):
            parts.setdefault(_root(one.urn, parents), []).append(one)
    inside = {root: held for root, held in parts.items() if root in roots and any(one.type.startswith(IN_CLUSTER) for one in held)}

    if inside:
        table = plain_table("makes in the cluster", "is", "of", "")
        for root, held in inside.items():
            table.add_row(Text(roots[root].name), _kind(roots[root]), Text(", ".join(_objects(roots[root], held))), _note(held))
        out.print(table)
        count = sum(map(len, inside.values()))
        out.print(Text(f"{count} objects, grants included; each by its name: --json"), soft_wrap=True)
    rest = [one for root, held in parts.items() if root not in inside for one in held]
    if inside and rest:
        out.print()
    if rest or not inside:
        table = plain_table("makes", "type", "stands in", "")
        for one in rest:
            table.add_row(Text(shown_name(one)), _kind(one), place(one), _note([one]))
        out.print(table)


def _root(urn: str, parents: dict[str, str]) -> str:
    """The outermost part that a resource is of: itself, where it is of none."""
    while parents.get(urn):
        urn = parents[urn]
    return urn


def _kind(resource: Declared) -> str:
    return resource.type.split(":")[-1]


def _objects(root: Declared, held: Sequence[Declared]) -> Iterator[str]:
    """
    What a part is made of, by kind. Where several keys of the file are one part (queues, controllers), its name says nothing, and so each
    object is named.
    """
    collection = root.name == _kind(root).lower()
    if collection:
        yield from (f"{_kind(one)} {_own_name(one)}" for one in held)
    else:
        yield from (f"{count} {kind}" if count > 1 else kind for kind, count in Counter(map(_kind, held)).items())


def _own_name(resource: Declared) -> str:
    """As the cluster calls it."""
    name = resource.get("metadata.name")
    return name if isinstance(name, str) else shown_name(resource)


def _note(held: Sequence[Declared]) -> str:
    if all(one.existing for one in held):
        return "others own it"
    return "protected" if any(one.protect for one in held) else ""
