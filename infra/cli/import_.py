"""`accelform import`: what stands already becomes a stack's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from infra.cli.output import console, plain_table, print_json
from infra.cli.progress import Progress
from infra.errors import ExitCode, MachineError, Problem, SpecError

if TYPE_CHECKING:
    from infra.clouds import Cloud
    from infra.local.adopt.informed import Seen
    from infra.stack_file import FileSpec

ADOPTED = "adopted"
CREATE = "stays a create"
READ = "read only"
LEFT = "left over"
NOT_TAKEN = "not taken"
ELSEWHERE = "stands in "
UNLISTED = "cannot be listed"
OFF = "it is disabled"
"""Google's words for an API that is off: nothing of it can stand."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options say; None was not said."""

    stack: str | None = None
    project: str | None = None
    region: str | None = None
    environment: str | None = None
    owner: str | None = None
    notify: list[str] | None = None
    monthly_limit: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One thing, and what became of it."""

    how: str
    type: str
    name: str
    id: str = ""
    why: str = ""


def run(asked: Asked, folder: Path, *, cloud: bool, force: bool, as_json: bool) -> int:
    """Finds what the stack's file declares, where there is one; else writes a file of what stands in the project."""
    from infra.stack_file import check_stack_name

    stack = asked.stack or asked.region
    if not stack:
        raise SpecError("accelform import", [Problem("--stack", "is missing", "the name of a stack, or a --region to name it after")])
    check_stack_name(stack)
    path = folder / f"Pulumi.{stack}.yaml"
    progress = Progress(quiet=as_json)
    if path.exists() and not force:
        return _of_file(asked, stack, path, progress, cloud=cloud, as_json=as_json)
    from infra.cli import import_estate

    return import_estate.run(asked, stack, path, progress, cloud=cloud, as_json=as_json)


def sandbox(project: str, *, cloud: bool) -> str:
    """Address of this checkout's sandbox; empty for Google Cloud."""
    if cloud:
        return ""
    from infra.local import project as checkouts
    from infra.local.home import Home
    from infra.sandbox import process

    home = Home.of(checkouts.checkout(Path.cwd()))
    if not home.sandbox.exists():
        raise MachineError(
            "there is no sandbox on this machine, so nothing stands in it\n  fix: accelform up; or --cloud, for Google Cloud itself"
        )
    return process.start(home.sandbox, [project]).base


def cloud_at(base: str) -> Cloud:
    """The cloud that a program is run for."""
    from infra.clouds import CONFIG_KEY, GOOGLE_CLOUD, SANDBOX, cloud_of
    from infra.sandbox.endpoints import provider_config

    if not base:
        return GOOGLE_CLOUD
    return cloud_of({CONFIG_KEY: SANDBOX, **{f"gcp:{key}": value for key, value in provider_config(base).items()}}, {})[0]


def look(spec: FileSpec, stack: str, base: str, progress: Progress) -> list[Seen]:
    """What a stack's file declares, and what of it stands."""
    from infra.local.adopt import informed
    from infra.local.adopt.lookup import Lookup
    from infra.provider.server import ProviderError
    from infra.stack_kinds import declare

    cloud = cloud_at(base)
    try:
        lookup = Lookup(spec.project, spec.region, base)
    except ProviderError as error:
        raise MachineError(str(error)) from None
    count = 0
    try:
        with progress.status(f"{stack}: looking") as status:

            def done() -> None:
                nonlocal count
                count += 1
                status(f"{stack}: looked for {count}")

            return informed.look(lambda: declare(spec, stack, cloud), stack, lookup, done)
    except ProviderError as error:
        from infra.cli.reached import CloudError

        raise CloudError(str(error)) from None
    finally:
        lookup.close()


def _of_file(asked: Asked, stack: str, path: Path, progress: Progress, *, cloud: bool, as_json: bool) -> int:
    """The file is there, and the state is not: what the file declares is looked for by its names."""
    from infra import stack_kinds

    spec = stack_kinds.load(path)
    wrong = [
        Problem(f"--{key}", f"{said} is not that of {path}: {getattr(spec, key)}", fix="leave it out; or --force writes another file")
        for key in ("project", "region", "environment", "owner")
        if (said := getattr(asked, key)) is not None and said != getattr(spec, key)
    ]
    if wrong:
        raise SpecError("accelform import", wrong)
    if spec.kind == "apps":
        fix = f"accelform up {stack} makes anew what is gone, and stops at what is there"
        raise SpecError(str(path), [Problem("kind", "what lives in a cluster is not imported in this version", fix=fix)])
    base = sandbox(spec.project, cloud=cloud)
    seen = look(spec, stack, base, progress)
    rows = [*rows_of(seen), *_left_over(spec, stack, base, seen)]
    written = write(path.parent, stack, seen)
    return told(rows, stack, written, cloud=cloud, as_json=as_json)


