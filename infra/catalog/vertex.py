"""What Vertex AI runs: machine types, their accelerators, how many, and in which region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from infra.catalog.places import continent_of
from infra.catalog.tables import Trust, rows, trust_of, words
from infra.errors import nearest

Use = Literal["prediction", "training"]
Reason = Literal["machine", "accelerator", "count", "region"]


class NotOnVertex(ValueError):  # noqa: N818 - reads as the finding it is
    """A machine with accelerators that Vertex AI does not run as asked."""

    def __init__(self, where: str, got: str, reason: Reason, close: Iterable[str]) -> None:
        self.got = got
        self.reason: Reason = reason
        """Which of the answers is the wrong one."""
        self.nearest = tuple(close)
        """What would do instead of it, best first."""
        super().__init__(f"Vertex AI: {where}: no such {reason}: {got}; nearest: {', '.join(self.nearest) or 'none'}")


@dataclass(frozen=True, slots=True)
class VertexMachine:
    """A machine type with one kind of accelerator on Vertex AI."""

    machine_type: str
    accelerator: str
    """Name in the API, such as `NVIDIA_L4`; of a TPU the name in the tables of zones, as the machine type alone is sent."""
    counts: tuple[int, ...]
    built_in: bool
    trust: Trust
    source: str
    as_of: str
    notes: str

    @property
    def is_tpu(self) -> bool:
        return self.accelerator.startswith("tpu")

    def takes(self, count: int, use: Use) -> bool:
        """
        Whether one replica may have so many of its accelerators. Of a machine with GPUs built in a model's replica may take a part:
        Vertex AI then puts several replicas into one machine.

        Source: discovery document aiplatform v1 of 2026-11-06, `MachineSpec.acceleratorCount`.
        """
        shared = self.built_in and use == "prediction" and not self.is_tpu
        return count in self.counts or (shared and 1 <= count <= max(self.counts))


@dataclass(frozen=True, slots=True)
class VertexRegion:
    """An accelerator in a region of Vertex AI."""

    accelerator: str
    region: str
    prediction: bool
    training: bool
    by_allowlist: bool
    """Whether prediction is open to projects only that Google let in."""
    trust: Trust
    source: str
    as_of: str
    notes: str

    def runs(self, use: Use) -> bool:
        return self.prediction if use == "prediction" else self.training


@cache
def machines() -> Mapping[str, tuple[VertexMachine, ...]]:
    """What each machine type may have; machines of N1 have several choices."""
    found: dict[str, list[VertexMachine]] = {}
    for row in rows("vertex_machines"):
        found.setdefault(row["machine_type"], []).append(
            VertexMachine(
                machine_type=row["machine_type"],
                accelerator=row["accelerator"],
                counts=tuple(map(int, words(row["counts"]))),
                built_in=row["built_in"] == "yes",
                trust=trust_of(row),
                source=row["source"],
                as_of=row["as_of"],
                notes=row["notes"],
            )
        )
    return MappingProxyType({name: tuple(choices) for name, choices in found.items()})


@cache
def regions() -> tuple[VertexRegion, ...]:
    """Which accelerator is in which region."""
    return tuple(
        VertexRegion(
            accelerator=row["accelerator"],
            region=row["region"],
            prediction=row["prediction"] in ("yes", "allowlist"),
            training=row["training"] == "yes",
            by_allowlist=row["prediction"] == "allowlist",
            trust=trust_of(row),
            source=row["source"],
            as_of=row["as_of"],
            notes=row["notes"],
        )
        for row in rows("vertex_regions")
    )


def check(machine_type: str, accelerator_type: str, count: int, region: str, use: Use = "prediction") -> VertexRegion:
    """
    What Vertex AI says of a machine with accelerators in a region. Machines without any are not in the tables.

    Args:
        accelerator_type: As in the API, such as `NVIDIA_L4`; empty for a TPU, which the machine type alone chooses.
        count: Accelerators of one machine; 0 for a TPU.

    Raises:
        NotOnVertex: The first answer that is wrong, and what would do instead.
    """
    choices = machines().get(machine_type)
    if choices is None:
        raise NotOnVertex(use, machine_type, "machine", nearest(machine_type, machines()))
    chosen = next((one for one in choices if accelerator_type == ("" if one.is_tpu else one.accelerator)), None)
    if chosen is None:
        names = ["" if one.is_tpu else one.accelerator for one in choices]
        raise NotOnVertex(machine_type, accelerator_type, "accelerator", nearest(accelerator_type, names) or names)
    if count if chosen.is_tpu else not chosen.takes(count, use):
        by_distance = sorted((0,) if chosen.is_tpu else chosen.counts, key=lambda one: (abs(one - count), one))
        raise NotOnVertex(f"{machine_type} with {chosen.accelerator}", str(count), "count", map(str, by_distance))
    able = [one for one in regions() if one.accelerator == chosen.accelerator and one.runs(use)]
    found = next((one for one in able if one.region == region), None)
    if found is None:
        far = sorted(able, key=lambda one: (continent_of(one.region) != continent_of(region), one.by_allowlist, one.region))
        raise NotOnVertex(f"{chosen.accelerator}, {use}", region, "region", (one.region for one in far))
    return found
