"""`accelform explain`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from infra import environments
from infra.cli.output import console, plain_table, print_json
from infra.errors import EXIT_CODES, ExitCode, Problem, SpecError, nearest


def run(topic: str | None, names: Sequence[str], folder: Path, *, as_json: bool) -> int:
    explain = {"stack": _stack, "rules": _rules, "exit-codes": _exit_codes, "environment": _environment}.get(
        (topic or "").removeprefix("accelform:")
    )
    if names and topic != "stack":
        raise SpecError("explain", [Problem("", "only `explain stack` takes stacks", fix=f"accelform explain {topic}")])
    if explain is not None:
        data, columns, rows = explain(names, folder)
    else:
        data, columns, rows = _keys(topic)
    if as_json:
        print_json(data)
        return ExitCode.OK
    from rich.text import Text

    table = plain_table(*columns)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)
    return ExitCode.OK


Answer = tuple[Any, tuple[str, ...], Sequence[tuple[str, ...]]]
"""The data for machines; columns and rows for people."""


def _exit_codes(names: Sequence[str], folder: Path) -> Answer:
    data = [{"code": int(code), "name": code.name.lower(), "means": means} for code, means in EXIT_CODES.items()]
    return data, ("code", "means"), [(str(row["code"]), str(row["means"])) for row in data]


def _rules(names: Sequence[str], folder: Path) -> Answer:
    from infra.policy.rules import RULES

    data = [
        {"name": rule.name, "severity": rule.severity, "description": rule.description, "remediation": rule.remediation} for rule in RULES
    ]
    return data, ("rule", "severity", "holds when", "else"), [tuple(map(str, row.values())) for row in _ordered(data)]


def _ordered(data: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in data:
        yield {key: row[key] for key in ("name", "severity", "description", "remediation")}


def _environment(names: Sequence[str], folder: Path) -> Answer:
    """What the key decides: its own description says no more than what a destroy takes."""
    rows = environments.rows()
    data = [{"what": row.what, **row.by, "because": row.because} for row in rows]
    return data, ("what", *environments.NAMES, "because"), [(row.what, *row.by.values(), row.because) for row in rows]


def _keys(topic: str | None) -> Answer:
    from infra import stack_kinds

    every = list(stack_kinds.every_key())
    wanted = "" if topic is None else "project" if topic == "gcp:project" else topic.removeprefix("accelform:")
    shown = [(kind, key) for kind, key in every if not wanted or _matches(key.path, wanted)]
    if not shown:
        close = nearest(wanted, [key.path for _, key in every])
        raise SpecError("explain", [Problem(wanted, "is not a key of the stack file", ", ".join(close), "accelform explain")])
    data = [
        {
            "key": key.path,
            "kind": kind,
            "required": key.required,
            "default": key.default,
            "description": key.description,
            "later": key.later,
        }
        for kind, key in shown
    ]
    rows = [
        (
            key.path,
            kind,
            "not yet" if key.later else "required" if key.required else key.default,
            key.later or key.description,
        )
        for kind, key in shown
    ]
    return data, ("key", "kind", "default", "what it is"), rows


def _matches(path: str, wanted: str) -> bool:
    """`tpu_slices.zone`, `tpu_slices.<name>.zone` and `tpu_slices.eval.zone` all mean that key; `tpu_slices` means all below it."""
    short = path.replace(".<name>", "").replace("[]", "")
    named = re.escape(path).replace("<name>", "[^.]+").replace(r"\[\]", r"(?:\.\d+)?")
    return any(one == wanted or one.startswith(f"{wanted}.") for one in (path, short)) or bool(re.fullmatch(named, wanted))


def _stack(names: Sequence[str], folder: Path) -> Answer:
    """Each stack's values, and which of them nobody wrote."""
    from infra import stack_kinds
    from infra.check import stack_files

    data, rows = [], []
    for file in stack_files(names, folder):
        for path, value, written in _values(stack_kinds.load(file.path)):
            data.append({"stack": file.stack, "key": path, "value": value, "default": not written})
            rows.append((file.stack, path, value, "" if written else "default"))
    return data, ("stack", "key", "value", ""), rows


def _values(spec: Any) -> Iterator[tuple[str, str, bool]]:
    from pydantic import BaseModel

    from infra import keys

    def walk(value: Any, path: str, written: bool) -> Iterator[tuple[str, str, bool]]:
        if isinstance(value, BaseModel):
            for name, field in type(value).model_fields.items():
                here = f"{path}.{field.alias or name}" if path else field.alias or name
                inner = getattr(value, name)
                if inner is not None:
                    yield from walk(inner, here, written and name in value.model_fields_set)
                elif text := keys.default_text(type(value), name):
                    yield here, text, False
        elif isinstance(value, dict) and any(isinstance(inner, BaseModel) for inner in value.values()):
            for name, inner in value.items():
                yield from walk(inner, f"{path}.{name}", written)
        else:
            yield path, keys.flow(value), written

    yield from walk(spec, "", True)
