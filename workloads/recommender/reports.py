"""
What servers logged of what shops reported (`workloads.recommender.online`), read as rows of a click log.

`*.jsonl` is a server's own file, a report a line. `*.json` is what a log sink of Cloud Logging brings to a bucket: an entry a line, with
the report under `jsonPayload.click`; entries of other things are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from workloads.contract import InputError
from workloads.files import Folder

SUFFIXES = (".jsonl", ".json")


def rows(folder: Folder, name: str, columns: tuple[str, ...]) -> Iterator[list[str]]:
    """
    The columns of each report, as text.

    Raises:
        InputError: A line is no report.
    """
    lines = folder.read(name).split(b"\n")
    # What follows the last line end is still being written, or nothing.
    for number, line in enumerate(lines[:-1], 1):
        where = f"{folder.location}/{name}: line {number}"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is no JSON: {error}") from None
        if isinstance(found, dict) and not name.endswith(".jsonl"):
            payload = found.get("jsonPayload")
            found = payload.get("click") if isinstance(payload, dict) else None
            if found is None:
                continue
        if not isinstance(found, dict):
            raise InputError(f"{where} is no report")
        if missing := [column for column in columns if not isinstance(found.get(column), str | int | float)]:
            raise InputError(f"{where} lacks {', '.join(missing)}")
        yield [_text(found[column]) for column in columns]


def _text(value: str | float) -> str:
    """Cloud Logging keeps every number as one with a point: 1 comes back as 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
