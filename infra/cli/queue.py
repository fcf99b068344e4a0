"""`accelform queue`."""

from __future__ import annotations

from pathlib import Path

from infra.cli.output import console, plain_table, print_json
from infra.cli.reached import reached, stack_sandbox, stack_spec
from infra.errors import ExitCode


def run(stack: str, folder: Path, *, remove_dead: bool, cloud: bool, as_json: bool) -> int:
    from infra.operate import requests

    spec = stack_spec(stack, folder)
    removed = []
    with reached(spec.project, stack_sandbox(stack, cloud=cloud)) as (google, time):
        found = requests.listed(google, spec.project, time.now())
        for one in found if remove_dead else []:
            if one.dead:
                requests.remove(google, one)
                removed.append(one)
                if not as_json:
                    console().print(f"removed: {one.name} ({one.dead})", markup=False)
    left = [one for one in found if one not in removed]
    dead = [one for one in left if one.dead]
    if as_json:
        print_json({"project": spec.project, "removed": [one.name for one in removed], "requests": [one.shown() for one in left]})
        return ExitCode.FINDINGS if dead else ExitCode.OK
    out = console()
    if not left:
        out.print(f"project {spec.project}: no request is in the queue of the Cloud TPU API")
        return ExitCode.OK
    table = plain_table("request", "zone", "state", "age", "chips", "", right=("chips",))
    for one in left:
        table.add_row(one.id, one.zone, one.state, one.age, "unknown" if one.chips is None else str(one.chips), one.dead)
    out.print(table)
    if dead:
        out.print("dead ones count against the quota until they are deleted: add --remove-dead", markup=False)
    return ExitCode.FINDINGS if dead else ExitCode.OK
