"""What answers requests, and whether as much of it stands as its environment wants."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from infra import environments
from infra.errors import Problem, nearest

GOES = frozenset({"spot", "flex-start", "queued-provisioning"})
"""Ways of buying whose capacity Google takes back."""


@dataclass(frozen=True, slots=True)
class Answering:
    """One endpoint or service of a stack file."""

    name: str
    path: str
    """Where the file has it."""
    least: int
    """Replicas that always stand."""
    least_key: str
    goes: bool
    """Whether all of it stands on capacity that Google takes back."""
    goes_key: str
    """Key that says so."""


def problems(environment: str, answering: Iterable[Answering], may_be_down: Collection[str]) -> Iterator[Problem]:
    """
    What may be down where nobody said so.

    Args:
        may_be_down: Names that the file lets be down.
    """
    wants, every, used = environments.of(environment), list(answering), set()
    for one in every:
        found = []
        if one.least < wants.least_replicas:
            words = f"{one.least} in {environment}: nobody would answer until a node has come"
            found.append((one.least_key, words, f"{wants.least_replicas} or more"))
        if one.goes and not wants.spot_alone:
            words = f"all of it stands on capacity that Google takes back, in {environment}"
            found.append((one.goes_key, words, "on-demand or reservation, of a part of it at least"))
        if one.name in may_be_down:
            used.update([one.name] if found else [])
            continue
        for key, words, allowed in found:
            yield Problem(f"{one.path}.{key}", words, allowed, f"change it; or, where it may be, `accelform:may_be_down: [{one.name}]`")
    for index, name in enumerate(may_be_down):
        if name not in used:
            known = [one.name for one in every]
            if name in known:
                words = f"does nothing: in {environment}, {name} may be as it is"
                yield Problem(f"may_be_down.{index}", words, fix="remove it")
            else:
                allowed = ", ".join(nearest(name, known) or known) or "there is none"
                yield Problem(f"may_be_down.{index}", f"{name} is nothing that answers here", allowed)
