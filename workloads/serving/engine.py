"""What a model is to the server: something that is loaded from a folder, and answers instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class InstanceError(Exception):
    """One instance cannot be answered; the words say why. The others of the request are not touched."""


class ParametersError(Exception):
    """The request's parameters cannot be kept; the words say why. None of its instances is answered."""


class ArtefactError(Exception):
    """The model's files are whole, but not what this program reads; the words say why."""


class Engine(Protocol):
    """A loaded model. Its methods are called by several threads at one time."""

    version: str
    """Version that the artefact names itself."""

    def warm(self) -> None:
        """Answers once for each shape, so that no shopper waits for a compiler."""

    def predict(self, instances: Sequence[object], parameters: Mapping[str, object]) -> Sequence[object]:
        """
        Answers instances, in their order and number: an answer that JSON can carry, or an `InstanceError` in its place.

        Raises:
            ParametersError: The parameters cannot be kept.
        """
        ...
