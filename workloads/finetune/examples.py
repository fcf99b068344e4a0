"""
Examples to learn from: texts or pictures, each with a label.

Folder `examples`: `*.csv` with a first line that names the columns, or `*.jsonl` with an object a line. For BERT there are `text` and
`label`, for ViT `picture` and `label`; `picture` is the name of a file in the same folder. Other columns are passed over. A label is any
text that is not empty; in JSON a whole number or true or false will do. All files are read together.

A tenth is held out, and what it is depends on the text or the picture's name alone: the same text is never on both sides, and stays on its
side when more examples come.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads import tables, vision
from workloads.contract import InputError
from workloads.files import PARALLEL, Folder

SUFFIXES = (".csv", ".jsonl")
HELD_OUT = 10
"""One of so many is held out."""
SHOWN = 5
"""Problems that are told at once."""


@dataclass(frozen=True, slots=True)
class Examples:
    """All of them, in the order of the files' names."""

    inputs: tuple[str, ...]
    """Texts, or names of pictures."""
    labels: Any
    """Number of each one's class: `[examples]`, int32."""
    classes: tuple[str, ...]
    """Labels by number, in the order of the alphabet."""
    train: Any
    """Rows that are learned from."""
    test: Any


def read_examples(folder: Folder, column: str) -> Examples:
    """
    Reads all files of the folder.

    Args:
        column: `text` or `picture`.

    Raises:
        InputError: One is not as said above, there is none, or there is nothing to learn: one class, or no example of a class.
    """
    files = [name for name in folder.names() if name.endswith(SUFFIXES)]
    if not files:
        raise InputError(f"{folder.location} has no *.csv or *.jsonl with the columns {column} and label")
    found: list[tuple[str, str]] = []
    problems: list[str] = []
    for name in files:
        for where, row in _rows(folder, name, column):
            if isinstance(row, str):
                problems.append(f"{where} {row}")
            else:
                found.append(row)
    if problems:
        raise InputError(_shown(problems))
    classes = tuple(sorted({label for _, label in found}))
    if len(classes) < 2:
        raise InputError(f"{folder.location}: {len(found)} examples of {len(classes)} classes: at least two classes are to be told apart")
    number = {label: index for index, label in enumerate(classes)}
    labels = np.array([number[label] for _, label in found], np.int32)
    held = np.array([_held_out(given) for given, _ in found])
    train, test = np.flatnonzero(~held), np.flatnonzero(held)
    if unlearned := [classes[one] for one in sorted(set(range(len(classes))) - set(labels[train].tolist()))]:
        raise InputError(f"{folder.location}: all examples of {unlearned[:SHOWN]} are held out to measure by: more of them are needed")
    if not len(test):
        raise InputError(f"{folder.location}: {len(found)} examples: so few that none is held out to measure by")
    return Examples(tuple(given for given, _ in found), labels, classes, train, test)


def read_pictures(folder: Folder, names: tuple[str, ...], edge: int) -> Any:
    """
    The middle square of each picture: `[pictures, edge, edge, 3]` of 0 to 255.

    All are in memory: 100,000 of 224 pixels are 15 GB.

    Raises:
        InputError: Some are not there, or no pictures.
    """
    found = np.zeros((len(names), edge, edge, 3), np.uint8)

    def load(row: int) -> str:
        content = folder.find(names[row])
        if content is None:
            return f"{names[row]} is not there"
        try:
            found[row] = np.rint(vision.square(content, edge) * 255)
        except vision.PictureError as error:
            return f"{names[row]}: {error}"
        return ""

    with ThreadPoolExecutor(PARALLEL) as pool:
        if problems := [f"{folder.location}: {said}" for said in pool.map(load, range(len(names))) if said]:
            raise InputError(_shown(problems))
    return found


def _rows(folder: Folder, name: str, column: str) -> Iterator[tuple[str, tuple[str, str] | str]]:
    """Where each row is, and it, or what is wrong with it."""
    where = f"{folder.location}/{name}"
    if name.endswith(".csv"):
        for number, (given, label) in enumerate(tables.rows(folder, name, (column, "label")), 1):
            yield f"{where}: row {number}", _row({column: given, "label": label}, column)
        return
    try:
        lines = folder.read(name).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is no UTF-8: {error}") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield f"{where}: line {number}", _row(json.loads(line), column)
            except (ValueError, RecursionError) as error:
                yield f"{where}: line {number}", f"is no JSON: {error}"


def _row(value: Any, column: str) -> tuple[str, str] | str:
    if not isinstance(value, dict):
        return "is no object"
    given, label = value.get(column), value.get("label")
    if not isinstance(given, str) or not given.strip():
        return f"has no {column}"
    if isinstance(label, bool | int):
        label = json.dumps(label)
    if not isinstance(label, str) or not label.strip():
        return "has no label"
    return given, label.strip()


def _held_out(given: str) -> bool:
    digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT == 0


def _shown(problems: list[str]) -> str:
    more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    return "\n".join([*problems[:SHOWN], *more])
