"""
The stack file's keys, read off the specs: what each is, may be, and defaults to. `explain`, refusals and documents all come from here.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

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


def is_list(annotation: Any) -> bool:
    """Whether a key holds several of a spec: `list[FooSpec]`."""
    if get_origin(annotation) is Annotated:
        return is_list(get_args(annotation)[0])
    return get_origin(annotation) is list


def model_at(model: type[BaseModel], location: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The spec that holds the last step of *location*."""
    current: type[BaseModel] | None = model
    steps = list(location[:-1])
    while steps and current is not None:
        field = field_of(current, str(steps.pop(0)))
        if field is None:
            return None
        if steps and (is_map(field.annotation) or isinstance(steps[0], int)):
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
        said = description(model, name) or " ".join(((spec.__doc__ if spec else "") or "").split())
        yield Key(path, said, field.is_required(), "" if spec else default_text(model, name))
        if spec is not None:
            inside = f".{NAMED}." if is_map(field.annotation) else "[]." if is_list(field.annotation) else "."
            yield from keys(spec, f"{path}{inside}")
    if issubclass(model, Spec):
        for name, what in model.later.items():
            yield Key(f"{prefix}{name}", "", False, "", later=what)


def description(model: type[BaseModel], key: str) -> str:
    """What the docstring of a field says, by its name or its key, in one line; empty where it says nothing."""
    names = {field.alias: name for name, field in model.model_fields.items()}
    return " ".join(model.descriptions().get(names.get(key, key), "").split()) if issubclass(model, Spec) else ""


def default_text(model: type[BaseModel], name: str) -> str:
    """A field's default as the file would write it; for a default that depends on other keys, the words of its description."""
    default = model.model_fields[name].get_default(call_default_factory=True, validated_data={})
    if default is PydanticUndefined:
        return ""
    if default is None or isinstance(default, tuple):  # a file has lists only: what it cannot say depends on other keys
        said = re.search(r"\(default: ([^)]*)\)", description(model, name))
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
