"""
Mends what a killed run left in a stack: its lock, and what it had begun.

The engine writes into the state what it is about to do. Killed with -9, these pending operations stay, and the lock too. What the engine's
own commands make of that (CLI 3.274.1, tried): `up` warns and tries a pending create again; `refresh` settles pending updates and deletes,
and leaves creates; `refresh --import-pending-creates` forgets them, whether the thing exists or not. So a pending create is adopted by
editing the state: the resource with the id it has, if it is there, and a refresh that asks the cloud whether it is.
"""

from __future__ import annotations

import copy
import datetime as dt
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.clouds import resources
from infra.errors import AccelformError, ExitCode
from infra.local.engine.atomic import write
from infra.local.engine.call import call, failed
from infra.local.engine.events import name
from infra.local.engine.find import Engine
from infra.local.engine.state import read
from infra.local.home import Home
from infra.locked import Holder

FindId = Callable[[str, Mapping[str, Any]], str | None]
"""Type token and inputs -> the id that such a resource has if it exists; empty where it surely does not; None where that cannot be told."""

WRITTEN_SECONDS = 10.0
"""A lock is written in far less."""


class RecoverError(AccelformError):
    """Somebody must look first."""

    exit_code = ExitCode.ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found and mended; resources by URN."""

    lifted: tuple[Holder, ...] = ()
    adopted: tuple[str, ...] = ()
    """A create had begun, and the thing is there: it is in the state now."""
    absent: tuple[str, ...] = ()
    """A create had begun, and the thing is not there."""
    settled: tuple[str, ...] = ()
    """An update or a delete had begun: the state is what the cloud says."""

    def lines(self) -> list[str]:
        """For people, a line each."""
        named = (
            ("adopted", self.adopted, "was made"),
            ("cleared", self.absent, "was not made"),
            ("refreshed", self.settled, "was in work"),
        )
        locks = [f"lifted the lock of a killed run: {lock}" for lock in self.lifted]
        return locks + [f"{verb} {name(urn)}: it {what} when the run was killed" for verb, urns, what in named for urn in urns]


def cannot_tell(kind: str, inputs: Mapping[str, Any]) -> None:
    """Knows no id."""


def recover(
    home: Home,
    stack: str,
    *,
    engine: Engine,
    folder: Path,
    find_id: FindId = cannot_tell,
    begun: Sequence[dict[str, Any]] = (),
    forget: bool = False,
) -> Recovered:
    """
    Mends a stack. Does nothing, at once, where nothing is pending. Killed itself, the next call goes on from there.

    Args:
        folder: Of the project, as for every call of the engine.
        begun: Resources whose create was begun and whose end the engine did not hear of: as those that its state calls pending.
        forget: Clear pending creates of which nobody can tell whether they happened, instead of stopping.

    Raises:
        RecoverError: Somebody works on the stack, or may; or a create had begun of which cannot be told whether it happened.
        MachineError: The engine failed.
    """
    lifted = tuple(lift(home, stack))
    env = home.env(engine)
    state = read(home.state, stack)
    if state is not None and begun:
        creating = [{"type": "creating", "resource": resource} for resource in begun]
        state["deployment"]["pending_operations"] = [*_pending(state), *creating]
    pending = _pending(state)
    note = home.folder / "recovering" / f"{stack}.json"
    unfinished: list[str] = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else []
    if state is None or not (pending or unfinished):
        note.unlink(missing_ok=True)
        return Recovered(lifted)

    mended, creates = adopt(state, find_id, stack=stack, forget=forget)
    settled = [one["resource"]["urn"] for one in pending if one["type"] in ("updating", "deleting")]
    asked = list(dict.fromkeys([*unfinished, *creates, *settled]))
    if any(one["type"] == "creating" for one in pending):
        # Afterwards nothing is pending: what is still to be asked of the cloud must outlive a kill between the two steps.
        write(note, json.dumps(asked))
        file = note.with_suffix(".state")
        write(file, json.dumps(mended))
        done = call(["stack", "import", "--stack", stack, "--file", str(file)], engine=engine, env=env, folder=folder)
        file.unlink()
        if done.returncode:
            raise failed(f"stack {stack}: the state cannot be mended", done)
    there = {one["urn"] for one in resources(mended)}
    targets = [part for urn in asked if urn in there for part in ("--target", urn)]
    if targets:
        done = call(["refresh", "--stack", stack, "--yes", "--skip-preview", *targets], engine=engine, env=env, folder=folder)
        if done.returncode:
            raise failed(f"stack {stack}: what was in work cannot be looked at", done)
    note.unlink(missing_ok=True)
    now = {(one["urn"], one.get("id")) for one in resources(read(home.state, stack))}
    return Recovered(
        lifted,
        adopted=tuple(urn for urn, number in creates.items() if (urn, number) in now),
        absent=tuple(urn for urn, number in creates.items() if (urn, number) not in now),
        settled=tuple(urn for urn in asked if urn not in creates),
    )


def lift(home: Home, stack: str) -> Iterator[Holder]:
    """
    Removes the locks of dead processes of this machine.

    Raises:
        RecoverError: A lock's process lives, or is of another machine. The locks before it may have been lifted.
    """
    for folder in sorted((home.state / ".pulumi" / "locks" / "organization").glob("*")):
        for path in sorted((folder / stack).glob("*")):
            lock = _read(path, stack)
            if lock is None:
                continue
            if lock.state != "dead":
                raise RecoverError(f"{lock.line()}\n  fix: {lock.fix()}")
            path.unlink(missing_ok=True)
            yield lock


def _read(path: Path, stack: str) -> Holder | None:
    """A lock; None where it went away, or never came to be: a file that an engine was killed over while it wrote it, which goes."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return Holder(stack, str(said["username"]), str(said["hostname"]), int(said["pid"]), str(said["timestamp"]), path.as_uri())
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        if path.suffix == ".tmp" and time.time() - path.stat().st_mtime > WRITTEN_SECONDS:
            path.unlink(missing_ok=True)
            return None
        raise RecoverError(
            f"{path}: is a lock, and does not say whose\n  fix: make sure that no pulumi runs, then remove the file"
        ) from None


