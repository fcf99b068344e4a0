"""`accelform sandbox start|stop|status|clusters`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infra.cli.output import console, plain_table, print_json
from infra.errors import ExitCode

if TYPE_CHECKING:
    from infra.local.home import Home


STOPPED = "the sandbox does not run; start it: accelform sandbox start"


def _home() -> Home:
    from infra.local import project
    from infra.local.home import Home

    return Home.of(project.checkout(Path.cwd()))


def start(projects: Sequence[str], port: int | None, *, manual_clock: bool, as_json: bool) -> int:
    from infra.sandbox import process
    from infra.sandbox.endpoints import environment

    _check_projects(projects)
    home = _home()
    home.prepare()
    found = process.start(home.sandbox, projects, port=port, manual_clock=manual_clock)
    if as_json:
        print_json({"base": found.base, "pid": found.pid, "folder": str(found.folder), "environment": environment(found.base)})
    else:
        console().print(f"the sandbox answers at {found.base} (process {found.pid}, kept in {found.folder})", markup=False, soft_wrap=True)
    return ExitCode.OK


def _check_projects(projects: Sequence[str]) -> None:
    from pydantic import TypeAdapter, ValidationError

    from infra.errors import Problem, SpecError
    from infra.spec import ProjectId

    problems = []
    for project in projects:
        try:
            TypeAdapter(ProjectId).validate_python(project)
        except ValidationError as error:
            problems.append(Problem("--project", f"{project!r} {error.errors()[0]['msg']}"))
    if problems:
        raise SpecError("accelform sandbox start", problems)


def stop(*, as_json: bool) -> int:
    from infra.sandbox import process

    home = _home()
    with home.alone("sandbox stop"):
        stopped = process.stop(home.sandbox)
    if as_json:
        print_json({"stopped": stopped})
    else:
        console().print("stopped; what stands in it is kept" if stopped else "it does not run")
    return ExitCode.OK


def status(*, as_json: bool) -> int:
    from infra.sandbox import process

    found = process.running(_home().sandbox)
    said = process.ask(found, "GET", "status") if found else {}
    if as_json:
        print_json({"running": found is not None} | ({"base": found.base, "pid": found.pid} if found else {}) | said)
        return ExitCode.OK
    out = console()
    if found is None:
        out.print(STOPPED)
        return ExitCode.OK
    out.print(f"the sandbox answers at {found.base} (process {found.pid}); its clock shows {said['time']}", markup=False, soft_wrap=True)
    out.print(f"projects: {', '.join(said['projects']) or 'none'}", markup=False)
    table = plain_table("service", "resources", right=("resources",))
    for service in said["services"]:
        table.add_row(service, str(said["resources"].get(service, 0)))
    out.print(table)
    return ExitCode.OK


def clusters(*, as_json: bool) -> int:
    from rich.text import Text

    from infra.sandbox import process

    found = process.running(_home().sandbox)
    said = process.ask(found, "GET", "clusters")["clusters"] if found else []
    if found:
        said = [one | {"api": f"{found.base}/{one['api']}"} for one in said]
    if as_json:
        print_json({"running": found is not None, "clusters": said})
        return ExitCode.OK
    out = console()
    if found is None or not said:
        out.print("no cluster stands in the sandbox; what does: accelform sandbox status" if found else STOPPED)
        return ExitCode.OK
    for one in said:
        out.print(f"{one['name']}: {one['nodes']} node{'s' * (one['nodes'] != 1)}", markup=False, soft_wrap=True)
        out.print(f"  API: {one['api']}", markup=False, soft_wrap=True)
        table = plain_table("namespace", "pod or job in a queue", "is", "on, or why it waits")
        for pod in one["pods"]:
            table.add_row(*map(Text, (pod["namespace"], pod["name"], pod["phase"], pod["node"] or pod["waits"])))
        for job in one["queued"]:
            table.add_row(*map(Text, (job["namespace"], job["name"], "Queued", job["waits"])))
        out.print(table)
        out.print()
    return ExitCode.OK
