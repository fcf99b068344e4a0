"""
A refused stack file, in this project's words: every one of pydantic's findings with path, value got, allowed, fix and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from infra import keys
from infra.errors import Problem, ProblemsError, nearest
from infra.spec import Spec
from infra.yaml_file import YamlFile

NAMESPACE = "accelform:"
PROJECT_KEY = "gcp:project"


def problems(model: type[BaseModel], error: ValidationError, file: YamlFile) -> list[Problem]:
    """pydantic's findings as problems: path, value got, allowed, fix, line."""
    found = []
    for item in error.errors(include_url=False):
        location = tuple(step for step in item["loc"] if step != "[key]")
        context = item.get("ctx", {})
        raised = context.get("error")
        if isinstance(raised, ProblemsError):
            for one in raised.problems:
                steps = tuple(one.path.split(".")) if one.path else ()
                found.append(_problem(location + steps, one.message, one.allowed, one.fix, file))
            continue
        words = _in_words(model, location, item["type"], item["msg"], item["input"], context)
        found.append(_problem(location, words.message, words.allowed, words.fix, file))
    return found


def sentence(error: ValidationError) -> str:
    """The first finding of one value that was checked by itself, in words."""
    item = error.errors(include_url=False)[-1]
    words = _in_words(BaseModel, (), item["type"], item["msg"], item["input"], item.get("ctx", {}))
    return f"{words.message}; {words.allowed}" if words.allowed else words.message


def _problem(location: tuple[str | int, ...], message: str, allowed: str, fix: str, file: YamlFile) -> Problem:
    head, *rest = location or ("",)
    key = PROJECT_KEY if head == "project" else f"{NAMESPACE}{head}"
    shown = ".".join(str(step) for step in (PROJECT_KEY if head == "project" else head, *rest)) or '""'
    return Problem(shown, message, allowed, fix, file.line_of(("config", key, *rest)))


def _in_words(
    model: type[BaseModel],
    location: tuple[str | int, ...],
    kind: str,
    message: str,
    got: Any,
    context: Mapping[str, Any],
) -> Problem:
    """One of pydantic's findings in this project's words."""
    key = str(location[-1]) if location else ""
    holder = keys.model_at(model, location)
    if kind == "accelform":
        return Problem("", f"{show(got)} {context['message']}", context["allowed"], context["fix"])
    if kind == "extra_forbidden" and holder is not None:
        if issubclass(holder, Spec) and key in holder.later:
            return Problem("", f"is not available yet ({holder.later[key]})", fix="leave it out in this version")
        if issubclass(holder, Spec) and key in holder.never:
            return Problem("", f"is not possible: {holder.never[key]}", fix="remove it")
        if key == "existing" and key not in keys.names(holder):
            return Problem(
                "", "is not possible: what this part says is the stack's own, and nothing of others stands for it", fix="remove it"
            )
        if key in keys.names(holder):  # of a part that others own, fewer keys are taken
            return Problem("", "is for its owner to say: it is existing", fix="remove it")
        close = nearest(key, keys.names(holder), 1)
        return Problem("", "is not a key here", ", ".join(keys.names(holder)), f"did you mean `{close[0]}`?" if close else "remove it")
    if kind == "missing":
        described = keys.description(holder, key) if holder else ""
        chosen = holder.choices(key, got) if holder and issubclass(holder, Spec) and isinstance(got, Mapping) else ""
        return Problem("", "is missing", chosen or described, "write it: it has no default")
    if kind == "literal_error":
        words = _choices(model, location) or str(context.get("expected", ""))
        return Problem("", f"{show(got)} is not one of the words here", words)
    if kind in BOUNDS:
        what, allowed = BOUNDS[kind]
        return Problem("", f"{show(got)} {what}", allowed.format(**context))
    if kind == "list_type" and isinstance(got, str) and len(got) < 50:
        return Problem("", f"{show(got)} is not a list", fix=f"write [{show(got)}]")
    if kind in TYPES:
        return Problem("", f"{show(got)} is not {TYPES[kind]}", ", ".join(keys.names(inside)) if (inside := _inside(holder, key)) else "")
    said = message[0].lower() + message[1:] if message else "is wrong"
    return Problem("", f"{show(got)}: {said}")


BOUNDS = {
    "greater_than": ("is too small", "more than {gt}"),
    "greater_than_equal": ("is too small", "{ge} or more"),
    "less_than_equal": ("is too large", "at most {le}"),
    "too_short": ("is too little", "at least {min_length}"),
    "too_long": ("is too much", "at most {max_length}"),
    "string_too_short": ("is too short", "at least {min_length} characters"),
    "string_too_long": ("is too long", "at most {max_length} characters"),
    "finite_number": ("is no number", "a number"),
}
"""What pydantic calls a value out of bounds, in the words of the file."""

TYPES = {
    "model_type": "a mapping of keys",
    "dict_type": "a mapping of names",
    "list_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "date_type": "a date, such as 2026-12-01",
    "date_parsing": "a date, such as 2026-12-01",
    "date_from_datetime_parsing": "a date, such as 2026-12-01",
    "date_from_datetime_inexact": "a date, such as 2026-12-01",
}
"""What pydantic calls a wrong type, in the words of the file."""


def _inside(holder: type[BaseModel] | None, key: str) -> type[BaseModel] | None:
    field = keys.field_of(holder, key) if holder else None
    found: type[BaseModel] | None = keys.inner(field.annotation) if field and not keys.is_map(field.annotation) else None
    return found


def _choices(model: type[BaseModel], location: tuple[str | int, ...]) -> str:
    """The words of a key, or of the list that holds the one which is refused."""
    while location and isinstance(location[-1], int):
        location = location[:-1]
    holder = keys.model_at(model, location)
    field = keys.field_of(holder, str(location[-1])) if holder and location else None
    found = list(_literals(field.annotation)) if field else []
    return ", ".join(str(word) for word in found)


def _literals(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif get_origin(annotation) is not None:
        for part in get_args(annotation):
            yield from _literals(part)


def show(value: Any) -> str:
    """A value in an error: as JSON, cut at 60 characters."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
