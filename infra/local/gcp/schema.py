"""What is known of each resource type: its inputs, which of them replace it, which are secret, and the names of its outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("schema.json")
"""Written by tools/gcp_schema.py, which names its source."""

Properties = dict[str, dict[str, Any]]


class Schema(NamedTuple):
    """One resource type."""

    inputs: Properties
    outputs: list[str]
    required: list[str]

    @property
    def labelled(self) -> bool:
        """Whether labels are kept thrice: as written, with the provider's own, and as Google has them."""
        return "effectiveLabels" in self.outputs


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def of(token: str) -> Schema:
    """The schema of a type of the table."""
    return Schema(**_file()["resources"][token])


def properties(value: dict[str, Any]) -> Properties:
    """The properties of what a property refers to; none where it is a plain value or a map."""
    found: Properties = _file()["types"].get(value.get("ref", ""), {}).get("properties", {})
    return found


def required(value: dict[str, Any]) -> list[str]:
    """The properties that an object of this kind must have."""
    found: list[str] = _file()["types"].get(value.get("ref", ""), {}).get("required", [])
    return found


def kind(value: dict[str, Any]) -> str:
    """`object` (of properties), `map`, `array`, `string`, `integer`, `number` or `boolean`."""
    if "ref" in value:
        return "object" if properties(value) else str(_file()["types"][value["ref"]].get("type", "string"))
    return "map" if value.get("type") == "object" else str(value.get("type", "string"))


def secrets(inputs: Properties, values: dict[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths in *values* that the schema calls secret."""
    for name, value in values.items():
        declared = inputs.get(name, {})
        if declared.get("secret"):
            yield (*path, name)
        elif isinstance(value, dict):
            yield from secrets(properties(declared), value, (*path, name))
        elif isinstance(value, list):
            for index, part in enumerate(value):
                if isinstance(part, dict):
                    yield from secrets(properties(declared.get("items", {})), part, (*path, name, index))
