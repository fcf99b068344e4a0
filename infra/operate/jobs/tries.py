"""One try of a run: a machine that was asked for, what became of it, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_UP, Decimal
from typing import Any

from infra.catalog import tpu
from infra.catalog.gpu_machines import by_machine_type
from infra.catalog.machine_prices import gpu_hour, machine_hour
from infra.catalog.prices import PriceUnknown, tpu_chip_hour
from infra.catalog.vertex_prices import training_hour
from infra.job_plan import JobPlan
from infra.provider.holds import seconds

UNKNOWN = "unknown"
CENT = Decimal("0.0001")
LEAST_SECONDS = 60
"""A machine is billed for a minute at least. Source: https://cloud.google.com/compute/vm-instance-pricing, read 2026-11."""


@dataclass(frozen=True, slots=True)
class Try:
    """A row of a run's table. Moments are as `holds.moment` writes them, amounts are text."""

    number: int
    """From 1: attempts to make a machine are counted, whether it came or not."""
    zone: str
    """Of a custom job the region."""
    provisioning: str
    form: str
    machine: str
    """Its name; of a custom job that came the full name that Vertex AI gave it."""
    asked: str
    began: str = ""
    """Since when it had its machine, or a little earlier; empty where none came."""
    ended: str = ""
    """When it was seen gone: a little after it went. So what is told is never less than what is billed."""
    result: str = ""
    """`succeeded`, `failed`, `restarted`, `no capacity`, `quota`, `refused`, `timed out` or `stopped`; empty while it works."""
    reason: str = ""
    """In words."""
    usd_per_hour: str = UNKNOWN
    """List price of the machine."""
    usd: str = ""
    """What it cost; empty while it works."""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Try:
        return cls(**row)

    def shown(self) -> dict[str, Any]:
        return asdict(self)

    def machine_seconds(self, now: float) -> float:
        """How long it has had its machine."""
        if not self.began:
            return 0.0
        return max(0.0, (seconds(self.ended) if self.ended else now) - seconds(self.began))

    def cost(self, now: float) -> Decimal | None:
        """USD until now; None where the price is unknown. A machine that never came costs nothing."""
        if not self.began:
            return Decimal(0)
        if self.usd_per_hour == UNKNOWN:
            return None
        paid = max(LEAST_SECONDS, math.ceil(self.machine_seconds(now)))
        return (Decimal(self.usd_per_hour) * paid / 3600).quantize(CENT, ROUND_UP)


def text(usd: Decimal | None) -> str:
    """An amount as it is written."""
    return UNKNOWN if usd is None else str(usd)


def total(tries: Iterable[Try], now: float) -> Decimal | None:
    """USD of all; None where one is unknown."""
    found = [one.cost(now) for one in tries]
    known = [usd for usd in found if usd is not None]
    return sum(known, Decimal(0)) if len(known) == len(found) else None


def usd_per_hour(plan: JobPlan, provisioning: str, *, most: bool = False) -> Decimal | None:
    """
    USD an hour of the whole machine at list price, its hosts included, its disks not; None where no source has it.

    Args:
        most: Whether the highest is wanted of a price that is only bounded, as most of Vertex AI's are.
    """
    way = next((one for one in plan.machines if one.provisioning == provisioning and one.form == "custom-job"), None)
    try:
        if way is not None:
            price = training_hour(*way.machine_of_vertex, plan.region, provisioning)
            return price.usd_high if most else price.usd
        if plan.machine_type:
            machine = machine_hour(plan.machine_type, plan.region, provisioning).usd
            attached = by_machine_type(plan.machine_type) is None
            return machine + (gpu_hour(plan.accelerator_type, plan.region, provisioning).usd * plan.chips if attached else 0)
        return tpu_chip_hour(tpu.shape(plan.accelerator_type), plan.region, provisioning).usd * plan.chips
    except (tpu.UnknownAcceleratorType, PriceUnknown):
        return None


def at_most(plan: JobPlan, provisioning: Iterable[str]) -> Decimal | None:
    """USD that one run may cost: all its minutes, the dearest way of those it may take; None where a price is unknown."""
    rates = [usd_per_hour(plan, way, most=True) for way in provisioning]
    known = [rate for rate in rates if rate is not None]
    if len(known) != len(rates) or not known:
        return None
    return (max(known) * plan.max_run_minutes / 60).quantize(CENT)
