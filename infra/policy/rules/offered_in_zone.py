"""`offered-in-zone`: the catalogue knows the TPU in that zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from infra.declared import UNKNOWN, Declared
from infra.policy.rule import Broken, Rule

if TYPE_CHECKING:
    from infra.catalog.wish import Provisioning

INSTANCE = "gcp:compute/instance:Instance"
NODE = "gcp:tpu/v2Vm:V2Vm"
TPU_MACHINE = re.compile(r"ct\d|tpu")
PROVISIONING: dict[str, Provisioning] = {"SPOT": "spot", "FLEX_START": "flex-start", "RESERVATION_BOUND": "reservation"}
"""Ways of buying by `scheduling.provisioningModel` (discovery document compute v1); all else is on demand."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """TPUs in zones that are not known to offer them."""
    from infra.catalog import tpu
    from infra.catalog.fits import judge
    from infra.catalog.wish import Api, Wish

    if resource.type == INSTANCE:
        path, shape = "machineType", None
        machine_type = resource.get(path)
        if not isinstance(machine_type, str):
            yield Broken(path, "must be stated and known at preview")
            return
        shape = tpu.by_machine_type(machine_type.rpartition("/")[2])
        if shape is None and TPU_MACHINE.match(machine_type.rpartition("/")[2]):
            yield Broken(path, f"{machine_type} looks like a TPU machine that the catalogue does not know")
            return
    elif resource.type == NODE:
        path = "acceleratorType"
        accelerator_type = resource.get(path)
        if not isinstance(accelerator_type, str):
            yield Broken(path, "must be stated and known at preview: it is what the catalogue knows, and without any type a v2-8 is made")
            return
        try:
            shape = tpu.shape(accelerator_type)
        except tpu.UnknownAcceleratorType as error:
            yield Broken(path, str(error))
            return
    else:
        return
    zone = resource.get("zone")
    if shape is None or zone is UNKNOWN or not isinstance(zone, str):
        return  # no TPU; or a place that `same-region` has found already
    api: Api = "compute-engine" if resource.type == INSTANCE else "tpu-api"
    provisioning = _instance_way(resource) if resource.type == INSTANCE else _node_way(resource)
    verdict = judge(Wish(api, shape.accelerator_type, zone=zone.lower(), provisioning=provisioning))
    for reason in verdict.reasons:
        nearest = ", ".join(dict.fromkeys(near.wish.zone for near in verdict.nearest[:5]))
        at = "zone" if reason.part in ("zone", "provisioning") else path
        yield Broken(at, f"{zone} as {provisioning}: {reason.part} {reason.message}; nearest that does: {nearest or 'none'}", verdict)


def _instance_way(resource: Declared) -> Provisioning:
    """A reservation is consumed by its affinity: its model says on demand. The old field for spot is `preemptible`."""
    if resource.get("reservationAffinity.type") == "SPECIFIC_RESERVATION":
        return "reservation"
    model = resource.get("scheduling.provisioningModel")
    if model is None and resource.get("scheduling.preemptible") is True:
        return "spot"
    return PROVISIONING.get(str(model), "on-demand")


def _node_way(resource: Declared) -> Provisioning:
    spot, preemptible, reserved = (resource.get(f"schedulingConfig.{key}") is True for key in ("spot", "preemptible", "reserved"))
    return "spot" if spot or preemptible else "reservation" if reserved else "on-demand"


RULE = Rule(
    name="offered-in-zone",
    description="Every TPU stands in a zone that is known, or confirmed by name, to offer it.",
    remediation="set one of the zones named",
    severity="high",
    find=find,
)
