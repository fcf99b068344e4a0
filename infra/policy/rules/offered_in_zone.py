"""`offered-in-zone`: the catalogue knows the TPU, or the GPU on its machine, in that zone; of a custom job in that region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from infra.declared import Declared
from infra.planned_jobs import PATH, RUN_JOB, is_sweep, own_plan, plans_of
from infra.policy.held import INSTANCE, ON_DEMAND, POOL, TEMPLATES, TPU_MACHINE, way_of_machine, way_of_node, way_of_pool
from infra.policy.queued import with_queued
from infra.policy.rule import Broken, Rule
from infra.queued_nodes import NODE

if TYPE_CHECKING:
    from infra.catalog.tpu import TpuShape
    from infra.catalog.wish import Api, Provisioning

GPU_PATHS = {"zone": "zone", "provisioning": "zone", "accelerator_type": "guestAccelerators", "count": "guestAccelerators"}
"""Where a part of a wish for GPUs is said; what is not here is said by the machine type."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """
    TPUs and GPUs, on machines and on nodes of GKE, in zones that are not known to offer them, and templates of machines that no zone of the
    region is known to offer.
    """
    if resource.type == INSTANCE or resource.type in TEMPLATES:
        yield from _machine(resource, region)
    elif resource.type == NODE:
        yield from _node(resource)
    elif resource.type == RUN_JOB:
        yield from _planned(resource)
    elif resource.type == POOL:
        yield from _pool(resource)


def _way(way: str | None) -> Provisioning:
    """What is not known is judged as the way that has the fewest conditions; `spot-or-reason` finds it."""
    return cast("Provisioning", way or ON_DEMAND)


def _machine(resource: Declared, region: str) -> Iterator[Broken]:
    from infra.catalog import tpu

    machine_type = resource.get("machineType")
    if not isinstance(machine_type, str):
        yield Broken("machineType", "must be stated and known at preview")
        return
    short = machine_type.rpartition("/")[2]
    shape = tpu.by_machine_type(short)
    provisioning = _way(way_of_machine(resource))
    if shape is None:
        if TPU_MACHINE.match(short):
            yield Broken("machineType", f"{machine_type} looks like a TPU machine that the catalogue does not know")
        else:
            yield from _gpus(resource, short, region, provisioning)
        return
    if resource.type in TEMPLATES:
        yield from _anywhere(short, region, provisioning)
    else:
        yield from _judged(resource, "machineType", "compute-engine", shape, provisioning)


def _gpus(resource: Declared, machine_type: str, region: str, provisioning: Provisioning) -> Iterator[Broken]:
    """A machine with GPUs, built in or attached. One without any is nobody's business here."""
    from infra.catalog import gpu_machines, gpu_zones
    from infra.catalog.fits import judge
    from infra.catalog.places import region_of
    from infra.catalog.wish import Wish

    attached = resource.get("guestAccelerators")
    if attached in (None, []) and gpu_machines.by_machine_type(machine_type) is None:
        return
    one = attached[0] if isinstance(attached, list) and len(attached) == 1 else None
    accelerator_type, count = (one.get("type"), one.get("count")) if isinstance(one, dict) else ("", None)
    if attached not in (None, []) and (not isinstance(accelerator_type, str) or not isinstance(count, int)):
        yield Broken("guestAccelerators", "must be of one kind, and known at preview")
        return
    name = str(accelerator_type).rpartition("/")[2]
    zone = resource.get("zone")
    if resource.type in TEMPLATES:
        places = sorted({offer.zone for offer in gpu_zones.every() if region_of(offer.zone) == region}) or [f"{region}-a"]
    elif isinstance(zone, str):
        places = [zone.lower()]
    else:
        return  # a place that `same-region` has found already
    verdicts = [judge(Wish("compute-engine", name, machine_type, count, zone=place, provisioning=provisioning)) for place in places]
    if any(verdict.kind == "works" for verdict in verdicts):
        return
    nearest = ", ".join(dict.fromkeys(near.wish.zone for near in verdicts[0].nearest[:5])) or "none"
    if resource.type in TEMPLATES:
        message = f"no zone of {region} is known to offer {machine_type} with its GPUs as {provisioning}; nearest that does: {nearest}"
        yield Broken("machineType", message, tuple(verdicts))
        return
    for reason in verdicts[0].reasons:
        at = GPU_PATHS.get(reason.part, "machineType")
        yield Broken(at, f"{zone} as {provisioning}: {reason.part} {reason.message}; nearest that does: {nearest}", (verdicts[0],))


def _planned(resource: Declared) -> Iterator[Broken]:
    """Each way of buying of a job in each of its zones. What the sweep may make, the jobs say; nodes are judged as such."""
    from infra.catalog.fits import judge
    from infra.catalog.wish import Wish

    if plans_of(resource) is None and not is_sweep(resource):
        yield Broken(PATH, "holds a job's plan that must be known at preview, and be one")
    plan = own_plan(resource)
    if plan is None:
        return
    for machine in plan.machines:
        for zone in plan.zones if machine.form != "node" else ():
            wish = Wish(
                "compute-engine",
                plan.accelerator_type,
                plan.machine_type,
                plan.gpus,
                zone=zone.lower(),
                provisioning=machine.provisioning,
            )
            if machine.form == "custom-job":
                wish = replace(wish, api="vertex", zone="", region=zone.lower(), use="training")
            verdict = judge(wish)
            for reason in verdict.reasons:
                yield Broken(PATH, f"{plan.job}: {zone} as {machine.provisioning}: {reason.part} {reason.message}", (verdict,))


