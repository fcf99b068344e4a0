"""Declared resources -> line items -> a month: low, expected, high, in USD."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from infra.catalog.prices import Price
from infra.cost import disks, gke, kubernetes, machines, network, serverless, storage, vertex
from infra.cost.context import Assumption, Context, short
from infra.cost.free import FREE, NO_PRICE
from infra.cost.line import NOTHING, LineItem, Triple, added, columns, free, others_pay, unknown
from infra.cost.usage import Usage
from infra.declared import Declared
from infra.errors import Problem

LINES: Mapping[str, Callable[[Declared, Context], Iterator[LineItem]]] = {
    **machines.LINES,
    **disks.LINES,
    **gke.LINES,
    **kubernetes.LINES,
    **vertex.LINES,
    **serverless.LINES,
    **storage.LINES,
    **network.LINES,
}
"""From each type that is billed to what says its lines."""
IAM = re.compile(r"gcp:.*:\w*(?:IAM|Iam)(?:Member|Binding|Policy|AuditConfig|CustomRole)")
"""Grants of every kind, and the roles that they are of."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A stack's month."""

    lines: Sequence[LineItem]
    assumptions: Sequence[Assumption]
    problems: Sequence[Problem] = ()
    """What the stack file assumes, and no resource can have."""

    @property
    def unknown(self) -> list[LineItem]:
        return [line for line in self.lines if line.status == "unknown"]

    @property
    def complete(self) -> bool:
        """Whether every line has a price. The total of an incomplete estimate is only a lower bound."""
        return not self.unknown

    @property
    def total(self) -> Triple:
        total = NOTHING
        for line in self.lines:
            if (month := line.usd_month) is not None:
                total = added(total, month)
        return total

    @property
    def prices(self) -> list[Price]:
        """Every price used, once, by item."""
        every = [price for line in self.lines for price in (line.price, line.ceiling) if price]
        return sorted({(price.item, price.region, price.usd): price for price in every}.values(), key=lambda price: (price.item, price.usd))

    @property
    def price_dates(self) -> tuple[str, str] | None:
        """Dates of the oldest and the newest price used, each as exact as its source; None where no price was used."""
        dates = sorted(price.as_of for price in self.prices)
        return (dates[0], dates[-1]) if dates else None


def estimate(resources: Iterable[Declared], usage: Usage, *, region: str, autopilot: bool = False) -> Estimate:
    """
    What *resources* cost in a month of 730 hours. A type that no table knows makes an unknown line, never a 0.

    Args:
        autopilot: Whether what lives in a cluster lives in one that bills pods.
    """
    managed = [one for one in resources if not one.is_component and not one.type.startswith("pulumi:")]
    context = Context(managed, usage, region, autopilot=autopilot)
    found: dict[int, list[LineItem]] = {}
    # A free amount goes to the first in an order of its own, so that the program's order means nothing; NAT counts the machines before it.
    for index in sorted(range(len(managed)), key=lambda one: _order(managed[one])):
        found[index] = list(_lines(managed[index], context))
    lines = [line for index in range(len(managed)) for line in found[index]]
    buckets = [one for one in managed if one.type == storage.BUCKET and not one.existing]
    if buckets:
        lines.extend(storage.operations(buckets, context))
    if managed:
        lines.extend(network.egress(context))
        lines.append(context.metered("", "logs", "logging", region, columns(context.assume("logs_gib"))))
    return Estimate(lines, context.assumptions, context.problems)


def _order(resource: Declared) -> tuple[bool, str, str, str]:
    return (resource.type == network.NAT, resource.type, resource.name, resource.urn)


def _lines(resource: Declared, context: Context) -> Iterator[LineItem]:
    if resource.existing:
        yield others_pay(resource.name, short(resource), "read, not made: its owner pays for it")
    elif resource.type in FREE:
        yield free(resource.name, short(resource), FREE[resource.type])
    elif IAM.fullmatch(resource.type):
        yield free(resource.name, short(resource), "IAM is free")
    elif resource.type in LINES:
        yield from LINES[resource.type](resource, context)
    elif resource.type.startswith(gke.OBJECTS):
        yield free(resource.name, short(resource), kubernetes.IN_CLUSTER)
    else:
        yield unknown(resource.name, short(resource), NO_PRICE.get(resource.type, f"{resource.type} is in no price table"))
