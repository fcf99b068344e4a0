"""How old the tables are, and how far their rows are to be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from infra.catalog.tables import Table, Trust, told

UNDATED = "undated"


@dataclass(frozen=True, slots=True)
class Age:
    """One table. A date is as exact as its source: a day, a month or a year, which counts as its first day."""

    table: Table
    rows: int
    oldest: str
    newest: str
    """Both empty where no row is dated."""
    undated: int
    by_trust: Mapping[Trust, int]


def age(table: Table) -> Age:
    """How old a table is."""
    every = told(table)
    dates = sorted(row["as_of"] for row in every if row["as_of"] != UNDATED)
    trust = Counter(row["trust"] for row in every)
    return Age(
        table=table,
        rows=len(every),
        oldest=dates[0] if dates else "",
        newest=dates[-1] if dates else "",
        undated=len(every) - len(dates),
        by_trust={one: trust[one] for one in get_args(Trust)},
    )


def ages() -> Iterator[Age]:
    """Every table, by name."""
    yield from map(age, get_args(Table))
