"""`accelform state list` and `restore`."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import aligned, print_json
from infra.cli.reached import reached
from infra.errors import AccelformError, ExitCode, MachineError, Problem, SpecError, nearest

if TYPE_CHECKING:
    from infra.operate.state_file import Difference, State, Thing
    from infra.operate.states import States, Version

SHOWN = 20
"""Versions that are read for a list: each is downloaded."""
URL = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/([^?#]*))?")
STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GUIDE = "docs/guides/disaster.md"


class LostError(AccelformError):
    """There is no version that could be had."""

    exit_code = ExitCode.FINDINGS


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of `restore`."""

    as_of: str | None = None
    version: str | None = None
    keep_later: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stack's states are."""

    stack: str
    project: str
    """Project of Google Cloud that is charged; empty where no file says it."""
    bucket: str
    prefix: str


def list_(stack: str, folder: Path, state_url: str | None, *, every: bool, cloud: bool, as_json: bool) -> int:
    from infra.operate import states as kept

    with _states(_place(stack, folder, state_url, "accelform state list"), cloud=cloud) as states:
        versions = _versions(states, stack)
        shown = versions if every else kept.ends(versions)[:SHOWN]
        rows = [_row(states, one) for one in shown]
    if as_json:
        print_json({"stack": stack, "address": states.address, "versions": rows, "not_shown": len(versions) - len(rows)})
        return ExitCode.OK
    columns = ("version", "written", "bytes", "resources", "by", "")
    cells = [
        (
            row["version"],
            row["written"],
            f"{row['bytes']:,}",
            "unknown" if row["resources"] is None else str(row["resources"]),
            row["by"] or "unknown",
            _note(row),
        )
        for row in rows
    ]
    lines = [f"stack {stack}: {states.address}", "", aligned(columns, cells, right=("bytes", "resources"), fold=60), ""]
    if hidden := len(versions) - len(rows):
        lines.append(f"not shown: {hidden}, most of them steps within an update; see them: --all")
    lines.append(f"make one of them the newest: accelform state restore {stack} --version VERSION")
    sys.stdout.write("\n".join(lines) + "\n")
    return ExitCode.OK


def _row(states: States, version: Version) -> dict[str, Any]:
    from infra.operate.state_file import DamagedError
    from infra.operate.states import stamp

    damaged, state = "", None
    try:
        state = states.read(version)
    except DamagedError as error:
        damaged = str(error)
    return {
        "version": str(version.generation),
        "written": stamp(version.written),
        "ended": stamp(version.ended) if version.ended else None,
        "bytes": version.size,
        "resources": None if state is None else len(state.resources),
        "pending": [] if state is None else state.pending,
        "by": version.lock.who if version.lock else "",
        "newest": version.is_live,
        "damaged": damaged,
    }


def _note(row: dict[str, Any]) -> str:
    begun = f"{len(row['pending'])} begun and not ended" if row["pending"] else ""
    damaged = f"damaged: {row['damaged']}" if row["damaged"] else ""
    return ", ".join(filter(None, ("newest" if row["newest"] else "", damaged, begun)))


def restore(stack: str, folder: Path, state_url: str | None, asked: Asked, *, cloud: bool, as_json: bool) -> int:
    """
    Makes an older version the newest.

    Raises:
        SpecError: The options are none.
        LostError: There is no such version, or it is damaged.
        LockedError: Somebody works on the stack.
    """
    from infra.operate import states as kept

    moment = _moment(asked)
    with _states(_place(stack, folder, state_url, "accelform state restore"), cloud=cloud) as states:
        states.check_unlocked()
        versions = _versions(states, stack)
        chosen = _chosen(versions, moment, asked, stack)
        state = _whole(states, versions, chosen, stack)
        after = [one for one in versions if one.generation > chosen.generation]
        later = kept.whole(states, after)
        difference = state.against(later[1]) if later else None
        joined = state.with_later(later[1]) if asked.keep_later and later and difference else None
        is_same = chosen.is_live and joined is None
        made = None if asked.dry_run or is_same else states.make_newest(chosen, joined)
    told = _told(stack, chosen, state, later, len(after))
    if as_json:
        print_json(
            told
            | {
                "address": states.address,
                "restored": None if made is None else str(made),
                "dry_run": asked.dry_run,
                "was_newest": chosen.is_live,
                "kept_later": joined is not None,
                "made_since": _plain(difference.made if difference else ()),
                "gone_since": _plain(difference.gone if difference else ()),
                "changed_since": _plain(difference.changed if difference else ()),
            }
        )
        return ExitCode.OK
    lines = [_headline(stack, chosen, state, made, asked)]
    lines += _since(stack, chosen, later, difference, len(after), is_kept=joined is not None)
    if not is_same:
        lines += _next(stack, state, later, is_written=made is not None)
    sys.stdout.write("\n".join(lines) + "\n")
    return ExitCode.OK


