"""What hours of one kind of machine cost: TPU, built-in GPU, N1 with GPUs, CPU; bought in any of the four ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from infra.catalog import gpu_machines, machine_prices, prices, tpu
from infra.catalog.prices import Price, PriceUnknown
from infra.cost.line import LineItem, Triple, joined, priced, scaled, under_ceiling, unknown
from infra.declared import UNKNOWN

PROVISIONING = {
    "STANDARD": "on-demand",
    "SPOT": "spot",
    "FLEX_START": "flex-start",
    "RESERVATION_BOUND": "reservation",
}
SPOT_SAID = "Spot prices change monthly; high: the on-demand price"
SPOT_UNBOUNDED = "Spot prices change monthly, and the on-demand price that bounds them is not known"


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of machine, and the hours of it."""

    resource: str
    machine_type: str
    region: str
    provisioning: str
    """`on-demand`, `spot`, `flex-start` or `reservation`; any other has no price."""
    hours: Triple
    """Of all such machines together."""
    gpus: tuple[tuple[str, int], ...] = ()
    """Accelerator type and how many of it one machine has."""
    note: str = ""
    slice_type: str = ""
    """Of a host of a larger slice, the slice, such as `v5litepod-16`."""

    @property
    def brings_local_ssd(self) -> bool:
        built_in = gpu_machines.by_machine_type(self.machine_type)
        return built_in is not None and built_in.local_ssd_bundled


def provisioning_of(model: Any, affinity: Any) -> str:
    """The way of buying that an instance's or a template's scheduling says."""
    return "reservation" if affinity == "SPECIFIC_RESERVATION" else PROVISIONING.get(str(model or "STANDARD"), str(model))


def gpus_of(accelerators: Any) -> tuple[tuple[str, int], ...] | None:
    """Type and count of each kind; None where one of them is not known yet."""
    if accelerators is None:
        return ()
    if not isinstance(accelerators, list | tuple):
        return None
    found = []
    for one in accelerators:
        kind, count = (one.get("type"), one.get("count")) if isinstance(one, dict) else (UNKNOWN, UNKNOWN)
        if not isinstance(kind, str) or not isinstance(count, int) or isinstance(count, bool) or count < 0:
            return None
        if count:
            found.append((kind.rpartition("/")[2], count))
    return tuple(found)


def machine_lines(machine: Machine) -> Iterator[LineItem]:
    """The machine, and each kind of GPU that it does not have built in."""
    shape = tpu.by_machine_type(machine.machine_type)
    if shape is not None:
        line = tpu_line(machine.resource, shape, machine.region, machine.provisioning, machine.hours, machine.note)
        yield replace(line, what=f"{machine.slice_type} {machine.provisioning}") if machine.slice_type else line
        return
    built_in = gpu_machines.by_machine_type(machine.machine_type)
    what = f"{machine.machine_type} {machine.provisioning}"

    def hour(provisioning: str) -> Price:
        return machine_prices.machine_hour(machine.machine_type, machine.region, provisioning)

    yield _line(machine, what, hour, machine.hours)
    for accelerator_type, count in machine.gpus:
        if built_in is not None:
            if accelerator_type != built_in.accelerator_type or count not in (built_in.gpus, built_in.counted):
                why = f"{machine.machine_type} comes with {built_in.gpus:f} x {built_in.accelerator_type}, in its price"
                yield unknown(machine.resource, f"{count} x {accelerator_type}", why)
        elif gpu_machines.series_of(machine.machine_type) != gpu_machines.N1:
            why = f"GPUs are attached to machines of N1, not to {machine.machine_type}"
            yield unknown(machine.resource, f"{count} x {accelerator_type}", why)
        else:
            yield _gpus(machine, accelerator_type, count)


def _gpus(machine: Machine, accelerator_type: str, count: int) -> LineItem:
    def hour(provisioning: str) -> Price:
        return machine_prices.gpu_hour(accelerator_type, machine.region, provisioning)

    return _line(machine, f"{count} x {accelerator_type} {machine.provisioning}", hour, scaled(machine.hours, count))


def _line(machine: Machine, what: str, hour: Callable[[str], Price], quantity: Triple) -> LineItem:
    return by_the_hour(machine.resource, what, machine.provisioning, hour, quantity, machine.note)


def by_the_hour(resource: str, what: str, provisioning: str, hour: Callable[[str], Price], quantity: Triple, note: str = "") -> LineItem:
    """
    Hours at the price of a way of buying. That of Spot is of the day it was read: its high column is the on-demand price.

    Args:
        hour: The price of one unit for an hour, from the way of buying; raises PriceUnknown.
    """
    try:
        price = hour(provisioning)
    except PriceUnknown as error:
        return unknown(resource, what, str(error))
    line = priced(resource, what, price, quantity, note)
    return line if provisioning != "spot" else bounded_by(line, lambda: hour("on-demand"), note)


def bounded_by(line: LineItem, ceiling: Callable[[], Price], note: str = "") -> LineItem:
    """A Spot line under the on-demand price; unknown where that is."""
    try:
        return under_ceiling(line, ceiling(), joined(note, SPOT_SAID))
    except PriceUnknown:
        return unknown(line.resource, line.what, SPOT_UNBOUNDED)


def tpu_line(resource: str, shape: tpu.TpuShape, region: str, provisioning: str, hours: Triple, note: str = "") -> LineItem:
    """Chips by the hour, their hosts included."""

    def hour(way: str) -> Price:
        return prices.tpu_chip_hour(shape, region, way)

    return by_the_hour(resource, f"{shape.accelerator_type} {provisioning}", provisioning, hour, scaled(hours, shape.chips), note)
