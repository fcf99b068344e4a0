"""`accelform catalog refresh`."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.catalog import tables
from infra.catalog.ages import age
from infra.catalog.places import UnknownPlace, check_region
from infra.cli.output import aligned, print_json
from infra.errors import AccelformError, ExitCode, MachineError, Problem, SpecError

if TYPE_CHECKING:
    from infra.findings import Found
    from infra.operate.google import Connect
    from infra.operate.live import Group
    from infra.operate.refresh import Change, Difference

WHERE = "accelform catalog refresh"
SOURCES = "SOURCES.md"
KINDS = {
    "new": "new: a list has it, the table has not",
    "confirmed": "confirmed: the row was doubted, and a list has it: trust rises",
    "gone": "gone: the table has it, no list has. A project sees only what it is let see: such a row is marked, never taken away",
}


class NoAnswerError(AccelformError):
    """Nobody can be asked."""

    exit_code = ExitCode.CLOUD


def run(
    project: str | None,
    only: str | None,
    region: str | None,
    folder: Path,
    *,
    sandbox: bool,
    write: bool,
    as_json: bool,
    today: Callable[[], dt.date] = lambda: dt.datetime.now(dt.UTC).date(),
) -> int:
    from infra.operate import live, refresh

    groups = _groups(only)
    _check_region(region)
    if write and sandbox:
        said = "the sandbox answers from these tables: what it says proves nothing of Google Cloud"
        raise SpecError(WHERE, [Problem("--write", said, fix="leave --write out, or --sandbox")])
    if write:
        _check_writable([refresh.TABLES[group] for group in groups])
    project = _project(project, folder)
    connect, credentials = _sandbox(project) if sandbox else _google(project)
    with _progress(quiet=as_json) as progress:
        seen = live.look(connect, project, groups, region=region, progress=progress)
    found = refresh.compare(seen, groups, today=today(), region=region)
    written = _write(found) if write else []
    code = ExitCode.CLOUD if found.silent else ExitCode.FINDINGS if found and not write else ExitCode.OK
    if as_json:
        asked = {"project": project, "sandbox": sandbox, "credentials": [asdict(one) for one in credentials]}
        print_json({"exit_code": int(code), **asked, "written": written, **_json(found), **_prices()})
        return code
    for one in credentials:
        if one.level != "ok":
            _say(f"{one.check}: {one.message}", f"  fix: {one.fix}")
    _print(found, asked="the sandbox" if sandbox else f"Google Cloud as project {project} sees it")
    if written:
        _say("written: " + ", ".join(written), "look at it with git diff before you commit it")
    elif write:
        _say("nothing to write: every file is as it was")
    elif any(found.written(table) for table in refresh.KEYS):
        _say("not written; write it: --write")
    said = "; ".join(f"{name} as of {oldest} to {newest}" for name, (oldest, newest) in _priced().items())
    _say(f"prices are not refreshed: {said}")
    return code


def _groups(only: str | None) -> tuple[Group, ...]:
    from infra.operate.live import GROUPS

    asked = list(GROUPS) if only is None else [word.strip() for word in only.split(",")]
    found = tuple(group for group in GROUPS if group in asked)
    problems = []
    for word in dict.fromkeys(asked):
        if word == "vertex":
            fix = "see what the tables have: accelform catalog show NAME"
            problems.append(Problem("--only", "'vertex': no API lists what Vertex AI has in a region", ", ".join(GROUPS), fix))
        elif word not in GROUPS:
            problems.append(Problem("--only", f"{word!r} is no group of lists", ", ".join(GROUPS), "--only tpus,gpus"))
    if problems:
        raise SpecError(WHERE, problems)
    return found


def _check_region(region: str | None) -> None:
    try:
        if region is not None:
            check_region(region)
    except UnknownPlace as error:
        allowed = ", ".join(error.nearest) or "a region such as asia-east1"
        fix = f"--region {error.nearest[0]}" if error.nearest else "leave --region out: a region that is new is found then"
        raise SpecError(WHERE, [Problem("--region", f"{error.got!r} is not a Google Cloud region", allowed, fix)]) from None


def _check_writable(names: Sequence[tables.Table]) -> None:
    """
    Raises:
        MachineError: The tables are not those of a checkout, or cannot be written.
    """
    from infra.local import project

    files = [_file(name) for name in (*(f"{name}.csv" for name in names), SOURCES)]
    said = ", ".join(map(str, files))
    try:
        project.checkout(tables.DATA)
    except MachineError:
        raise MachineError(
            f"{WHERE}: --write would change {said}: that is an installed package, not a checkout, and the next install would undo it\n"
            "  fix: run it from a checkout of this project (pip install -e .), or leave --write out"
        ) from None
    wrong = [str(path) for path in (tables.DATA, *files) if not os.access(path, os.W_OK)]
    if wrong:
        raise MachineError(
            f"{WHERE}: --write would change {said}, and you may not write {', '.join(wrong)}\n"
            f"  fix: chmod u+w {' '.join(wrong)}, as its owner; or leave --write out"
        )


def _file(name: str) -> Path:
    return tables.DATA / name


def _project(asked: str | None, folder: Path) -> str:
    """The project that is asked: the one that is named, else the one that all stack files name."""
    from pydantic import TypeAdapter, ValidationError

    from infra.check import stack_files
    from infra.spec import ProjectId
    from infra.yaml_file import read

    if asked is None:
        try:
            configs = [read(file.path).data.get("config") for file in stack_files([], folder)]
        except SpecError as error:
            raise SpecError(
                WHERE, [Problem("--project", f"is not named, and the stack files do not tell: {error.problems[0].message}")]
            ) from None
        named = sorted({str(config["gcp:project"]) for config in configs if isinstance(config, dict) and "gcp:project" in config})
        if len(named) != 1:
            said = f"is not named, and the files of {folder} name {len(named)} projects"
            fix = f"--project {named[0]}" if named else "--project YOUR_PROJECT"
            raise SpecError(WHERE, [Problem("--project", said, ", ".join(named), fix)])
        asked = named[0]
    try:
        return str(TypeAdapter(ProjectId).validate_python(asked))
    except ValidationError as error:
        raise SpecError(WHERE, [Problem("--project", f"{asked!r} {error.errors()[0]['msg']}")]) from None


def _google(project: str) -> tuple[Connect, list[Found]]:
    from infra.operate import google

    try:
        return google.default_connect(project)
    except google.NoCredentialsError as error:
        raise NoAnswerError(
            f"{WHERE}: there are no application default credentials: {error}\n"
            f"  fix: {google.LOGIN}; or ask the sandbox of this machine: --sandbox"
        ) from None


def _sandbox(project: str) -> tuple[Connect, list[Found]]:
    """The sandbox of this checkout, with *project* in it."""
    from infra.local import project as projects
    from infra.local.home import Home
    from infra.operate.live import ToSandbox
    from infra.sandbox import process

    found = process.running(Home.of(projects.checkout(Path.cwd())).sandbox)
    if found is None:
        raise MachineError(f"{WHERE}: the sandbox does not run\n  fix: accelform sandbox start --project {project}")
    return (lambda: ToSandbox(found.base)), []


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, on standard error; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task("lists, zone by zone", total=None)
        yield lambda done, every: bar.update(task, completed=done, total=every)


def _write(found: Difference) -> list[str]:
    """Writes each table that changes, whole or not at all, and the number of its rows; answers the files."""
    from infra.catalog.table_file import counted, edited
    from infra.operate.refresh import KEYS

    texts: dict[str, str] = {}
    sources = before = _read(SOURCES)
    for table, key in KEYS.items():
        if rows := found.written(table):
            texts[f"{table}.csv"] = edited(_read(f"{table}.csv"), key, rows)
            new = sum(one.kind == "new" for one in found.changes if one.table == table)
            sources = counted(sources, table, len(tables.rows(table)) + new)
    if sources != before:
        texts[SOURCES] = sources
    for name, text in texts.items():
        _replace(_file(name), text)
    return [str(_file(name)) for name in texts]


def _read(name: str) -> str:
    with _file(name).open(encoding="utf-8", newline="") as file:
        return file.read()


def _replace(path: Path, text: str) -> None:
    from infra.local.engine import atomic

    try:
        atomic.write(path, text, mode=path.stat().st_mode & 0o777)
    except OSError as error:
        raise MachineError(f"{WHERE}: {path} was not written: {error.strerror or error}; it is as it was") from None


def _print(found: Difference, *, asked: str) -> None:
    for kind, said in KINDS.items():
        if changes := [one for one in found.changes if one.kind == kind]:
            _say(f"{said}", "", aligned(("table", "row", "trust", "lists"), map(_row, changes), fold=70), "")
    if found.names:
        names = [(one.name, _few(one.zones), one.method) for one in found.names]
        _say("new name, no facts: never written", "", aligned(("name", "zones", "list"), names, fold=60), "")
    if found.runtimes:
        runtimes = [(one.runtime, _few(one.zones)) for one in found.runtimes]
        _say("runtimes that the tables name and these zones do not list", "", aligned(("runtime", "zones"), runtimes, fold=60), "")
    for one in found.silent:
        _say(f"{one.method}: {one.found.message}{f', in {_few(one.places)}' if one.places else ''}")
        _say(f"  fix: {one.found.fix}" if one.found.fix else "")
    same = ", ".join(f"{table} {count}" for table, count in found.unchanged.items())
    unknown = ", ".join(f"{table} {count}" for table, count in found.unknown.items() if count)
    none = "" if found else "no difference in what answered; " if found.silent else "no difference; "
    _say(f"{asked}: {none}rows unchanged: {same}{f'; not known, left alone: {unknown}' if unknown else ''}")


def _row(one: Change) -> tuple[str, ...]:
    before, after = (side["trust"] if side else "" for side in (one.before, one.after))
    trust = " to ".join(filter(None, (before, after))) if one.after else f"{before}: the table has no room to mark it"
    return one.table, " ".join(one.key), trust, ", ".join(one.lists)


def _few(words: Sequence[str]) -> str:
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines if line) if len(lines) == 1 else "\n".join(lines) + "\n")


def _priced() -> dict[str, tuple[str, str]]:
    both: tuple[tables.Table, ...] = ("prices", "machine_prices")
    return {name: (age(name).oldest, age(name).newest) for name in both}


def _prices() -> dict[str, Any]:
    told = {name: {"refreshed": False, "oldest": oldest, "newest": newest} for name, (oldest, newest) in _priced().items()}
    return {"prices": told}


def _json(found: Difference) -> dict[str, Any]:
    def row(side: Mapping[str, str] | None) -> dict[str, str] | None:
        return None if side is None else dict(side)

    return {
        "difference": bool(found),
        "changes": [
            {
                "kind": one.kind,
                "table": one.table,
                "key": list(one.key),
                "lists": list(one.lists),
                "before": row(one.before),
                "after": row(one.after),
            }
            for one in found.changes
        ],
        "new_names": [{"name": one.name, "list": one.method, "zones": list(one.zones)} for one in found.names],
        "missing_runtimes": [{"runtime": one.runtime, "zones": list(one.zones)} for one in found.runtimes],
        "no_answer": [
            {"list": one.method, "places": list(one.places), "level": one.found.level, "message": one.found.message, "fix": one.found.fix}
            for one in found.silent
        ],
        "unchanged": dict(found.unchanged),
        "unknown": dict(found.unknown),
    }
