"""What one accelerator can do at most, whoever makes or rents it out. Peaks of a data sheet, not the speed of any model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from infra.catalog.gpu import Gpu, gpus
from infra.catalog.tables import Trust, figure, rows, trust_of, whole
from infra.catalog.tpu import TpuChip, chips


@dataclass(frozen=True, slots=True)
class Peak:
    """One accelerator. A figure that no source gives is None."""

    name: str
    """Generation of a TPU such as `v6e`, GPU such as `nvidia-l4`, chip of another cloud such as `Inferentia2`."""
    bf16_tflops: Decimal | None
    """Dense."""
    int8_tops: Decimal | None
    """Dense."""
    memory_gb_s: int | None
    power_watts: int | None
    """Design power of a GPU; the highest that was measured of a TPU. The host is not included."""
    trust: Trust
    source: str
    as_of: str
    notes: str


@cache
def peaks() -> Mapping[str, Peak]:
    """Every accelerator whose figures were looked for, by name."""
    ours = {name: _of(name, one) for known in (chips(), gpus()) for name, one in known.items()}
    return MappingProxyType(ours | {row["name"]: _other(row) for row in rows("alternative_chips")})


def _of(name: str, one: TpuChip | Gpu) -> Peak:
    figures = (one.bf16_tflops, one.int8_tops, one.memory_gb_s, one.power_watts)
    return Peak(name, *figures, one.trust, one.source, one.as_of, one.notes)


def _other(row: dict[str, str]) -> Peak:
    return Peak(
        name=row["name"],
        bf16_tflops=figure(row["bf16_tflops"]),
        int8_tops=figure(row["int8_tops"]),
        memory_gb_s=whole(row["memory_gb_s"]),
        power_watts=whole(row["power_watts"]),
        trust=trust_of(row),
        source=row["source"],
        as_of=row["as_of"],
        notes=row["notes"],
    )
