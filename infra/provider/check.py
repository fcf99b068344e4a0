"""Inputs are of the schema's names and types, what is required is there, and defaults are filled in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from infra.errors import nearest
from infra.provider import schema
from infra.provider.resource import Failure
from infra.provider.values import DEFAULTS, UNKNOWN, Path, Unknown, shown

WORDS = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list"}


class Check:
    """
    The check of one resource's inputs.

    Args:
        secrets: Paths of values that no message may show.
    """

    def __init__(self, secrets: Iterable[Path] = ()) -> None:
        self._secrets = list(secrets)
        self.failures: list[Failure] = []

    def inputs(self, token: str, news: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs as the state keeps them; what is wrong with them is in `failures`."""
        declared = schema.resource(token)
        return self._object(news, declared["inputProperties"], declared.get("requiredInputs", []), ())

    def _object(self, value: Mapping[str, Any], known: schema.Properties, required: Iterable[str], path: Path) -> dict[str, Any]:
        checked: dict[str, Any] = {}
        for name, part in value.items():
            if name == DEFAULTS or part is None:
                continue
            if name in known:
                checked[name] = self._value(part, known[name], (*path, name))
            else:
                like = ", ".join(nearest(name, known) or sorted(known))
                self._fail((*path, name), f"there is no such property\n  allowed: {like}")
        for name in required:
            if value.get(name) is None:
                self._fail((*path, name), f"is missing\n  allowed: {known[name].get('description', 'a value')}")
        for name, declared in known.items():
            if name not in checked and "default" in declared:
                checked[name] = declared["default"]
        return checked

    def _value(self, value: Any, declared: Mapping[str, Any], path: Path) -> Any:
        kind = schema.kind(declared)
        if isinstance(value, Unknown) or kind == "any":
            return value
        if kind in ("object", "map") and isinstance(value, dict):
            if kind == "object":
                return self._object(value, schema.properties(declared), schema.required(declared), path)
            of = schema.resolved(declared).get("additionalProperties", {})
            return {name: self._value(part, of, (*path, name)) for name, part in value.items() if part is not None}
        if kind == "array" and isinstance(value, list):
            of = schema.resolved(declared).get("items", {})
            return [self._value(part, of, (*path, index)) for index, part in enumerate(value)]
        return self._plain(value, kind, schema.allowed(declared), path)

    def _plain(self, value: Any, kind: str, words: list[str], path: Path) -> Any:
        """A plain value of the kind. `"30"` is not 30 here: a program is typed, and what is not is a slip."""
        fits = {
            "string": isinstance(value, str),
            "boolean": isinstance(value, bool),
            "integer": isinstance(value, int) and not isinstance(value, bool),
            "number": isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
        }
        if not fits.get(kind, False):
            return self._fail(path, f"is not {WORDS.get(kind, 'an object')}; got {shown(value, path, self._secrets)}")
        if words and value not in words:
            return self._fail(path, f"{shown(value, path, self._secrets)} is not one of the words here\n  allowed: {', '.join(words)}")
        return value

    def _fail(self, path: Path, reason: str) -> Unknown:
        """What was wrong stands as unknown, so that the checks after it judge the rest."""
        self.failures.append(Failure(path, reason))
        return UNKNOWN
