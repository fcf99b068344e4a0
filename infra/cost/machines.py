"""Machines of Compute Engine: instances, Cloud TPU nodes, and groups of machines made from a template."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from infra import queued_nodes
from infra.catalog import fits_tpu, tpu
from infra.catalog.places import region_of
from infra.catalog.prices import Item
from infra.cost import queued
from infra.cost.context import Context, bounds, parts, short, whole
from infra.cost.disks import LOCAL_SSD_GIB, Disk, attached, disk_lines, local_ssd_lines, share_of_month
from infra.cost.line import ALWAYS, MONTH, NOTHING, LineItem, Triple, free, listed, scaled, times, unknown
from infra.cost.machine import Machine, gpus_of, machine_lines, provisioning_of, tpu_line
from infra.declared import UNKNOWN, Declared

TEMPLATES = (
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
)
GROUPS = (
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager",
)
AUTOSCALERS = ("gcp:compute/autoscaler:Autoscaler", "gcp:compute/regionAutoscaler:RegionAutoscaler")
NODE_EXTRAS = ("dataDisks", "networkConfig.enableExternalIps", "networkConfigs")
NOT_KNOWN = "its machine type, zone, provisioning model, reservation or run limit is not known yet"


@dataclass(frozen=True, slots=True)
class _Bought:
    """What an instance and a template say in the same words."""

    machine_type: str
    provisioning: str
    once: Decimal | None
    """Hours after which the machine is deleted."""
    gpus: tuple[tuple[str, int], ...]


def instance(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`gcp:compute/instance:Instance`."""
    context.given(resource.name, "hours_month")
    bought, zone = _bought(resource), resource.get("zone")
    state = resource.get("desiredStatus")
    if bought is None or not isinstance(zone, str) or state not in (None, "RUNNING", "TERMINATED"):
        context.machines.append(None)
        yield unknown(resource.name, "Instance", NOT_KNOWN if state is None else f"{NOT_KNOWN}, or it is {state}")
        return
    hours, note = context.hours(resource.name, bought.once)
    if state == "TERMINATED":
        hours, note = NOTHING, "declared as stopped; its disks stand"
    context.stand(ALWAYS, hours)
    region = region_of(zone.lower())
    machine = Machine(resource.name, bought.machine_type, region, bought.provisioning, hours, bought.gpus, note)
    yield from machine_lines(machine)
    stopped = resource.get("scheduling.instanceTerminationAction") == "STOP" or resource.get("bootDisk.autoDelete") is False
    yield from _disks_of_instance(resource, machine, MONTH if bought.once is None or stopped else hours, context)
    yield from _addresses(resource, region, bought.provisioning, hours)


def _bought(resource: Declared) -> _Bought | None:
    """None where something of it is not known yet."""
    machine_type, model, affinity = (
        resource.get(key) for key in ("machineType", "scheduling.provisioningModel", "reservationAffinity.type")
    )
    seconds, preemptible = resource.get("scheduling.maxRunDuration.seconds"), resource.get("scheduling.preemptible")
    gpus = gpus_of(resource.get("guestAccelerators"))
    texts = all(isinstance(one, str | None) for one in (model, affinity)) and isinstance(machine_type, str)
    if not texts or gpus is None or preemptible not in (None, False, True) or not (seconds is None or whole(seconds)):
        return None
    if model is None and preemptible:
        model = "SPOT"
    once = None if seconds is None else Decimal(seconds) / 3600
    return _Bought(str(machine_type).rpartition("/")[2], provisioning_of(model, affinity), once, gpus)


def _disks_of_instance(resource: Declared, machine: Machine, stand: Triple, context: Context) -> Iterator[LineItem]:
    """
    The boot disk stands as long as the machine that is deleted after its run, and all month where the machine is only stopped, or the
    disk outlives it.
    A boot disk by `source` and attached disks are declared on their own.
    """
    boot = {key: resource.get(f"bootDisk.initializeParams.{key}") for key in ("type", "size", "provisionedIops", "provisionedThroughput")}
    if resource.get("bootDisk.source") is None:
        disk = Disk(boot["type"], boot["size"], boot["provisionedIops"], boot["provisionedThroughput"])
        yield from disk_lines(resource.name, "boot disk", disk, machine.region, share_of_month(stand))
    else:
        yield from attached(resource, [resource.get("bootDisk.source")], context)
    others, scratch = parts(resource.get("attachedDisks")), parts(resource.get("scratchDisks"))
    if others is None or scratch is None:
        yield unknown(resource.name, "disks", "which disks it has is not known yet")
        return
    yield from attached(resource, [one.get("source") for one in others], context)
    yield from _scratch(machine, [one.get("size", LOCAL_SSD_GIB) for one in scratch], machine.hours)