def _moment(asked: Asked) -> dt.datetime | None:
    """
    Raises:
        SpecError: Not exactly one of both is said, or it is none.
    """
    where = "accelform state restore"
    if (asked.as_of is None) == (asked.version is None):
        words = "say which" if asked.as_of is None else "both are said"
        raise SpecError(where, [Problem("--as-of", words, "--as-of TIME, or --version VERSION", "see them: accelform state list STACK")])
    if asked.version is not None and not re.fullmatch(r"[0-9]{1,20}", asked.version):
        raise SpecError(
            where, [Problem("--version", f"{asked.version[:60]!r} is no version", "a number that `accelform state list` shows")]
        )
    if asked.as_of is None:
        return None
    allowed = "a date and a time with its zone, such as 2026-12-01T09:30:00Z"
    try:
        moment = dt.datetime.fromisoformat(asked.as_of.strip())
    except ValueError:
        raise SpecError(where, [Problem("--as-of", f"{asked.as_of[:60]!r} is no time", allowed)]) from None
    if moment.tzinfo is None or not re.match(r"\d{4}-", asked.as_of.strip()):
        raise SpecError(where, [Problem("--as-of", f"{asked.as_of[:60]!r} does not say its zone", allowed, "add Z for UTC, or +08:00")])
    return moment


def _chosen(versions: Sequence[Version], moment: dt.datetime | None, asked: Asked, stack: str) -> Version:
    from infra.operate.states import as_of, stamp

    if moment is None:
        found = next((one for one in versions if one.generation == int(asked.version or 0)), None)
        if found is None:
            raise LostError(f"stack {stack}: there is no version {asked.version} of its state\n  fix: accelform state list {stack} --all")
        return found
    found = as_of(versions, moment)
    if found is None:
        before = next((one for one in versions if one.written <= moment), None)
        fix = f"--version {before.generation}, of {stamp(before.written)}" if before else f"the oldest is of {stamp(versions[-1].written)}"
        raise LostError(f"stack {stack}: at {stamp(moment)} it had no state that is kept\n  fix: {fix}")
    return found


def _whole(states: States, versions: Sequence[Version], chosen: Version, stack: str) -> State:
    from infra.operate import states as kept
    from infra.operate.state_file import DamagedError

    try:
        return states.read(chosen)
    except DamagedError as error:
        older = kept.whole(states, [one for one in versions if one.generation < chosen.generation])
        fix = f"--version {older[0].generation}, of {kept.stamp(older[0].written)}" if older else f"there is none before it: {GUIDE}"
        raise LostError(f"stack {stack}: version {chosen.generation} of its state {error}: nothing was restored\n  fix: {fix}") from None


def _versions(states: States, stack: str) -> list[Version]:
    """
    Raises:
        LostError: There is none.
    """
    versions = states.versions()
    if not versions:
        others = states.others()
        near = ", ".join(nearest(stack, others) or others[:10]) or "none"
        raise LostError(
            f"stack {stack}: {states.address} is not there, and no older version of it either\n"
            f"  allowed: a stack whose state is in that bucket: {near}\n"
            f"  fix: where it is lost for good: {GUIDE}"
        )
    return versions


def _headline(stack: str, chosen: Version, state: State, made: int | None, asked: Asked) -> str:
    from infra.operate.states import stamp

    what = f"version {chosen.generation}, of {stamp(chosen.written)}, with {len(state.resources)} resources"
    if made is not None:
        return f"stack {stack}: {what}, is the newest again, as version {made}; nothing was deleted"
    if chosen.is_live and not asked.keep_later:
        return f"stack {stack}: {what}, is the newest already: nothing to do"
    return f"stack {stack}: {what}, would be the newest: nothing was written"


def _since(
    stack: str, chosen: Version, later: tuple[Version, State] | None, difference: Difference | None, count: int, *, is_kept: bool
) -> Iterator[str]:
    """What stands since then and is not in that state."""
    from infra.operate.states import stamp

    if later is None or difference is None:
        if count:
            yield f"of {count} later version{'s' if count > 1 else ''} none can be read: what an update made since is written nowhere"
            yield f"  look for it: accelform import --stack {stack}"
        return
    yield f"against version {later[0].generation}, of {stamp(later[0].written)}, the last whole one after it:"
    if not difference:
        yield "  nothing else stands by it"
    for words, things in (
        ("made since, and in the restored state by --keep-later" if is_kept else "made since, and not in it", difference.made),
        ("gone since: the refresh takes it out", difference.gone),
        ("changed since: the refresh mends it", difference.changed),
    ):
        if things:
            yield f"  {words}:"
            yield from (f"    {one.type} {one.name}: {one.id}" for one in things)
    if difference.made and not is_kept:
        yield f"  fix: --keep-later adds it; or, where it is in no version: accelform import --stack {stack}"


