"""The tables of `data/`, read once, when first asked for."""

from __future__ import annotations

import csv
from decimal import Decimal
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Literal

DATA = Path(__file__).parent / "data"

Table = Literal[
    "accelerators",
    "alternative_chips",
    "alternatives",
    "cpu_prices",
    "egress",
    "fx",
    "gpu_attachments",
    "gpu_machines",
    "gpu_names",
    "gpu_partitions",
    "gpu_zones",
    "gpus",
    "local_ssds",
    "machine_prices",
    "names",
    "prices",
    "regions",
    "services",
    "sources",
    "tpu_chips",
    "tpu_hosts",
    "tpu_shapes",
    "transfer",
    "usual_times",
    "vertex_machines",
    "vertex_markup",
    "vertex_regions",
    "zones",
]
Trust = Literal["high", "medium", "low"]


@cache
def rows(table: Table) -> tuple[dict[str, str], ...]:
    """Rows of one table, every value as text. A row with a cell too many or too few is an error."""
    columns, *lines = _lines(table)
    return tuple(dict(zip(columns, line, strict=True)) for line in lines)


def find(table: Table, **key: str) -> dict[str, str] | None:
    """The row of a table whose cells are those of *key*, two columns or more that tell its rows apart; None where there is none."""
    columns, index = _index(table, tuple(key))
    line = index.get(tuple(key.values()))
    return None if line is None else dict(zip(columns, line, strict=True))


@cache
def _index(table: Table, key: tuple[str, ...]) -> tuple[list[str], dict[tuple[str, ...], list[str]]]:
    """A table of thousands of rows by its key; a row becomes a dictionary when it is asked for, which is cheaper than all of them."""
    columns, *lines = _lines(table)
    if uneven := next((line for line in lines if len(line) != len(columns)), None):
        raise ValueError(f"a row of {table} has {len(uneven)} cells, not {len(columns)}: {uneven}")
    cells = itemgetter(*map(columns.index, key))
    return columns, {cells(line): line for line in lines}


def _lines(table: Table) -> list[list[str]]:
    """Cells of each line. No cell holds a line break; most lines have no quotes, and those are split at a third of the reader's time."""
    lines = (DATA / f"{table}.csv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    return [next(csv.reader([line])) if '"' in line else line.split(",") for line in lines]


def told(table: Table) -> tuple[dict[str, str], ...]:
    """Rows of a table, each with source, date and trust: of its own, or of the table of sources where it has but a name for them."""
    sources = {row["name"]: {key: cell for key, cell in row.items() if key != "name"} for row in rows("sources")}
    return tuple(row | sources.get(row["source"], {}) for row in rows(table))


def words(cell: str) -> tuple[str, ...]:
    """The parts of a cell that lists several things, apart by `;`."""
    return tuple(filter(None, cell.split(";")))


def figure(cell: str) -> Decimal | None:
    """An exact number; None where the cell is empty: no source tells it."""
    return Decimal(cell) if cell else None


def whole(cell: str) -> int | None:
    """A whole number; None where the cell is empty."""
    return int(cell) if cell else None


def trust_of(row: dict[str, str]) -> Trust:
    trust = row["trust"]
    if trust not in ("high", "medium", "low"):
        raise ValueError(f"a row of the catalogue has the trust {trust!r}: {row}")
    return trust  # type: ignore[return-value]
