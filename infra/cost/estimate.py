"""Declared resources -> line items -> a month: low, expected, high, in USD."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Literal

from infra.catalog import prices, tpu
from infra.catalog.places import region_of
from infra.catalog.prices import Item, Price, PriceUnknown
from infra.cost.usage import Range, Usage
from infra.declared import UNKNOWN, Declared

HOURS = Decimal(730)
"""Hours of a month: 365 days / 12."""
ZERO, ONE = Decimal(0), Decimal(1)

Triple = tuple[Decimal, Decimal, Decimal]
"""Low, expected and high."""
Status = Literal["priced", "bounded", "free", "unknown", "others pay"]


@dataclass(frozen=True, slots=True)
class LineItem:
    """One thing that is billed, or the reason why it is not."""

    resource: str
    """Logical name of the resource; empty for what the whole stack uses."""
    what: str
    status: Status
    quantity: Triple | None = None
    unit: str = ""
    unit_usd: Triple | None = None
    price: Price | None = None
    note: str = ""
    ceiling: Price | None = None
    """The price behind the high column, where it is another one."""

    @property
    def usd_month(self) -> Triple | None:
        """USD a month; None where it is unknown or others pay."""
        if self.status == "free":
            return (ZERO, ZERO, ZERO)
        if self.quantity is None or self.unit_usd is None:
            return None
        low, expected, high = (count * usd for count, usd in zip(self.quantity, self.unit_usd, strict=True))
        return (low, expected, high)


@dataclass(frozen=True, slots=True)
class Assumption:
    """A quantity of `usage` that a line was computed with."""

    name: str
    value: Range
    is_default: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """A stack's month."""

    lines: Sequence[LineItem]
    assumptions: Sequence[Assumption]

    @property
    def unknown(self) -> list[LineItem]:
        return [line for line in self.lines if line.status == "unknown"]

    @property
    def complete(self) -> bool:
        """Whether every line has a price. The total of an incomplete estimate is only a lower bound."""
        return not self.unknown

    @property
    def total(self) -> Triple:
        months = [line.usd_month for line in self.lines if line.usd_month is not None]
        low, expected, high = (sum((month[column] for month in months), ZERO) for column in range(3))
        return (low, expected, high)

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


FREE = {
    "accelform:billing:SpendCap": "budgets are free",
    "accelform:vertex:Model": "models are not charged until they are deployed",
    "gcp:compute/firewall:Firewall": "rules are free",
    "gcp:compute/network:Network": "networks are free",
    "gcp:compute/router:Router": "only its NAT is billed",
    "gcp:compute/subnetwork:Subnetwork": "subnets are free",
    "gcp:serviceaccount/account:Account": "IAM is free",
    "gcp:projects/iAMMember:IAMMember": "IAM is free",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "IAM is free",
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": "IAM is free",
    "gcp:vertex/aiEndpointIamMember:AiEndpointIamMember": "IAM is free",
    "gcp:billing/budget:Budget": "budgets are free",
    "gcp:monitoring/notificationChannel:NotificationChannel": "e-mail channels are free",
    "gcp:vertex/aiEndpoint:AiEndpoint": "no charge until a model is deployed on it",
}
"""Types without a charge. Sources: https://cloud.google.com/vpc/network-pricing, https://cloud.google.com/iam/pricing,
https://cloud.google.com/billing/docs/how-to/budgets, https://cloud.google.com/vertex-ai/pricing, read 2026-11."""

PROVISIONING = {
    "STANDARD": "on-demand",
    "SPOT": "spot",
    "FLEX_START": "flex-start",
    "RESERVATION_BOUND": "reservation",
}
DISKS: dict[str, Item] = {"pd-balanced": "pd-balanced", "hyperdisk-balanced": "hyperdisk-balanced"}
NAT_MACHINES_MAX = 32
"""Machines behind a NAT gateway that are billed one by one; more cost what these cost.
Source: the row `nat-gateway-cap` of the price table."""


