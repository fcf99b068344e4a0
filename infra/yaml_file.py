"""
A stack file as YAML: read as the engine reads it (YAML 1.2), with the line of every key for error messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import Problem, SpecError


@dataclass(frozen=True, slots=True)
class YamlFile:
    """Plain data, and where each of its keys stands."""

    name: str
    data: dict[str, Any]
    lines: Mapping[tuple[str | int, ...], int]

    def line_of(self, path: tuple[str | int, ...]) -> int | None:
        """Line of the key, or of the nearest key above it that the file has."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


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
        loaded = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8"))
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
    except YAMLError as error:
        raise SpecError(name, [Problem("", f"is not YAML: {' '.join(str(error).split())}")]) from None
    if not isinstance(loaded, dict):
        raise SpecError(name, [Problem("", "is not a mapping of keys", fix="start it with `config:`")])
    lines: dict[tuple[str | int, ...], int] = {}
    return YamlFile(name, _plain(loaded, (), lines), lines)


def _plain(value: Any, path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> Any:
    """ruamel's annotated containers as plain ones; notes the line of each key on the way."""
    positions: Any = getattr(value, "lc", None)
    if isinstance(value, dict):
        for key in value:
            if key in positions.data:  # a key that a merge (`<<`) brought in has no line of its own
                lines[(*path, key)] = positions.key(key)[0] + 1
        return {key: _plain(inner, (*path, key), lines) for key, inner in value.items()}
    if isinstance(value, list):
        for index in range(len(value)):
            lines[(*path, index)] = positions.item(index)[0] + 1
        return [_plain(inner, (*path, index), lines) for index, inner in enumerate(value)]
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return plain(value)
    return value
