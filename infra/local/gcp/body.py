"""From inputs to what Google is sent, and from Google's answer to outputs: both by the row and the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from infra.local.gcp import schema
from infra.local.gcp.resource_type import BY_TYPE, Field, Names, ResourceType
from infra.provider.values import DEFAULTS, Unknown, is_empty

PLACES = ("project", "region", "zone", "location")
"""What the provider's configuration stands in for. Google writes some of them in capitals."""

LINK = re.compile(r"(^|/)(projects|folders|organizations|billingAccounts|auth)/|^b/")
"""What makes a string with slashes a link to a resource: `*` is not `https://shop.example/*`."""

ZEROS: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0, "array": [], "map": None, "object": None}


def body(row: ResourceType, inputs: dict[str, Any], names: Names, only: Collection[str]) -> dict[str, Any]:
    """The request body of *inputs*, with the properties *only*."""
    known = {name: value for name, value in schema.of(row.token).inputs.items() if name in only}
    return _objects(row, known, inputs, names, "", top=True)


def in_body(row: ResourceType) -> list[str]:
    """The inputs that Google is sent."""
    return [name for name in schema.of(row.token).inputs if name not in (*row.url_only, *row.virtual, "project", "deletionPolicy")]


def _objects(
    row: ResourceType, known: schema.Properties, values: dict[str, Any], names: Names, dotted: str, *, top: bool = False
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    special = row.by_path
    for name, declared in known.items():
        path = f"{dotted}.{name}" if dotted else name
        field = special.get(path, Field(path))
        value = values.get(name)
        if not is_empty(value) or (field.always and name in values and value is not None and field.zero is BY_TYPE):
            sent = _encoded(row, declared, value, names, path, field)
            hollow = schema.kind(declared) in ("object", "array") and is_empty(sent)
            if not field.always and (sent is None or (hollow and not top)):
                continue
        elif field.always:
            sent = ZEROS[schema.kind(declared)] if field.zero is BY_TYPE else field.zero
        else:
            continue
        put(made, field.rest or name, sent)
    return made


def _encoded(row: ResourceType, declared: dict[str, Any], value: Any, names: Names, dotted: str, field: Field) -> Any:
    kind = schema.kind(declared)
    if kind == "object":
        value = _objects(row, schema.properties(declared), value, names, dotted)
    elif kind == "array" and schema.properties(declared.get("items", {})):
        inside = schema.properties(declared["items"])
        value = [_objects(row, inside, part, names, dotted) for part in value]
    return field.codec.encode(value, names)


def put(into: dict[str, Any], dotted: str, value: Any) -> None:
    """Has *value* stand at a dotted path."""
    *parents, name = dotted.split(".")
    for parent in parents:
        into = into.setdefault(parent, {})
    into[name] = value


def dig(found: Any, dotted: str) -> Any:
    """What stands at a dotted path of an answer; None where nothing does."""
    for step in dotted.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def outputs(row: ResourceType, answer: dict[str, Any], names: Names, written: dict[str, Any]) -> dict[str, Any]:
    """
    The outputs that Google's *answer* says.

    Args:
        row: The type.
        answer: The resource as Google has it.
        names: What its URL says.
        written: What the program wrote, or the state had: it stands where Google does not answer.
    """
    kinds = schema.of(row.token)
    special = row.by_path
    made: dict[str, Any] = {}
    for name in kinds.outputs:
        field = special.get(name, Field(name))
        if name == "deletionPolicy":
            made[name] = written.get(name, "DELETE")
        elif name in row.virtual:
            made[name] = written.get(name, row.virtual[name])
        elif name in names and name not in special:
            made[name] = names[name]
        else:
            found = dig(answer, field.rest or name)
            made[name] = _decoded(row, kinds.inputs.get(name), found, name, field, written.get(name))
    if kinds.labelled:
        made |= labels(answer.get(row.labels) or {}, written, row.labels)
    return made


def labels(found: dict[str, Any], written: dict[str, Any], name: str = "labels") -> dict[str, Any]:
    """The three outputs of labels: those of the program, those with the provider's own, those that Google has."""
    own = {key: value for key, value in found.items() if key in (written.get(name) or {})}
    known = {key: value for key, value in found.items() if key in (written.get("pulumiLabels") or own)}
    return {name: own or None, "pulumiLabels": known, "effectiveLabels": found}


def _decoded(row: ResourceType, declared: dict[str, Any] | None, found: Any, dotted: str, field: Field, written: Any) -> Any:
    if found is None or (field.unread and is_empty(found)):
        if field.unread and written is not None:
            return written
        if field.absent is not BY_TYPE:
            return field.absent
        return ZEROS[schema.kind(declared)] if declared else ""
    if declared is None:
        return field.codec.decode(found)
    value = field.codec.decode(found)
    kind = schema.kind(declared)
    if kind == "object" and isinstance(value, dict):
        return _inside(row, schema.properties(declared), value, dotted, written)
    if kind == "array" and isinstance(value, list) and (inside := schema.properties(declared.get("items", {}))):
        before = written if isinstance(written, list) else []
        return [
            _inside(row, inside, part, dotted, before[index] if index < len(before) else None)
            for index, part in enumerate(value)
            if isinstance(part, dict)
        ]
    if kind in ("integer", "number") and isinstance(value, str):
        return float(value) if "." in value else int(value)
    return str(value) if kind == "string" and isinstance(value, int) and not isinstance(value, bool) else value


def _inside(row: ResourceType, known: schema.Properties, found: dict[str, Any], dotted: str, written: Any) -> dict[str, Any]:
    special = row.by_path
    before = written if isinstance(written, dict) else {}
    made = {}
    for name, declared in known.items():
        path = f"{dotted}.{name}"
        field = special.get(path, Field(path))
        made[name] = _decoded(row, declared, dig(found, field.rest or name), path, field, before.get(name))
    return made


def same(value: Any, found: Any) -> bool:
    """Whether Google says the same, in other words: a full link, a number as a string, nothing for an empty value."""
    if value == found or (is_empty(value) and is_empty(found)):
        return True
    if isinstance(value, str) and isinstance(found, str):
        return same_link(value, found) or _same_json(value, found)
    return not isinstance(value, dict | list | bool) and str(value) == str(found)


def same_link(one: str, other: str) -> bool:
    """Whether two strings are the same link: in full, from the project on, or the short name at its end."""
    short, long = sorted((one, other), key=len)
    return short == long or (bool(short) and long.endswith(f"/{short}") and LINK.search(long) is not None)


def _same_json(value: str, found: str) -> bool:
    """Whether what is written as JSON is found, and perhaps more."""
    if not (value.startswith("{") and found.startswith("{")):
        return False
    try:
        return _holds(json.loads(found), json.loads(value))
    except ValueError:  # it only looks so
        return False


def says(value: Any, found: Any) -> bool:
    """Whether what was found is what is written, and perhaps more."""
    if isinstance(value, dict):
        return isinstance(found, dict) and all(says(part, found.get(key)) for key, part in value.items() if key != DEFAULTS)
    if isinstance(value, list):
        return isinstance(found, list) and len(value) == len(found) and all(says(a, b) for a, b in zip(value, found, strict=True))
    return not isinstance(value, Unknown) and same(value, found)


def _holds(found: Any, value: Any) -> bool:
    """Whether everything of *value* is in *found*, which may say more."""
    if isinstance(value, dict) and isinstance(found, dict):
        return all(_holds(found.get(key), part) for key, part in value.items())
    return bool(value == found)
