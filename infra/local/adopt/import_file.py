"""
The engine's own import file: `pulumi import --file`.

Explicit providers are declared in it with their inputs, and what no cloud keeps is said for each resource: the engine fills such gaps from
the file. What the accelform provider read is given whole, so that nobody asks a second time with less to go by.
Source: pulumi/pulumi v3.274.1, `cmd/pulumi/operations/import.go` and `resource/deploy/import.go`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.local.adopt.informed import Seen
from infra.local.gcp import types
from infra.provider.values import has_unknown

COMMAND = ("--yes", "--generate-code=false", "--protect=false")
"""Options of `pulumi import` that go with the file: the program is there already, and says itself what is protected."""
OWN = ("forceDestroy", "deletionProtection", "deletionPolicy")
"""Inputs of several types that are the provider's own: Google does not know them."""


def taken(seen: Sequence[Seen]) -> list[Seen]:
    """What the file can hold: what stands, under a parent that it holds; groups and providers with something in them."""
    kept: dict[str, Seen] = {}
    for one in seen:
        if one.stands and (not one.parent or one.parent in kept):
            kept[one.urn] = one
    while True:
        used = {one.parent for one in kept.values()} | {one.provider for one in kept.values()}
        idle = [one.urn for one in kept.values() if (not one.custom or one.is_provider) and one.urn not in used]
        if not idle:
            return list(kept.values())
        for urn in idle:
            del kept[urn]


def content(seen: Sequence[Seen]) -> dict[str, Any]:
    """The file: what stands of what was seen."""
    every = taken(seen)
    names = _names(every)
    return {"resources": [_entry(one, names) for one in every]}


def before(seen: Sequence[Seen]) -> dict[str, Any] | None:
    """
    A file that must be imported before the other; None where there is no need. The engine makes providers first, and a provider in a group
    that is not there yet breaks the state ("child resource refers to missing parent", 3.274.1).
    """
    every = taken(seen)
    by_urn = {one.urn: one for one in every}
    wanted: set[str] = set()
    for one in every:
        above = one.parent if one.is_provider else ""
        while above:
            wanted.add(above)
            above = by_urn[above].parent
    names = _names(every)
    return {"resources": [_entry(one, names) for one in every if one.urn in wanted]} if wanted else None


def _names(every: Sequence[Seen]) -> dict[str, str]:
    """One word for each, by URN: a name that several have gets its type in front."""
    found: dict[str, str] = {}
    given: set[str] = set()
    for one in every:
        name = one.name
        if name in given:
            name = f"{one.type.rpartition(':')[2]}-{one.name}"
        number = 2
        while name in given:
            name, number = f"{one.type.rpartition(':')[2]}-{one.name}-{number}", number + 1
        given.add(name)
        found[one.urn] = name
    return found


def _entry(one: Seen, names: Mapping[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": one.type, "name": names[one.urn]}
    if entry["name"] != one.name:
        entry["logicalName"] = one.name
    if one.parent:
        entry["parent"] = names[one.parent]
    if not one.custom:
        return entry | {"component": True}
    if one.version:
        entry["version"] = one.version
    if one.is_provider:
        return entry | {"inputs": dict(one.inputs)}
    entry["id"] = one.answer.id
    if one.provider:
        entry["provider"] = names[one.provider]
    if one.answer.inputs and not one.secret:
        return entry | {"inputs": dict(one.answer.inputs), "outputs": {**one.answer.outputs, "id": one.answer.id}}
    row = types.TABLE.get(one.type)
    own = {*OWN, *(row.virtual if row else ())}
    said = {key: value for key, value in one.inputs.items() if key in own and not has_unknown(value)}
    return entry | ({"inputs": said} if said else {})