def estimate(resources: Iterable[Declared], usage: Usage, *, region: str) -> Estimate:
    """What *resources* cost in a month of 730 hours. A type that no table knows makes an unknown line, never a 0."""
    managed = [one for one in resources if not one.is_component and not one.type.startswith("pulumi:")]
    used: dict[str, None] = {}
    assume = partial(_assume, usage, used)
    lines = [line for resource in managed for line in _lines(resource, managed, assume, region)]
    if any(one.type == BUCKET and not one.existing for one in managed):
        # Their free tier holds in three regions of the US alone, and is not taken off.
        lines.append(_everyday("", "bucket writes", "storage-class-a", region, assume("storage_class_a_thousands")))
        lines.append(_everyday("", "bucket reads", "storage-class-b", region, assume("storage_class_b_thousands")))
    if managed:
        lines.append(_everyday("", "internet egress", "internet-egress", region, assume("internet_egress_gib")))
        lines.append(_everyday("", "logs", "logging", region, assume("logs_gib")))
    assumptions = [Assumption(name, getattr(usage, name), name not in usage.model_fields_set) for name in used]
    return Estimate(lines, assumptions)


Assume = Callable[[str], Range]


def _assume(usage: Usage, used: dict[str, None], name: str) -> Range:
    used[name] = None
    value: Range = getattr(usage, name)
    return value


BUCKET = "gcp:storage/bucket:Bucket"


def _lines(resource: Declared, every: Sequence[Declared], assume: Assume, region: str) -> Iterator[LineItem]:
    if resource.existing:
        yield LineItem(resource.name, _short(resource), "others pay", note="read, not made: its owner pays for it")
    elif resource.type in FREE:
        yield LineItem(resource.name, _short(resource), "free", note=FREE[resource.type])
    elif resource.type == BUCKET:
        yield from _bucket(resource, assume, region)
    elif resource.type == "gcp:artifactregistry/repository:Repository":
        yield _repository(resource, assume, region)
    elif resource.type == "gcp:compute/instance:Instance":
        yield from _instance(resource)
    elif resource.type == "gcp:tpu/v2Vm:V2Vm":
        yield from _node(resource)
    elif resource.type == "gcp:compute/routerNat:RouterNat":
        yield from _nat(resource, every, assume, region)
    else:
        yield _unknown(resource.name, _short(resource), f"{resource.type} is in no price table")


def _short(resource: Declared) -> str:
    return resource.type.rpartition(":")[2]


def _unknown(resource: str, what: str, why: str) -> LineItem:
    return LineItem(resource, what, "unknown", note=why)


def _priced(resource: str, what: str, price: Price, quantity: Triple, note: str = "") -> LineItem:
    notes = [note, price.notes if price.bounded or price.item.startswith("tpu") else ""]
    return LineItem(
        resource=resource,
        what=what,
        status="bounded" if price.bounded else "priced",
        quantity=quantity,
        unit=price.unit,
        unit_usd=(price.usd_low, price.usd, price.usd_high),
        price=price,
        note="; ".join(filter(None, notes)),
    )


FREE_GIB = re.compile(r"after ([0-9.]+) GiB free")
FIRST_TIB_GIB = 1024


def _everyday(resource: str, what: str, item: Item, region: str, amount: Range) -> LineItem:
    """An item by assumed usage, less the GiB that the price's own tier says are free (for a whole account or project: taken off once)."""
    try:
        price = prices.price(item, region)
    except PriceUnknown as error:
        return _unknown(resource, what, str(error))
    match = FREE_GIB.match(price.tier)
    free = Decimal(match[1]) if match else ZERO
    low, expected, high = (max(ZERO, one - free) for one in amount)
    note = f"first {free} a month free" if free else ""
    if price.tier.startswith("first TiB") and amount.high > FIRST_TIB_GIB:
        note = "the price of the first TiB, for all of it: no other is known"
    return _priced(resource, what, price, (low, expected, high), note)


