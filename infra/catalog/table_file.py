"""A table as a file: rows are changed or put in, and every other byte stays as it is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

Row = Mapping[str, str]


def edited(text: str, key: Sequence[str], rows: Iterable[Row]) -> str:
    """
    The text of a table with *rows* in it: one whose key is there takes that row's place, any other goes beside its kin.

    Kin have all of the key in common but its last part; among them the new row comes before the first that is greater. A row
    without kin comes last.

    Args:
        key: Columns that tell one row from another, the finest last.

    Raises:
        KeyError: A row lacks a column.
    """
    lines = list(io.StringIO(text, newline=""))
    end = "\r\n" if lines[0].endswith("\r\n") else "\n"
    columns = _cells(lines[0])
    at = [columns.index(column) for column in key]
    keys = [tuple(_cells(line)[index] for index in at) for line in lines]
    for row in sorted(rows, key=lambda row: [row[column] for column in key]):
        line = _line([row[column] for column in columns], end)
        own = tuple(row[column] for column in key)
        if own in keys[1:]:
            lines[keys.index(own, 1)] = line
            continue
        place = _place(keys, own)
        if not lines[place - 1].endswith(end):
            lines[place - 1] += end
        lines.insert(place, line)
        keys.insert(place, own)
    return "".join(lines)


def _place(keys: Sequence[tuple[str, ...]], own: tuple[str, ...]) -> int:
    kin = [index for index, one in enumerate(keys) if index and one[:-1] == own[:-1]]
    return next((index for index in kin if keys[index] > own), kin[-1] + 1 if kin else len(keys))


def _cells(line: str) -> list[str]:
    return next(csv.reader([line], strict=True))


def _line(cells: Sequence[str], end: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=end).writerow(cells)
    return out.getvalue()


def counted(text: str, table: str, rows: int) -> str:
    """The text of SOURCES.md with the number of a table's rows."""
    return re.sub(rf"(\| `{table}\.csv` \| )\d+( \|)", rf"\g<1>{rows}\g<2>", text)
