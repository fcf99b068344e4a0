"""What every resource of the provider answers. Values are plain: what is not known yet is `UNKNOWN`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from infra.provider import schema
from infra.provider.google import Google
from infra.provider.server import ProviderError
from infra.provider.values import UNKNOWN, Path, Unknown


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing wrong with the inputs, in one place."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two runs' inputs, in one place."""

    path: Path
    kind: str
    """ADD, DELETE or UPDATE."""
    replaces: bool = False
    input: bool = True
    """Whether the program changed it; else the cloud is not what the state says."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a change means, for the user to read before it is made, or what goes on while it is."""

    text: str
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A resource as it is."""

    id: str
    outputs: dict[str, Any]
    inputs: dict[str, Any] = field(default_factory=dict)
    """What a program would write to make it; asked for by a read only."""
    secrets: frozenset[Path] = frozenset()
    """What may be secret, where no program says whether it is: at an import."""


class FailedAfterMadeError(ProviderError):
    """It exists, though not as it was asked for: the engine keeps what it is."""

    def __init__(self, message: str, made: Made) -> None:
        super().__init__(message)
        self.made = made


class Resource:
    """
    One type of resource.

    Args:
        google: Google's APIs.
        seconds: How long an operation may take, where the program says so.
        say: Tells the user what goes on. (default: nobody listens)
    """

    token: ClassVar[str]

    def __init__(self, google: Google, seconds: float | None = None, say: Callable[[Note], None] | None = None) -> None:
        self.google = google
        self.seconds = seconds
        self.say: Callable[[Note], None] = say or (lambda note: None)

    @classmethod
    def check(cls, inputs: Mapping[str, Any]) -> Iterator[Failure]:
        """What is wrong with inputs that are of the schema's names and types. Some may be `UNKNOWN`."""
        return iter(())

    @classmethod
    def changes(cls, old: Mapping[str, Any], new: Mapping[str, Any], state: Mapping[str, Any]) -> Iterable[Change]:
        """Every difference between two runs' inputs."""
        return differences(schema.resource(cls.token)["inputProperties"], old, new)

    @classmethod
    def notes(cls, old: Mapping[str, Any], new: Mapping[str, Any], state: Mapping[str, Any]) -> Iterable[Note]:
        """What the differences mean beyond themselves: a downtime, twice the quota."""
        return ()

    @classmethod
    def foreseen(cls, inputs: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs after a create or an update that has not happened: what was not written is unknown, or as it is."""
        known = schema.resource(cls.token)["properties"]
        return {name: inputs.get(name, state.get(name, UNKNOWN)) for name in known}

    def create(self, inputs: dict[str, Any]) -> Made:
        """
        Makes it; finds it there, if an earlier run that did not end made it.

        Raises:
            FailedAfterMadeError: It is there, and not as it was asked for.
            ProviderError: It is not there.
        """
        raise NotImplementedError

    def there(self, inputs: dict[str, Any]) -> str | None:
        """Id of what a killed run made, or is still making; empty where it made nothing; None where that cannot be told."""
        return None

    def read(self, id: str, state: dict[str, Any], inputs: dict[str, Any]) -> Made | None:
        """What it is now, with the inputs that would make it; None where there is none. *state* and *inputs* are empty at an import."""
        raise NotImplementedError

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        """
        Makes it as the new inputs say.

        Raises:
            FailedAfterMadeError: It is there, and not as it was asked for.
        """
        raise NotImplementedError

    def delete(self, id: str, state: dict[str, Any]) -> None:
        """Takes it away; that there is none is well."""
        raise NotImplementedError


def differences(known: schema.Properties, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Every property that is otherwise; objects are walked through, lists count as one."""
    for name in sorted({*old, *new}):
        declared = known.get(name, {})
        yield from _difference(declared, old.get(name), new.get(name), (name,), bool(declared.get("willReplaceOnChanges")))


def _difference(declared: Mapping[str, Any], old: Any, new: Any, path: Path, replaces: bool) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        inside = schema.properties(declared)
        for name in sorted({*old, *new}):
            below = inside.get(name, {}) if inside else declared.get("additionalProperties", {})
            yield from _difference(below, old.get(name), new.get(name), (*path, name), replaces or bool(below.get("willReplaceOnChanges")))
    elif isinstance(new, Unknown) or not _same(old, new):
        yield Change(path, "ADD" if old is None else "DELETE" if new is None else "UPDATE", replaces)


def _same(old: Any, new: Any) -> bool:
    """Whether two values are one: true is no 1 here."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)
