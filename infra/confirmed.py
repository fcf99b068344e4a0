"""What a stack file confirms by name: a machine in a place that the catalogue cannot vouch for."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, StringConstraints, ValidationInfo, field_validator, model_validator

from infra.catalog import confirmed, fits_zone
from infra.catalog.gpu_machines import GpuMachine
from infra.catalog.named import UnknownName, resolve
from infra.catalog.places import region_of
from infra.components.placement import region_of_file
from infra.errors import Problem, ProblemsError
from infra.spec import Because, Spec, problem


def _what(value: str) -> str:
    close: tuple[str, ...] = ("v6e-8", "tpu-v6e", "nvidia-l4", "g2-standard-4")
    right = ""
    try:
        if confirmed.is_name(value):
            return value
        found = resolve(value)
        right = found.machine_type if isinstance(found, GpuMachine) else found.accelerator_type
    except UnknownName as error:
        close = error.nearest or close
    fix = f"set {right}" if right else ""
    raise problem("is no accelerator and no machine type with accelerators", allowed=right or close, fix=fix)


class ConfirmedSpec(Spec):
    """
    Something that a place has although no good source says so: it is then not refused. What is impossible cannot be confirmed, what works
    needs not be.
    """

    what: Annotated[str, StringConstraints(strict=True), AfterValidator(_what)]
    """What is there: a TPU slice such as `v6e-8`, a TPU in every size such as `tpu-v6e`, a GPU such as `nvidia-l4`, or a machine type."""
    zone: str | None = None
    """Zone that has it; or `region`."""
    region: str | None = None
    """Region of which every zone is meant; or `zone`."""
    because: Because
    """How you know: a sentence for whoever reads the file next."""

    @field_validator("zone")
    @classmethod
    def _is_zone(cls, value: str | None, info: ValidationInfo) -> str | None:
        region = region_of_file(info)
        if value is not None and (reason := fits_zone.named(value)):
            raise problem(reason.message, allowed=reason.allowed[:5])
        if value is not None and region and region_of(value) != region:
            raise problem("is not in the stack's region", allowed=f"a zone of {region}")
        return value

    @field_validator("region")
    @classmethod
    def _is_region(cls, value: str | None, info: ValidationInfo) -> str | None:
        region = region_of_file(info)
        if value is not None and region and value != region:
            raise problem("is not the stack's region", allowed=region)
        return value

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if (self.zone is None) == (self.region is None):
            raise ProblemsError([Problem("", "says one place", allowed="either zone or region", fix="write one of the two")])
        kinds = confirmed.kinds(self.confirmation)
        if not kinds & {"unconfirmed", "unknown"}:
            place = self.zone or self.region
            if "works" in kinds:
                raise ProblemsError([Problem("", f"is of no use: {place} is known to have {self.what}", fix="remove it")])
            message = f"cannot be: {self.what} in {place} is impossible, and a confirmation does not change that"
            raise ProblemsError([Problem("", message, fix="remove it, and set a place that has it")])
        return self

    @property
    def confirmation(self) -> confirmed.Confirmation:
        return confirmed.Confirmation(self.what, self.zone or self.region or "")
