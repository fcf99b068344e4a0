"""What an hour of a machine costs on Vertex AI: the price of Compute Engine, times what a source says Vertex AI adds to it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from infra.catalog.machine_prices import machine_hour
from infra.catalog.prices import Price, PriceUnknown
from infra.catalog.tables import Trust, find, trust_of
from infra.catalog.vertex import Use, machines


def vertex_hour(machine_type: str, region: str, use: Use, provisioning: str = "on-demand", *, attached: bool = False) -> Price:
    """
    Price of one machine for an hour, its built-in GPUs included.

    On demand it is a multiple of the Compute Engine price. Spot, flex-start and a reservation are billed at the Compute Engine price and a
    fee on top, which is a share of the on-demand price. Where no source has the multiple for the region and use, it is bounded.

    Args:
        provisioning: `on-demand`, `spot`, `flex-start` or `reservation`.
        attached: Whether GPUs are attached to it (N1). No source says what Vertex AI adds to those.

    Raises:
        PriceUnknown: No source has the Compute Engine price, or anything on this family of machines.
    """
    on_demand = provisioning == "on-demand"
    row = None if attached else _row(machine_type, region, use if on_demand else "fee")
    if row is None:
        what = f"{machine_type} with GPUs attached" if attached else machine_type
        raise PriceUnknown(f"{what} on Vertex AI, {use}, {provisioning}", region)
    low, ratio, high = (Decimal(row[column] or row["ratio"]) for column in ("ratio_low", "ratio", "ratio_high"))
    base = machine_hour(machine_type, region, "on-demand")
    billed = machine_hour(machine_type, region, provisioning)
    own = Decimal(0) if on_demand else Decimal(1)
    """How much of the Compute Engine price is billed beside the share."""
    return replace(
        billed,
        usd=own * billed.usd + ratio * base.usd,
        usd_low=own * billed.usd_low + low * base.usd_low,
        usd_high=own * billed.usd_high + high * base.usd_high,
        source=f"{billed.source}; {row['source']}",
        as_of=min(billed.as_of, row["as_of"]),
        trust=_weaker(billed.trust, trust_of(row)),
        notes="; ".join(filter(None, (billed.notes, row["notes"]))),
    )


def training_hour(machine_type: str, accelerator: str, region: str, provisioning: str) -> Price:
    """
    Price of one machine of a custom job for an hour, its accelerators included.

    Args:
        accelerator: In Vertex AI's spelling, such as `NVIDIA_L4`; empty for a TPU, which the machine type alone chooses, and for none.

    Raises:
        PriceUnknown: No source has it: of no TPU, and of no GPU that is attached.
    """
    choices = machines().get(machine_type, ())
    attached = bool(accelerator) and not any(one.built_in for one in choices if one.accelerator == accelerator)
    return vertex_hour(machine_type, region, "training", provisioning, attached=attached)


def _row(machine_type: str, region: str, use: str) -> dict[str, str] | None:
    """The closest row: of this region and use, else what bounds the family."""
    first, _, rest = machine_type.partition("-")
    families = (f"{first}-{rest.partition('-')[0]}", first)
    everywhere = "fee" if use == "fee" else ""
    choices = ((family, *place) for family in families for place in ((region, use), ("all", everywhere)))
    found = (find("vertex_markup", machines=family, region=place, use=kind) for family, place, kind in choices)
    return next((row for row in found if row), None)


def _weaker(*trusts: Trust) -> Trust:
    return max(trusts, key=("high", "medium", "low").index)
