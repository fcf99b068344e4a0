"""How long Google Cloud usually takes for one operation on one type of resource, as somebody recorded it: never guessed, never derived."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Literal

from infra.catalog import tables

Operation = Literal["create", "delete"]
OPERATIONS: dict[str, Operation] = {
    "create": "create",
    "create-replacement": "create",
    "delete": "delete",
    "delete-replaced": "delete",
}
"""The engine's words. What changes a resource in its place is in no source."""
UNKNOWN = "no usual time known"
LONG_MINUTES = Decimal(1)
"""What may take longer is told before it begins."""


@dataclass(frozen=True, slots=True)
class UsualTime:
    """What was measured, from the fastest to the slowest. Of one measurement both are the same."""

    low_minutes: Decimal
    high_minutes: Decimal
    source: str
    as_of: str
    trust: tables.Trust
    notes: str

    @property
    def long(self) -> bool:
        """Whether a person waits for it."""
        return self.high_minutes >= LONG_MINUTES

    @property
    def words(self) -> str:
        """`usually 3 to 9 min`; of one measurement `once measured: 2 min`."""
        low, high = _minutes(self.low_minutes), _minutes(self.high_minutes)
        if self.low_minutes == self.high_minutes:
            return f"once measured: {high}"
        return f"usually {high}" if low == high else f"usually {low.removesuffix(' min')} to {high}"


def _minutes(minutes: Decimal) -> str:
    return f"{round(minutes)} min" if minutes >= LONG_MINUTES else f"{round(minutes * 60)} s"


def usual(type_: str, op: str) -> UsualTime | None:
    """
    The usual time of one operation of the engine; None where no source has one.

    Args:
        op: As the engine says it: `create`, `delete-replaced`.
    """
    operation = OPERATIONS.get(op)
    return None if operation is None else _known().get((type_, operation))


@cache
def _known() -> dict[tuple[str, str], UsualTime]:
    return {
        (row["type"], row["operation"]): UsualTime(
            Decimal(row["low_minutes"]),
            Decimal(row["high_minutes"]),
            row["source"],
            row["as_of"],
            tables.trust_of(row),
            row["notes"],
        )
        for row in tables.rows("usual_times")
    }
