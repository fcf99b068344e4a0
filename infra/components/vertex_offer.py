"""What a job says of Vertex AI: what is not to be had there, and the custom job that its runner asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from infra.catalog import fits_vertex
from infra.catalog.fits import judge
from infra.catalog.gpu_machines import HYPERDISK, boot_disk_type
from infra.catalog.places import region_of
from infra.catalog.tpu import BOOT_DISK_TYPE, shapes
from infra.catalog.vertex import machines
from infra.catalog.wish import Provisioning, Wish
from infra.components.deployed_models import RESERVATION
from infra.components.gpu_offer import KEYS
from infra.components.job_machine import Container, labels
from infra.components.placement import Placement
from infra.errors import Problem
from infra.job_plan import MachinePlan

if TYPE_CHECKING:
    from infra.components.job import JobSpec

DISK_GIB = (100, 64_000)
"""Least and most of a boot disk. Source: Google's page "Configure compute resources for serverless training", read 2026-11."""
ENV_MAX = 100
"""Variables of a container. Source: `ContainerSpec.env` in the discovery document aiplatform v1, revision 20261106."""
TOLD = 16
"""So many of them, at most, are what each run is told beside the folders of its data."""
STRATEGY = {"on-demand": "STANDARD", "reservation": "STANDARD", "spot": "SPOT", "flex-start": "FLEX_START"}
"""`Scheduling.strategy`; a reservation is consumed by its affinity."""
GPU_LIBRARIES = {"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"}
"""
Where Vertex AI puts the driver's files, which an image without CUDA's own base does not look for. An image of somebody's command says what
it needs by itself. Source: https://github.com/huggingface/Google-Cloud-Containers/pull/167, read 2026-11.
"""


def wish(spec: JobSpec, region: str, way: Provisioning) -> Wish:
    """What the catalogue judges: of GPUs what is said, though the machine type tells them, so that nothing else is made than was said."""
    if spec.gpus:
        gpus = spec.gpus
        kind, count = spec.accelerator_type or gpus.accelerator_type, spec.accelerator_count or gpus.count or None
        return Wish("vertex", kind, gpus.machine_type, count, region=region, provisioning=way, use="training")
    return Wish("vertex", spec.accelerator, region=region, provisioning=way, use="training")


def problems(spec: JobSpec, region: str | None) -> Iterator[Problem]:
    """
    All that speaks against a job on Vertex AI.

    Args:
        region: Of the stack; None where the file says none that there is.
    """
    if not spec.gpus and spec.shape.hosts > 1:
        alone = [one for one in _trained() if shapes()[one].generation == spec.shape.generation]
        words = f"has {spec.shape.hosts} hosts, and no source that was read tells how those of a custom job find each other"
        fix = "leave out `way`: a slice of Compute Engine has as many as it needs"
        yield Problem("accelerator_type", words, ", ".join(alone), fix)
        return
    if region:
        yield from _not_there(spec, region)
        yield from _reservation(spec, region)
    least, most = DISK_GIB
    if not least <= spec.boot_disk_gib <= most:
        yield Problem("boot_disk_gib", f"{spec.boot_disk_gib} is no size that Vertex AI makes", f"{least} to {most}")
    if (count := len(spec.env) + len(spec.data) + TOLD) > ENV_MAX:
        words = f"has {len(spec.env)} variables: with what each run is told they are {count}, and a custom job takes {ENV_MAX}"
        yield Problem("env", words, f"at most {ENV_MAX - TOLD - len(spec.data)}")


