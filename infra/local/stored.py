"""The stored state of a stack in the neutral form that rules and prices read: what stands, as the engine last knew it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a mark, no secret
"""The engine's own marks of a value that is no plain one. Source: pulumi/pulumi:sdk/go/common/resource/sig/sig.go."""
OWN = "__"
"""Inputs that begin so are the engine's and its bridge's notes, such as `__defaults`."""
STACK = "::pulumi:pulumi:Stack::"


def stored(state: Mapping[str, Any] | None) -> list[Declared]:
    """
    Every resource of a state (`pulumi stack export`), sorted by URN; providers and the stack itself left out.

    A create that was begun and never ended is not among them: nobody knows whether it stands.
    """
    resources = ((state or {}).get("deployment") or {}).get("resources") or []
    found = [declared(one) for one in resources if not one["type"].startswith("pulumi:") and not one.get("delete")]
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
        if value.get(SIGNATURE) == SECRET:
            return Secret(UNKNOWN)  # encrypted: nobody reads it here
        return {key: _plain(inner) for key, inner in sorted(value.items()) if not key.startswith(OWN)}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
