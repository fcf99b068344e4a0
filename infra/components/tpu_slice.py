"""
A standing TPU slice: one host or several, made once and kept.

Google gives the Cloud TPU API fixes only, and TPU7x nothing of it: v5e and newer are made of Compute Engine machines, v2 to v4 are nodes
of the Cloud TPU API, and whoever wants the other way says so.
Source: https://docs.cloud.google.com/tpu/docs/tpu-compute-engine-migration, read 2026-11.

Several hosts on Compute Engine are a managed instance group that makes all of them at once or none, connected as a workload policy says.
That is so for flex-start too: the group takes no resize request.
Sources: https://docs.cloud.google.com/compute/docs/instance-groups/about-bulk-mode, read 2026-11, which lists resize requests among what
bulk mode does not support; and the service's refusals, as somebody met them in July 2026 (public file 69680341417): "MIGs with TPU
accelerator topology require BULK mode in target size policy", "Creating resize requests for managed instance group with TPU is not
allowed".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

import pulumi
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from infra import gcp, names
from infra.catalog import tpu
from infra.catalog.places import region_of
from infra.catalog.wish import Provisioning, Wish
from infra.components import host as hosts
from infra.components import tpu_host
from infra.components.existing import SLICE, MayExist, read_machine
from infra.components.network import Network
from infra.components.placement import Placement, region_of_file
from infra.components.queued_slice import QueuedSlice, QueuedSpec, check_queued
from infra.components.tpu_offer import FLEX_START_MINUTES, Reservation, SliceType, Way, chosen_way, not_made, not_offered, outside, zones_of
from infra.errors import Problem, ProblemsError
from infra.spec import Because, WholeNumber, problem

RUN_MINUTES_MAX = 120 * 24 * 60
"""Longest `maxRunDuration`: 120 days. Source: https://cloud.google.com/compute/docs/instances/limit-vm-runtime, read 2026-11."""
UNLIMITED = "unlimited"