def _next(stack: str, state: State, later: tuple[Version, State] | None, *, is_written: bool) -> Iterator[str]:
    if state.pending:
        yield f"an update was at work as it was written: of {len(state.pending)} resources nobody knows whether they are there"
    if later and later[1].secrets != state.secrets:
        yield "its secrets are encrypted in another way than those of the last version: the stack file must say the same"
    yield "next:" if is_written else "after it:"
    yield f"  pulumi refresh --stack {stack}"
    yield f"  pulumi preview --stack {stack}"


def _told(stack: str, chosen: Version, state: State, later: tuple[Version, State] | None, after: int) -> dict[str, Any]:
    from infra.operate.states import stamp

    return {
        "stack": stack,
        "version": str(chosen.generation),
        "written": stamp(chosen.written),
        "resources": len(state.resources),
        "pending": state.pending,
        "later_versions": after,
        "held_against": str(later[0].generation) if later else None,
    }


def _plain(things: Sequence[Thing]) -> list[dict[str, str]]:
    return [{"urn": one.urn, "type": one.type, "name": one.name, "id": one.id} for one in things]


def _place(stack: str, folder: Path, state_url: str | None, where: str) -> Place:
    """
    Where the stack's states are: by the address that is said, else by the foundation that its file names.

    Raises:
        SpecError: Nothing says it.
    """
    from infra import names
    from infra.check import stack_files
    from infra.components.state_bucket import STATES

    if state_url is not None:
        said = URL.fullmatch(state_url)
        if said is None:
            raise SpecError(
                where, [Problem("--state-url", f"{state_url[:80]!r} is no address of a bucket", "gs://BUCKET, or gs://BUCKET/FOLDER")]
            )
        path = folder / f"Pulumi.{stack}.yaml"
        if not STACK.fullmatch(stack):
            (file,) = stack_files([stack], folder)
            stack, path = file.stack, file.path
        return Place(stack, _config(path).get("gcp:project", "") if path.is_file() else "", said[1], said[2] or "")
    (file,) = stack_files([stack], folder)
    config = _config(file.path)
    foundation, project = _foundation(file.stack, config, file.path.parent), config.get("gcp:project", "")
    if not foundation or not project:
        lacks = "names no foundation, whose bucket would have its states" if project else "says no gcp:project"
        fix = "say where they are: --state-url gs://BUCKET; or write `accelform:foundation`, and move the state to its bucket"
        raise SpecError(str(file.path), [Problem("", lacks, fix=fix)])
    return Place(file.stack, project, names.bucket(project, foundation, STATES), "")


def _config(path: Path) -> dict[str, str]:
    """What a file says in words, however wrong the rest of it is: it is read when things are bad."""
    from infra.yaml_file import read

    return {key: value for key, value in read(path).config.items() if isinstance(value, str)}


def _foundation(stack: str, config: dict[str, str], folder: Path) -> str:
    """The foundation of a stack: its own, itself, or that of the region that its cluster is of; empty where there is none."""
    if config.get("accelform:kind") == "foundation":
        return stack
    beside = folder / f"Pulumi.{config.get('accelform:region_stack', '')}.yaml"
    if config.get("accelform:kind") == "apps":
        config = _config(beside) if beside.is_file() else {}
    return config.get("accelform:foundation", "")


@contextmanager
def _states(place: Place, *, cloud: bool) -> Iterator[States]:
    """
    Raises:
        LostError: There is no such bucket.
        CloudError: The cloud refused.
    """
    from infra.operate.states import States, is_missing
    from infra.provider.calls import GoogleError

    root = _checkout()
    with reached(place.project, "" if cloud else _sandbox(root)) as (google, _):
        try:
            yield States(google, place.bucket, place.prefix, _engine_project(root), place.stack)
        except GoogleError as error:
            if not is_missing(error):
                raise
            here = "Google Cloud" if cloud else "the sandbox"
            fix = "say where the states are: --state-url gs://BUCKET" + ("" if cloud else "; or --cloud: this asked the sandbox")
            raise LostError(f"gs://{place.bucket} is not there, in {here}\n  fix: {fix}") from None


def _checkout() -> Path:
    from infra.local import project

    return project.checkout(Path.cwd())


def _engine_project(root: Path) -> str:
    """What the engine calls the project: a part of the path of every state."""
    from infra.yaml_file import read

    return str(read(root / "Pulumi.yaml").data["name"])


def _sandbox(root: Path) -> str:
    from infra.local.home import Home
    from infra.sandbox import process

    found = process.running(Home.of(root).sandbox)
    if found is None:
        raise MachineError("the sandbox does not run\n  fix: accelform sandbox start; or --cloud, for the states in Google Cloud")
    return found.base
