"""
A standing machine with GPUs: one instance of Compute Engine, with its driver, made once and kept.

It boots Container-Optimized OS, which installs the driver at each boot (see `gpu_host`): what runs on it runs in containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

import pulumi
from pydantic import Field, ValidationInfo, field_validator, model_validator

from infra import gcp, names
from infra.catalog.places import region_of
from infra.catalog.wish import Provisioning, Wish
from infra.components import gpu_host, gpu_offer
from infra.components import host as hosts
from infra.components.existing import MACHINE, MayExist, read_machine
from infra.components.gpu_offer import GpuCount, Gpus, GpuType, MachineType
from infra.components.network import Network
from infra.components.placement import Placement, region_of_file
from infra.components.tpu_offer import FLEX_START_MINUTES, Reservation
from infra.components.tpu_slice import RunLimit
from infra.errors import Problem, ProblemsError
from infra.spec import Because, WholeNumber, problem


class GpuVmSpec(MayExist):
    """What one standing machine with GPUs is, or the name of one that others own. Checked before anything is declared."""

    later: ClassVar[dict[str, str]] = {
        "data_disks": "disks beside the boot disk, which say whether a disk outlives its machine",
        "local_ssd": "local SSD beside that which comes with the machine type",
    }

    never: ClassVar[dict[str, str]] = {
        "zones": "a standing machine stands in one zone; a job, under `jobs`, is tried in several",
        "schedule": "a standing machine always stands; one that is made for a run, on a schedule, is a job: see `jobs`",
        "min_cpu_platform": "machines with GPUs built in have one kind of processor, and those of N1 take any",
    }

    machine_type: MachineType
    """Machine type: one that GPUs are built into, such as `g2-standard-8` or `a2-highgpu-1g`, or one of N1 such as `n1-standard-8`, with
    `accelerator_type` and `accelerator_count`."""
    accelerator_type: GpuType | None = None
    """GPU that is attached to a machine of N1, such as `nvidia-tesla-t4`. (default: the machine type tells)"""
    accelerator_count: GpuCount | None = None
    """How many of them. (default: the machine type tells)"""
    zone: str
    """Zone of the stack's region that has the GPU on this machine."""
    provisioning: Provisioning
    """How the capacity is got: `on-demand`, `spot` (can be taken away at any time), `flex-start` (ends by itself; an update does not wait
    for it, as a job does: where there is no room now, it fails) or `reservation`."""
    max_run_minutes: RunLimit
    """Minutes after which Compute Engine ends its run, or `unlimited`: it then costs money until somebody stops or removes it."""
    at_end: Literal["stop", "delete"] = "stop"
    """What becomes of it when its run is over, or Spot takes it away. `stop`: its boot disk stays and costs, and it can be started again;
    `delete`: both are gone, and the next update makes it anew."""
    reservation: Reservation | None = None
    """Name of the Compute Engine reservation that is consumed, with `provisioning: reservation` only; not one made in calendar mode."""
    because: Because | None = None
    """Why it is got on demand, or stands without an end: a sentence, which such a machine must have. (default: none)"""
    boot_disk_gib: Annotated[WholeNumber, Field(ge=10, le=65536)] = 100
    """Size of its boot disk in GiB. It goes with the machine: what is to stay belongs in the stack's buckets."""
    existing: Annotated[str, MACHINE.validator] | None = None
    """A machine that others own, by its full name, and nothing else: it is read, and never changed or destroyed."""

    @classmethod
    def choices(cls, key: str, beside: Mapping[str, object]) -> str:
        """The zones of a machine whose zone is missing."""
        machine_type, accelerator_type = beside.get("machine_type"), beside.get("accelerator_type")
        if key != "zone" or not isinstance(machine_type, str):
            return ""
        there = gpu_offer.zones_of(machine_type, accelerator_type if isinstance(accelerator_type, str) else None)
        return f"{', '.join(there)} (where it is)" if there else ""

    @field_validator("zone")
    @classmethod
    def _in_region(cls, value: str, info: ValidationInfo) -> str:
        region = region_of_file(info)
        if region and region_of(value) != region:
            found = gpu_offer.outside(region, info.data.get("machine_type"), info.data.get("accelerator_type"))
            raise problem(found.message, allowed=found.allowed, fix=found.fix)
        return value

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        wrong = list(gpu_offer.not_such(self.machine_type, self.accelerator_type, self.accelerator_count))
        wrong += gpu_offer.not_there(self.wish, info) if not wrong else ()
        if problems := [*wrong, *self._fits_provisioning()]:
            raise ProblemsError(problems)
        return self

    @property
    def gpus(self) -> Gpus:
        return gpu_offer.of(self.machine_type, self.accelerator_type, self.accelerator_count)

    @property
    def wish(self) -> Wish:
        """What the catalogue judges."""
        return gpu_offer.wish(self.machine_type, self.accelerator_type, self.accelerator_count, self.zone, self.provisioning)

    def _fits_provisioning(self) -> Iterator[Problem]:
        shortest, longest = FLEX_START_MINUTES
        limit = self.max_run_minutes
        if self.provisioning == "flex-start" and (limit == "unlimited" or not shortest <= limit <= longest):
            yield Problem("max_run_minutes", "a flex-start machine runs for a limited time", allowed=f"{shortest} to {longest}")
        if self.reservation and self.provisioning != "reservation":
            words = f"{self.provisioning} capacity cannot consume a reservation"
            yield Problem("reservation", words, fix="remove it, or set `provisioning: reservation`")
        if self.provisioning == "reservation" and not self.reservation:
            yield Problem("reservation", "is missing: the reservation to consume, by name")
        ends = limit != "unlimited" or self.provisioning in ("spot", "flex-start")
        if "at_end" in self.model_fields_set and not ends:
            yield Problem("at_end", f"does nothing: an {self.provisioning} machine without a run limit has no end", fix="remove it")


class GpuVm(pulumi.ComponentResource):
    """A machine with GPUs inside *network*, under its own account, without an external address; ssh by OS Login through IAP."""

    machine: pulumi.CustomResource

    def __init__(
        self,
        name: str,
        spec: GpuVmSpec,
        *,
        placement: Placement,
        network: Network | None,
        account: gcp.serviceaccount.Account | None,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            network: Where it stands; None for one that others own, as its account is.
        """
        super().__init__("accelform:gpu_vm:GpuVm", name, None, opts)
        if spec.existing:
            self.machine = read_machine(name, spec.existing, self)
            self.register_outputs({"machine": self.machine.id})
            return
        assert network, "the program makes one for every machine of its own"
        assert account, "the program makes one for every machine of its own"
        gpus = spec.gpus
        link = f"projects/{placement.project}/zones/{spec.zone}/acceleratorTypes/{gpus.accelerator_type}"
        stops = spec.at_end == "stop"
        host = gpu_host.host(
            gpus, spec.provisioning, spec.max_run_minutes, spec.reservation, spec.boot_disk_gib, accelerator=link, stops=stops
        )
        script = {"startup-script": gpu_host.driver_script()}
        self.machine = gcp.compute.Instance(
            name,
            name=names.resource(placement.stack, "gpu", name),
            zone=spec.zone,
            boot_disk=hosts.boot_disk(host, placement),
            **hosts.arguments(host, placement, network, account, metadata=script),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*network.egress, *after],
                replace_on_changes=["machineType"],  # in place it would be stopped, and could not become one of another series
                delete_before_replace=True,  # the name is fixed, and the capacity may not be there twice
            ),
        )
        self.register_outputs({"machine": self.machine.id, "gpus": gpus.count})
