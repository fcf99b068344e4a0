"""List prices of machines, and of GPUs that are attached to one: USD an hour, dated, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from infra.catalog.gpu_machines import n1_size
from infra.catalog.prices import Price, PriceUnknown, as_billed, billed_as
from infra.catalog.tables import find, rows, trust_of

FAMILIES = frozenset({"c3", "e2", "n1", "n2", "n2d"})
"""Families of machines without a GPU built in that have prices."""


def _price(item: str, unit: str, region: str, provisioning: str) -> Price:
    """A reservation is billed at the on-demand rate, used or not, as that of a TPU; discounts are not applied."""
    row = find("machine_prices", item=item, region=region, provisioning=billed_as(provisioning))
    if row is None or row["unit"] != unit:
        raise PriceUnknown(f"{item} {unit.replace('_', '-')}, {provisioning}", region)
    usd = Decimal(row["usd"])
    found = Price(item, unit, region, usd, usd, usd, "", row["source"], row["as_of"], trust_of(row), row["notes"])
    return as_billed(found, provisioning)


_COLUMNS = {"on-demand": "on_demand", "spot": "spot"}


def _without_gpu(machine_type: str, region: str, provisioning: str) -> Price | None:
    """The price of a machine of `FAMILIES`: their table has both ways to buy in one row, and its source by name."""
    if machine_type.partition("-")[0] not in FAMILIES:
        return None
    row = find("cpu_prices", machine_type=machine_type, region=region)
    column = _COLUMNS.get(billed_as(provisioning))
    if row is None or column is None or not row[column]:
        return None
    usd, said = Decimal(row[column]), _sources()[row["source"]]
    trust = trust_of(said) if column == "on_demand" else "medium"
    found = Price(machine_type, "instance_hour", region, usd, usd, usd, "", said["source"], said["as_of"], trust, "")
    return as_billed(found, provisioning)


@cache
def _sources() -> Mapping[str, dict[str, str]]:
    return MappingProxyType({row["name"]: row for row in rows("sources")})


def machine_hour(machine_type: str, region: str, provisioning: str) -> Price:
    """
    Price of one machine for an hour: its built-in GPUs and bundled local SSD included, boot disk and attached GPUs not.

    A price is no offer: Google lists prices of machines where it has none, and on-demand prices of machines that are sold as spot only.

    Args:
        provisioning: `on-demand`, `spot`, `flex-start` or `reservation`.

    Raises:
        PriceUnknown: No source has one for this region and way of selling.
    """
    if found := _without_gpu(machine_type, region, provisioning):
        return found
    size = n1_size(machine_type)
    if size is None:
        return _price(machine_type, "instance_hour", region, provisioning)
    vcpus, memory_gib = size
    vcpu, gib = _price("n1-vcpu", "vcpu_hour", region, provisioning), _price("n1-memory", "gib_hour", region, provisioning)
    usd = vcpus * vcpu.usd + memory_gib * gib.usd
    return replace(vcpu, item=machine_type, unit="instance_hour", usd=usd, usd_low=usd, usd_high=usd)


def gpu_hour(accelerator_type: str, region: str, provisioning: str) -> Price:
    """
    Price of one GPU for an hour that is attached to a machine of N1, which is billed on top.

    Raises:
        PriceUnknown: No source has one for this region and way of selling, or the GPU comes with machines of its own.
    """
    return _price(accelerator_type, "gpu_hour", region, provisioning)
