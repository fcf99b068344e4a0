"""What a slice and a job both say of a TPU: its type, its zone, its way of buying and its API; and what is not to be had of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from infra.catalog import confirmed, tpu, zones
from infra.catalog.fits import judge
from infra.catalog.fits_tpu import able
from infra.catalog.places import region_of
from infra.catalog.wish import API_NAMES, Wish
from infra.errors import Problem
from infra.spec import pattern, problem

Way = Literal["compute-engine", "tpu-api"]
"""The API that makes a machine of one's own."""
FLEX_START_MINUTES = (10, 7 * 24 * 60)
"""Shortest and longest run of a flex-start machine.
Source: https://cloud.google.com/compute/docs/instances/about-flex-start-vms, read 2026-11."""


def slice_type(value: str) -> str:
    """The accelerator type of a TPU slice, or the refusal of what is none."""
    try:
        tpu.shape(value)
    except tpu.UnknownAcceleratorType as error:
        wanted = error.right or ", ".join(error.nearest)
        raise problem("is not a TPU accelerator type", allowed=wanted, fix=f"set {error.right}" if error.right else "") from None
    return value


SliceType = Annotated[str, AfterValidator(slice_type)]
"""Accelerator type of a TPU slice."""

RESERVATION_NAME = r"(?:projects/[a-z][a-z0-9-]{2,28}[a-z0-9]/reservations/)?[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
Reservation = Annotated[str, pattern(RESERVATION_NAME, "is not a reservation", "nightly, or projects/host/reservations/nightly")]


def chosen_way(way: Literal["auto"] | Way, shape: tpu.TpuShape) -> Way:
    """The API that makes the machine: as named, or by generation."""
    if way != "auto":
        return way
    return "compute-engine" if shape.compute_engine else "tpu-api"


def zones_of(accelerator_type: str) -> tuple[str, ...]:
    """Zones that more than a weak source has a slice in, by name."""
    return tuple(sorted(one.zone for one in zones.offers(tpu.shape(accelerator_type)) if one.trust != "low"))


def outside(region: str, accelerator_type: str | None) -> PydanticCustomError:
    """The refusal of a zone of another region than the stack's, with the zones of the region that have the slice; else where it is."""
    message = "is not in the stack's region"
    every = zones_of(accelerator_type) if accelerator_type else ()
    if here := [one for one in every if region_of(one) == region]:
        return problem(message, allowed=here)
    if every:
        others = ", ".join(dict.fromkeys(map(region_of, every)))
        return problem(message, fix=f"{region} is not known to have {accelerator_type}: write a stack file for one of {others}")
    return problem(message, allowed=f"a zone of {region}")


def by_name(wish: Wish) -> str:
    """How what is not known to be there is confirmed."""
    entry = f"{{what: {wish.accelerator_type}, zone: {wish.zone}, because: how you know}}"
    return f"if you know that it is there, write `accelform:confirmed: [{entry}]`"


def not_offered(part: str, wish: Wish, info: ValidationInfo) -> Problem | None:
    """Why a zone or a way of buying is refused: it is not known to be had, nor confirmed by name; with the nearest that are."""
    verdict = judge(replace(wish, api=able(tpu.shape(wish.accelerator_type))[0]))
    reason = next((one for one in verdict.reasons if one.part == part), None)
    if reason is None or confirmed.covers((info.context or {}).get("confirmed", ()), verdict):
        return None
    nearest = list(dict.fromkeys(near.wish.zone for near in verdict.nearest if near.wish.provisioning == wish.provisioning))
    fix = "set one of these zones; a zone of another region belongs in that region's stack file"
    if reason.kind != "impossible":
        fix += f"; or, {by_name(wish)}"
    return Problem(part, reason.message, f"{', '.join(nearest[:5])} (nearest first)" if nearest else "", fix)


def not_made(wish: Wish, info: ValidationInfo) -> Iterator[Problem]:
    """What the catalogue says to shape and API; what it cannot vouch for may be confirmed by name."""
    verdict = judge(wish)
    if confirmed.covers((info.context or {}).get("confirmed", ()), verdict):
        return
    sure = f"if you know it, say so under `confirmed`: what {wish.accelerator_type}, zone {wish.zone}, because"
    for reason in verdict.reasons:
        others = [api for api in reason.allowed if api in ("compute-engine", "tpu-api")]
        if reason.part == "api" and others:
            yield Problem("way", reason.message, allowed=", ".join([*others, "auto"]))
        elif reason.part == "api":
            yield Problem("accelerator_type", f"{API_NAMES[wish.api]} {reason.message}", fix=sure)
        elif reason.part == "accelerator_type":
            yield Problem("accelerator_type", reason.message, fix=sure)