def _scratch(machine: Machine, sizes: list[Any], hours: Triple) -> Iterator[LineItem]:
    if not sizes or machine.brings_local_ssd:
        return
    if not all(map(whole, sizes)):
        yield unknown(machine.resource, "local SSD", "its size is not known yet")
        return
    yield from local_ssd_lines(machine.resource, sum(sizes), machine.region, machine.provisioning, share_of_month(hours))


def _addresses(resource: Declared, region: str, provisioning: str, hours: Triple) -> Iterator[LineItem]:
    """External addresses of a machine that runs; one that is reserved is billed here while it is in use."""
    interfaces = parts(resource.get("networkInterfaces"))
    four = None if interfaces is None else [parts(one.get("accessConfigs")) for one in interfaces]
    six = None if interfaces is None else [parts(one.get("ipv6AccessConfigs")) for one in interfaces]
    if four is None or six is None or None in four or None in six:
        yield unknown(resource.name, "external address", "whether it has one is not known yet")
        return
    if any(six):
        yield unknown(resource.name, "external IPv6 address", "no price of it is known")
    if count := sum(len(one) for one in four if one):
        item: Item = "external-address-spot" if provisioning == "spot" else "external-address"
        yield listed(resource.name, "external address", item, region, scaled(hours, count))


def node(resource: Declared, context: Context) -> Iterator[LineItem]:
    """`gcp:tpu/v2Vm:V2Vm`: its hosts and their boot disks are in the price of the chips."""
    hours, note = context.hours(resource.name, None)
    accelerator_type, zone = resource.get("acceleratorType"), resource.get("zone")
    scheduling = [resource.get(f"schedulingConfig.{key}") for key in ("spot", "preemptible", "reserved")]
    context.stand(ALWAYS, hours)
    if not (isinstance(accelerator_type, str) and isinstance(zone, str)) or not all(isinstance(one, bool | None) for one in scheduling):
        yield unknown(resource.name, "V2Vm", "its type, zone or scheduling is not known yet")
        return
    try:
        shape = tpu.shape(accelerator_type)
    except tpu.UnknownAcceleratorType as error:
        yield unknown(resource.name, "V2Vm", str(error))
        return
    for key in NODE_EXTRAS:
        if resource.get(key) not in (None, [], False):
            yield unknown(resource.name, key, f"no price of {key}")
    spot, preemptible, reserved = scheduling
    provisioning = "spot" if spot or preemptible else "reservation" if reserved else "on-demand"
    yield tpu_line(resource.name, shape, region_of(zone.lower()), provisioning, hours, note)


def template(resource: Declared, context: Context) -> Iterator[LineItem]:
    yield free(resource.name, short(resource), "a template costs nothing: the machines made from it do")


