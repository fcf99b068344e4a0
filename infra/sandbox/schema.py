"""Holds a request's body against its schema, as Google's front end does before a service sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from infra.sandbox import enums
from infra.sandbox.discovery import Document, Method
from infra.sandbox.refused import invalid

OUTPUT_ONLY = re.compile(r"\s*(\[output[ -]only\]|output only)", re.IGNORECASE)
UNDOCUMENTED = frozenset({"deleteBgpAlwaysCompareMed", "initialNatIps"})
"""What the official provider sends to Compute Engine (google-beta 7) though no document has it, and Google takes. It is not kept."""
MAPS = frozenset({"labels", "annotations", "metadata", "userLabels", "resourceLabels", "trafficSplit", "attributes"})
"""Fields that are maps wherever they are; `metadata` of some resources is a message instead, which its values tell."""
WHOLE = re.compile(r"-?[0-9]{1,20}$")
RANGES = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1), "int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}
FORMS = {
    "google-datetime": (
        re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$"),
        "type.googleapis.com/google.protobuf.Timestamp",
    ),
    "google-duration": (re.compile(r"-?\d+(\.\d{1,9})?s$"), "type.googleapis.com/google.protobuf.Duration"),
}
"""How a moment and a length of time are written, and what they are called. Source: JSON mapping of protocol buffers."""


def checked(document: Document, schema: str, body: dict[str, Any]) -> dict[str, Any]:
    """
    The body without what only the server says, empty values left out.

    Raises:
        Refused: An unknown field, or a value of another type: the first one, as the front end stops there.
    """
    return _object(document, document.schemas[schema], body, "")


def _object(document: Document, schema: dict[str, Any], value: dict[str, Any], path: str) -> dict[str, Any]:
    properties = schema.get("properties", {})
    out = {}
    for key, item in value.items():
        known = properties.get(key) or properties.get(camel(key))
        if known is None:
            if "additionalProperties" in schema:
                known = schema["additionalProperties"]
            elif key == "@type" or key in UNDOCUMENTED:
                continue
            else:
                where = f" at '{path}'" if path else ""
                said = f'Invalid JSON payload received. Unknown name "{key}"{where}: Cannot find field.'
                raise invalid(said, path, said)
        if item is None or read_only(known):
            continue
        name = key if key in properties or "additionalProperties" in schema else camel(key)
        out[name] = _value(document, known, item, f"{path}.{name}" if path else name)
    return out


def _value(document: Document, schema: dict[str, Any], value: Any, path: str) -> Any:
    if "$ref" in schema:
        schema = document.schemas[schema["$ref"]]
    kind = schema.get("type", "any")
    if kind == "object" or "properties" in schema:
        if not isinstance(value, dict):
            raise _wrong(path, "TYPE_MESSAGE", value)
        return _object(document, schema, value, path)
    if kind == "array":
        items = value if isinstance(value, list) else [value]
        return [_value(document, schema["items"], item, f"{path}[{index}]") for index, item in enumerate(items) if item is not None]
    if kind == "string":
        return _string(document, schema, value, path)
    if kind == "boolean":
        if value in ("true", "false"):
            return value == "true"
        if not isinstance(value, bool):
            raise _wrong(path, "TYPE_BOOL", value)
    elif kind == "integer":
        return _integer(schema, value, path)
    elif kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _wrong(path, "TYPE_DOUBLE", value)
    return value


def _integer(schema: dict[str, Any], value: Any, path: str) -> int:
    """A whole number in the range of its format."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value == int(value)
    whole = int(value) if is_number or (isinstance(value, str) and WHOLE.match(value)) else None
    least, most = RANGES[schema.get("format", "int32")]
    if whole is None or not least <= whole <= most:
        raise _wrong(path, "TYPE_INT32", value)
    return whole


def _string(document: Document, schema: dict[str, Any], value: Any, path: str) -> str:
    if schema.get("format") in ("int64", "uint64"):
        text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
        least, most = RANGES[schema["format"]]
        if not WHOLE.match(text) or not least <= int(text) <= most:
            raise _wrong(path, "TYPE_INT64", value)
        return text
    if "enum" in schema and isinstance(value, int) and not isinstance(value, bool):
        names = {number: name for name, number in enums.of(document, schema).items()}
        if value not in names:
            raise _wrong(path, "TYPE_ENUM", value)
        return names[value]
    if not isinstance(value, str):
        raise _wrong(path, "TYPE_STRING", value)
    if "enum" in schema and value and value not in schema["enum"]:
        raise _wrong(path, "TYPE_ENUM", value)
    form = FORMS.get(schema.get("format", ""))
    if form and value and not form[0].match(value):
        raise _wrong(path, form[1], value)
    return value


def check_query(method: Method, query: Mapping[str, str]) -> None:
    """
    Raises:
        Refused: A parameter of the query is of another type than the document says.
    """
    for key, value in query.items():
        schema = method.query.get(key)
        if schema is None or not value or (schema["type"] not in ("integer", "boolean") and "enum" not in schema):
            continue
        for one in value.split(",") if schema.get("repeated") else (value,):
            if schema["type"] == "integer" and not WHOLE.match(one):
                raise _wrong(key, "TYPE_INT32", one)
            if schema["type"] == "boolean" and one.lower() not in ("true", "false", "1", "0"):
                raise _wrong(key, "TYPE_BOOL", one)
            if "enum" in schema and one not in schema["enum"] and not one.isdecimal():
                raise _wrong(key, "TYPE_ENUM", one)


def _wrong(path: str, kind: str, value: Any) -> Exception:
    shown = f'"{value}"' if isinstance(value, str) else value
    return invalid(f"Invalid value at '{path}' ({kind}), {shown}", path, f"Invalid value at '{path}' ({kind}), {shown}")


def read_only(schema: dict[str, Any]) -> bool:
    """Whether only the server says it: what a client sends there is ignored."""
    return bool(schema.get("readOnly")) or OUTPUT_ONLY.match(schema.get("description", "")) is not None


def camel(name: str) -> str:
    """`display_name` -> `displayName`: JSON's name of a field."""
    return re.sub(r"_([a-z0-9])", lambda letter: letter[1].upper(), name)


def without_empty(value: Any, said: frozenset[str] = frozenset(), parent: str = "") -> Any:
    """
    Without false, 0, "" and empty lists, as services on protocol buffers answer; a set but empty message stays `{}`.

    A map is no message: it goes when it is empty, and keeps its entries whatever they are. Optional fields, *said* by their name or with
    that of the message that they are in, stay while they are set.
    """
    if isinstance(value, dict):
        kept = {
            key: item
            for key, item in value.items()
            if key in said or f"{parent}.{key}" in said or not (_empty(item) or (key in MAPS and item == {}))
        }
        return {key: item if _is_map(key, item) else without_empty(item, said, key) for key, item in kept.items()}
    if isinstance(value, list):
        return [without_empty(item, said, parent) for item in value]
    return value


def _is_map(key: str, value: Any) -> bool:
    return key in MAPS and isinstance(value, dict) and not any(isinstance(item, dict | list) for item in value.values())


def _empty(value: Any) -> bool:
    return value is None or value is False or (value in (0, "") and not isinstance(value, bool)) or value == []
