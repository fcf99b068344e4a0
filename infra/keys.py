"""
The stack file's keys, read off the specs: what each is, may be, and defaults to. `explain`, errors and documents all come from here.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from infra.errors import Problem, nearest
from infra.spec import Spec

NAMED = "<name>"
"""Stands in a path for a name that the user chooses."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the stack file."""

    path: str
    description: str
    required: bool
    default: str
    """As YAML's flow form; empty for a required key and for a group of keys."""
    later: str = ""
    """What it will do, where this version does not accept it yet."""


def names(model: type[BaseModel]) -> list[str]:
    """Keys that *model* accepts, as the file writes them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def inner(annotation: Any) -> Any:
    """The spec inside an annotation: of `Annotated[dict[Name, FooSpec], ...]` it is FooSpec; None where there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Annotated, dict, list, Union, types.UnionType):
        for part in reversed(get_args(annotation)):
            if found := inner(part):
                return found
    return None


def is_map(annotation: Any) -> bool:
    """Whether users choose the keys: `dict[Name, FooSpec]`."""
    if get_origin(annotation) is Annotated:
        return is_map(get_args(annotation)[0])
    return get_origin(annotation) is dict


def model_at(model: type[BaseModel], location: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The spec that holds the last step of *location*."""
    current: type[BaseModel] | None = model
    steps = list(location[:-1])
    while steps and current is not None:
        field = field_of(current, str(steps.pop(0)))
        if field is None:
            return None
        if is_map(field.annotation) and steps:
            steps.pop(0)
        current = inner(field.annotation)
    return current


def field_of(model: type[BaseModel], key: str) -> FieldInfo | None:
    for name, field in model.model_fields.items():
        if key in (field.alias or name, name):
            return field
    return None


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[Key]:
    """Every key of the file, depth first, in the order of the specs; then those that are not available yet."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        spec = inner(field.annotation)
        description = " ".join((field.description or (spec.__doc__ if spec else "") or "").split())
        yield Key(path, description, field.is_required(), "" if spec else default_text(field))
        if spec is not None:
            yield from keys(spec, f"{path}.{NAMED}." if is_map(field.annotation) else f"{path}.")
    if issubclass(model, Spec):
        for name, what in model.later.items():
            yield Key(f"{prefix}{name}", "", False, "", later=what)


def default_text(field: FieldInfo) -> str:
    """A field's default as the file would write it; for a default that depends on other keys, the words of its description."""
    default = field.get_default(call_default_factory=True, validated_data={})
    if default is PydanticUndefined:
        return ""
    if default is None:
        said = re.search(r"\(default: ([^)]*)\)", " ".join((field.description or "").split()))
        return said[1] if said else ""
    return flow(default)


def flow(value: Any) -> str:
    """A value as it would stand in the file."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    if not isinstance(value, bool | int | float | list | dict):
        value = _leaf(value)
    if isinstance(value, str):
        return value or '""'
    return json.dumps(value, default=_leaf, ensure_ascii=False)


def _leaf(value: Any) -> Any:
    """A value type (a range, an amount, a date) as the file writes it."""
    return value.plain() if hasattr(value, "plain") else str(value)


def explain_error(
    model: type[BaseModel],
    location: tuple[str | int, ...],
    kind: str,
    message: str,
    got: Any,
    context: Mapping[str, Any],
) -> Problem:
    """One of pydantic's findings in this project's words."""
    key = str(location[-1]) if location else ""
    holder = model_at(model, location)
    if kind == "accelform":
        return Problem("", f"{show(got)} {context['message']}", context["allowed"], context["fix"])
    if kind == "extra_forbidden" and holder is not None:
        if issubclass(holder, Spec) and key in holder.later:
            return Problem("", f"is not available yet ({holder.later[key]})", fix="leave it out in this version")
        close = nearest(key, names(holder), 1)
        return Problem("", "is not a key here", ", ".join(names(holder)), f"did you mean `{close[0]}`?" if close else "remove it")
    if kind == "missing":
        field = field_of(holder, key) if holder else None
        described = " ".join((field.description or "").split()) if field else ""
        return Problem("", "is missing", described, "write it: it has no default")
    if kind == "literal_error":
        return Problem("", f"{show(got)} is not one of the words here", _choices(holder, key) or str(context.get("expected", "")))
    if kind in TYPES:
        return Problem("", f"{show(got)} is not {TYPES[kind]}", ", ".join(names(inside)) if (inside := _inside(holder, key)) else "")
    said = message[0].lower() + message[1:] if message else "is wrong"
    return Problem("", f"{show(got)}: {said}")


TYPES = {
    "model_type": "a mapping of keys",
    "dict_type": "a mapping of names",
    "list_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "date_type": "a date, such as 2026-12-01",
    "date_parsing": "a date, such as 2026-12-01",
    "date_from_datetime_parsing": "a date, such as 2026-12-01",
    "date_from_datetime_inexact": "a date, such as 2026-12-01",
}
"""What pydantic calls a wrong type, in the words of the file."""


def _inside(holder: type[BaseModel] | None, key: str) -> type[BaseModel] | None:
    field = field_of(holder, key) if holder else None
    found: type[BaseModel] | None = inner(field.annotation) if field and not is_map(field.annotation) else None
    return found


def _choices(holder: type[BaseModel] | None, key: str) -> str:
    field = field_of(holder, key) if holder else None
    found = list(_literals(field.annotation)) if field else []
    return ", ".join(str(word) for word in found)


def _literals(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif typing.get_origin(annotation) is not None:
        for part in get_args(annotation):
            yield from _literals(part)


def show(value: Any) -> str:
    """A value in an error: as JSON, cut at 60 characters."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
