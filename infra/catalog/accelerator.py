"""One accelerator, and what each API calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from infra.catalog.tables import Trust, rows, trust_of
from infra.catalog.tpu import shapes
from infra.catalog.unknown import UnknownWord
from infra.errors import nearest


class UnknownAccelerator(UnknownWord):
    """A name that is no accelerator. What is right is known where another API says it so."""

    kind = "an accelerator"


@dataclass(frozen=True, slots=True)
class AcceleratorType:
    """A GPU, or a TPU as it is sold. A spelling is empty where that API has none, or no source tells it."""

    name: str
    """A GPU's name on Compute Engine; a TPU's in the tables of zones and prices, such as `tpu-v6e`."""
    is_tpu: bool
    gke_label: str
    """Value of the node label `cloud.google.com/gke-accelerator`, or `cloud.google.com/gke-tpu-accelerator`."""
    compute_engine: str
    """`acceleratorType` of a Compute Engine machine; empty for a TPU, which its machine type tells."""
    vertex_enum: str
    """`acceleratorType` in the machine spec of Vertex AI."""
    tpu_api: str
    """What its accelerator types on the Cloud TPU API begin with; empty for a GPU and where that API does not make it."""
    trust: Trust
    source: str
    as_of: str


@cache
def accelerators() -> Mapping[str, AcceleratorType]:
    """Every accelerator by its name."""
    return MappingProxyType({row["name"]: _accelerator(row) for row in rows("accelerators")})


def _accelerator(row: dict[str, str]) -> AcceleratorType:
    return AcceleratorType(
        name=row["name"],
        is_tpu=row["kind"] == "tpu",
        gke_label=row["gke_label"],
        compute_engine=row["compute_engine"],
        vertex_enum=row["vertex_enum"],
        tpu_api=row["tpu_api"],
        trust=trust_of(row),
        source=row["source"],
        as_of=row["as_of"],
    )


def accelerator(name: str) -> AcceleratorType:
    """
    The accelerator of a name such as `nvidia-l4` or `tpu-v6e`, or of a TPU slice such as `v6e-8`.

    Raises:
        UnknownAccelerator: No table has it; the right name is added where another API says it so, else the nearest.
    """
    known = accelerators().get(shapes()[name].sold_as if name in shapes() else name)
    if known is not None:
        return known
    meant = [one.name for one in accelerators().values() if name and name in (one.gke_label, one.vertex_enum, one.tpu_api)]
    close = tuple(meant or nearest(name.lower().replace("_", "-"), accelerators()))
    raise UnknownAccelerator(name, meant[0] if len(meant) == 1 else "", close)
