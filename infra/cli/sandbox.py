"""`accelform sandbox start|stop|status`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infra.cli.output import console, plain_table, print_json
from infra.errors import ExitCode


def _folder() -> Path:
    from infra.local.home import Home

    return Home.of(Path.cwd()).sandbox


def start(projects: Sequence[str], port: int | None, *, manual_clock: bool, as_json: bool) -> int:
    from infra.local.home import Home
    from infra.sandbox import process
    from infra.sandbox.endpoints import environment

    Home.of(Path.cwd()).prepare()
    found = process.start(_folder(), projects, port=port, manual_clock=manual_clock)
    if as_json:
        print_json({"base": found.base, "pid": found.pid, "folder": str(found.folder), "environment": environment(found.base)})
    else:
        console().print(f"the sandbox answers at {found.base} (process {found.pid}, kept in {found.folder})", markup=False, soft_wrap=True)
    return ExitCode.OK


def stop(*, as_json: bool) -> int:
    from infra.sandbox import process

    stopped = process.stop(_folder())
    if as_json:
        print_json({"stopped": stopped})
    else:
        console().print("stopped; what stands in it is kept" if stopped else "it does not run")
    return ExitCode.OK


def status(*, as_json: bool) -> int:
    from infra.sandbox import process

    found = process.running(_folder())
    said = process.ask(found, "GET", "status") if found else {}
    if as_json:
        print_json({"running": found is not None} | ({"base": found.base, "pid": found.pid} if found else {}) | said)
        return ExitCode.OK
    out = console()
    if found is None:
        out.print("the sandbox does not run; start it: accelform sandbox start")
        return ExitCode.OK
    out.print(f"the sandbox answers at {found.base} (process {found.pid}); its clock shows {said['time']}", markup=False, soft_wrap=True)
    out.print(f"projects: {', '.join(said['projects']) or 'none'}", markup=False)
    table = plain_table("service", "resources", right=("resources",))
    for service in said["services"]:
        table.add_row(service, str(said["resources"].get(service, 0)))
    out.print(table)
    return ExitCode.OK
