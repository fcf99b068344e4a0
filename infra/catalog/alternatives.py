"""What the same work may run on outside Google Cloud: machines of AWS, and a server of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import groupby

from infra.catalog.tables import Trust, figure, rows, trust_of

TRUSTS = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Rental:
    """A machine of AWS, for so many hours."""

    name: str
    accelerator: str
    accelerators: int
    region: str
    """Region of AWS."""
    way: str
    """`on-demand`, or `capacity-block`: whole blocks, paid for ahead."""
    hours: int
    """Hours that the price buys at once: 1, or those of a block."""
    usd: Decimal
    trust: Trust
    source: str
    as_of: str
    notes: str


@dataclass(frozen=True, slots=True)
class Server:
    """A server to buy: all that sources say of its price, as bounds."""

    name: str
    accelerator: str
    accelerators: int
    usd_low: Decimal
    usd_high: Decimal
    power_kw: Decimal | None
    """The highest power of the whole server; None where no source tells."""
    trust: Trust
    source: str
    as_of: str
    """Date of the oldest source."""
    notes: str


@cache
def rentals() -> tuple[Rental, ...]:
    """Every machine of AWS in the table, in its order: smaller before larger ones with the same accelerator."""
    return tuple(
        Rental(
            name=row["name"],
            accelerator=row["accelerator"],
            accelerators=int(row["accelerators"]),
            region=row["region"],
            way=row["way"],
            hours=int(row["hours"]),
            usd=Decimal(row["usd_low"]),
            trust=trust_of(row),
            source=row["source"],
            as_of=row["as_of"],
            notes=row["notes"],
        )
        for row in rows("alternatives")
        if row["kind"] == "aws"
    )


@cache
def servers() -> tuple[Server, ...]:
    """Every server in the table once. Where sources disagree, the bounds hold all of them, and trust is that of the weakest."""
    bought = [row for row in rows("alternatives") if row["kind"] == "server"]
    return tuple(_server(name, list(said)) for name, said in groupby(bought, key=lambda row: row["name"]))


def _server(name: str, said: list[dict[str, str]]) -> Server:
    return Server(
        name=name,
        accelerator=said[0]["accelerator"],
        accelerators=int(said[0]["accelerators"]),
        usd_low=min(Decimal(row["usd_low"]) for row in said),
        usd_high=max(Decimal(row["usd_high"]) for row in said),
        power_kw=max(filter(None, (figure(row["power_kw"]) for row in said)), default=None),
        trust=max((trust_of(row) for row in said), key=TRUSTS.index),
        source="; ".join(row["source"] for row in said),
        as_of=min(row["as_of"] for row in said),
        notes="; ".join(f"{_amount(row)}: {row['notes']}" for row in said),
    )


def _amount(row: dict[str, str]) -> str:
    low, high = row["usd_low"], row["usd_high"]
    return low if low == high else f"{low} to {high}"
