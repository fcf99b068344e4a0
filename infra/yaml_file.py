"""
A stack file as YAML: read as the engine reads it (YAML 1.2), with the line of every key for error messages.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import Problem, SpecError

VALUES_MAX = 100_000

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class YamlFile:
    """Plain data, and where each of its keys stands."""

    name: str
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]

    @property
    def config(self) -> dict[str, Any]:
        """What is under `config`; nothing where that is no mapping, which whoever judges the file tells."""
        found = self.data.get("config")
        return found if isinstance(found, dict) else {}

    def line_of(self, path: KeyPath) -> int | None:
        """Line of the key, or of the nearest key above it that the file has."""
        return _line_of(self.lines, path)


def _line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    return next((lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines), None)


def read(path: Path, name: str | None = None) -> YamlFile:
    """
    Reads a YAML mapping.

    Raises:
        SpecError: The file is absent, is not YAML, has a key twice, or is not a mapping.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    name = name or str(path)
    try:
        text = path.read_text(encoding="utf-8")
        if directive := re.search(r"^%\w+", text, re.MULTILINE):
            raise SpecError(name, [Problem("", f"has the directive {directive[0]}", fix="remove it: the engine reads YAML 1.2 without")])
        loaded = YAML(typ="rt", pure=True).load(text)
    except OSError as error:
        raise SpecError(name, [Problem("", f"cannot be read: {error.strerror or error}")]) from None
    except UnicodeDecodeError as error:
        raise SpecError(name, [Problem("", f"is not UTF-8 text: {error.reason} at byte {error.start}")]) from None
    except RecursionError:
        raise SpecError(name, [Problem("", "is nested too deeply")]) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark
        said = " ".join((error.problem or "is not YAML").split())
        raise SpecError(name, [Problem("", f"is not YAML: {said}", line=mark.line + 1 if mark else None)]) from None
    except (YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
        # A tag that its value does not fit, or a number without end, fails inside the reader.
        raise SpecError(name, [Problem("", f"is not YAML: {' '.join(str(error).split())[:120]}")]) from None
    if not isinstance(loaded, dict):
        raise SpecError(name, [Problem("", "is not a mapping of keys", fix="start it with `config:`")])
    reading = _Reading()
    try:
        data = reading.plain(loaded, ())
    except RecursionError:
        raise SpecError(name, [Problem("", f"holds more than {VALUES_MAX:,} values, or is nested too deeply")]) from None
    if reading.problems:
        raise SpecError(name, reading.problems)
    return YamlFile(name, data, reading.lines)


class _Reading:
    """ruamel's annotated values as plain ones. Notes the line of each key on the way, and what the engine would read as something else."""

    def __init__(self) -> None:
        from ruamel.yaml.scalarint import ScalarInt

        self.odd_number = ScalarInt
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self.values = 0

    def plain(self, value: Any, path: KeyPath) -> Any:
        self.values += 1
        if self.values > VALUES_MAX:
            raise RecursionError  # aliases of aliases: a few lines can stand for more than a machine holds
        tag = getattr(getattr(value, "tag", None), "value", None) or ""
        if tag and not tag.endswith(("2002:map", "2002:seq", "2002:str")):
            self._refuse(path, f"has the tag {tag}", "remove the tag")
        elif isinstance(value, dict):
            return {key: self.plain(inner, (*path, key)) for key, inner in value.items() if self._is_key(key, value, path)}
        elif isinstance(value, list):
            for index in range(len(value)):
                self._note((*path, index), value, index)
            return [self.plain(inner, (*path, index)) for index, inner in enumerate(value)]
        elif isinstance(value, self.odd_number) and not self._is_zero(value):
            self._refuse(path, "is not written in plain digits", "write it without leading zeros, underscores or a base")
        elif tag:
            return str(value.value)
        else:
            for kind in (bool, int, float, str):
                if isinstance(value, kind):
                    return kind(value)
            if value is None or isinstance(value, dt.date):
                return value
            self._refuse(path, f"is a {type(value).__name__}", "write text, a number, a list or a mapping")
        return None

    def _is_zero(self, value: Any) -> bool:
        """A single 0 is a digit with zeros before it to ruamel, and to nobody else."""
        return type(value) is self.odd_number and value == 0 and getattr(value, "_width", None) == 1

    def _is_key(self, key: Any, holder: Any, path: KeyPath) -> bool:
        if isinstance(key, str):
            self._note((*path, key), holder, key)
            return True
        self._refuse(path, f"has a key that is not text: {key}", "put it in quotes")
        return False

    def _note(self, path: KeyPath, holder: Any, key: Any) -> None:
        """A key that a merge (`<<`) brought in has no line of its own."""
        positions = getattr(getattr(holder, "lc", None), "data", None) or {}
        if key in positions:
            self.lines[path] = positions[key][0] + 1

    def _refuse(self, path: KeyPath, message: str, fix: str) -> None:
        shown = ".".join(str(step).removeprefix("accelform:") for step in path if step != "config")
        self.problems.append(Problem(shown, message, fix=fix, line=_line_of(self.lines, path)))