def adopt(state: Mapping[str, Any], find_id: FindId, *, stack: str, forget: bool = False) -> tuple[dict[str, Any], dict[str, str | None]]:
    """
    A state in which every pending create is a resource, as if it had happened, and nothing is pending.

    Returns:
        The state, and each create's URN with the id under which it must be looked at; None where it surely did not happen.

    Raises:
        RecoverError: Of some create cannot be told under which id it would be.
    """
    mended = copy.deepcopy(dict(state))
    deployment = mended["deployment"]
    resources: list[dict[str, Any]] = deployment.setdefault("resources", [])
    creates: dict[str, str | None] = {}
    unknown: list[str] = []
    for operation in _pending(state):
        resource = copy.deepcopy(operation["resource"])
        if operation["type"] != "creating" or not resource.get("custom") or resource["type"].startswith("pulumi:"):
            continue  # updates and deletes are refreshed; components, providers and the stack are the engine's own: it makes them anew
        number = find_id(resource["type"], resource.get("inputs") or {})
        if number == "":
            creates.setdefault(resource["urn"], None)
            continue
        if any(one["urn"] == resource["urn"] and one.get("id") == number for one in resources):
            continue  # a later run made it: the engine keeps the operation all the same
        provider = _provider(resource.get("provider", ""), resources)
        if number is None or provider is None:
            unknown.append(resource["urn"])
            creates.setdefault(resource["urn"], None)
        else:
            creates[resource["urn"]] = number
            _insert(resource | {"id": number, "provider": provider}, resources)
    if unknown and not forget:
        raise RecoverError(
            f"stack {stack}: a killed run was making what follows, and whether it is there cannot be told from here\n"
            + "".join(f"  {name(urn)}\n" for urn in unknown)
            + "  fix: look for it and delete it if it is there; then `accelform recover --forget` lets the next `up` make it"
        )
    deployment["pending_operations"] = []
    return mended, creates


def _insert(resource: dict[str, Any], resources: list[dict[str, Any]]) -> None:
    """
    Puts a resource into the list, where what depends on it comes after it.

    Where the create was half of a replacement, the other half is there under the same URN: marked (`pendingReplacement`) it is gone
    already; older than the create, it is what the next run must delete; younger, a run after the killed one made it, and the create is a
    leftover that the next run must delete.
    """
    same = [index for index, one in enumerate(resources) if one["urn"] == resource["urn"] and not one.get("delete")]
    if not same:
        resources.append(resource)
        return
    index = same[0]
    other = resources[index]
    if other.get("pendingReplacement"):
        resources[index] = resource
    elif _when(other) <= _when(resource):
        resources[index] = resource
        resources.append(other | {"delete": True})
    else:
        resources.append(resource | {"delete": True})


def _when(resource: Mapping[str, Any]) -> dt.datetime:
    return dt.datetime.fromisoformat(resource.get("created") or "1970-01-01T00:00:00Z")


def _provider(reference: str, resources: list[dict[str, Any]]) -> str | None:
    """The provider that a resource names, or the one that has its place now."""
    urn = reference.rpartition("::")[0]
    return next((f"{urn}::{one['id']}" for one in resources if one["urn"] == urn and not one.get("delete")), None)


def _pending(state: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return ((state or {}).get("deployment") or {}).get("pending_operations") or []
