"""`offered-in-zone`: the catalogue knows the TPU in that zone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.declared import UNKNOWN, Declared
from infra.policy.rule import Broken, Rule

INSTANCE = "gcp:compute/instance:Instance"
NODE = "gcp:tpu/v2Vm:V2Vm"
TPU_MACHINE = re.compile(r"ct\d|tpu")
PROVISIONING = {"SPOT": "spot", "FLEX_START": "flex-start", "RESERVATION_BOUND": "reservation"}


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """TPUs in zones that are not known to offer them."""
    from infra.catalog import tpu, zones

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
        provisioning = PROVISIONING.get(str(resource.get("scheduling.provisioningModel")), "on-demand")
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
    try:
        zones.check_offered(shape, zone.lower(), provisioning)
    except zones.NotOffered as error:
        nearest = ", ".join(offer.zone for offer in error.nearest[:5])
        yield Broken(
            "zone", f"{zone} is not known to offer {shape.accelerator_type} as {provisioning}; nearest that does: {nearest or 'none'}"
        )


RULE = Rule(
    name="offered-in-zone",
    description="Every TPU stands in a zone that is known to offer it.",
    remediation="set one of the zones named",
    severity="high",
    find=find,
)
