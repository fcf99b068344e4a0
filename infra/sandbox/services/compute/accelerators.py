"""GPUs of a machine: those that come with it, those that are attached, and what Google refuses of them."""

from __future__ import annotations

from infra.catalog.fits import judge
from infra.catalog.gpu import gpus
from infra.catalog.gpu_machines import by_machine_type, takes_boot_disk
from infra.catalog.wish import WAYS, Wish
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import capacity, links
from infra.sandbox.services.compute.resources import missing, wrong


def fill(call: Call, body: Body, zone: str) -> None:
    """
    Adds what is built in, and refuses what the catalogue knows to be impossible. What it does not know is believed, as of TPUs.

    Source of what is added: https://docs.cloud.google.com/compute/docs/gpus/about-gpus, read 2026-11: Compute Engine attaches the GPUs of
    an accelerator-optimized machine by itself.
    """
    machine = links.last(body["machineType"])
    built_in = by_machine_type(machine)
    way = next(one for one in WAYS if one == capacity.provisioning(body))
    attached = body.get("guestAccelerators", [])
    if built_in is not None and not attached and built_in.gpus >= 1:
        attached = [{"acceleratorType": built_in.accelerator_type, "acceleratorCount": int(built_in.gpus)}]
    for index, item in enumerate(attached):
        item["acceleratorType"] = links.place(call, f"zones/{zone}/acceleratorTypes", item.get("acceleratorType", ""))
        name, count = links.last(item["acceleratorType"]), item.get("acceleratorCount", 0)
        if name not in gpus():
            raise missing(links.name_of(item["acceleratorType"]) or name)
        _check(Wish("compute-engine", name, machine, count, zone=zone, provisioning=way), index)
    if attached:
        body["guestAccelerators"] = attached


def _check(wish: Wish, index: int) -> None:
    """
    Raises:
        Refused: The GPU does not go with the machine, in that number, or sold so.

    Source of the words of a machine that takes no such GPU: skypilot-org/skypilot issue 212. The others are ours.
    """
    where = f"guestAccelerators[{index}]"
    for reason in judge(wish).reasons:
        if reason.kind != "impossible":
            continue
        if reason.part in ("machine_type", "accelerator_type"):
            raise incompatible(wish.accelerator_type, wish.machine_type)
        if reason.part == "count":
            said = f"The machine type {wish.machine_type} takes {' or '.join(reason.allowed)} of {wish.accelerator_type}."
            raise wrong(f"{where}.acceleratorCount", wish.count, said)
        if reason.part == "provisioning":
            said = f"{wish.accelerator_type} on {wish.machine_type} is not provisioned as {wish.provisioning}."
            raise wrong("scheduling.provisioningModel", wish.provisioning, said)


def incompatible(*features: str) -> Refused:
    """Source: Google's answers in public issue threads: skypilot-org/skypilot issue 212."""
    return Refused(400, f"[{', '.join(features)}] features are not compatible for creating instance.", reason="badRequest")


def check_boot_disk(body: Body, kind: str) -> None:
    """
    Raises:
        Refused: No machine with these GPUs boots from a disk of that type.
    """
    machine = links.last(body["machineType"])
    if body.get("guestAccelerators") and not takes_boot_disk(machine, kind):
        raise incompatible(kind, machine)


def check_stays(body: Body) -> None:
    """
    Raises:
        Refused: It has GPUs, and is to move to another host when its own is serviced.

    Source: loft-sh/devpod issue 973, and openshift/release pull request 63296 for the reason.
    """
    if body.get("guestAccelerators") and body["scheduling"].get("onHostMaintenance") == "MIGRATE":
        raise Refused(400, "Instances with guest accelerators do not support live migration.", reason="badRequest")
