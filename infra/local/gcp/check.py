"""Check: inputs are of the schema's names and types, what is required is there, and defaults are filled in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from infra.errors import nearest
from infra.local.gcp import schema
from infra.local.gcp.resource_type import ResourceType
from infra.provider.values import DEFAULTS, Path, Unknown, is_empty, shown, written

WORDS = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false"}


class Failure(NamedTuple):
    """One thing wrong in one place."""

    path: Path
    reason: str


class Check:
    """The check of one resource's inputs."""

    def __init__(self, row: ResourceType, secrets: Iterable[Path] = ()) -> None:
        self.row = row
        self._secrets = list(secrets)
        self.schema = schema.of(row.token)
        self.failures: list[Failure] = []

    def inputs(self, news: dict[str, Any]) -> dict[str, Any]:
        """The inputs as they are kept in the state; what is wrong with them is in `failures`."""
        required = [*self.schema.required, *(["name"] if self._must_be_named() else [])]
        return self._object(news, self.schema.inputs, required, (), "")

    def _must_be_named(self) -> bool:
        return "name" in self.schema.inputs and "{name}" in self.row.url and not self.row.named_by_google

    def _object(self, value: dict[str, Any], known: schema.Properties, required: list[str], path: Path, dotted: str) -> dict[str, Any]:
        checked: dict[str, Any] = {}
        for key, part in value.items():
            if key == DEFAULTS or part is None:
                continue
            if key not in known:
                like = nearest(key, known) or sorted(known)[:8]
                self._fail((*path, key), f"there is no such property; nearest: {', '.join(like)}")
                continue
            checked[key] = self._value(part, known[key], (*path, key), f"{dotted}.{key}" if dotted else key)
            if not path and key in self.row.unsupported and not is_empty(part):
                self._fail((key,), "the stand-in provider does not do this; the official one does")
        for key in required:
            if key not in checked and value.get(key) is None:
                self._fail((*path, key), "is missing: it has no default here, and names are not made up" if key == "name" else "is missing")
        added = sorted(self._defaults(checked, dotted))
        for key in added:
            checked[key] = self.row.defaults[f"{dotted}.{key}" if dotted else key]
        return checked | ({DEFAULTS: added} if path else {})

    def _defaults(self, checked: dict[str, Any], dotted: str) -> list[str]:
        keys = [path.rpartition(".") for path in self.row.defaults]
        missing = [key for parent, _, key in keys if parent == dotted and key not in checked]
        return [key for key in missing if not checked.get(self.row.unless.get(f"{dotted}.{key}" if dotted else key, ""))]

    def _value(self, value: Any, declared: dict[str, Any], path: Path, dotted: str) -> Any:
        kind = schema.kind(declared)
        if isinstance(value, Unknown):
            return value
        if kind == "object":
            if not isinstance(value, dict):
                return self._fail(path, f"is not an object; got {shown(value, path, self._secrets)}")
            return self._object(value, schema.properties(declared), schema.required(declared), path, dotted)
        if kind == "array":
            if not isinstance(value, list):
                return self._fail(path, f"is not a list; got {shown(value, path, self._secrets)}")
            return [self._value(part, declared.get("items", {}), (*path, index), dotted) for index, part in enumerate(value)]
        if kind == "map":
            if not isinstance(value, dict):
                return self._fail(path, f"is not an object; got {shown(value, path, self._secrets)}")
            of = declared.get("additionalProperties", {})
            return {key: self._value(part, of, (*path, key), dotted) for key, part in value.items() if part is not None}
        return self._plain(value, kind, path)

    def _plain(self, value: Any, kind: str, path: Path) -> Any:
        """A value of the kind; what only looks different (`"30"` for 30) is taken, as the official provider does."""
        if value is not None and not isinstance(value, dict | list):
            if kind == "string":
                return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
            if kind == "boolean" and value in (True, False, "true", "false"):
                return value in (True, "true")
            if kind in ("integer", "number") and not isinstance(value, bool):
                try:
                    number = float(value)
                except ValueError:
                    number = float("nan")
                if number.is_integer():
                    return int(number)
                if kind == "number" and number == number:
                    return number
        return self._fail(path, f"is not {WORDS[kind]}; got {shown(value, path, self._secrets)}")

    def _fail(self, path: Path, reason: str) -> None:
        self.failures.append(Failure(path, f"{written(path)}: {reason}"))
