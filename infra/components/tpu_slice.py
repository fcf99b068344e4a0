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
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import pulumi
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from infra import accelform, gcp, names
from infra.catalog import confirmed, tpu, zones
from infra.catalog.fits import judge
from infra.catalog.fits_tpu import able
from infra.catalog.places import region_of
from infra.catalog.wish import API_NAMES, Provisioning, Wish
from infra.components import tpu_host
from infra.components.network import Network
from infra.components.placement import Placement, region_of_file
from infra.components.queued_slice import QueuedSlice, QueuedSpec, check_queued
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, WholeNumber, pattern, problem

Way = Literal["compute-engine", "tpu-api"]
FLEX_START_MINUTES = (10, 7 * 24 * 60)
"""Shortest and longest run of a flex-start machine.
Source: https://cloud.google.com/compute/docs/instances/about-flex-start-vms, read 2026-11."""


def _a_slice(value: str) -> str:
    try:
        tpu.shape(value)
    except tpu.UnknownAcceleratorType as error:
        wanted = error.right or ", ".join(error.nearest)
        raise problem("is not a TPU accelerator type", allowed=wanted, fix=f"set {error.right}" if error.right else "") from None
    return value


SliceType = Annotated[str, AfterValidator(_a_slice)]
"""Accelerator type of a TPU slice."""


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
    """What one standing TPU slice is. Checked before anything is declared."""

    later: ClassVar[dict[str, str]] = {
        "zones": "zones tried in order: comes with jobs",
        "schedule": "machines that are made for a run and deleted after it: comes with jobs",
        "data_disks": "disks beside the boot disk: comes with jobs, which say whether a disk outlives its host",
    }

    accelerator_type: SliceType
    """Cloud TPU accelerator type, such as `v6e-8`. Chips, hosts, topology, machine type, image and runtime follow from it."""
    zone: str
    """Zone of the stack's region that offers the accelerator type."""
    provisioning: Provisioning
    """How the capacity is got: `on-demand`, `spot` (can be taken away at any time), `flex-start` (waits for capacity, ends by itself)
    or `reservation`."""
    max_run_minutes: RunLimit
    """Minutes after which Compute Engine deletes the machine, or `unlimited`: it then costs money until somebody removes it."""
    way: Literal["auto", "compute-engine", "tpu-api"] = "auto"
    """The API that makes it. `auto`: Compute Engine for v5e and newer, the Cloud TPU API for v2 to v4. One host on Compute Engine is an
    instance, several are a managed instance group."""
    reservation: Reservation | None = None
    """Name of the Compute Engine reservation that is consumed, with `provisioning: reservation` only; not one made in calendar mode."""
    boot_disk_gib: Annotated[WholeNumber, Field(ge=10, le=65536)] = 100
    """Size of each host's boot disk in GiB. The Cloud TPU API makes its own of 100 GiB."""
    queued: QueuedSpec | None = None
    """Asks the Cloud TPU API for it by its queue: the request waits until there is room. (default: what has no room now fails)"""

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
    def _possible(self, info: ValidationInfo) -> Self:
        if problems := [*self._is_known(info), *self._fits_provisioning(), *check_queued(self.queued, self.chosen_way)]:
            raise ProblemsError(problems)
        return self

    @property
    def shape(self) -> tpu.TpuShape:
        return tpu.shape(self.accelerator_type)

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
        if self.way != "auto":
            return self.way
        return "compute-engine" if self.shape.compute_engine else "tpu-api"

    @property
    def wish(self) -> Wish:
        """What the catalogue judges."""
        return Wish(self.chosen_way, self.accelerator_type, zone=self.zone, provisioning=self.provisioning)

    def _is_known(self, info: ValidationInfo) -> Iterator[Problem]:
        """What the catalogue says to shape and API; what it cannot vouch for may be confirmed by name."""
        verdict = judge(self.wish)
        if not confirmed.covers((info.context or {}).get("confirmed", ()), verdict):
            sure = f"if you know it, say so under `confirmed`: what {self.accelerator_type}, zone {self.zone}, because"
            for reason in verdict.reasons:
                others = [api for api in reason.allowed if api in ("compute-engine", "tpu-api")]
                if reason.part == "api" and others:
                    yield Problem("way", reason.message, allowed=", ".join([*others, "auto"]))
                elif reason.part == "api":
                    yield Problem("accelerator_type", f"{API_NAMES[self.chosen_way]} {reason.message}", fix=sure)
                elif reason.part == "accelerator_type":
                    yield Problem("accelerator_type", reason.message, fix=sure)
        yield from self._fits_way()

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
    """A TPU slice inside *network*, under its own account, without an external address; ssh by OS Login through IAP."""

    machine: gcp.compute.Instance | gcp.compute.InstanceGroupManager | gcp.tpu.V2Vm | accelform.QueuedResource

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
        between = self._between_hosts(name, placement, network, account) if spec.hosts > 1 else []
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

    def _between_hosts(
        self, name: str, placement: Placement, network: Network, account: gcp.serviceaccount.Account
    ) -> list[pulumi.Resource]:
        """Lets its hosts, of all its slices, and nobody else, reach each other. In a network of others that is theirs to do."""
        if network.own is None:
            return []
        return [
            gcp.compute.Firewall(
                f"{name}-hosts",
                name=names.resource(placement.stack, "tpu", name, "hosts"),
                project=placement.project,
                network=network.own.id,
                direction="INGRESS",
                source_service_accounts=[account.email],
                target_service_accounts=[account.email],
                allows=[{"protocol": "tcp"}, {"protocol": "udp"}, {"protocol": "icmp"}],
                opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
            )
        ]

    def _instance(
        self,
        name: str,
        spec: TpuSliceSpec,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        child: pulumi.ResourceOptions,
    ) -> gcp.compute.Instance:
        return gcp.compute.Instance(
            name,
            name=names.resource(placement.stack, "tpu", name),
            zone=spec.zone,
            boot_disk={
                "auto_delete": True,
                "initialize_params": {
                    "image": tpu_host.image(spec),
                    "size": spec.boot_disk_gib,
                    "type": tpu_host.BOOT_DISK_TYPE[spec.shape.generation],
                    "labels": placement.labels,
                },
            },
            **tpu_host.arguments(spec, placement, network, account),
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
        template = gcp.compute.InstanceTemplate(
            name,
            name=physical,
            region=placement.region,
            disks=[
                {
                    "boot": True,
                    "auto_delete": True,
                    "source_image": tpu_host.image(spec),
                    "disk_size_gb": spec.boot_disk_gib,
                    "disk_type": tpu_host.BOOT_DISK_TYPE[shape.generation],
                    "labels": placement.labels,
                }
            ],
            **tpu_host.arguments(spec, placement, network, account),
            opts=child,
        )
        policy = gcp.compute.ResourcePolicy(
            name,
            name=physical,
            project=placement.project,
            region=placement.region,
            workload_policy={"type": "HIGH_THROUGHPUT", "accelerator_topology": shape.topology},
            opts=child,
        )
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
