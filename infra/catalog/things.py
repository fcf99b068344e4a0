"""What can be bought whole: its name, its memory, and what it costs an hour."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from infra.catalog.gpu import gpu
from infra.catalog.gpu_machines import Attachment, GpuMachine
from infra.catalog.machine_prices import gpu_hour, machine_hour
from infra.catalog.prices import Price, PriceUnknown, tpu_chip_hour
from infra.catalog.tables import Trust
from infra.catalog.tpu import TpuShape, chips

N1_HOST = "n1-standard-1"
"""The smallest machine that GPUs are attached to: what they cost at least."""

Thing = TpuShape | GpuMachine | Attachment


@dataclass(frozen=True, slots=True)
class Hour:
    """What an hour costs in USD, all its parts together."""

    usd: Decimal
    usd_low: Decimal
    usd_high: Decimal
    trust: Trust
    source: str
    as_of: str


def name_of(thing: Thing) -> str:
    """What is bought, as one would say it."""
    if isinstance(thing, TpuShape):
        return thing.accelerator_type
    return thing.machine_type if isinstance(thing, GpuMachine) else f"{N1_HOST} + {thing.gpus} x {thing.accelerator_type}"


def accelerator_of(thing: Thing) -> str:
    return thing.sold_as if isinstance(thing, TpuShape) else thing.accelerator_type


def memory_of(thing: Thing) -> int:
    """GiB of all accelerators of a thing together."""
    if isinstance(thing, TpuShape):
        return thing.chips * chips()[thing.generation].memory_gib
    return thing.gpu_memory_gib if isinstance(thing, GpuMachine) else thing.gpus * gpu(thing.accelerator_type).memory_gib


def hour(thing: Thing, region: str, way: str) -> Hour | None:
    """What a thing costs an hour, host included; None where the price of any part is unknown."""
    try:
        if isinstance(thing, TpuShape):
            return together((thing.chips, tpu_chip_hour(thing, region, way)))
        if isinstance(thing, GpuMachine):
            return together((1, machine_hour(thing.machine_type, region, way)))
        return together((1, machine_hour(N1_HOST, region, way)), (thing.gpus, gpu_hour(thing.accelerator_type, region, way)))
    except PriceUnknown:
        return None


def together(*parts: tuple[int, Price]) -> Hour:
    """The parts together: as firm as the weakest, as old as the oldest."""
    prices = [price for _, price in parts]
    return Hour(
        usd=sum((count * price.usd for count, price in parts), Decimal(0)),
        usd_low=sum((count * price.usd_low for count, price in parts), Decimal(0)),
        usd_high=sum((count * price.usd_high for count, price in parts), Decimal(0)),
        trust=max((price.trust for price in prices), key=("high", "medium", "low").index),
        source="; ".join(dict.fromkeys(price.source for price in prices)),
        as_of=min(price.as_of for price in prices),
    )