def rows_of(seen: Iterable[Seen]) -> list[Row]:
    """A row for each resource that is looked for."""
    from infra.local.adopt.import_file import taken

    found = list(seen)
    kept = {one.urn for one in taken(found)}
    rows = []
    for one in found:
        if not one.custom or one.is_provider:
            continue
        if one.urn in kept:
            rows.append(Row(ADOPTED, one.type, one.name, one.answer.id))
        else:
            rows.append(Row(CREATE, one.type, one.name, "", one.answer.why or "does not stand"))
    return rows


def _left_over(spec: FileSpec, stack: str, base: str, seen: Sequence[Seen]) -> list[Row]:
    """What carries the stack's label, and is declared by nothing."""
    from infra.operate import estate

    ids = {str(id).lower() for one in seen for id in (one.answer.id, one.answer.outputs.get("id", ""))}
    found = estate.look(spec.project, spec.region, base)
    rows = [Row(NOT_TAKEN, one.kind, "all", "", f"{UNLISTED}: {one.why}") for one in found.refused]
    for thing in found.things:
        if thing.stack == stack and not thing.maker and not thing.is_going and not ids & {name.lower() for name in thing.ids}:
            rows.append(Row(LEFT, thing.kind, thing.short, thing.name, "carries the stack's label, and the file does not declare it"))
    return rows


def write(folder: Path, stack: str, seen: Sequence[Seen]) -> list[Path]:
    """Writes the import files, whole or not at all; a file of an earlier look that is not needed goes."""
    from infra.local.adopt import import_file
    from infra.local.adopt.taking import files
    from infra.local.engine import atomic

    first, main = files(folder, stack)
    written = []
    try:
        main.unlink(missing_ok=True)  # first of all: without it the other one is nothing
        first.unlink(missing_ok=True)
        if before := import_file.before(seen):
            atomic.write(first, json.dumps(before, indent=2) + "\n")
            written.append(first)
        if (content := import_file.content(seen))["resources"]:
            atomic.write(main, json.dumps(content, indent=2) + "\n")
            written.append(main)
    except OSError as error:
        raise SpecError(str(main), [Problem("", f"cannot be written: {error.strerror or error}")]) from None
    return written


def told(rows: Sequence[Row], stack: str, written: Sequence[Path], *, cloud: bool, as_json: bool) -> int:
    """Prints what was found and what comes next."""
    refused = [row for row in rows if row.how == CREATE and "Google answers" in row.why]
    unlisted = [row for row in rows if row.how == NOT_TAKEN and UNLISTED in row.why and OFF not in row.why]
    code = ExitCode.CLOUD if refused or unlisted else ExitCode.OK
    commands = _next(stack, written, cloud=cloud)
    if as_json:
        print_json(
            {
                "exit_code": int(code),
                "stack": stack,
                "things": [asdict(row) for row in rows],
                "written": [str(path) for path in written],
                "next": commands,
            }
        )
        return code
    out = console()
    from rich.text import Text

    table = plain_table("how", "type", "name", "id, or why not")
    elsewhere = Counter(row.type for row in rows if row.why.startswith(ELSEWHERE))
    for row in (row for row in rows if not row.why.startswith(ELSEWHERE)):
        table.add_row(*(Text(part) for part in (row.how, row.type, row.name, row.why or row.id)))
    for kind, count in elsewhere.items():
        table.add_row(NOT_TAKEN, Text(kind), str(count), "in other regions, or in several: --json names them")
    out.print(table)
    counts = {how: sum(row.how == how for row in rows) for how in dict.fromkeys(row.how for row in rows)}
    out.print(Text(f"\n{stack}: {', '.join(f'{count} {how}' for how, count in counts.items()) or 'nothing stands'}"))
    for path in written:
        out.print(Text(f"wrote {path}"), soft_wrap=True)
    if refused:
        out.print(Text(f"{len(refused)} could not be looked at: an update would try to make them. Mend that, and look again", "red"))
    if unlisted:
        out.print(Text(f"{len(unlisted)} lists were refused: what they would have shown is not known", "red"))
    for command in commands:
        out.print(Text(f"next: {command}"), soft_wrap=True)
    return code


def _next(stack: str, written: Sequence[Path], *, cloud: bool) -> list[str]:
    from infra.local.adopt.import_file import COMMAND

    if not cloud:
        return [f"accelform up {stack}"]
    imports = [path for path in written if path.suffix == ".json"]
    files = [f"pulumi import --stack {stack} --file {path} {' '.join(COMMAND)}" for path in imports]
    return [*files, f"pulumi preview --stack {stack} --diff"]