def _elsewhere(resource: Declared, region: str, key: str = "location") -> str:
    """Why a resource is not priced in the stack's region; empty where it stands there."""
    location = resource.get(key)
    return "" if isinstance(location, str) and location.lower() == region else f"no price of {key} {location}"


def _not_priced(resource: Declared, keys: Iterable[str]) -> Iterator[LineItem]:
    """What a machine has beside its chips that no table prices."""
    for key in keys:
        if resource.get(key) not in (None, [], False):
            yield _unknown(resource.name, key, f"no price of {key}")


def _bucket(resource: Declared, assume: Assume, region: str) -> Iterator[LineItem]:
    field = {"data": "data_gib", "models": "models_gib"}.get(resource.name)
    if why := _elsewhere(resource, region):
        yield _unknown(resource.name, "Bucket", why)
    elif field is None:
        yield _unknown(resource.name, "Bucket", f"no assumption says how much bucket {resource.name} holds")
    elif resource.get("storageClass") not in (None, "STANDARD"):
        yield _unknown(resource.name, "Bucket", f"no price of storage class {resource.get('storageClass')}")
    else:
        yield _everyday(resource.name, f"{resource.name} bucket", "storage-standard", region, assume(field))


def _repository(resource: Declared, assume: Assume, region: str) -> LineItem:
    if why := _elsewhere(resource, region):
        return _unknown(resource.name, "Repository", why)
    if resource.name != "images":
        return _unknown(resource.name, "Repository", f"no assumption says how much repository {resource.name} holds")
    return _everyday(resource.name, "images", "registry-storage", region, assume("images_gib"))


INSTANCE_EXTRAS = (
    "scratchDisks",
    "attachedDisks",
    "guestAccelerators",
    "networkInterfaces.0.accessConfigs",
    "bootDisk.initializeParams.provisionedIops",
    "bootDisk.initializeParams.provisionedThroughput",
)
NODE_EXTRAS = ("dataDisks", "networkConfig.enableExternalIps")


def _instance(resource: Declared) -> Iterator[LineItem]:
    machine_type, zone, model = (resource.get(key) for key in ("machineType", "zone", "scheduling.provisioningModel"))
    affinity = resource.get("reservationAffinity.type")
    if UNKNOWN in (machine_type, zone, model, affinity) or not _limit_known(resource):
        yield _unknown(resource.name, "Instance", "its machine type, zone, provisioning model, reservation or run limit is not known yet")
        return
    yield from _not_priced(resource, INSTANCE_EXTRAS)
    shape = tpu.by_machine_type(str(machine_type))
    if shape is None:
        yield _unknown(resource.name, str(machine_type), f"no price of machine type {machine_type}")
    else:
        provisioning = "reservation" if affinity == "SPECIFIC_RESERVATION" else PROVISIONING.get(str(model or "STANDARD"), str(model))
        yield _tpu(resource, shape, str(zone), provisioning)
    yield _boot_disk(resource, str(zone))


def _node(resource: Declared) -> Iterator[LineItem]:
    accelerator_type, zone = resource.get("acceleratorType"), resource.get("zone")
    scheduling = [resource.get(f"schedulingConfig.{key}") for key in ("spot", "preemptible", "reserved")]
    if UNKNOWN in (accelerator_type, zone) or not all(isinstance(one, bool | None) for one in scheduling):
        yield _unknown(resource.name, "V2Vm", "its type, zone or scheduling is not known yet")
        return
    try:
        shape = tpu.shape(str(accelerator_type))
    except tpu.UnknownAcceleratorType as error:
        yield _unknown(resource.name, "V2Vm", str(error))
        return
    yield from _not_priced(resource, NODE_EXTRAS)
    spot, preemptible, reserved = scheduling
    yield _tpu(resource, shape, str(zone), "spot" if spot or preemptible else "reservation" if reserved else "on-demand")


