"""What somebody would have of Google Cloud, and what the catalogue says to it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Literal

from infra.catalog.vertex import Use

Api = Literal["compute-engine", "tpu-api", "gke", "vertex"]
Provisioning = Literal["on-demand", "spot", "flex-start", "reservation"]
Placement = Literal["", "compact", "spread"]
Kind = Literal["works", "unconfirmed", "unknown", "impossible"]
"""
`works`: good sources have it. `unconfirmed`: a weak source alone has it. `unknown`: no row has it, and no list that would have it was
read as a whole. `impossible`: a rule, or a list that is complete, says no. In this order: the worst of a wish's reasons is its own.
"""

API_NAMES: dict[Api, str] = {
    "compute-engine": "Compute Engine",
    "tpu-api": "the Cloud TPU API",
    "gke": "GKE",
    "vertex": "Vertex AI",
}
APIS: tuple[Api, ...] = tuple(API_NAMES)
WAYS: tuple[Provisioning, ...] = ("on-demand", "spot", "flex-start", "reservation")
KINDS: tuple[Kind, ...] = ("works", "unconfirmed", "unknown", "impossible")


@dataclass(frozen=True, slots=True)
class Wish:
    """A machine or slice with accelerators, somewhere, got in some way. An empty field is left to Google, or follows from the others."""

    api: Api
    accelerator_type: str = ""
    """A TPU slice such as `v6e-8`, or a GPU by its name on Compute Engine, such as `nvidia-l4`, or on Vertex AI."""
    machine_type: str = ""
    count: int | None = None
    """GPUs of one machine. A TPU takes none: its type tells."""
    topology: str = ""
    """Chips along each axis, such as `2x4`."""
    zone: str = ""
    region: str = ""
    """On Vertex AI, which takes no zone."""
    provisioning: Provisioning = "on-demand"
    reservation: str = ""
    """Name of the reservation that is consumed."""
    placement: Placement = ""
    use: Use = "prediction"
    """On Vertex AI: what the machine is for."""
    nodes: int | None = None
    """Machines in all. None: as many as one slice has hosts, else one."""
    partition: str = ""
    """Size of the parts that each GPU is cut into, such as `1g.5gb`."""

    @property
    def place(self) -> str:
        return self.region if self.api == "vertex" else self.zone

    def words(self) -> str:
        """The wish as one would say it: `v6e-8 on GKE in asia-east1-c as spot`."""
        what = self.machine_type
        if self.accelerator_type and self.accelerator_type != what:
            many = f"{self.count} x " if self.count is not None else ""
            what = f"{what} with {many}{self.accelerator_type}" if what else f"{many}{self.accelerator_type}"
        shape = f" {self.topology}" if self.topology else ""
        nodes = f", {self.nodes} nodes" if self.nodes is not None else ""
        where = f" in {self.place}" if self.place else ""
        extra = "".join(f", {one}" for one in (self.placement, self.partition, self.use if self.api == "vertex" else "") if one)
        return f"{what}{shape}{nodes} on {API_NAMES[self.api]}{where} as {self.provisioning}{extra}"


FIELDS = frozenset(field.name for field in fields(Wish))
Change = tuple[tuple[str, str | int | None], ...]
"""Fields of a wish, and what to set them to."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a wish does not work, in one of its parts."""

    part: str
    """Field of the wish that is wrong."""
    kind: Kind
    message: str
    """What is wrong with it, after the field's name."""
    allowed: tuple[str, ...] = ()
    """What the field may be, best first; empty where nothing would do, or where `nearest` tells."""
    source: str = ""
    instead: tuple[Change, ...] = ()
    """Changes that take this reason away; none of them has to be enough for the whole wish."""

    def __post_init__(self) -> None:
        if self.part not in FIELDS:
            raise ValueError(f"{self.part} is not a part of a wish")


@dataclass(frozen=True, slots=True)
class Near:
    """A wish that works instead."""

    wish: Wish
    kind: Kind
    """`works`; `unconfirmed` only where weak sources were asked for."""
    usd: Decimal | None
    """USD an hour for all its machines; None where the price is unknown."""
