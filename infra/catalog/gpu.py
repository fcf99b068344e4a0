"""GPUs: what one is made of, and the parts that it can be cut into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from infra.catalog.tables import Trust, figure, rows, trust_of, whole, words
from infra.catalog.unknown import UnknownWord
from infra.errors import nearest

MAX_SHARED_CLIENTS = 48
"""
Containers that may share one GPU on GKE, by time-sharing or MPS. Low trust: one public Terraform module names it as GKE's limit and asks to
verify it, and no page of Google that says so could be read. Warn above it, do not refuse.
"""


SOLD_AS = MappingProxyType({"nvidia-h100-80gb": "h100", "nvidia-h100-mega-80gb": "h100-mega", "nvidia-h200-141gb": "h200"})
"""A GPU as its quota has it, where that is not its name. Source: what users write of H100's and H200's quotas (public file 71120163888)."""


class UnknownGpu(UnknownWord):
    """A name that is no GPU of Compute Engine and GKE."""

    kind = "a GPU of Google Cloud"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. A figure that no source gives is None."""

    accelerator_type: str
    """Its name on Compute Engine and GKE, such as `nvidia-l4`."""
    generation: str
    compute_capability: str
    memory_gib: int
    bf16_tflops: Decimal | None
    """Dense peak. Vendors like to print the figure with sparsity, twice as much: that one is not here."""
    int8_tops: Decimal | None
    """Dense peak."""
    memory_gb_s: int | None
    power_watts: int | None
    """Highest design power of one GPU, its host not included."""
    trust: Trust
    source: str
    as_of: str
    notes: str

    @property
    def partitions(self) -> Mapping[str, int]:
        """Instances that one GPU gives when it is cut into parts of a size such as `1g.5gb`; empty where it cannot be."""
        return _partitions().get(self.accelerator_type, MappingProxyType({}))


@cache
def gpus() -> Mapping[str, Gpu]:
    """Every known GPU by its accelerator type."""
    return MappingProxyType({row["accelerator_type"]: _gpu(row) for row in rows("gpus")})


def _gpu(row: dict[str, str]) -> Gpu:
    return Gpu(
        accelerator_type=row["accelerator_type"],
        generation=row["generation"],
        compute_capability=row["compute_capability"],
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
def _partitions() -> Mapping[str, Mapping[str, int]]:
    sizes: dict[str, dict[str, int]] = {}
    for row in rows("gpu_partitions"):
        sizes.setdefault(row["accelerator_type"], {})[row["partition_size"]] = int(row["instances"])
    return MappingProxyType({name: MappingProxyType(found) for name, found in sizes.items()})


def gpu(accelerator_type: str) -> Gpu:
    """
    The GPU of an accelerator type such as `nvidia-l4`.

    Raises:
        UnknownGpu: No table has it; the right name is added where a wrong one is known, else the nearest.
    """
    known = gpus().get(accelerator_type)
    if known is not None:
        return known
    word = accelerator_type.strip().lower().replace("_", "-")
    meant = (word,) if word in gpus() else words(wrong_names().get(word, ""))
    close = meant or tuple(nearest(word, gpus()))
    raise UnknownGpu(accelerator_type, meant[0] if len(meant) == 1 else "", close)


def quota_metric(accelerator_type: str, provisioning: str) -> str:
    """
    The regional quota that a GPU counts against: `PREEMPTIBLE_NVIDIA_T4_GPUS` for Spot and flex-start, else `NVIDIA_T4_GPUS`.

    Sources: enum of `Quota.metric` in the discovery document compute v1; of flex-start,
    https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms, read 2026-11.
    """
    name = SOLD_AS.get(accelerator_type, accelerator_type.removeprefix("nvidia-").removeprefix("tesla-"))
    before = "PREEMPTIBLE_" if provisioning in ("spot", "flex-start") else ""
    return f"{before}NVIDIA_{name.replace('-', '_').upper()}_GPUS"


@cache
def wrong_names() -> Mapping[str, str]:
    """Wrong names that are often seen, in small letters, and what is right instead; several apart by `;`."""
    return MappingProxyType({row["wrong"]: row["right"] for row in rows("gpu_names")})
