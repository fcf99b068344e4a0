"""
A standing TPU machine: one host, made once and kept.

Google gives the Cloud TPU API fixes only, and TPU7x nothing of it: v5e and newer are Compute Engine instances, v2 to v4 are nodes of the
Cloud TPU API, and whoever wants the other way says so.
Source: https://docs.cloud.google.com/tpu/docs/tpu-compute-engine-migration, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import pulumi
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from infra import gcp, names
from infra.catalog import confirmed, tpu, zones
from infra.catalog.fits import judge
from infra.catalog.fits_tpu import able
from infra.catalog.places import region_of
from infra.catalog.wish import Provisioning, Wish
from infra.components.network import Network
from infra.components.placement import Placement, region_of_file
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, WholeNumber, pattern, problem

Way = Literal["compute-engine", "tpu-api"]
PROVISIONING_MODEL = {
    "on-demand": "STANDARD",
    "spot": "SPOT",
    "flex-start": "FLEX_START",
    "reservation": "STANDARD",
}
"""Compute Engine's `scheduling.provisioningModel` (discovery document compute v1). A reservation is consumed by its affinity:
RESERVATION_BOUND is for those made in calendar mode only.
Source: https://docs.cloud.google.com/tpu/docs/consume-reservation, read 2026-11."""

BOOT_DISK_TYPE = {"v5e": "pd-balanced", "v5p": "pd-balanced", "v6e": "hyperdisk-balanced"}
"""Boot disk type by generation. Source: https://cloud.google.com/tpu/docs/setup-persistent-disk, read 2026-11; it does not tell TPU7x's."""

IMAGE_PROJECT = "ubuntu-os-accelerator-images"
FLEX_START_MINUTES = (10, 7 * 24 * 60)
"""Shortest and longest run of a flex-start machine.
Source: https://cloud.google.com/compute/docs/instances/about-flex-start-vms, read 2026-11."""


def _one_machine(value: str) -> str:
    try:
        shape = tpu.shape(value)
    except tpu.UnknownAcceleratorType as error:
        wanted = error.right or ", ".join(error.nearest)
        raise problem("is not a TPU accelerator type", allowed=wanted, fix=f"set {error.right}" if error.right else "") from None
    if not shape.single_host:
        alike = [one.accelerator_type for one in tpu.shapes().values() if one.generation == shape.generation and one.single_host]
        raise problem(f"is {shape.hosts} hosts; slices of several hosts are not available yet", allowed=alike)
    if shape.generation == "tpu7x":
        raise problem(
            "is not available yet: no source says which boot disk a TPU7x machine takes", allowed="types of v5e, v5p, v6e and v2 to v4"
        )
    return value


OneMachine = Annotated[str, AfterValidator(_one_machine)]
"""Accelerator type of a slice that one machine holds."""


RUN_MINUTES_MAX = 120 * 24 * 60
"""Longest `maxRunDuration`: 120 days. Source: https://cloud.google.com/compute/docs/instances/limit-vm-runtime, read 2026-11."""
UNLIMITED = "unlimited"
RESERVATION_NAME = r"(?:projects/[a-z][a-z0-9-]{2,28}[a-z0-9]/reservations/)?[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"


Reservation = Annotated[str, pattern(RESERVATION_NAME, "is not a reservation", "nightly, or projects/host/reservations/nightly")]


