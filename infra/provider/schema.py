"""The provider's package schema, in Pulumi's own form: what there is, in types. `pulumi package get-schema` prints it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

Properties = Mapping[str, Mapping[str, Any]]

FILE = Path(__file__).parent / "schema.json"
PARTS = Path(__file__).parent / "resources"
REF = "#/types/"


@cache
def package() -> dict[str, Any]:
    """The whole schema: the provider's own part, and beside each resource what it takes and gives."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    for path in sorted(PARTS.glob("*.json")):
        part = json.loads(path.read_text(encoding="utf-8"))
        for section in ("resources", "types"):
            found[section] |= part.get(section, {})
    return found


def resource(token: str) -> dict[str, Any]:
    """What one resource takes and gives."""
    found: dict[str, Any] = package()["resources"][token]
    return found


def resolved(declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """A property's own declaration together with that of the type it names."""
    reference = declared.get("$ref", "")
    if not reference.startswith(REF):
        return declared
    named: dict[str, Any] = package()["types"][reference.removeprefix(REF)]
    return {**named, **{key: value for key, value in declared.items() if key != "$ref"}}


def kind(declared: Mapping[str, Any]) -> str:
    """`string`, `integer`, `number`, `boolean`, `array`, `object` (named properties) or `map`."""
    found = resolved(declared)
    if found.get("type") == "object" or "properties" in found:
        return "object" if "properties" in found else "map"
    return str(found.get("type", "any"))


def properties(declared: Mapping[str, Any]) -> Properties:
    found: Properties = resolved(declared).get("properties", {})
    return found


def required(declared: Mapping[str, Any]) -> list[str]:
    return list(resolved(declared).get("required", []))


def allowed(declared: Mapping[str, Any]) -> list[str]:
    """Words of an enumeration; empty where any will do."""
    return [str(one["value"]) for one in resolved(declared).get("enum", [])]


def secrets(known: Properties, values: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Paths of values that the schema says are secret."""
    found: set[tuple[str | int, ...]] = set()
    for name, value in values.items():
        declared = known.get(name, {})
        if declared.get("secret"):
            found.add((*path, name))
        elif isinstance(value, dict) and kind(declared) == "object":
            found |= secrets(properties(declared), value, (*path, name))
        elif isinstance(value, dict) and kind(declared) == "map":
            of = resolved(declared).get("additionalProperties", {})
            found |= secrets(dict.fromkeys(value, of), value, (*path, name))
        elif isinstance(value, list):
            of = resolved(declared).get("items", {})
            for index, part in enumerate(value):
                if isinstance(part, dict):
                    found |= secrets(properties(of), part, (*path, name, index))
    return found
