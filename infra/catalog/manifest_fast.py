"""
Whether a schema takes a manifest, and nothing more: some ten times as fast as finding out what it refuses.

Nearly all manifests are right. What is not taken here is looked at by the library, which says why; so a keyword that is not known here
takes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from infra.catalog.manifest_schemas import Schemas, schemas

Takes = Callable[[Any], bool]
INTS = {"int32": (1 << 31) - 1, "int64": (1 << 63) - 1}
NOT_HELD = frozenset({"date-time", "double"})
"""Formats that nobody is held to."""
SAID = frozenset({"description", "title", "default", "example"})
"""Keywords that hold nobody to anything, as all `x-kubernetes-...`."""
KINDS: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda one: isinstance(one, Mapping),
    "array": lambda one: isinstance(one, list),
    "string": lambda one: isinstance(one, str),
    "boolean": lambda one: isinstance(one, bool),
    "integer": lambda one: isinstance(one, int) and not isinstance(one, bool),
    "number": lambda one: isinstance(one, int | float) and not isinstance(one, bool),
    "null": lambda one: one is None,
}


@cache
def takes(definition: str, version: str) -> Takes:
    """What tells whether a definition of that version takes a value."""
    known = schemas(version)
    made: list[Takes] = []

    def found(value: Any) -> bool:
        if not made:  # a definition may be a part of itself
            made.append(_of(known.definition(definition), known))
        return made[0](value)

    return found


def _of(schema: Mapping[str, Any], known: Schemas) -> Takes:
    checks = [check for key, value in schema.items() if (check := _keyword(key, value, schema, known)) is not None]
    if len(checks) == 1:
        return checks[0]
    return lambda one: all(check(one) for check in checks)


def _keyword(key: str, said: Any, schema: Mapping[str, Any], known: Schemas) -> Takes | None:
    """One keyword; None of what holds nobody to anything."""
    if key in SAID or key.startswith("x-kubernetes-") or (key == "additionalProperties" and "properties" in schema):
        return None
    match key:
        case "$ref":
            return takes(str(said).removeprefix("#/$defs/"), known.version)
        case "type":
            kinds = [KINDS[one] for one in ([said] if isinstance(said, str) else said)]
            return kinds[0] if len(kinds) == 1 else lambda one: any(kind(one) for kind in kinds)
        case "properties" | "additionalProperties":
            return _object(schema, known)
        case "required":
            return lambda one: not isinstance(one, Mapping) or all(name in one for name in said)
        case "items":
            inner = _of(said, known)
            return lambda one: not isinstance(one, list) or all(inner(part) for part in one)
        case "enum":
            words = frozenset(word for word in said if isinstance(word, str | None))
            return lambda one: isinstance(one, str | None) and one in words
        case "oneOf":
            several = [_of(part, known) for part in said]
            return lambda one: sum(part(one) for part in several) == 1
        case "pattern":
            found = re.compile(said)
            return lambda one: not isinstance(one, str) or found.search(one) is not None
        case "format":
            return _format(said)
    return _bound(key, said)


def _object(schema: Mapping[str, Any], known: Schemas) -> Takes:
    fields = {name: _of(one, known) for name, one in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties", True)
    beyond: Takes = (lambda one: bool(others)) if isinstance(others, bool) else _of(others, known)

    def check(value: Any) -> bool:
        return not isinstance(value, Mapping) or all(fields.get(name, beyond)(one) for name, one in value.items())

    return check


def _bound(key: str, said: Any) -> Takes:
    match key:
        case "minLength":
            return lambda one: not isinstance(one, str) or len(one) >= said
        case "maxLength":
            return lambda one: not isinstance(one, str) or len(one) <= said
        case "minItems":
            return lambda one: not isinstance(one, list) or len(one) >= said
        case "maxItems":
            return lambda one: not isinstance(one, list) or len(one) <= said
        case "minProperties":
            return lambda one: not isinstance(one, Mapping) or len(one) >= said
        case "maxProperties":
            return lambda one: not isinstance(one, Mapping) or len(one) <= said
        case "minimum":
            return lambda one: not KINDS["number"](one) or one >= said
        case "maximum":
            return lambda one: not KINDS["number"](one) or one <= said
    return lambda one: False


def _format(said: str) -> Takes | None:
    if said in NOT_HELD:
        return None
    if said in INTS:
        largest = INTS[said]
        return lambda one: not isinstance(one, int) or -largest - 1 <= one <= largest
    return (lambda one: not isinstance(one, str) or is_base64(one)) if said == "byte" else lambda one: False


def is_base64(text: str) -> bool:
    return re.fullmatch(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", "".join(text.split())) is not None
