"""The tables of `data/`, read once, when first asked for."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Literal

DATA = Path(__file__).parent / "data"

Table = Literal["names", "prices", "regions", "tpu_shapes", "zones"]
Trust = Literal["high", "medium", "low"]


@cache
def rows(table: Table) -> tuple[dict[str, str], ...]:
    """Rows of one table, every value as text."""
    with (DATA / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def trust_of(row: dict[str, str]) -> Trust:
    trust = row["trust"]
    if trust not in ("high", "medium", "low"):
        raise ValueError(f"a row of the catalogue has the trust {trust!r}: {row}")
    return trust  # type: ignore[return-value]
