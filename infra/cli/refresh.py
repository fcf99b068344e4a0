"""`accelform refresh`: the state takes note of what stands, and is never emptied by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, print_json
from infra.cli.progress import Progress
from infra.cli.reached import CloudError, reached
from infra.errors import ExitCode

if TYPE_CHECKING:
    from infra.local.refreshed import Looked


def run(names: Sequence[str], folder: Path, *, allow_gone: bool, cloud: bool, as_json: bool) -> int:
    """Looks at each stack anew."""
    found = _in_google(names, folder, allow_gone=allow_gone) if cloud else _here(names, allow_gone=allow_gone, as_json=as_json)
    if as_json:
        stacks = [{"stack": stack, "gone": sorted(one.gone), "changed": sorted(one.changed)} for stack, one in found.items()]
        print_json({"exit_code": 0, "cloud": cloud, "stacks": stacks})
        return ExitCode.OK
    if not found:
        console().print("nothing is up: nothing to look at")
    for stack, one in found.items():
        console().print(f"{stack}: {_said(one)}", markup=False)
    return ExitCode.OK


def _said(found: Looked) -> str:
    from infra.local.engine.events import name

    lines = [f"gone: {name(urn)}" for urn in sorted(found.gone)] + [f"changed by others: {name(urn)}" for urn in sorted(found.changed)]
    if not found.every:
        return "looked at anew; whatever was not found is out of its state"
    return "; ".join(lines) or f"{len(found.asked)} resources, as its state has them"


def _here(names: Sequence[str], *, allow_gone: bool, as_json: bool) -> Mapping[str, Looked]:
    """In the sandbox."""
    from infra.cli.up import those_up
    from infra.local import project, refreshed, up
    from infra.local.home import Home

    root = project.checkout(Path.cwd())
    home = Home.of(root)
    with home.alone("refresh"):
        stacks = those_up(names, home, "accelform refresh")
        if not stacks:
            return {}
        place = up.prepare_down(root, stacks, Progress(quiet=as_json))
        settings: dict[str, Any] = {"engine": place.engine, "env": home.env(place.engine), "folder": home.project}
        return {stack: refreshed.refresh(stack, **settings, allow_gone=allow_gone) for stack in stacks}


def _in_google(names: Sequence[str], folder: Path, *, allow_gone: bool) -> Mapping[str, Looked]:
    """
    In Google Cloud, by the user's own CLI.

    Raises:
        OwnerError: A stack was made in another project than the one that its file names now.
        CloudError: This account does not see the project.
    """
    from infra import stack_kinds
    from infra.cli.up import meant
    from infra.clouds import check_owner, recorded
    from infra.local import reach, refreshed

    root, files = meant(names, folder)
    there = reach.theirs(root, [one.stack for one in files], "refresh")
    for file in files:
        spec = stack_kinds.load(file.path)
        check_owner(file.stack, recorded(there.standing[file.stack] or {}), number(spec.project))
    settings: dict[str, Any] = {"engine": there.engine, "env": there.env, "folder": there.folder}
    return {file.stack: refreshed.refresh(file.stack, **settings, allow_gone=allow_gone) for file in files}


def number(project: str) -> str:
    """
    Number of a project, as this account sees it.

    Raises:
        CloudError: It does not.
    """
    with reached(project, "") as (google, _):
        found = google.call("cloudresourcemanager.v3", "projects.get", name=f"projects/{project}")
    if not (number := str(found.get("name", "")).removeprefix("projects/")).isdigit():
        raise CloudError(f"{project}: Resource Manager does not say the project's number\n  fix: gcloud projects describe {project}")
    return number
