"""Machines with GPUs built in, and what may be attached to the machines of N1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Literal

from infra.catalog.gpu import gpu
from infra.catalog.tables import Trust, find, rows, trust_of, words
from infra.errors import nearest

N1 = "n1"

N1_GIB_PER_VCPU = MappingProxyType({"standard": Decimal("3.75"), "highmem": Decimal("6.5"), "highcpu": Decimal("0.9")})
"""The prices of whole machines in the billing list of 2026-07-30 fit these figures in every region."""

N1_VCPUS = (1, 2, 4, 8, 16, 32, 64, 96)
"""The machine with one is standard only. Source: the same list; it lacks highcpu with 64 and 96, which go as the others (DERIVED)."""

HYPERDISK = "hyperdisk-balanced"
PERSISTENT_DISKS = frozenset({"pd-standard", "pd-balanced", "pd-ssd", "pd-extreme"})
HYPERDISK_ONLY = frozenset({"a3-ultragpu", "a4-highgpu", "g4-standard"})
"""
Series whose machines boot from Hyperdisk alone.

Sources: https://docs.cloud.google.com/vertex-ai/docs/reference/rest/v1/DiskSpec (A3 Ultra apart from all others), and the disk types by
series in SETI/rms-cloud-tasks:docs/provider_gcp.rst (N1, A2 and G2 take Persistent Disk only, A3 takes both, A4 Hyperdisk only); for G4
https://docs.cloud.google.com/compute/docs/accelerator-optimized-machines. All read 2026-11.
"""
EITHER_DISK = frozenset({"a3-highgpu", "a3-edgegpu", "a3-megagpu"})
"""Series that boot from Hyperdisk or from Persistent Disk; not from pd-standard and pd-extreme. Source: the same list."""

Reason = Literal["built-in", "count", "too-large"]


class UnknownGpuMachine(ValueError):  # noqa: N818 - reads as the finding it is
    """A machine type that has no GPU built in, or does not exist."""

    def __init__(self, got: str, close: tuple[str, ...]) -> None:
        self.got = got
        self.nearest = close
        super().__init__(f"{got} is not a machine type with GPUs; nearest names: {', '.join(close) or 'none'}")


class NotAttachable(ValueError):  # noqa: N818 - reads as the finding it is
    """GPUs that a machine of N1 cannot have."""

    def __init__(self, accelerator_type: str, gpus: int, reason: Reason, allowed: tuple[str, ...]) -> None:
        self.reason: Reason = reason
        """`built-in`: it comes with machines of its own. `count`: never so many. `too-large`: not to so large a machine."""
        self.allowed = allowed
        """What would do: machine types, counts, or the largest machine as vCPUs and GiB."""
        super().__init__(f"{gpus} x {accelerator_type} on N1: {reason}; allowed: {', '.join(allowed)}")


@dataclass(frozen=True, slots=True)
class GpuMachine:
    """One machine type with its GPUs."""

    machine_type: str
    accelerator_type: str
    gpus: Decimal
    """GPUs of one machine; less than one where a machine has a part of it."""
    vcpus: int
    memory_gib: int
    gpu_memory_gib: int
    """Of all its GPUs together."""
    local_ssd_bundled: bool
    """Whether local SSD comes with it, in the price."""
    local_ssd_gib: int | None
    """Of the bundle, else the most that can be added; None where no source tells."""
    sold_only: frozenset[str]
    """The only ways to buy it; empty where no source limits them."""
    not_sold: frozenset[str]
    """Ways that a source rules out."""
    trust: Trust
    source: str
    as_of: str
    notes: str

    @property
    def series(self) -> str:
        return series_of(self.machine_type)

    @property
    def counted(self) -> int:
        """
        GPUs of one machine as GKE counts them: a part of a GPU is one.

        Source: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus, read 2026-11.
        """
        return max(1, int(self.gpus))


@dataclass(frozen=True, slots=True)
class Attachment:
    """GPUs that go with a machine of N1, and the largest such machine."""

    accelerator_type: str
    gpus: int
    vcpus: int
    memory_gib: int
    zones: frozenset[str]
    """Zones that it holds for; empty: all others."""
    trust: Trust
    source: str
    as_of: str
    notes: str

    @property
    def series(self) -> str:
        return N1


@dataclass(frozen=True, slots=True)
class Attached:
    """A machine of N1 with GPUs attached to it."""

    machine_type: str
    accelerator_type: str
    gpus: int
    source: str

    @property
    def series(self) -> str:
        return N1


def series_of(machine_type: str) -> str:
    """What zones are listed by: the first two parts of the name, `n1` for all of N1."""
    first, _, rest = machine_type.partition("-")
    return N1 if first == N1 else f"{first}-{rest.partition('-')[0]}"


def boot_disk_type(machine_type: str) -> str:
    """The balanced disk that a machine with GPUs boots from."""
    return HYPERDISK if series_of(machine_type) in HYPERDISK_ONLY else "pd-balanced"


def takes_boot_disk(machine_type: str, disk_type: str) -> bool:
    """Whether a machine with GPUs boots from a disk of that type. Of types that no source tells, it is believed."""
    series = series_of(machine_type)
    if series in EITHER_DISK:
        return disk_type not in ("pd-standard", "pd-extreme")
    return disk_type not in (PERSISTENT_DISKS if series in HYPERDISK_ONLY else (HYPERDISK,))


def local_ssds(machine_type: str, accelerator_type: str) -> tuple[int, ...]:
    """How many local SSDs a machine with that GPU may have; of one that brings them, how many. Empty: none, or no source tells."""
    machine = N1 if series_of(machine_type) == N1 else machine_type
    found = find("local_ssds", machine_type=machine, accelerator_type=accelerator_type if machine == N1 else "")
    row = found or find("local_ssds", machine_type=machine, accelerator_type="")
    return tuple(int(count) for count in words(row["counts"]) if count != "0") if row else ()


@cache
def machines() -> Mapping[str, GpuMachine]:
    """Every machine type with GPUs built in, by name."""
    return MappingProxyType({row["machine_type"]: _machine(row) for row in rows("gpu_machines")})


def _machine(row: dict[str, str]) -> GpuMachine:
    return GpuMachine(
        machine_type=row["machine_type"],
        accelerator_type=row["accelerator_type"],
        gpus=Decimal(row["gpus"]),
        vcpus=int(row["vcpus"]),
        memory_gib=int(row["memory_gib"]),
        gpu_memory_gib=int(row["gpu_memory_gib"]),
        local_ssd_bundled=row["local_ssd"] == "bundled",
        local_ssd_gib=int(row["local_ssd_gib"]) if row["local_ssd_gib"] else None,
        sold_only=frozenset(words(row["sold_only"])),
        not_sold=frozenset(words(row["not_sold"])),
        trust=trust_of(row),
        source=row["source"],
        as_of=row["as_of"],
        notes=row["notes"],
    )


def by_machine_type(machine_type: str) -> GpuMachine | None:
    """The machine of this type; None where it has no GPU built in."""
    return machines().get(machine_type)


def machine(machine_type: str) -> GpuMachine:
    """
    The machine of this type, such as `g2-standard-4`.

    Raises:
        UnknownGpuMachine: No table has it with a GPU; it holds the nearest names.
    """
    found = by_machine_type(machine_type)
    if found is None:
        raise UnknownGpuMachine(machine_type, tuple(nearest(machine_type.lower(), machines())))
    return found


@cache
def attachments() -> tuple[Attachment, ...]:
    """What may be attached to machines of N1."""
    return tuple(
        Attachment(
            accelerator_type=row["accelerator_type"],
            gpus=int(row["gpus"]),
            vcpus=int(row["vcpus"]),
            memory_gib=int(row["memory_gib"]),
            zones=frozenset(words(row["zones"])),
            trust=trust_of(row),
            source=row["source"],
            as_of=row["as_of"],
            notes=row["notes"],
        )
        for row in rows("gpu_attachments")
    )


def check_attachable(accelerator_type: str, gpus: int, *, vcpus: int, memory_gib: Decimal, zone: str) -> Attachment:
    """
    The rule by which a machine of N1 with this size may have these GPUs. Shared-core machines may have none.

    Raises:
        UnknownGpu: There is no such GPU.
        NotAttachable: It is not attached to N1, not in this number, or not to so large a machine.
    """
    gpu(accelerator_type)
    of_gpu = [one for one in attachments() if one.accelerator_type == accelerator_type]
    if not of_gpu:
        own = tuple(one.machine_type for one in machines().values() if one.accelerator_type == accelerator_type)
        raise NotAttachable(accelerator_type, gpus, "built-in", own)
    of_count = [one for one in of_gpu if one.gpus == gpus]
    if not of_count:
        raise NotAttachable(accelerator_type, gpus, "count", tuple(dict.fromkeys(str(one.gpus) for one in of_gpu)))
    rule = next((one for one in of_count if zone in one.zones), None) or next(one for one in of_count if not one.zones)
    if vcpus > rule.vcpus or memory_gib > rule.memory_gib:
        raise NotAttachable(accelerator_type, gpus, "too-large", (f"{rule.vcpus} vCPUs", f"{rule.memory_gib} GiB"))
    return rule


def n1_size(machine_type: str) -> tuple[int, Decimal] | None:
    """vCPUs and GiB of a predefined machine of N1, such as `n1-standard-4`; None for every other type."""
    first, _, rest = machine_type.partition("-")
    kind, _, count = rest.partition("-")
    if first != N1 or kind not in N1_GIB_PER_VCPU or count not in map(str, N1_VCPUS) or (count == "1" and kind != "standard"):
        return None
    return int(count), int(count) * N1_GIB_PER_VCPU[kind]