def _not_there(spec: JobSpec, region: str) -> Iterator[Problem]:
    seen = set()
    for number, way in enumerate(spec.provisioning):
        for reason in judge(wish(spec, region, way)).reasons:
            plain = fits_vertex.plain_names()  # as a stack file says them
            allowed, fix = ", ".join(plain.get(one, one) for one in reason.allowed[:5]), ""
            if reason.part == "region":
                path, words = "way", f"{region} {reason.message}"
                fix = "leave out `way`, for a machine of Compute Engine; or write the job into the stack file of a region that has it"
            elif reason.part == "provisioning":
                path, words = f"provisioning.{number}", f"{way} {reason.message}"
            else:
                path, words = KEYS.get(reason.part, reason.part), reason.message
                allowed = ", ".join(_trained()) if not spec.gpus else allowed
            if (path, words) not in seen and (allowed or reason.part != "region"):  # what is nowhere is told of the accelerator
                seen.add((path, words))
                yield Problem(path, words, allowed, fix)


def _trained() -> list[str]:
    """Slices of one host that a custom job may have."""
    return [name for name, one in shapes().items() if one.single_host and one.machine_type in machines()]


def _reservation(spec: JobSpec, region: str) -> Iterator[Problem]:
    allowed = f"projects/P/zones/Z/reservations/R, in a zone of {region}"
    if "reservation" in spec.provisioning and not spec.reservation:
        yield Problem(
            "reservation", "is missing: the reservation to consume, in full", allowed, "write it, or leave out that way of buying"
        )
    elif spec.reservation and not is_full(spec.reservation):
        yield Problem("reservation", f"{spec.reservation} does not say its zone, and nothing else tells Vertex AI", allowed)
    elif spec.reservation and region_of(spec.reservation.split("/")[3]) != region:
        yield Problem("reservation", f"{spec.reservation.split('/')[3]} is not in the stack's region", allowed)


def is_full(reservation: str) -> bool:
    """Whether it is named with its zone, as Vertex AI takes it."""
    return re.fullmatch(RESERVATION, reservation) is not None


def machine_plan(name: str, spec: JobSpec, way: Provisioning, container: Container, placement: Placement, email: str) -> MachinePlan:
    """One way of getting the machine. Nothing is declared for it: Vertex AI makes it from what it is told."""
    disk: dict[str, Any] = {"bootDiskSizeGb": spec.boot_disk_gib}
    wanted = boot_disk_type(spec.gpus.machine_type) if spec.gpus else BOOT_DISK_TYPE[spec.shape.generation]
    if wanted == HYPERDISK:
        disk["bootDiskType"] = HYPERDISK
    told = (GPU_LIBRARIES if spec.gpus and spec.program else {}) | {**container.env}
    env = [{"name": key, "value": value.replace("$(", "$$(")} for key, value in told.items()]
    pool = {
        "machineSpec": _machine(spec, way),
        "replicaCount": "1",
        "diskSpec": disk,
        "containerSpec": {"imageUri": container.image, "command": [*container.command], "args": [*container.args], "env": env},
    }
    job_spec = {
        "workerPoolSpecs": [pool],
        # A try that is begun again is a row of the run's, and costs of its minutes: Vertex AI begins none by itself.
        "scheduling": {"strategy": STRATEGY[way], "timeout": f"{spec.max_run_minutes * 60}s", "disableRetries": True},
        "serviceAccount": email,
    }
    body = {"labels": {**placement.labels, **labels(name)}, "jobSpec": job_spec}
    return MachinePlan(provisioning=way, form="custom-job", custom_job=body)


def _machine(spec: JobSpec, way: Provisioning) -> dict[str, Any]:
    """
    A `MachineSpec`. Of a TPU the machine type and the topology are said, and no accelerator.

    Source: Google's page "Configure compute resources for serverless training", read 2026-11.
    """
    if spec.gpus:
        accelerator = fits_vertex.names()[spec.gpus.accelerator_type]
        found: dict[str, Any] = {
            "machineType": spec.gpus.machine_type,
            "acceleratorType": accelerator,
            "acceleratorCount": spec.gpus.count,
        }
    else:
        found = {"machineType": spec.shape.machine_type, "tpuTopology": spec.shape.topology}
    if way == "reservation":
        key = "compute.googleapis.com/reservation-name"
        found["reservationAffinity"] = {"reservationAffinityType": "SPECIFIC_RESERVATION", "key": key, "values": [spec.reservation]}
    return found