def _whole(value: object) -> bool:
    """Whether an input is a whole number: neither unknown, secret, text nor a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def _limit_known(resource: Declared) -> bool:
    limit = resource.get("scheduling.maxRunDuration.seconds")
    return limit is None or _whole(limit)


def _hours(resource: Declared) -> tuple[Triple, str]:
    """Hours a month that a machine stands, where its run limit is known."""
    seconds = resource.get("scheduling.maxRunDuration.seconds")
    if seconds is None:
        return (HOURS, HOURS, HOURS), ""
    once = min(HOURS, Decimal(seconds) / 3600)
    return (once, once, HOURS), f"runs {once.quantize(Decimal('0.01')):f} h once; high: brought up again and again"


def _tpu(resource: Declared, shape: tpu.TpuShape, zone: str, provisioning: str) -> LineItem:
    what = f"{shape.accelerator_type} {provisioning}"
    try:
        price = prices.tpu_chip_hour(shape, region_of(zone), provisioning)
    except PriceUnknown as error:
        return _unknown(resource.name, what, str(error))
    (low, expected, high), note = _hours(resource)
    line = _priced(resource.name, what, price, (low * shape.chips, expected * shape.chips, high * shape.chips), note)
    if provisioning != "spot":
        return line
    try:
        ceiling = prices.tpu_chip_hour(shape, region_of(zone), "on-demand")
    except PriceUnknown:
        return _unknown(resource.name, what, "Spot prices change monthly, and the on-demand price that bounds them is not known")
    said = "Spot prices change monthly; high: the on-demand price"
    bounds = (price.usd, price.usd, max(price.usd, ceiling.usd))
    return replace(line, status="bounded", unit_usd=bounds, ceiling=ceiling, note="; ".join(filter(None, [note, said])))


def _boot_disk(resource: Declared, zone: str) -> LineItem:
    size, kind = resource.get("bootDisk.initializeParams.size"), resource.get("bootDisk.initializeParams.type")
    what = "boot disk"
    if not _whole(size) or not isinstance(kind, str) or kind not in DISKS:
        return _unknown(resource.name, what, f"no price of a disk of type {kind} and size {size}")
    try:
        price = prices.price(DISKS[kind], region_of(zone))
    except PriceUnknown as error:
        return _unknown(resource.name, what, str(error))
    hours, note = _hours(resource)
    low, expected, high = (Decimal(size) * hour / HOURS for hour in hours)
    return _priced(resource.name, f"{what} {kind}", price, (low, expected, high), note)


def _nat(resource: Declared, every: Sequence[Declared], assume: Assume, region: str) -> Iterator[LineItem]:
    machines = [one for one in every if one.type in ("gcp:compute/instance:Instance", "gcp:tpu/v2Vm:V2Vm") and not one.existing]
    if why := _elsewhere(resource, region, "region"):
        yield _unknown(resource.name, "NAT", why)
        return
    if not all(map(_limit_known, machines)):
        yield _unknown(resource.name, "NAT", "the run limit of a machine behind it is not known yet")
        return
    hours = [_hours(one)[0] for one in machines]
    low, expected, high = (min(sum((one[column] for one in hours), ZERO), NAT_MACHINES_MAX * HOURS) for column in range(3))
    try:
        gateway = prices.price("nat-gateway", region)
        address = prices.price("nat-address", region)
    except PriceUnknown as error:
        yield _unknown(resource.name, "NAT", str(error))
        return
    count = len(machines)
    yield _priced(resource.name, f"NAT of {count} machine{'s' * (count != 1)}", gateway, (low, expected, high))
    yield _priced(
        resource.name,
        "NAT address",
        address,
        (HOURS, HOURS, HOURS),
        "one address serves the machines of a stack of this size",
    )
    yield _everyday(resource.name, "NAT data", "nat-data", region, assume("nat_data_gib"))
