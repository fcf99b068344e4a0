"""The tables of `data/`, read once, when first asked for."""

from __future__ import annotations

import csv
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Literal

DATA = Path(__file__).parent / "data"

Table = Literal[
    "accelerators",
    "alternative_chips",
    "alternatives",
    "gpu_attachments",
    "gpu_machines",
    "gpu_names",
    "gpu_partitions",
    "gpu_zones",
    "gpus",
    "machine_prices",
    "names",
    "prices",
    "regions",
    "tpu_chips",
    "tpu_shapes",
    "vertex_machines",
    "vertex_regions",
    "zones",
]
Trust = Literal["high", "medium", "low"]


@cache
def rows(table: Table) -> tuple[dict[str, str], ...]:
    """Rows of one table, every value as text. A row with a cell too many or too few is an error."""
    with (DATA / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        cells = csv.reader(file)
        columns = next(cells)
        return tuple(dict(zip(columns, row, strict=True)) for row in cells)


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
