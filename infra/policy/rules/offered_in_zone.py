"""`offered-in-zone`: the catalogue knows the TPU in that zone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.declared import UNKNOWN, Declared
from infra.policy.queued import with_queued
from infra.policy.rule import Broken, Rule

INSTANCE = "gcp:compute/instance:Instance"
NODE = "gcp:tpu/v2Vm:V2Vm"
TPU_MACHINE = re.compile(r"ct\d|tpu")
PROVISIONING = {"SPOT": "spot", "FLEX_START": "flex-start", "RESERVATION_BOUND": "reservation"}


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """TPUs in zones that are not known to offer them."""
    from infra.catalog import tpu
    from infra.catalog.fits import judge
    from infra.catalog.wish import Api, Provisioning, Wish

    provisioning: Provisioning
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
        model = str(resource.get("scheduling.provisioningModel"))
        provisioning = "spot" if model == "SPOT" else "flex-start" if model == "FLEX_START" else "on-demand"
        if model == "RESERVATION_BOUND":
            provisioning = "reservation"
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
        provisioning = "spot" if resource.get("schedulingConfig.spot") is True else "on-demand"
    else:
        return
    zone = resource.get("zone")
    if shape is None or zone is UNKNOWN or not isinstance(zone, str):
        return  # no TPU; or a place that `same-region` has found already
    api: Api = "compute-engine" if resource.type == INSTANCE else "tpu-api"
    verdict = judge(Wish(api, shape.accelerator_type, zone=zone.lower(), provisioning=provisioning))
    for reason in verdict.reasons:
        nearest = ", ".join(dict.fromkeys(near.wish.zone for near in verdict.nearest[:5]))
        at = "zone" if reason.part in ("zone", "provisioning") else path
        yield Broken(at, f"{zone} as {provisioning}: {reason.part} {reason.message}; nearest that does: {nearest or 'none'}", verdict)


RULE = Rule(
    name="offered-in-zone",
    description="Every TPU stands in a zone that is known, or confirmed by name, to offer it.",
    remediation="set one of the zones named",
    severity="high",
    find=with_queued(find),
)
