"""
A job: a program that trains or works through files on a machine that is made for the run and deleted after it.

The machine is not declared: its template, its accounts, its runner and its clock are. See docs/decisions/0013-jobs.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import pulumi
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError

from infra import gcp, names
from infra.catalog import tpu
from infra.catalog.gpu import UnknownGpu, gpu, gpus
from infra.catalog.places import region_of
from infra.catalog.wish import Provisioning, Wish
from infra.components import gpu_offer, tpu_host, vertex_offer
from infra.components.deployed_models import RESERVATION as FULL_RESERVATION
from infra.components.gpu_offer import GpuCount, Gpus, MachineType
from infra.components.job_machine import Container, machine_plan
from infra.components.network import Network
from infra.components.placement import Placement, region_of_file
from infra.components.program import WORKLOADS, ProgramSpec
from infra.components.runner import Runner
from infra.components.storage import Storage
from infra.components.tpu_offer import (
    FLEX_START_MINUTES,
    RESERVATION_NAME,
    Way,
    by_name,
    chosen_way,
    not_made,
    not_offered,
    outside,
    slice_type,
    zones_of,
)
from infra.errors import Problem, ProblemsError
from infra.findings import Found
from infra.job_plan import JobPlan, MachinePlan, RegisterPlan
from infra.spec import Because, Name, WholeNumber, distinct, pattern, problem
from workloads.contract import DATA_PREFIX, DEVICES_EXIT, PREFIX, TrainSettings
from workloads.job import PROGRAMS

RUN_MINUTES_MAX = 7 * 24 * 60
"""A job is a run of a night, or of some: longer ones are a standing slice. Flex-start ends there too."""


def _run_limit(value: object) -> object:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= RUN_MINUTES_MAX:
        raise problem("is no run limit of a job, whose machine is always deleted", allowed=f"1 to {RUN_MINUTES_MAX} minutes")
    return value


def _accelerator(value: str) -> str:
    """A slice's type, or a GPU's. What is none is told what slices there are, unless it means a GPU."""
    try:
        return gpu(value).accelerator_type
    except UnknownGpu as error:
        if error.right:
            raise problem("is no accelerator type", allowed=error.right, fix=f"set {error.right}") from None
        return slice_type(value)


NOT_SAID: Any = ()
"""Zones that nobody wrote: a file has lists only."""
JobReservation = Annotated[
    str,
    pattern(f"{RESERVATION_NAME}|{FULL_RESERVATION}", "is not a reservation", "nightly, or projects/host/reservations/nightly"),
]


class JobSpec(ProgramSpec):
    """What one job is. Its machine is made for a run, in the first place that has room, and deleted after it."""

    later: ClassVar[dict[str, str]] = {"data_disks": "disks beside the boot disk, which say whether a disk outlives its host"}
    never: ClassVar[dict[str, str]] = {"existing": "a job is made for its runs by this file, and stands nowhere between them"}

    machine_type: MachineType | None = None
    """Machine type with GPUs, for a job on a GPU: one that they are built into, such as `g2-standard-8`, or one of N1 such as
    `n1-standard-8`, with `accelerator_type` and `accelerator_count`. (default: a TPU's, which its accelerator type tells)"""
    accelerator_type: Annotated[str, StringConstraints(strict=True), AfterValidator(_accelerator)] | None = None
    """Cloud TPU accelerator type, such as `v5litepod-4`: chips, hosts, topology, machine type, image and runtime follow from it. Or the GPU
    that is attached to a machine of N1, such as `nvidia-tesla-t4`. (default: the machine type tells)"""
    accelerator_count: GpuCount | None = None
    """GPUs that are attached to a machine of N1. (default: the machine type tells, as does a TPU's accelerator type)"""
    way: Literal["auto", "compute-engine", "tpu-api", "vertex"] = "auto"
    """The API that makes the machine. `auto`: Compute Engine for v5e and newer and for GPUs, the Cloud TPU API for v2 to v4. `vertex`: a
    custom job of Vertex AI, which makes a machine of its own for it, of one host, somewhere in the region."""
    zones: Annotated[list[str], AfterValidator(distinct)] = Field(default=NOT_SAID)
    """Zones of the stack's region that offer the accelerator type, in the order in which they are tried. (default: none; they must be said,
    but where `way` is `vertex`, which chooses the zone)"""
    provisioning: Annotated[list[Provisioning], Field(min_length=1), AfterValidator(distinct)]
    """Ways of getting the capacity, in the order in which they are tried, each in all zones: `reservation`, `flex-start`, `on-demand`,
    `spot`."""
    reservation: JobReservation | None = None
    """Name of the Compute Engine reservation that is consumed, where `reservation` is among the ways; with `way: vertex` its full name, in
    which its zone is."""
    max_run_minutes: Annotated[WholeNumber, Field(ge=1, le=RUN_MINUTES_MAX), BeforeValidator(_run_limit)]
    """Minutes of machine that one run may use, all its tries together: what a run costs at most follows from it."""
    because: Because | None = None
    """Why `on-demand` is tried before anything cheaper: a sentence, which such a job must have. (default: none)"""
    wait_minutes: Annotated[WholeNumber, Field(ge=0, le=RUN_MINUTES_MAX)] = 60
    """Minutes that a run looks for capacity, round after round. 0: it looks once."""
    restarts: Annotated[WholeNumber, Field(ge=0, le=100)] = 3
    """How often a run begins again after its machine was taken away."""
    boot_disk_gib: Annotated[WholeNumber, Field(ge=10, le=65536)] = 100
    """Size of each host's boot disk in GiB. The Cloud TPU API makes its own of 100 GiB, Vertex AI none that is smaller."""
    registers: Name | None = None
    """Key of `models:` that a run makes a new version of. (default: none; what it made stays in its folder)"""

    @classmethod
    def choices(cls, key: str, beside: Mapping[str, object]) -> str:
        """The zones of a job whose zones are missing."""
        accelerator_type, machine_type = (
            said if isinstance(said := beside.get(one), str) else "" for one in ("accelerator_type", "machine_type")
        )
        if key != "zones":
            return ""
        if there := gpu_offer.zones_of(machine_type, accelerator_type) if machine_type else ():
            return f"some of {', '.join(there)} (where {machine_type} is), first choice first"
        if accelerator_type not in tpu.shapes():
            return ""
        return f"some of {', '.join(zones_of(accelerator_type)) or 'no zone'} (where {accelerator_type} is), first choice first"

    @field_validator("zones", mode="before")
    @classmethod
    def _said(cls, value: object, info: ValidationInfo) -> object:
        if "way" not in info.data:
            return value  # that one is wrong: nobody knows whether a zone is wanted
        if info.data["way"] == "vertex":
            if value not in (NOT_SAID, []):
                raise problem("cannot be chosen: Vertex AI chooses one in the region", fix="remove `zones`")
            return []
        if value is NOT_SAID:
            chosen = cls.choices("zones", info.data) or " ".join(cls.descriptions()["zones"].split())
            raise ProblemsError([Problem("", "is missing", chosen, "write it: it has no default")])
        if value == []:
            raise PydanticKnownError("too_short", {"field_type": "List", "min_length": 1, "actual_length": 0})
        return value

    @field_validator("zones")
    @classmethod
    def _in_region(cls, value: list[str], info: ValidationInfo) -> list[str]:
        region = region_of_file(info)
        away = {index: zone for index, zone in enumerate(value) if region and region_of(zone) != region}
        if region and away:
            said = _outside(region, info.data.get("machine_type"), info.data.get("accelerator_type"))
            raise ProblemsError(
                Problem(str(index), f'"{zone[:60]}" {said.message}', said.allowed, said.fix) for index, zone in away.items()
            )
        return value

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        found = list(self._is_a_machine())
        if not found:
            found += vertex_offer.problems(self, region_of_file(info)) if self.on_vertex else [*self._somewhere(info), *self._fits_way()]
            found += self._fits_provisioning()
        found += [*self._runs(), *self._clock(), *self._reads(), *self._makes()]
        if found:
            raise ProblemsError(found)
        return self

    @property
    def gpus(self) -> Gpus | None:
        """Its machine with GPUs; None where it is a TPU's."""
        return gpu_offer.of(self.machine_type, self.accelerator_type, self.accelerator_count) if self.machine_type else None

    @property
    def shape(self) -> tpu.TpuShape:
        """The slice of a job on a TPU."""
        return tpu.shape(self.accelerator_type or "")

    @property
    def accelerator(self) -> str:
        """Type of its chips, whether it is said or follows: `v6e-8`, or `nvidia-l4`."""
        return self.gpus.accelerator_type if self.gpus else self.accelerator_type or ""

    @property
    def hosts(self) -> int:
        return 1 if self.gpus else self.shape.hosts

    @property
    def chips(self) -> int:
        """Chips of a slice, or GPUs of a machine."""
        return self.gpus.count if self.gpus else self.shape.chips

    @property
    def on_vertex(self) -> bool:
        """Whether Vertex AI makes the machine, and takes it away."""
        return self.way == "vertex"

    @property
    def chosen_way(self) -> Way | Literal["vertex"]:
        """The API that makes the machine: as named, or by generation."""
        if self.way == "vertex":
            return "vertex"
        return "compute-engine" if self.gpus else chosen_way(self.way, self.shape)

    @property
    def wishes(self) -> list[Wish]:
        """What the catalogue judges: each way in each zone, in the order of the tries."""
        return [self._wish(zone, way) for way in self.provisioning for zone in self.zones]

    def _wish(self, zone: str, way: Provisioning) -> Wish:
        if self.machine_type:
            return gpu_offer.wish(self.machine_type, self.accelerator_type, self.accelerator_count, zone, way)
        return Wish(self.chosen_way, self.accelerator, zone=zone, provisioning=way)

    def _is_a_machine(self) -> Iterator[Problem]:
        """What is wrong with the machine, wherever it is to stand: none is said, or two, or one that there is not."""
        is_gpu = self.accelerator_type in gpus()
        if self.machine_type and self.accelerator_type and not is_gpu:
            yield Problem("machine_type", f"is not said of a TPU: {self.accelerator_type} tells its machine", fix="remove it")
        elif self.machine_type:
            if not self.on_vertex:
                yield from gpu_offer.not_such(self.machine_type, self.accelerator_type, self.accelerator_count)
            if self.way == "tpu-api":
                yield Problem("way", "the Cloud TPU API makes TPUs only", "compute-engine, auto")
        elif not self.accelerator_type:
            yield Problem(
                "accelerator_type", "is missing", "a TPU slice such as v6e-8", "write it; or `machine_type`, for a machine with GPUs"
            )
        elif is_gpu:
            yield Problem("machine_type", "is missing: a GPU stands in a machine", gpu_offer.machines_for(self.accelerator_type))
        if self.accelerator_count and not self.machine_type and not is_gpu:
            yield Problem("accelerator_count", "is not said of a TPU: its accelerator type tells", fix="remove it")

    def _somewhere(self, info: ValidationInfo) -> Iterator[Problem]:
        """What cannot be in a zone at all, what cannot be bought there so, and what the API does not make."""
        if self.gpus:
            yield from self._gpus_somewhere(info)
            return
        seen = set()
        for index, zone in enumerate(self.zones):
            wish = Wish("compute-engine", self.accelerator, zone=zone)
            if found := not_offered("zone", wish, info):
                yield Problem(f"zones.{index}", f"{zone} {found.message}", found.allowed, found.fix)
                continue
            for number, way in enumerate(self.provisioning):
                if found := not_offered("provisioning", replace(wish, provisioning=way), info):
                    sure = by_name(wish) if found.fix.endswith(by_name(wish)) else ""
                    yield Problem(f"provisioning.{number}", f"{way} in {zone}: {found.message}", *self._ways_in(zone, way, sure, info))
            for one in not_made(self._wish(zone, self.provisioning[0]), info):
                if (one.path, one.message) not in seen:
                    seen.add((one.path, one.message))
                    yield one

    def _gpus_somewhere(self, info: ValidationInfo) -> Iterator[Problem]:
        """The same of a machine with GPUs."""
        seen = set()
        for index, zone in enumerate(self.zones):
            for number, way in enumerate(self.provisioning):
                for one in gpu_offer.not_there(self._wish(zone, way), info):
                    path = {"zone": f"zones.{index}", "provisioning": f"provisioning.{number}"}.get(one.path, one.path)
                    if (path, one.message) not in seen:
                        seen.add((path, one.message))
                        yield replace(one, path=path)

    def _ways_in(self, zone: str, refused: str, sure: str, info: ValidationInfo) -> tuple[str, str]:
        """What the zone does sell, and which of the job's zones sell it as wished."""

        def sold(where: str, way: Provisioning) -> bool:
            return not_offered("provisioning", Wish("compute-engine", self.accelerator, zone=where, provisioning=way), info) is None

        every: tuple[Provisioning, ...] = ("reservation", "flex-start", "on-demand", "spot")
        there = [way for way in every if sold(zone, way)]
        others = [one for one in zones_of(self.accelerator) if region_of(one) == region_of(zone) and sold(one, refused)]  # type: ignore[arg-type]
        fix = f"leave out {refused}, or {zone}"
        if others:
            fix += f"; {refused} is sold in {', '.join(others)}"
        if sure:
            fix += f"; {sure}"
        return f"{', '.join(there) or 'nothing'} in {zone}", fix

    def _fits_way(self) -> Iterator[Problem]:
        if self.reservation and vertex_offer.is_full(self.reservation):
            allowed = "nightly, or projects/host/reservations/nightly"
            yield Problem("reservation", f"{self.reservation} is its name for Vertex AI: zones are said by `zones`", allowed)
        if self.chosen_way == "tpu-api":
            if "flex-start" in self.provisioning:
                index = self.provisioning.index("flex-start")
                words = "a node of the Cloud TPU API cannot be flex-start"
                yield Problem(f"provisioning.{index}", words, allowed="on-demand, spot, reservation")
            if "boot_disk_gib" in self.model_fields_set:
                yield Problem("boot_disk_gib", "the Cloud TPU API makes its own boot disk of 100 GiB", fix="remove it")
            if self.reservation:
                yield Problem("reservation", "the Cloud TPU API takes the project's reservation without a name", fix="remove it")
        elif "reservation" in self.provisioning and not self.reservation:
            yield Problem("reservation", "is missing: the reservation to consume, by name", fix="write it, or leave out that way of buying")

    def _fits_provisioning(self) -> Iterator[Problem]:
        shortest, longest = FLEX_START_MINUTES
        if "flex-start" in self.provisioning and not shortest <= self.max_run_minutes <= longest:
            yield Problem("max_run_minutes", "a flex-start machine runs for a limited time", allowed=f"{shortest} to {longest}")
        if self.reservation and "reservation" not in self.provisioning:
            words = f"{' and '.join(self.provisioning)} capacity cannot consume a reservation"
            yield Problem("reservation", words, fix="remove it, or put `reservation` into `provisioning`")

    def _makes(self) -> Iterator[Problem]:
        if self.registers and self.program and self.program.kind != "train":
            able = [name for name in WORKLOADS if PROGRAMS[name].kind == "train"]
            words = f"{self.workload} makes no model: each run would register a version without files"
            yield Problem("registers", words, f"a job whose workload is one of {', '.join(able)}", "remove it")


def warnings(jobs: Mapping[str, JobSpec]) -> Iterator[Found]:
    """What is allowed, and would end in vain."""
    for name, spec in jobs.items():
        if spec.gpus and spec.image is None:
            words = f"no image of this project has JAX for CUDA: a run of {name} would see no GPU, and end with {DEVICES_EXIT}"
            yield Found(f"jobs.{name}.image", "warning", words, "write the image of one that has, by its digest, such as jax[cuda12]")


class Job(pulumi.ComponentResource):
    """What makes a job's runs: templates of its machines, their accounts, its runner, and the clock that starts it."""

    plan: JobPlan

    def __init__(
        self,
        name: str,
        spec: JobSpec,
        *,
        image: str,
        runner_image: str,
        placement: Placement,
        storage: Storage,
        network: Network | None,
        account: gcp.serviceaccount.Account,
        after: list[pulumi.Resource],
        sandbox: str = "",
        registers: RegisterPlan | None = None,
        rollout_minutes: int = 0,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            image: Of the container.
            network: That its machines are in; none where Vertex AI makes them.
            account: Who its machines are.
            after: What must stand before a machine boots, such as grants.
            rollout_minutes: How long the longest rollout of what it registers takes.
        """
        super().__init__("accelform:job:Job", name, None, opts)
        physical = names.resource(placement.stack, "job", name)
        ready = list(after)
        command = spec.program.command if spec.program else tuple(spec.command)
        container = Container(image, command, tuple(spec.args), told(spec, storage), spec.gpus.count if spec.gpus else 0)
        email = names.service_account_email(placement.project, placement.stack, purpose(name))
        if network is None:
            machines = [vertex_offer.machine_plan(name, spec, way, container, placement, email) for way in spec.provisioning]
        else:
            machines, made = self._machines(name, spec, container, placement, network, account, email, ready)
            ready += made
        self.plan = JobPlan(
            project=placement.project,
            region=placement.region,
            stack=placement.stack,
            job=name,
            sandbox=sandbox,
            workload=spec.runs,
            machine_type=spec.machine_type or "",
            accelerator_type=spec.accelerator,
            hosts=spec.hosts,
            chips=spec.chips,
            zones=tuple(spec.zones) or (placement.region,),
            machines=tuple(machines),
            machine_name=physical,
            max_run_minutes=spec.max_run_minutes,
            wait_minutes=spec.wait_minutes,
            restarts=spec.restarts,
            state=names.job_state(storage.models_bucket, placement.stack, name),
            output=names.job_output(storage.models_bucket, name),
            holds=names.holds(placement.project, placement.stack),
            registers=registers,
        )
        self.runner = Runner(
            name,
            self.plan,
            image=runner_image,
            clock=spec.clock,
            paused=spec.paused,
            rollout_minutes=rollout_minutes,
            placement=placement,
            storage=storage,
            machine_account=account,
            after=ready,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"runner": self.runner.job.name, "way": spec.chosen_way, "hosts": spec.hosts})

    def _machines(
        self,
        name: str,
        spec: JobSpec,
        container: Container,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        email: str,
        after: list[pulumi.Resource],
    ) -> tuple[list[MachinePlan], list[pulumi.Resource]]:
        """Ways of getting a machine of the stack's own, and all that is declared for them."""
        physical = names.resource(placement.stack, "job", name)
        ready = list(network.egress)
        if spec.hosts > 1:
            rule = names.resource(placement.stack, "job", name, "hosts")
            ready += tpu_host.between_hosts(name, rule, placement=placement, network=network, account=account, parent=self)
        child = pulumi.ResourceOptions(parent=self, depends_on=[*after, *ready], delete_before_replace=True)
        policy = ""
        if spec.chosen_way == "compute-engine" and not spec.gpus and not spec.shape.single_host:
            policy = f"projects/{placement.project}/regions/{placement.region}/resourcePolicies/{physical}"
            ready.append(tpu_host.workload_policy(name, physical, spec.shape, placement=placement, opts=child))
        machines = []
        for provisioning in spec.provisioning:
            plan, made = machine_plan(
                name,
                spec,
                provisioning,
                container,
                placement=placement,
                network=network,
                account=account,
                account_email=email,
                policy=policy,
                opts=child,
            )
            machines.append(plan)
            ready += made
        return machines, ready


def _outside(region: str, machine_type: str | None, accelerator_type: str | None) -> Problem:
    """The refusal of a zone of another region than the stack's."""
    if machine_type or accelerator_type in gpus():
        return gpu_offer.outside(region, machine_type, accelerator_type)
    said = outside(region, accelerator_type).context or {}
    return Problem("zone", said["message"], said["allowed"], said["fix"])


def purpose(name: str) -> str:
    """What the account of a job's machines is called."""
    return f"job-{name}"


def told(spec: JobSpec, storage: Storage) -> dict[str, str]:
    """What every run of a job is told; what is of one run, the runner adds."""
    settings = TrainSettings(
        run_id="",
        output="",
        checkpoints="",
        accelerator_type=spec.accelerator,
        chips=spec.chips,
        hosts=spec.hosts,
        save_every_steps=spec.save_every_steps,
        data={name: f"gs://{storage.data_bucket}/{folder.rstrip('/')}" for name, folder in spec.data.items()},
    )
    fixed = {f"{PREFIX}{name.upper()}" for name in ("accelerator_type", "chips", "hosts", "save_every_steps")}
    said = {key: value for key, value in settings.environment().items() if key in fixed or key.startswith(DATA_PREFIX)}
    return spec.env | said
