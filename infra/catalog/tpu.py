"""TPU slice shapes: what an accelerator type is made of, and what each API calls it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from infra.catalog.tables import Trust, figure, rows, trust_of, whole
from infra.catalog.unknown import UnknownWord
from infra.errors import nearest


class UnknownAcceleratorType(UnknownWord):
    """A name that is no TPU accelerator type."""

    kind = "a TPU accelerator type"


BOOT_DISK_TYPE = {
    "v5e": "pd-balanced",
    "v5p": "pd-balanced",
    "v6e": "hyperdisk-balanced",
    "tpu7x": "hyperdisk-balanced",
}
"""
Boot disk type by generation.

Sources: https://cloud.google.com/tpu/docs/setup-persistent-disk, read 2026-11, which does not tell TPU7x's; a TPU7x slice of two hosts that
somebody made on Compute Engine (public file 53930486906), and a guide to GKE that says a TPU7x machine refuses Persistent Disk (public
file 63263232948).
"""


@dataclass(frozen=True, slots=True)
class TpuShape:
    """One TPU slice shape. The suffix of its name counts TensorCores for v2 to v4, v5p and tpu7x, chips for v5e and v6e."""

    generation: str
    accelerator_type: str
    chips: int
    cores: int
    hosts: int
    chips_per_host: int
    topology: str
    """Chips along each axis, such as `2x4`; empty where no source confirms it."""
    machine_type: str
    """Machine type of each host on Compute Engine and GKE; empty where none is known."""
    cloud_tpu_api: bool
    """Whether the Cloud TPU API makes it."""
    runtime_version: str
    """Runtime version on the Cloud TPU API; empty where it does not make it."""
    image_family: str
    """Image family on Compute Engine; empty where Compute Engine does not make it."""
    trust: Trust
    source: str
    as_of: str
    notes: str

    @property
    def single_host(self) -> bool:
        return self.hosts == 1

    @property
    def compute_engine(self) -> bool:
        """Whether it is made of Compute Engine machines: v5e and newer."""
        return bool(self.machine_type and self.image_family)

    @property
    def sold_as(self) -> str:
        """Its name in the tables of zones and prices. v2 and v3 are sold apart as single devices and as pod slices."""
        if self.generation in ("v2", "v3"):
            return f"tpu-{self.generation}-{'8' if self.single_host else 'pod'}"
        return self.generation if self.generation.startswith("tpu") else f"tpu-{self.generation}"


@dataclass(frozen=True, slots=True)
class TpuChip:
    """One chip of a generation. A figure that no source gives is None."""

    generation: str
    memory_gib: int
    bf16_tflops: Decimal | None
    """Dense peak."""
    int8_tops: Decimal | None
    """Dense peak."""
    memory_gb_s: int | None
    power_watts: int | None
    """The highest power that Google says it measured, its host not included; of no chip is a design power known."""
    trust: Trust
    source: str
    as_of: str
    notes: str


@cache
def chips() -> Mapping[str, TpuChip]:
    """The chip of every generation."""
    return MappingProxyType({row["generation"]: _chip(row) for row in rows("tpu_chips")})


def _chip(row: dict[str, str]) -> TpuChip:
    return TpuChip(
        generation=row["generation"],
        memory_gib=int(row["memory_gib"]),
        bf16_tflops=figure(row["bf16_tflops"]),
        int8_tops=figure(row["int8_tops"]),
        memory_gb_s=whole(row["memory_gb_s"]),
        power_watts=whole(row["power_watts"]),
        trust=trust_of(row),
        source=row["source"],
        as_of=row["as_of"],
        notes=row["notes"],
    )


@cache
def shapes() -> Mapping[str, TpuShape]:
    """Every known shape by its accelerator type."""
    return MappingProxyType({row["accelerator_type"]: _shape(row) for row in rows("tpu_shapes")})


def _shape(row: dict[str, str]) -> TpuShape:
    return TpuShape(
        generation=row["generation"],
        accelerator_type=row["accelerator_type"],
        chips=int(row["chips"]),
        cores=int(row["cores"]),
        hosts=int(row["hosts"]),
        chips_per_host=int(row["chips_per_host"]),
        topology=row["topology"],
        machine_type=row["machine_type"],
        cloud_tpu_api=row["cloud_tpu_api"] == "yes",
        runtime_version=row["runtime_version"],
        image_family=row["image_family"],
        trust=trust_of(row),
        source=row["source"],
        as_of=row["as_of"],
        notes=row["notes"],
    )


def shape(accelerator_type: str) -> TpuShape:
    """
    The shape of an accelerator type such as `v6e-8`.

    Raises:
        UnknownAcceleratorType: No table has it; the right name is added where a wrong one is known, else the nearest.
    """
    known = shapes().get(accelerator_type)
    if known is not None:
        return known
    meant = _meant(accelerator_type.strip().lower())
    close = meant or tuple(nearest(accelerator_type, shapes(), 5))
    raise UnknownAcceleratorType(accelerator_type, meant[0] if len(meant) == 1 else "", close)


def _meant(word: str) -> tuple[str, ...]:
    """The accelerator types that a wrong name often seen, a machine type or a generation stands for."""
    return tuple(name for right in wrong_names().get(word, word).split(";") for name in _types(right))


def _types(name: str) -> Iterator[str]:
    if name in shapes():
        yield name
    elif name in single_hosts():
        yield single_hosts()[name].accelerator_type
    else:
        yield from (one.accelerator_type for one in shapes().values() if one.generation == name and one.single_host)


@cache
def wrong_names() -> Mapping[str, str]:
    """Wrong names that are often seen, and what is right instead: a type, a generation, or several types apart by `;`."""
    return MappingProxyType({row["wrong"]: row["right"] for row in rows("names")})


@cache
def single_hosts() -> Mapping[str, TpuShape]:
    """Shapes of one host by the Compute Engine machine type of that host."""
    return MappingProxyType({one.machine_type: one for one in shapes().values() if one.single_host and one.compute_engine})


def by_machine_type(machine_type: str) -> TpuShape | None:
    """What one machine of this type is, such as `v6e-8` for `ct6e-standard-8t`; None for a machine without a TPU."""
    return single_hosts().get(machine_type)
