"""What a stack file says of its own things that overrules a rule: what is confirmed, what has a reason, what is excepted until a day."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from infra.policy import excepted
from infra.policy.excepted import Excepted

if TYPE_CHECKING:
    from infra.catalog.confirmed import Confirmation

BECAUSE = "because"
SECTIONS = (
    "tpu_slices",
    "gpu_vms",
    "node_pools",
    "jobs",
    "endpoints",
    "compute_classes",
    "services",
    "ray_clusters",
    "reservations",
)
"""Keys of the stack's configuration whose entries, by name, may say why. No stack file has `reservations`: a program may."""


@dataclass(frozen=True, slots=True)
class Said:
    """What overrules findings."""

    confirmations: Sequence[Confirmation] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Words by what they are about: `tpu_slices.try`."""
    exceptions: Sequence[Excepted] = ()

    @classmethod
    def parse(cls, config: Mapping[str, str]) -> Said:
        """The same from the engine's configuration, without its namespace. What is none of it is refused by whoever reads the file."""
        confirmations: Sequence[Confirmation] = ()
        if config.get("confirmed"):
            from infra.catalog import confirmed  # for the few stacks that have some: it loads tables

            confirmations = confirmed.parse(config["confirmed"])
        sections = {key: _mapping(config.get(key)) for key in SECTIONS}
        return cls(confirmations, reasons(sections), excepted.parse(config.get("exceptions")))


def reasons(sections: Mapping[str, object]) -> dict[str, str]:
    """Reasons of the entries of a file's sections."""
    return dict(_reasons(sections))


def _reasons(sections: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for section in SECTIONS:
        entries = sections.get(section)
        for name, entry in entries.items() if isinstance(entries, Mapping) else ():
            words = entry.get(BECAUSE) if isinstance(entry, Mapping) else getattr(entry, BECAUSE, None)
            if isinstance(words, str) and words.strip():
                yield f"{section}.{name}", words


def _mapping(text: str | None) -> object:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
