"""What an accelerator or a machine is made of, what each API calls it, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from infra.catalog import vertex
from infra.catalog.accelerator import AcceleratorType, accelerators
from infra.catalog.gpu import Gpu
from infra.catalog.gpu_machines import GpuMachine, attachments, machines
from infra.catalog.named import resolve
from infra.catalog.tables import Trust
from infra.catalog.things import memory_of
from infra.catalog.tpu import TpuShape, chips

Value = str | int | Decimal | None
"""A fact; None where no source tells it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where facts are from."""

    of: str
    source: str
    as_of: str
    trust: Trust
    notes: str


@dataclass(frozen=True, slots=True)
class OnVertex:
    """Regions of Vertex AI that have an accelerator."""

    accelerator: str
    """As in the API; of a TPU its name in the tables of zones."""
    prediction: tuple[str, ...]
    by_allowlist: tuple[str, ...]
    """Prediction for projects only that Google let in."""
    training: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """What a thing is made of."""

    asked: str
    name: str
    kind: Literal["TPU slice", "GPU", "machine with GPUs"]
    facts: dict[str, Value]
    spellings: dict[str, Value]
    """Its name in each API."""
    on_vertex: OnVertex | None
    """Where Vertex AI has its accelerator; None where no source says so. Which sizes it runs is another question."""
    origins: tuple[Origin, ...]


def show(name: str) -> Card:
    """
    What a thing is made of.

    Raises:
        UnknownName: It stands for no one thing.
    """
    found = resolve(name)
    if isinstance(found, TpuShape):
        return _slice_card(name, found)
    return _gpu_card(name, found) if isinstance(found, Gpu) else _machine_card(name, found)


def _on_vertex(accelerator: str) -> tuple[OnVertex | None, tuple[Origin, ...]]:
    """Where Vertex AI has an accelerator, and who says so, each once."""
    found = sorted((one for one in vertex.regions() if one.accelerator == accelerator), key=lambda one: one.region)
    if not found:
        return None, ()
    on_vertex = OnVertex(
        accelerator=accelerator,
        prediction=tuple(one.region for one in found if one.prediction and not one.by_allowlist),
        by_allowlist=tuple(one.region for one in found if one.by_allowlist),
        training=tuple(one.region for one in found if one.training),
    )
    told = (Origin("Vertex AI regions", one.source, one.as_of, one.trust, one.notes) for one in found)
    return on_vertex, tuple(dict.fromkeys(told))


def _slice_card(asked: str, one: TpuShape) -> Card:
    chip, spelled = chips()[one.generation], accelerators()[one.sold_as]
    on_vertex, told = _on_vertex(one.sold_as)
    facts: dict[str, Value] = {
        "generation": one.generation,
        "chips": one.chips,
        "cores": one.cores,
        "hosts": one.hosts,
        "chips_per_host": one.chips_per_host,
        "topology": one.topology or None,
        "memory_gib": memory_of(one),
        "chip_memory_gib": chip.memory_gib,
        "chip_memory_gb_s": chip.memory_gb_s,
        "chip_bf16_tflops": chip.bf16_tflops,
        "chip_int8_tops": chip.int8_tops,
        "chip_power_watts": chip.power_watts,
        "machine_type": one.machine_type or None,
        "runtime_version": one.runtime_version or None,
        "image_family": one.image_family or None,
    }
    spellings: dict[str, Value] = {
        "cloud_tpu_api": one.accelerator_type if one.cloud_tpu_api else None,
        "compute_engine": one.machine_type if one.compute_engine else None,
        **_spellings(spelled),
    }
    origins = (
        Origin("shape", one.source, one.as_of, one.trust, ""),
        Origin("chip", chip.source, chip.as_of, chip.trust, chip.notes),
        Origin("names", spelled.source, spelled.as_of, spelled.trust, ""),
        *told,
    )
    return Card(asked, one.accelerator_type, "TPU slice", facts, spellings, on_vertex, origins)


def _spellings(spelled: AcceleratorType) -> dict[str, Value]:
    return {"gke_label": spelled.gke_label or None, "vertex_ai": spelled.vertex_enum or None}


def _gpu_card(asked: str, one: Gpu) -> Card:
    spelled = accelerators()[one.accelerator_type]
    on_vertex, told = _on_vertex(spelled.vertex_enum)
    own = [host.machine_type for host in machines().values() if host.accelerator_type == one.accelerator_type]
    counts = dict.fromkeys(str(rule.gpus) for rule in attachments() if rule.accelerator_type == one.accelerator_type)
    facts: dict[str, Value] = {
        "generation": one.generation,
        "compute_capability": one.compute_capability,
        "memory_gib": one.memory_gib,
        "memory_gb_s": one.memory_gb_s,
        "bf16_tflops": one.bf16_tflops,
        "int8_tops": one.int8_tops,
        "power_watts": one.power_watts,
        "partitions": ", ".join(f"{count} x {size}" for size, count in one.partitions.items()) or None,
        "machine_types": ", ".join(own) or None,
        "attached_to_n1": ", ".join(counts) or None,
    }
    origins = (
        Origin("GPU", one.source, one.as_of, one.trust, one.notes),
        Origin("names", spelled.source, spelled.as_of, spelled.trust, ""),
        *told,
    )
    spellings: dict[str, Value] = {"compute_engine": spelled.compute_engine or None, **_spellings(spelled)}
    return Card(asked, one.accelerator_type, "GPU", facts, spellings, on_vertex, origins)


def _machine_card(asked: str, one: GpuMachine) -> Card:
    spelled = accelerators()[one.accelerator_type]
    facts: dict[str, Value] = {
        "accelerator_type": one.accelerator_type,
        "gpus": one.gpus,
        "gpu_memory_gib": one.gpu_memory_gib,
        "vcpus": one.vcpus,
        "memory_gib": one.memory_gib,
        "local_ssd": "in the price" if one.local_ssd_bundled else "can be added",
        "local_ssd_gib": one.local_ssd_gib,
        "sold_only_as": ", ".join(sorted(one.sold_only)) or None,
        "not_sold_as": ", ".join(sorted(one.not_sold)) or None,
    }
    choices = vertex.machines().get(one.machine_type, ())
    on_vertex, told = _on_vertex(choices[0].accelerator if choices else "")
    origins = (
        Origin("machine", one.source, one.as_of, one.trust, one.notes),
        Origin("names", spelled.source, spelled.as_of, spelled.trust, ""),
        *(Origin("Vertex AI", choice.source, choice.as_of, choice.trust, choice.notes) for choice in choices),
        *told,
    )
    spellings: dict[str, Value] = {
        "compute_engine": one.machine_type,
        "gke_label": spelled.gke_label or None,
        "vertex_ai": ", ".join(f"{one.machine_type} with {choice.accelerator}" for choice in choices) or None,
    }
    return Card(asked, one.machine_type, "machine with GPUs", facts, spellings, on_vertex, origins)
