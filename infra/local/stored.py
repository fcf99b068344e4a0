"""The stored state of a stack in the neutral form that rules and prices read: what stands, as the engine last knew it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.clouds import resources
from infra.declared import UNKNOWN, Declared, Secret
from infra.wire import HIDDEN, SIGNATURE

OWN = "__"
"""Inputs that begin so are the engine's and its bridge's notes, such as `__defaults`."""
STACK = "::pulumi:pulumi:Stack::"


def stored(state: Mapping[str, Any] | None) -> list[Declared]:
    """
    Every resource of a state (`pulumi stack export`), sorted by URN; providers and the stack itself left out.

    A create that was begun and never ended is not among them: nobody knows whether it stands.
    """
    found = [declared(one) for one in resources(state) if not one["type"].startswith("pulumi:") and not one.get("delete")]
    return sorted(found, key=lambda one: one.urn)


def declared(resource: Mapping[str, Any]) -> Declared:
    """One resource as a state or an event of the engine has it."""
    parent = str(resource.get("parent") or "")
    return Declared(
        type=resource["type"],
        name=resource["urn"].rpartition("::")[2],
        inputs=_plain(resource.get("inputs") or {}),
        urn=resource["urn"],
        parent="" if STACK in parent else parent,
        dependencies=tuple(sorted(resource.get("dependencies") or ())),
        protect=bool(resource.get("protect")),
        existing=bool(resource.get("external")),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == HIDDEN:
            return Secret(UNKNOWN)  # encrypted: nobody reads it here
        return {key: _plain(inner) for key, inner in sorted(value.items()) if not key.startswith(OWN)}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