def _run_limit(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= RUN_MINUTES_MAX
    if value != UNLIMITED and not whole:
        raise problem("is no run limit", allowed=f"a whole number of minutes from 1 to {RUN_MINUTES_MAX}, or {UNLIMITED}")
    return value


RunLimit = Annotated[Annotated[int, Field(ge=1, le=RUN_MINUTES_MAX)] | Literal["unlimited"], BeforeValidator(_run_limit)]


class TpuSliceSpec(MayExist):
    """What one standing TPU slice is, or the name of one that others own. Checked before anything is declared."""

    later: ClassVar[dict[str, str]] = {
        "data_disks": "disks beside the boot disk, which say whether a disk outlives its host",
    }

    never: ClassVar[dict[str, str]] = {
        "zones": "a standing slice stands in one zone; a job, under `jobs`, is tried in several",
        "schedule": "a standing slice always stands; a machine that is made for a run, on a schedule, is a job: see `jobs`",
    }

    accelerator_type: SliceType
    """Cloud TPU accelerator type, such as `v6e-8`. Chips, hosts, topology, machine type, image and runtime follow from it."""
    zone: str
    """Zone of the stack's region that offers the accelerator type."""
    provisioning: Provisioning
    """How the capacity is got: `on-demand`, `spot` (can be taken away at any time), `flex-start` (ends by itself; a group of several hosts
    waits for capacity, one host is there at once or its update fails) or `reservation`."""
    max_run_minutes: RunLimit
    """Minutes after which Compute Engine deletes the machine, or `unlimited`: it then costs money until somebody removes it."""
    way: Literal["auto", "compute-engine", "tpu-api"] = "auto"
    """The API that makes it. `auto`: Compute Engine for v5e and newer, the Cloud TPU API for v2 to v4. One host on Compute Engine is an
    instance, several are a managed instance group."""
    reservation: Reservation | None = None
    """Name of the Compute Engine reservation that is consumed, with `provisioning: reservation` only; not one made in calendar mode."""
    boot_disk_gib: Annotated[WholeNumber, Field(ge=10, le=65536)] = 100
    """Size of each host's boot disk in GiB. The Cloud TPU API makes its own of 100 GiB."""
    because: Because | None = None
    """Why it is got on demand, or stands without an end: a sentence, which such a slice must have. (default: none)"""
    existing: Annotated[str, SLICE.validator] | None = None
    """A slice that others own, by the full name of its instance, managed instance group or node, and nothing else: it is read, and never
    changed or destroyed."""
    queued: QueuedSpec | None = None
    """Asks the Cloud TPU API for it by its queue: the request waits until there is room. (default: what has no room now fails)"""

    @classmethod
    def choices(cls, key: str, beside: Mapping[str, object]) -> str:
        """The zones of a slice whose zone is missing."""
        accelerator_type = beside.get("accelerator_type")
        if key != "zone" or not isinstance(accelerator_type, str) or accelerator_type not in tpu.shapes():
            return ""
        return f"{', '.join(zones_of(accelerator_type)) or 'no zone'} (where {accelerator_type} is)"

    @field_validator("zone")
    @classmethod
    def _offers_it(cls, value: str, info: ValidationInfo) -> str:
        region = region_of_file(info)
        accelerator_type = info.data.get("accelerator_type")
        if region and region_of(value) != region:
            raise outside(region, accelerator_type)
        if accelerator_type:
            _refuse(not_offered("zone", Wish("compute-engine", accelerator_type, zone=value), info))
        return value

    @field_validator("provisioning")
    @classmethod
    def _sold_there(cls, value: Provisioning, info: ValidationInfo) -> Provisioning:
        if "accelerator_type" in info.data and "zone" in info.data:
            wish = Wish("compute-engine", info.data["accelerator_type"], zone=info.data["zone"], provisioning=value)
            _refuse(not_offered("provisioning", wish, info))
        return value

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        fits = [*not_made(self.wish, info), *self._fits_way(), *self._fits_provisioning()]
        if problems := [*fits, *check_queued(self.queued, self.chosen_way)]:
            raise ProblemsError(problems)
        return self

    @property
    def shape(self) -> tpu.TpuShape:
        return tpu.shape(self.accelerator_type)

    @property
    def host(self) -> hosts.Host:
        """One of its hosts on Compute Engine."""
        return tpu_host.host(self.shape, self.provisioning, self.max_run_minutes, self.reservation, self.boot_disk_gib)

    @property
    def slices(self) -> int:
        """Slices of this kind: one, or as many as one request of the queue is for."""
        return self.queued.nodes if self.queued else 1

    @property
    def hosts(self) -> int:
        """Hosts of all its slices."""
        return self.shape.hosts * self.slices

    @property
    def chosen_way(self) -> Way:
        """The API that makes the machine: as named, or by generation."""
        return chosen_way(self.way, self.shape)

    @property
    def wish(self) -> Wish:
        """What the catalogue judges."""
        return Wish(self.chosen_way, self.accelerator_type, zone=self.zone, provisioning=self.provisioning)

    def _fits_way(self) -> Iterator[Problem]:
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
        if self.reservation and self.chosen_way == "tpu-api" and not self.queued:
            yield Problem("reservation", "the Cloud TPU API takes the project's reservation without a name", fix="remove it")
        if self.provisioning == "reservation" and (self.chosen_way == "compute-engine" or self.queued) and not self.reservation:
            yield Problem("reservation", "is missing: the reservation to consume, by name")


def _refuse(found: Problem | None) -> None:
    if found:
        raise problem(found.message, allowed=found.allowed, fix=found.fix)


class TpuSlice(pulumi.ComponentResource):
    """A TPU slice inside *network*, under its own account, without an external address; ssh by OS Login through IAP."""

    machine: pulumi.CustomResource

    def __init__(
        self,
        name: str,
        spec: TpuSliceSpec,
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
        super().__init__("accelform:tpu_slice:TpuSlice", name, None, opts)
        if spec.existing:
            self.machine = read_machine(name, spec.existing, self)
            self.register_outputs({"machine": self.machine.id})
            return
        assert network, "the program makes one for every machine of its own"
        assert account, "the program makes one for every machine of its own"
        between: list[pulumi.Resource] = []
        if spec.hosts > 1:  # of all its slices
            rule = names.resource(placement.stack, "tpu", name, "hosts")
            between = tpu_host.between_hosts(name, rule, placement=placement, network=network, account=account, parent=self)
        child = pulumi.ResourceOptions(
            parent=self,
            depends_on=[*network.egress, *between, *after],
            delete_before_replace=True,  # the name is fixed, and the capacity may not be there twice
        )
        if spec.queued:
            self.machine = QueuedSlice(name, spec, spec.queued, placement=placement, network=network, account=account, opts=child).request
        else:
            on_compute_engine = self._instance if spec.shape.single_host else self._group
            declare = on_compute_engine if spec.chosen_way == "compute-engine" else self._node
            self.machine = declare(name, spec, placement, network, account, child)
        self.register_outputs({"machine": self.machine.id, "way": spec.chosen_way, "hosts": spec.hosts})

    def _instance(
        self,
        name: str,
        spec: TpuSliceSpec,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        child: pulumi.ResourceOptions,
    ) -> gcp.compute.Instance:
        host = spec.host
        return gcp.compute.Instance(
            name,
            name=names.resource(placement.stack, "tpu", name),
            zone=spec.zone,
            boot_disk=hosts.boot_disk(host, placement),
            **hosts.arguments(host, placement, network, account),
            opts=child,
        )

    def _group(
        self,
        name: str,
        spec: TpuSliceSpec,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        child: pulumi.ResourceOptions,
    ) -> gcp.compute.InstanceGroupManager:
        shape = spec.shape
        physical = names.resource(placement.stack, "tpu", name)
        arguments = hosts.arguments(spec.host, placement, network, account)
        template = hosts.template(name, physical, spec.host, placement=placement, arguments=arguments, opts=child)
        policy = tpu_host.workload_policy(name, physical, shape, placement=placement, opts=child)
        base = names.group_base(placement.stack, "tpu", name)
        return gcp.compute.InstanceGroupManager(
            name,
            name=physical,
            project=placement.project,
            zone=spec.zone,
            # A slice is never changed in place. This input replaces the group, and waits for what it is made from: so whatever replaces
            # the template or the policy, which cannot go while the group uses them, replaces the group first.
            base_instance_name=pulumi.Output.all(template.name, policy.name).apply(lambda _: base),
            versions=[{"instance_template": template.self_link}],
            target_size=shape.hosts,
            target_size_policies=[{"mode": "BULK"}],
            resource_policies={"workload_policy": policy.self_link},
            instance_lifecycle_policy={"default_action_on_failure": "DO_NOTHING"},  # a host alone that is made anew joins no slice
            update_policy={
                "type": "OPPORTUNISTIC",
                "minimal_action": "REPLACE",
                "replacement_method": "RECREATE",
                "max_surge_fixed": 0,
                "max_unavailable_fixed": shape.hosts,
            },
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
