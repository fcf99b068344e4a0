"""What a standing machine and a job both say of GPUs: the machine, the GPUs attached to it, its zone; and what is not to be had of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo

from infra.catalog import confirmed, gpu_zones
from infra.catalog.fits import judge
from infra.catalog.fits_gpu import attached_to, with_gpu
from infra.catalog.fits_tpu import machines as tpu_machines
from infra.catalog.gpu import UnknownGpu, gpu, gpus
from infra.catalog.gpu_machines import N1, N1_VCPUS, Attached, by_machine_type, machines, n1_size, series_of
from infra.catalog.places import region_of
from infra.catalog.wish import Provisioning, Wish
from infra.errors import Problem, nearest
from infra.spec import WholeNumber, problem

ARM = "a4x"
"""Series whose processors are Arm's."""
KEYS = {"machine_type": "machine_type", "accelerator_type": "accelerator_type", "count": "accelerator_count"}
"""Key of a spec, wherever it asks for the machine, by part of a wish."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """A machine with GPUs, whether they are built in or attached."""

    machine_type: str
    accelerator_type: str
    count: int
    attached: bool
    """Whether they are attached to a machine of N1, and said by themselves."""
    has_local_ssd: bool

    @property
    def series(self) -> str:
        return series_of(self.machine_type)

    def words(self) -> str:
        """The machine as one would say it: `n1-standard-8 with 1 x nvidia-tesla-t4`."""
        return f"{self.machine_type} with {self.count} x {self.accelerator_type}"


def _machine(value: str) -> str:
    size = n1_size(value)
    if size is not None:
        return value
    found = by_machine_type(value)
    if found is None:
        if value in tpu_machines():
            raise problem("is a TPU's: its accelerator type says it", fix="write `accelerator_type`, such as v6e-8, and no machine type")
        if value.partition("-")[0] == N1 or value in ("f1-micro", "g1-small"):
            raise problem("is no machine of N1 that takes GPUs", allowed=f"n1-standard-, n1-highmem- or n1-highcpu- and one of {_sizes()}")
        close = nearest(value.lower()[:60], [*machines(), "n1-standard-4", "n1-standard-8", "n1-highmem-8"])
        raise problem("is not a machine type with GPUs", allowed=close or ("g2-standard-8", "a2-highgpu-1g", "n1-standard-8"))
    if found.gpus < 1:
        raise problem(
            f"has {found.gpus} of a {found.accelerator_type}: which driver serves a part of a GPU, no source that was read tells",
            allowed=with_gpu(found.accelerator_type, 1)[:1],
        )
    if value.startswith(ARM):
        raise problem("has Arm's processors: the images of this project are for others", allowed="a machine of another series")
    return value


def _sizes() -> str:
    return ", ".join(map(str, N1_VCPUS[1:]))


def _gpu(value: str) -> str:
    try:
        return gpu(value).accelerator_type
    except UnknownGpu as error:
        wanted = error.right or ", ".join(error.nearest) or ", ".join(list(gpus())[:5])
        raise problem("is no GPU of Compute Engine", allowed=wanted, fix=f"set {error.right}" if error.right else "") from None


MachineType = Annotated[str, StringConstraints(strict=True), AfterValidator(_machine)]
"""A machine type with GPUs built in, or one of N1 that they can be attached to."""
GpuType = Annotated[str, StringConstraints(strict=True), AfterValidator(_gpu)]
GpuCount = Annotated[WholeNumber, Field(ge=1)]


def of(machine_type: str, accelerator_type: str | None, count: int | None) -> Gpus:
    """The machine that a spec says. Whether there is such a one, the catalogue judges of its wish."""
    built_in = by_machine_type(machine_type)
    if built_in is None:
        return Gpus(machine_type, accelerator_type or "", count or 0, attached=True, has_local_ssd=False)
    return Gpus(machine_type, built_in.accelerator_type, int(built_in.gpus), attached=False, has_local_ssd=built_in.local_ssd_bundled)


def wish(machine_type: str, accelerator_type: str | None, count: int | None, zone: str = "", way: Provisioning = "on-demand") -> Wish:
    """What the catalogue judges: what is built in is said too, so that it can be confirmed by its name."""
    meant = of(machine_type, accelerator_type, count)
    return Wish(
        "compute-engine",
        accelerator_type or meant.accelerator_type,
        machine_type,
        meant.count or None if count is None else count,
        zone=zone,
        provisioning=way,
    )


def zones_of(machine_type: str, accelerator_type: str | None) -> tuple[str, ...]:
    """Zones that more than a weak source has the machine in, by name."""
    host = by_machine_type(machine_type) or Attached(machine_type, accelerator_type or "", 1, "")
    return tuple(sorted(one.zone for one in gpu_zones.offers(host) if one.trust != "low"))


def not_such(machine_type: str, accelerator_type: str | None, count: int | None) -> Iterator[Problem]:
    """What is wrong with machine, GPU and number, wherever it is to stand."""
    for reason in judge(wish(machine_type, accelerator_type, count, zone=_some_zone(machine_type, accelerator_type))).reasons:
        if reason.part in KEYS:
            fix = "remove it: the machine type tells" if by_machine_type(machine_type) and reason.part != "machine_type" else ""
            yield Problem(KEYS[reason.part], reason.message, ", ".join(reason.allowed), fix)


def _some_zone(machine_type: str, accelerator_type: str | None) -> str:
    return next(iter(zones_of(machine_type, accelerator_type)), "")


def not_there(wanted: Wish, info: ValidationInfo) -> Iterator[Problem]:
    """
    Why its zone or its way of buying is refused: with the nearest that are; a weak or missing source may be overruled by name.

    A rule that holds in this zone alone, as of the number of GPUs, is told of the key that it is about.
    """
    verdict = judge(wanted)
    if confirmed.covers((info.context or {}).get("confirmed", ()), verdict):
        return
    got = {"zone": f"{wanted.zone[:60]} ", "provisioning": f"{wanted.provisioning} "}
    for reason in verdict.reasons:
        allowed, fix = ", ".join(reason.allowed), ""
        if reason.part == "zone":
            near = dict.fromkeys(one.wish.zone for one in verdict.nearest if one.wish.provisioning == wanted.provisioning)
            allowed = f"{', '.join(list(near)[:5])} (nearest first)" if near else allowed
            fix = "set one of these zones; a zone of another region belongs in that region's stack file"
        if reason.kind != "impossible":
            entry = f"{{what: {wanted.accelerator_type}, zone: {wanted.zone}, because: how you know}}"
            fix = "; or, ".join(filter(None, (fix, f"if you know that it is there, write `accelform:confirmed: [{entry}]`")))
        yield Problem(KEYS.get(reason.part, reason.part), f"{got.get(reason.part, '')}{reason.message}", allowed, fix)


def outside(region: str, machine_type: str | None, accelerator_type: str | None) -> Problem:
    """The refusal of a zone of another region than the stack's, with the zones of the region that have the machine; else where it is."""
    message = "is not in the stack's region"
    every = zones_of(machine_type, accelerator_type) if machine_type else ()
    if here := [one for one in every if region_of(one) == region]:
        return Problem("zone", message, ", ".join(here))
    if every:
        others = ", ".join(dict.fromkeys(map(region_of, every)))
        return Problem("zone", message, fix=f"{region} is not known to have {machine_type}: write a stack file for one of {others}")
    return Problem("zone", message, f"a zone of {region}")


def machines_for(accelerator_type: str) -> str:
    """Machine types that have a GPU, or take it."""
    return ", ".join([*with_gpu(accelerator_type, 1)[:4], *attached_to(accelerator_type, 1)[:2]])
