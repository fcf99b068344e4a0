"""CSV files of a folder: UTF-8, with a first line that names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from workloads.contract import InputError
from workloads.files import Folder


def rows(folder: Folder, name: str, columns: Sequence[str]) -> list[list[str]]:
    """
    The columns of each row, as text, whatever the order in which the file has them.

    Raises:
        InputError: It is no such file, or lacks a column.
        FilesError: It is not there.
    """
    where = f"{folder.location}/{name}"
    try:
        text = folder.read(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is no UTF-8: {error}") from None
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        head = next(reader, [])
        if missing := [column for column in columns if column not in head]:
            raise InputError(f"{where} lacks the columns {', '.join(missing)}; its first line is {','.join(head)[:100]!r}")
        places = [head.index(column) for column in columns]
        return [[row[place] for place in places] for row in reader if row]
    except IndexError:
        raise InputError(f"{where}: line {reader.line_num} has fewer columns than the first line") from None
    except csv.Error as error:
        raise InputError(f"{where}: line {reader.line_num} is no CSV: {error}") from None