def group(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A managed group, zonal or regional: as many machines as it is declared to have, or as its autoscaler may make."""
    context.given(resource.name, "hours_month")
    yield from _of_template(resource, resource, _count(resource, context), None, context)


def resize_request(resource: Declared, context: Context) -> Iterator[LineItem]:
    """Machines that a zonal group gets once, together, and that are deleted after the run that was asked for."""
    context.given(resource.name, "hours_month")
    owner = context.referred(resource, "instanceGroupManager", GROUPS)
    size, seconds = resource.get("resizeBy"), resource.get("requestedRunDuration.seconds")
    seconds = int(seconds) if isinstance(seconds, str) and seconds.isascii() and seconds.isdigit() else seconds
    if owner is None or not whole(size) or not (seconds is None or whole(seconds)):
        context.machines.append(None)
        yield unknown(resource.name, short(resource), "its group, how many machines it asks for, or for how long, is not known yet")
        return
    yield from _of_template(resource, owner, scaled(ALWAYS, size), None if seconds is None else Decimal(seconds) / 3600, context)


def _of_template(resource: Declared, owner: Declared, count: Triple | str, once: Decimal | None, context: Context) -> Iterator[LineItem]:
    """
    Machines of a group.

    Args:
        count: How many, or why that is not known.
        once: Hours after which they are deleted; None where only the template may say.
    """
    zone, place = owner.get("zone"), owner.get("region") if owner.get("zone") is None else owner.get("zone")
    made_from = _template_of(owner, context)
    bought = None if made_from is None else _bought(made_from)
    if isinstance(count, str) or bought is None or made_from is None or not isinstance(place, str):
        context.machines.append(None)
        why = count if isinstance(count, str) else "its one template, its place, or what machines the template makes is not known yet"
        yield unknown(resource.name, short(resource), why)
        return
    each, note = context.hours(resource.name, bought.once if once is None else once)
    region = place.lower() if zone is None else region_of(place.lower())
    hours = times(count, each)
    context.stand(count, each)
    machine = Machine(resource.name, bought.machine_type, region, bought.provisioning, hours, bought.gpus, note)
    if (whole_slice := _slice(owner, bought.machine_type, count)) is not None:
        yield tpu_line(resource.name, whole_slice, region, bought.provisioning, each, note)
    else:
        yield from machine_lines(machine)
    yield from _disks_of_template(resource, made_from, machine)
    yield from _addresses(Declared(made_from.type, resource.name, made_from.inputs), region, bought.provisioning, hours)


def _slice(owner: Declared, machine_type: str, count: Triple) -> tpu.TpuShape | None:
    """The TPU slice that the hosts of a group with a workload policy are; None where they are no slice, or each is one."""
    if owner.get("resourcePolicies.workloadPolicy") is None:
        return None
    several = (one for one in fits_tpu.machines().get(machine_type, ()) if not one.single_host)
    found = [one for one in several if scaled(ALWAYS, one.hosts) == count]
    return found[0] if len(found) == 1 else None


def _template_of(resource: Declared, context: Context) -> Declared | None:
    versions = resource.get("versions")
    if not isinstance(versions, list) or len(versions) != 1 or not isinstance(versions[0], dict):
        return None
    pointer = Declared(resource.type, resource.name, versions[0], resource.urn, dependencies=resource.dependencies)
    return context.referred(pointer, "instanceTemplate", TEMPLATES)


def _count(resource: Declared, context: Context) -> Triple | str:
    """Machines of a group, or why they are not known."""
    autoscalers = [
        one
        for one in context.resources
        if one.type in AUTOSCALERS and context.referred(one, "target", [resource.type]) is resource and not one.existing
    ]
    size = resource.get("targetSize")
    if autoscalers:
        context.given(resource.name, "nodes")
        found = bounds(*(autoscalers[0].get(f"autoscalingPolicy.{key}") for key in ("minReplicas", "maxReplicas")))
        return "the bounds of its autoscaler are not known yet" if found is None else context.between(resource.name, "nodes", *found)
    if whole(size):
        return scaled(ALWAYS, size)
    return "its target size is not known yet" if size is UNKNOWN else "it has neither a target size nor an autoscaler of this stack"


def autoscaler(resource: Declared, context: Context) -> Iterator[LineItem]:
    """What it makes is the group's; with one whose group is not found, nothing says what it makes."""
    if context.referred(resource, "target", GROUPS) is None:
        yield unknown(resource.name, "Autoscaler", "which group it scales is not known yet")
    else:
        yield free(resource.name, "Autoscaler", "the machines it makes are billed with their group")


def _disks_of_template(resource: Declared, made_from: Declared, machine: Machine) -> Iterator[LineItem]:
    disks = parts(made_from.get("disks"))
    if not disks or any(one.get("type") not in (None, "PERSISTENT", "SCRATCH") for one in disks):
        yield unknown(resource.name, "disks", "which disks its machines have is not known yet")
        return
    scratch = [one.get("diskSizeGb", LOCAL_SSD_GIB) for one in disks if one.get("type") == "SCRATCH"]
    for one in disks:
        if one.get("type") != "SCRATCH" and one.get("source") is None:
            what = "boot disk" if one.get("boot") is True else "disk"
            disk = Disk(one.get("diskType"), one.get("diskSizeGb"), one.get("provisionedIops"), one.get("provisionedThroughput"))
            yield from disk_lines(resource.name, what, disk, machine.region, share_of_month(machine.hours))
    yield from _scratch(machine, scratch, machine.hours)


LINES = {
    "gcp:compute/instance:Instance": instance,
    "gcp:tpu/v2Vm:V2Vm": node,
    queued_nodes.QUEUED: queued.lines,
    "gcp:compute/resizeRequest:ResizeRequest": resize_request,
    **dict.fromkeys(GROUPS, group),
    **dict.fromkeys(TEMPLATES, template),
    **dict.fromkeys(AUTOSCALERS, autoscaler),
}
