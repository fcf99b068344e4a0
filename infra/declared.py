"""
What a program declares, in one neutral form that rules and prices read, whichever way it was collected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final


class Unknown:
    """A value that is known only after the engine has made something."""

    _only: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false; compare with `is UNKNOWN`")


UNKNOWN: Final = Unknown()

NOT_ASKED: Final = "<not asked>"
"""What a look-up answers where there is no cloud to ask: the SDK admits text only. Collected inputs that hold it are unknown."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret value: never shown."""

    value: Any = field(repr=False)

    def __repr__(self) -> str:
        return "[secret]"


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared resource."""

    type: str
    """Pulumi type token, such as `gcp:storage/bucket:Bucket`."""
    name: str
    """Logical name: unique for its type under its parent."""
    inputs: Mapping[str, Any]
    """Inputs under the provider's camelCase names. A value, at any depth, may be `UNKNOWN` or a `Secret`."""
    urn: str = ""
    parent: str = ""
    """URN of the parent; empty for a resource right under the stack."""
    dependencies: tuple[str, ...] = ()
    """URNs of what must stand before it, sorted; only the collector knows them."""
    protect: bool = False
    existing: bool = False
    """Read, not managed: others own it, and it is never destroyed."""

    @property
    def is_component(self) -> bool:
        """A group of resources: it has no inputs of its own, as every resource of a provider has."""
        return self.type.startswith("accelform:") and not self.inputs

    def get(self, path: str) -> Any:
        """
        The input at a dotted path such as `bootDisk.initializeParams.size`: None where absent, UNKNOWN where any step is unknown.
        A secret object or list is stepped into; a secret leaf stays a `Secret`.
        A number steps into a list: `networkInterfaces.0.subnetwork`.
        """
        value: Any = self.inputs
        for step in path.split("."):
            if value is UNKNOWN:
                return UNKNOWN
            if isinstance(value, Secret):
                value = value.value
            if type(value) is dict or isinstance(value, Mapping):  # the second look is a slow one
                value = value.get(step)
            elif isinstance(value, list | tuple) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                return None
        return value

    def leaves(self) -> Iterator[tuple[str, Any]]:
        """Every leaf of the inputs with its property path, such as `networkInterfaces[0].subnetwork`. What is in a secret is one."""
        yield from _leaves("", self.inputs, secret=False)


def _leaves(path: str, value: Any, *, secret: bool) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Secret):
        yield from _leaves(path, value.value, secret=True)
    elif type(value) is dict or isinstance(value, Mapping):  # the second look is a slow one
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner, secret=secret)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}[{index}]", inner, secret=secret)
    else:
        yield path, Secret(value) if secret else value
