"""What a queued resource costs: its nodes, once they stand. A request that waits costs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infra.catalog import tpu
from infra.catalog.places import region_of
from infra.cost.context import Context, whole
from infra.cost.line import ALWAYS, LineItem, joined, scaled, unknown
from infra.cost.machine import tpu_line
from infra.declared import Declared
from infra.queued_nodes import asked

WAYS = {"standard": "on-demand", "spot": "spot", "reservation": "reservation"}
"""Tier -> way of buying. Of the guaranteed tier no source says what it costs."""
SAID = "from when its nodes stand: waiting costs nothing"
EXTRAS = ("dataDisks", "networkConfig.enableExternalIps")


def lines(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`accelform:tpu:QueuedResource`: the chips of its nodes, by kind; hosts and boot disks are in their price."""
    hours, note = context.hours(resource.name, None)
    tier, zone = resource.get("tier"), resource.get("zone")
    way = WAYS.get(tier, "") if isinstance(tier, str) else ""
    counts: Counter[str] = Counter()
    for one in asked(resource):
        accelerator_type = one.node.get("acceleratorType")
        if not isinstance(accelerator_type, str) or not whole(one.count) or not isinstance(zone, str) or not way:
            context.machines.append(None)
            why = "its accelerator type, its number, its zone or its tier is not known yet"
            yield unknown(resource.name, one.path, f"no source says what the tier {tier} costs" if tier == "guaranteed" else why)
            continue
        context.stand(scaled(ALWAYS, one.count), hours)
        counts[accelerator_type] += one.count
        for key in EXTRAS:
            if one.node.get(key) not in (None, [], False):
                yield unknown(resource.name, f"{one.path}.{key}", f"no price of {key}")
    for accelerator_type, count in counts.items():
        try:
            shape = tpu.shape(accelerator_type)
        except tpu.UnknownAcceleratorType as error:
            yield unknown(resource.name, accelerator_type, str(error))
            continue
        said = joined(note, joined(f"{count} nodes" if count > 1 else "", SAID))
        yield tpu_line(resource.name, shape, region_of(zone.lower()), way, scaled(hours, count), said)