def _node(resource: Declared) -> Iterator[Broken]:
    from infra.catalog import tpu

    accelerator_type = resource.get("acceleratorType")
    if not isinstance(accelerator_type, str):
        message = "must be stated and known at preview: it is what the catalogue knows, and without any type a v2-8 is made"
        yield Broken("acceleratorType", message)
        return
    try:
        shape = tpu.shape(accelerator_type)
    except tpu.UnknownAcceleratorType as error:
        yield Broken("acceleratorType", str(error))
        return
    yield from _judged(resource, "acceleratorType", "tpu-api", shape, _way(way_of_node(resource)))


def _pool(resource: Declared) -> Iterator[Broken]:
    """Each zone of a node pool with accelerators. A slice whose topology a policy holds is judged by its machines alone."""
    from infra.catalog import fits_tpu
    from infra.catalog.fits import judge
    from infra.catalog.gpu_machines import by_machine_type
    from infra.catalog.wish import Wish

    machine_type, accelerators = resource.get("nodeConfig.machineType"), resource.get("nodeConfig.guestAccelerators")
    if not isinstance(machine_type, str | None) or not isinstance(accelerators, list | None):
        yield Broken("nodeConfig", "its machine type and its accelerators must be known at preview")
        return
    slices = fits_tpu.machines().get(machine_type or "")
    if slices:
        said = resource.get("placementPolicy.tpuTopology")
        topology = said if isinstance(said, str) else ""
        named = "" if topology or any(one.single_host for one in slices) else slices[0].accelerator_type
        wish = Wish("gke", named, machine_type or "", topology=topology, provisioning=_way(way_of_pool(resource)))
    elif by_machine_type(machine_type or ""):
        wish = Wish("gke", machine_type=machine_type or "", provisioning=_way(way_of_pool(resource)))
    elif accelerators:
        kind, count = (resource.get(f"nodeConfig.guestAccelerators.0.{key}") for key in ("type", "count"))
        if not isinstance(kind, str) or not isinstance(count, int):
            yield Broken("nodeConfig.guestAccelerators[0]", "must be known at preview")
            return
        wish = Wish("gke", kind, machine_type or "", count, provisioning=_way(way_of_pool(resource)))
    else:
        return
    places = resource.get("nodeLocations")
    if not isinstance(places, list) or not places or not all(isinstance(one, str) for one in places):
        yield Broken("nodeLocations", "must be stated, and known at preview: not every zone of a region has accelerators")
        return
    for index, zone in enumerate(places):
        verdict = judge(replace(wish, zone=zone.lower()))
        for reason in verdict.reasons:
            nearest = ", ".join(dict.fromkeys(near.wish.zone for near in verdict.nearest[:5]))
            message = f"{zone} as {wish.provisioning}: {reason.part} {reason.message}; nearest that does: {nearest or 'none'}"
            yield Broken(f"nodeLocations[{index}]" if reason.part in ("zone", "provisioning") else "nodeConfig", message, (verdict,))


def _judged(resource: Declared, path: str, api: Api, shape: TpuShape, provisioning: Provisioning) -> Iterator[Broken]:
    from infra.catalog.fits import judge
    from infra.catalog.wish import Wish

    zone = resource.get("zone")
    if not isinstance(zone, str):
        return  # a place that `same-region` has found already
    verdict = judge(Wish(api, shape.accelerator_type, zone=zone.lower(), provisioning=provisioning))
    for reason in verdict.reasons:
        nearest = ", ".join(dict.fromkeys(near.wish.zone for near in verdict.nearest[:5]))
        at = "zone" if reason.part in ("zone", "provisioning") else path
        message = f"{zone} as {provisioning}: {reason.part} {reason.message}; nearest that does: {nearest or 'none'}"
        yield Broken(at, message, (verdict,))


def _anywhere(machine_type: str, region: str, provisioning: Provisioning) -> Iterator[Broken]:
    """A template says neither its zone nor its slice: one zone of the region that offers one slice of such machines is enough."""
    from infra.catalog import fits_tpu, zones
    from infra.catalog.fits import judge
    from infra.catalog.places import region_of
    from infra.catalog.wish import Wish

    if not region:
        return  # `same-region` says so
    there = dict.fromkeys([*(row.zone for row in zones.every() if region_of(row.zone) == region), *(f"{region}-{one}" for one in "abcdef")])
    slices = dict.fromkeys(one.accelerator_type for one in fits_tpu.machines()[machine_type])
    wishes = (Wish("compute-engine", one, zone=zone, provisioning=provisioning) for one in slices for zone in there)
    verdicts = []
    for wish in wishes:
        verdicts.append(judge(wish))
        if verdicts[-1].kind == "works":
            return
    nearest = ", ".join(dict.fromkeys(near.wish.zone for near in verdicts[0].nearest[:5]))
    message = f"no zone of {region} is known to offer {machine_type} as {provisioning}; nearest that does: {nearest or 'none'}"
    yield Broken("machineType", message, tuple(verdicts))


RULE = Rule(
    name="offered-in-zone",
    description="Every TPU and GPU stands in a zone that is known, or confirmed by name, to offer it; of a custom job in a region.",
    remediation="set one of the zones named",
    severity="high",
    find=with_queued(find),
)
