"""
A refresh that cannot empty a state: what the cloud does not have goes out of it, and to another account a cloud looks empty.

So what would go is counted first, and where it is much nothing is written. Case: pulumi/pulumi issue 11628, where a pipeline with another
login took a stack's resources out of its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.errors import AccelformError, ExitCode, MachineError
from infra.local.engine import events
from infra.local.engine.call import call, failed
from infra.local.engine.find import Engine

GONE_MAX = 5
"""How many resources may go without a word: what one deleted cluster or one night of Spot takes along."""
SHOWN = 10


class GoneError(AccelformError):
    """Much of a stack is not found: rather this is not its cloud."""

    exit_code = ExitCode.ENVIRONMENT


@dataclass(slots=True)
class Looked:
    """What a look at every resource found."""

    every: set[str] = field(default_factory=set)
    """Resources that a cloud was asked for, by URN."""
    gone: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    def take(self, step: events.Step) -> None:
        """One step of the engine's."""
        if step.type.startswith("pulumi:"):
            return
        self.every.add(step.urn)
        if step.done and step.op == "delete":
            self.gone.add(step.urn)
        elif step.done and step.op == "update":
            self.changed.add(step.urn)

    @property
    def too_much(self) -> bool:
        """Whether so much is gone that somebody must say so."""
        return len(self.gone) > GONE_MAX or (len(self.gone) > 1 and self.gone >= self.asked)

    @property
    def asked(self) -> set[str]:
        """Without components, which no cloud has."""
        return {urn for urn in self.every if not urn.split("::")[2].rpartition("$")[2].startswith("accelform:") or urn in self.gone}


def look(stack: str, *, engine: Engine, env: Mapping[str, str], folder: Path) -> Looked:
    """
    What a refresh would find. Nothing is written.

    Raises:
        MachineError: Something could not be looked at.
    """
    found = Looked()
    done = events.run(["refresh", "--preview-only", "--stack", stack], engine=engine, env=env, folder=folder, step=found.take)
    if done.code:
        raise MachineError("\n  ".join([f"stack {stack}: cannot be looked at, and its state stays as it is", *done.text().splitlines()]))
    return found


def refresh(stack: str, *, engine: Engine, env: Mapping[str, str], folder: Path, allow_gone: bool = False) -> Looked:
    """
    Looks at everything, and takes note of it in the state.

    Args:
        allow_gone: Whether all of it may go.

    Raises:
        GoneError: More would go than may without a word. The state is as it was.
        MachineError: The engine failed, or something could not be looked at.
    """
    found = Looked() if allow_gone else look(stack, engine=engine, env=env, folder=folder)
    if found.too_much:
        names = sorted(events.name(urn) for urn in found.gone)
        more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
        raise GoneError(
            f"stack {stack}: {len(names)} of its {len(found.asked)} resources are not found, and its state stays as it is\n"
            + "".join(f"  {name}\n" for name in [*names[:SHOWN], *more])
            + "  allowed: the project, the account and the sandbox that the stack was made with\n"
            "  fix: gcloud auth list and gcloud config get project say who asks where; where it is really gone: --allow-gone"
        )
    done = call(["refresh", "--yes", "--skip-preview", "--stack", stack], engine=engine, env=env, folder=folder)
    if done.returncode:
        raise failed(f"stack {stack}: cannot be looked at", done)
    return found