def _run_limit(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= RUN_MINUTES_MAX
    if value != UNLIMITED and not whole:
        raise problem("is no run limit", allowed=f"a whole number of minutes from 1 to {RUN_MINUTES_MAX}, or {UNLIMITED}")
    return value


RunLimit = Annotated[Annotated[int, Field(ge=1, le=RUN_MINUTES_MAX)] | Literal["unlimited"], BeforeValidator(_run_limit)]


class TpuSliceSpec(Spec):
    """What one standing TPU machine is. Checked before anything is declared."""

    later: ClassVar[dict[str, str]] = {
        "zones": "zones tried in order: comes with jobs",
        "schedule": "machines that are made for a run and deleted after it: comes with jobs",
        "data_disks": "disks beside the boot disk: comes with jobs",
    }

    accelerator_type: OneMachine
    """Cloud TPU accelerator type, such as `v6e-8`. Chips, machine type, image and runtime follow from it."""
    zone: str
    """Zone of the stack's region that offers the accelerator type."""
    provisioning: Provisioning
    """How the capacity is got: `on-demand`, `spot` (can be taken away at any time), `flex-start` (waits for capacity, ends by itself)
    or `reservation`."""
    max_run_minutes: RunLimit
    """Minutes after which Compute Engine deletes the machine, or `unlimited`: it then costs money until somebody removes it."""
    way: Literal["auto", "compute-engine", "tpu-api"] = "auto"
    """The API that makes it. `auto`: Compute Engine for v5e and newer, the Cloud TPU API for v2 to v4."""
    reservation: Reservation | None = None
    """Name of the Compute Engine reservation that is consumed, with `provisioning: reservation` only; not one made in calendar mode."""
    boot_disk_gib: Annotated[WholeNumber, Field(ge=10, le=65536)] = 100
    """Size of the boot disk in GiB. The Cloud TPU API makes its own of 100 GiB."""

    @classmethod
    def choices(cls, key: str, beside: Mapping[str, object]) -> str:
        """The zones of a slice whose zone is missing."""
        accelerator_type = beside.get("accelerator_type")
        if key != "zone" or not isinstance(accelerator_type, str) or accelerator_type not in tpu.shapes():
            return ""
        return f"{', '.join(_zones_of(accelerator_type)) or 'no zone'} (where {accelerator_type} is)"

    @field_validator("zone")
    @classmethod
    def _offers_it(cls, value: str, info: ValidationInfo) -> str:
        region = region_of_file(info)
        accelerator_type = info.data.get("accelerator_type")
        if region and region_of(value) != region:
            raise _outside(region, accelerator_type)
        if accelerator_type:
            _check_offered("zone", Wish("compute-engine", accelerator_type, zone=value), info)
        return value

    @field_validator("provisioning")
    @classmethod
    def _sold_there(cls, value: Provisioning, info: ValidationInfo) -> Provisioning:
        if "accelerator_type" in info.data and "zone" in info.data:
            wish = Wish("compute-engine", info.data["accelerator_type"], zone=info.data["zone"], provisioning=value)
            _check_offered("provisioning", wish, info)
        return value

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if problems := [*self._fits_way(), *self._fits_provisioning()]:
            raise ProblemsError(problems)
        return self

    @property
    def shape(self) -> tpu.TpuShape:
        return tpu.shape(self.accelerator_type)

    @property
    def chosen_way(self) -> Way:
        """The API that makes the machine: as named, or by generation."""
        if self.way != "auto":
            return self.way
        return "compute-engine" if self.shape.compute_engine else "tpu-api"

    @property
    def wish(self) -> Wish:
        """What the catalogue judges."""
        return Wish(self.chosen_way, self.accelerator_type, zone=self.zone, provisioning=self.provisioning)

    def _fits_way(self) -> Iterator[Problem]:
        for reason in judge(self.wish).reasons:
            if reason.part == "api":
                allowed = [api for api in reason.allowed if api != "gke"]
                yield Problem("way", reason.message, allowed=", ".join([*allowed, "auto"]))
        if self.chosen_way == "tpu-api":
            if self.provisioning == "flex-start":
                yield Problem(
                    "provisioning",
                    "a node of the Cloud TPU API cannot be flex-start",
                    allowed="on-demand, spot, reservation",
                )
            if self.max_run_minutes != "unlimited":
                yield Problem(
                    "max_run_minutes",
                    "a node of the Cloud TPU API has no run limit: it stays until it is removed",
                    allowed="unlimited",
                )
            if "boot_disk_gib" in self.model_fields_set:
                yield Problem("boot_disk_gib", "the Cloud TPU API makes its own boot disk of 100 GiB", fix="remove it")

    def _fits_provisioning(self) -> Iterator[Problem]:
        shortest, longest = FLEX_START_MINUTES
        if self.provisioning == "flex-start" and self.chosen_way == "compute-engine":
            limit = self.max_run_minutes
            if limit == "unlimited" or not shortest <= limit <= longest:
                yield Problem(
                    "max_run_minutes",
                    "a flex-start machine runs for a limited time",
                    allowed=f"{shortest} to {longest}",
                )
        if self.reservation and self.provisioning != "reservation":
            yield Problem(
                "reservation",
                f"{self.provisioning} capacity cannot consume a reservation",
                fix="remove it, or set `provisioning: reservation`",
            )
        if self.reservation and self.chosen_way == "tpu-api":
            yield Problem("reservation", "the Cloud TPU API takes the project's reservation without a name", fix="remove it")
        if self.provisioning == "reservation" and self.chosen_way == "compute-engine" and not self.reservation:
            yield Problem("reservation", "is missing: the reservation to consume, by name")


def _zones_of(accelerator_type: str) -> tuple[str, ...]:
    """Zones that more than a weak source has a slice in, by name."""
    return tuple(sorted(one.zone for one in zones.offers(tpu.shape(accelerator_type)) if one.trust != "low"))


def _outside(region: str, accelerator_type: str | None) -> PydanticCustomError:
    """The refusal of a zone of another region than the stack's, with the zones of the region that have the slice; else where it is."""
    message = "is not in the stack's region"
    every = _zones_of(accelerator_type) if accelerator_type else ()
    if here := [one for one in every if region_of(one) == region]:
        return problem(message, allowed=here)
    if every:
        others = ", ".join(dict.fromkeys(map(region_of, every)))
        return problem(message, fix=f"{region} is not known to have {accelerator_type}: write a stack file for one of {others}")
    return problem(message, allowed=f"a zone of {region}")


def _check_offered(part: str, wish: Wish, info: ValidationInfo) -> None:
    """Refuses a zone or a way of buying that is not known to be had, nor confirmed by name, with the nearest that are."""
    verdict = judge(replace(wish, api=able(tpu.shape(wish.accelerator_type))[0]))
    reason = next((one for one in verdict.reasons if one.part == part), None)
    if reason is None or confirmed.covers((info.context or {}).get("confirmed", ()), verdict):
        return
    nearest = list(dict.fromkeys(near.wish.zone for near in verdict.nearest if near.wish.provisioning == wish.provisioning))
    fix = "set one of these zones; a zone of another region belongs in that region's stack file"
    if reason.kind != "impossible":
        entry = f"{{what: {wish.accelerator_type}, zone: {wish.zone}, because: how you know}}"
        fix += f"; or, if you know that it is there, write `accelform:confirmed: [{entry}]`"
    raise problem(reason.message, allowed=f"{', '.join(nearest[:5])} (nearest first)" if nearest else "", fix=fix)


class TpuSlice(pulumi.ComponentResource):
    """A TPU machine inside *network*, under its own account, without an external address; ssh by OS Login through IAP."""

    machine: gcp.compute.Instance | gcp.tpu.V2Vm

    def __init__(
        self,
        name: str,
        spec: TpuSliceSpec,
        *,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("accelform:tpu_slice:TpuSlice", name, None, opts)
        child = pulumi.ResourceOptions(
            parent=self,
            depends_on=[*network.egress, *after],
            delete_before_replace=True,  # the name is fixed, and the capacity may not be there twice
        )
        declare = self._instance if spec.chosen_way == "compute-engine" else self._node
        self.machine = declare(name, spec, placement, network, account, child)
        self.register_outputs({"machine": self.machine.id, "way": spec.chosen_way})

    def _instance(
        self,
        name: str,
        spec: TpuSliceSpec,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        child: pulumi.ResourceOptions,
    ) -> gcp.compute.Instance:
        shape = spec.shape
        limited = spec.max_run_minutes != "unlimited"
        scheduling: dict[str, object] = {
            "provisioning_model": PROVISIONING_MODEL[spec.provisioning],
            "preemptible": spec.provisioning == "spot",
            "on_host_maintenance": "TERMINATE",
            "automatic_restart": spec.provisioning in ("on-demand", "reservation") and not limited,
        }
        if spec.provisioning in ("spot", "flex-start") or limited:
            scheduling["instance_termination_action"] = "DELETE"  # a stopped TPU machine cannot be started again, only made anew
        if limited:
            scheduling["max_run_duration"] = {"seconds": int(spec.max_run_minutes) * 60}
        affinity: dict[str, object] = {"type": "NO_RESERVATION"}
        if spec.reservation:
            affinity = {
                "type": "SPECIFIC_RESERVATION",
                "specific_reservation": {
                    "key": "compute.googleapis.com/reservation-name",
                    "values": [spec.reservation],
                },
            }
        return gcp.compute.Instance(
            name,
            name=names.resource(placement.stack, "tpu", name),
            project=placement.project,
            zone=spec.zone,
            machine_type=shape.machine_type,
            boot_disk={
                "auto_delete": True,
                "initialize_params": {
                    "image": f"projects/{IMAGE_PROJECT}/global/images/family/{shape.image_family}",
                    "size": spec.boot_disk_gib,
                    "type": BOOT_DISK_TYPE[shape.generation],
                    "labels": placement.labels,
                },
            },
            network_interfaces=[{"subnetwork": network.subnetwork.id, "nic_type": "GVNIC"}],
            service_account={"email": account.email, "scopes": ["cloud-platform"]},
            shielded_instance_config={
                "enable_secure_boot": False,  # the image's TPU driver is not signed
                "enable_vtpm": True,
                "enable_integrity_monitoring": True,
            },
            metadata={"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"},
            scheduling=scheduling,
            reservation_affinity=affinity,
            labels=placement.labels,
            opts=child,
        )

    def _node(
        self,
        name: str,
        spec: TpuSliceSpec,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        child: pulumi.ResourceOptions,
    ) -> gcp.tpu.V2Vm:
        return gcp.tpu.V2Vm(
            name,
            name=names.resource(placement.stack, "tpu", name),
            project=placement.project,
            zone=spec.zone,
            accelerator_type=spec.accelerator_type,
            runtime_version=spec.shape.runtime_version,
            network_config={"subnetwork": network.subnetwork.id, "enable_external_ips": False},
            scheduling_config={
                "preemptible": False,
                "spot": spec.provisioning == "spot",
                "reserved": spec.provisioning == "reservation",
            },
            service_account={
                "email": account.email,
                "scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            },
            shielded_instance_config={"enable_secure_boot": False},
            metadata={"enable-oslogin": "TRUE"},
            labels=placement.labels,
            opts=child,
        )
