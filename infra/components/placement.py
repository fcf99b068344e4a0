"""Where a stack stands and whose it is: what every component needs to name, place, label and protect what it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import ValidationInfo

from infra import environments
from infra.labels import STACK_LABEL


@dataclass(frozen=True, slots=True)
class Placement:
    """The stack that a component belongs to."""

    project: str
    stack: str
    region: str
    environment: str
    owner: str
    provider: Mapping[str, str] = field(default_factory=dict)
    """Arguments that every explicit provider takes besides its own: where the sandbox is, in a run against it."""

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every resource that can carry them. A budget by label reads `accelform-stack`."""
        return {
            "managed-by": "accelform",
            STACK_LABEL: self.stack,
            "environment": self.environment,
            "owner": self.owner,
        }

    @property
    def decides(self) -> environments.Environment:
        """What the environment decides."""
        return environments.of(self.environment)

    @property
    def protects_data(self) -> bool:
        """Whether data outlives a destroy."""
        return self.decides.protects_data


def region_of_file(info: ValidationInfo) -> str | None:
    """The region of the stack file that is being checked; None where a spec is checked alone, or the file's region is itself wrong."""
    return (info.context or {}).get("region")
