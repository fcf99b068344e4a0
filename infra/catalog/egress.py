"""What data costs on its way out: to the internet by tier, and between regions, where sources are old and prices bounded."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Literal

from infra.catalog.places import continent_of, regions
from infra.catalog.prices import Price, PriceUnknown
from infra.catalog.tables import find, rows, trust_of

Destination = Literal["world", "australia", "china"]
"""Where on the internet: `world` is everywhere else. China is without Hong Kong."""

Service = Literal["compute", "storage"]

TIERS = ((Decimal(0), "first_tib"), (Decimal(1024), "to_10_tib"), (Decimal(10240), "above"))
"""GiB of a month above which a rate holds, and its column. Premium Tier; that of Standard Tier is not known by tier."""

DEAR = "asia-southeast2"
"""Jakarta: to and from it data costs what it does to and from Australia. Source: the rows of `cross-continent`."""


def tiers(region: str, destination: Destination = "world") -> tuple[tuple[Decimal, Price], ...]:
    """
    Rates of internet egress, each with the GiB of a month above which it holds.

    Raises:
        PriceUnknown: No source has one for this region.
    """
    row = find("egress", region=region, destination=destination)
    if row is None:
        raise PriceUnknown(f"internet egress to {destination}", region)
    return tuple((start, _tier(row, column, f"above {start} GiB a month, {destination}")) for start, column in TIERS)


def _tier(row: dict[str, str], column: str, tier: str) -> Price:
    figures = {"usd": row[column], "usd_low": row[column], "usd_high": row.get(f"{column}_high") or row[column]}
    return replace(_rate({**row, **figures}, row["region"]), item="internet-egress", tier=tier)


def cost(gib: Decimal, region: str, destination: Destination = "world") -> tuple[Decimal, Decimal, Decimal]:
    """
    USD of so many GiB to the internet in one month, each tier at its own rate: low, expected, high.

    Raises:
        ValueError: The amount is below 0 or no number.
        PriceUnknown: No source has a rate for this region.
    """
    if not (gib.is_finite() and gib >= 0):
        raise ValueError(f"{gib} GiB is no amount of data")
    known = tiers(region, destination)
    ends = [start for start, _ in known[1:]] + [max(gib, known[-1][0])]
    parts = [(max(Decimal(0), min(gib, end) - start), rate) for (start, rate), end in zip(known, ends, strict=True)]
    low = sum((amount * rate.usd_low for amount, rate in parts), Decimal(0))
    high = sum((amount * rate.usd_high for amount, rate in parts), Decimal(0))
    return low, sum((amount * rate.usd for amount, rate in parts), Decimal(0)), high


def between(source: str, destination: str, service: Service = "compute", *, same_zone: bool = False) -> Price:
    """
    Rate of a GiB from one region to another; of `storage` from a bucket to a machine. All are of low trust but what is free.

    Args:
        same_zone: Whether both ends are in one zone; asked within a region only.

    Raises:
        PriceUnknown: No source has one, or there is no such region.
    """
    if unknown := [region for region in (source, destination) if region not in regions()]:
        raise PriceUnknown("transfer", unknown[0])
    ends = {continent_of(source), continent_of(destination)}
    if len(ends) > 1:
        dear = "australia" in ends or DEAR in (source, destination)
        machines = _rate(_paths("compute", "cross-continent")["australia" if dear else ""], source)
        return machines if service == "compute" else _from_bucket_afar(source, destination, machines)
    path = "same-continent"
    if source == destination:
        path = "same-zone" if same_zone and service == "compute" else "same-region"
    found = _paths(service, path)
    row = found.get(continent_of(source)) or found.get("")
    if row is None:
        raise PriceUnknown(f"transfer to {destination}", source)
    return _rate(row, source)


def _from_bucket_afar(source: str, destination: str, machines: Price) -> Price:
    """One old page says that internet rates apply; no figure of its own is known. So: between that of machines and that of the internet."""
    internet = tiers(source, "australia" if continent_of(destination) == "australia" else "world")[0][1]
    note = "no figure is known: one page says that internet rates apply; the lower bound is what machines may pay"
    return replace(internet, usd_low=min(machines.usd_low, internet.usd), tier="", trust="low", notes=note)


@cache
def _paths(service: Service, path: str) -> dict[str, dict[str, str]]:
    return {row["continent"]: row for row in rows("transfer") if (row["service"], row["path"]) == (service, path)}


def _rate(row: dict[str, str], region: str) -> Price:
    return Price(
        item="transfer",
        unit="gib",
        region=region,
        usd=Decimal(row["usd"]),
        usd_low=Decimal(row["usd_low"] or row["usd"]),
        usd_high=Decimal(row["usd_high"] or row["usd"]),
        tier="",
        source=row["source"],
        as_of=row["as_of"],
        trust=trust_of(row),
        notes=row["notes"],
    )
