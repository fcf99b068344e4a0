"""`accelform down --cloud`: one stack of Google Cloud goes, once somebody has typed its name."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, plain_table, print_json
from infra.cli.progress import Progress
from infra.cli.up_cloud import STOPPED
from infra.errors import AccelformError, ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.declared import Declared

WHERE = "accelform down --cloud"
PROD = "prod"
RUNNER = "gcp:cloudrunv2/job:Job"


class ProtectedError(AccelformError):
    """Data would go that the stack protects: nothing was destroyed."""

    exit_code = ExitCode.FINDINGS


def run(names: Sequence[str], folder: Path, *, confirm: str | None, yes: bool, keep_protected: bool, as_json: bool) -> int:
    from infra.gitops.changes import kind_of
    from infra.gitops.plan import is_component
    from infra.local import project, reach, up
    from infra.local.stored import stored

    stack = _one(names)
    root = project.checkout(Path.cwd())
    there = reach.theirs(root, [stack], "down")
    state = there.standing[stack]
    goes = [one for one in stored(state) if not one.existing and not is_component(one.type)]
    if not goes:
        _said(as_json, {"exit_code": 0, "stack": stack, "changes": {}, "left": []}, f"{stack}: nothing of it stands")
        return ExitCode.OK
    kept = [one for one in goes if one.protect]
    environment = environment_of(stack, root / folder, goes)
    _consistent(stack, environment, confirm, yes=yes, as_json=as_json)
    if not as_json:
        _show(stack, environment, goes, keep_protected=keep_protected)
    if kept and not keep_protected:
        raise ProtectedError(_refusal(stack, environment, kept))
    if not as_json and not yes and confirm is None and not _sure(stack, environment):
        console().print(f"{stack}: nothing was destroyed", markup=False)
        return ExitCode.OK
    progress = Progress(quiet=as_json)
    progress.say(STOPPED.format(stack=stack))
    arguments = ["destroy", "--yes", "--skip-preview", *(["--exclude-protected"] if kept else [])]
    with progress.steps(f"{stack}: down", lines=True, cloud=True) as step:
        outcome = there.run(arguments, stack, step=step)
    if outcome.code:
        lines = "".join(f"\n  {line}" for line in outcome.text().splitlines())
        raise up.UpdateError(f"stack {stack}: the destroy stopped; the next `{WHERE} {stack}` goes on from there{lines}")
    left = [f"{kind_of(one.type)} {one.name}" for one in kept]
    stays = f"; what is protected stands: {', '.join(left)}" if left else f"; the empty stack is in your backend: pulumi stack rm {stack}"
    data = {"exit_code": 0, "stack": stack, "changes": dict(outcome.changes), "left": left}
    _said(as_json, data, f"{stack}: {outcome.changes.get('delete', 0)} deleted{stays}")
    return ExitCode.OK


def _one(names: Sequence[str]) -> str:
    """
    Raises:
        SpecError: None is named, or several: what is destroyed for good is named one by one.
    """
    if len(set(names)) == 1:
        return names[0]
    raise SpecError(WHERE, [Problem("STACK", f"{len(set(names))} stacks are named", "one, by its name", f"{WHERE} STACK")])


def environment_of(stack: str, folder: Path, stands: Sequence[Declared]) -> str:
    """
    The gravest that anything says: the labels of what stands, and the stack file, which may have gone or been edited since. What nobody
    says is `prod`.
    """
    from infra import stack_kinds

    said = {str(value) for one in stands for key in ("labels", "userLabels", "resourceLabels") if (value := one.get(f"{key}.environment"))}
    with suppress(AccelformError, OSError):  # a destroy needs no stack file, right or wrong
        said.add(stack_kinds.load(folder / f"Pulumi.{stack}.yaml").environment)
    return next((one for one in (PROD, "staging", "dev") if one in said), PROD)


def _consistent(stack: str, environment: str, confirm: str | None, *, yes: bool, as_json: bool) -> None:
    """
    Raises:
        SpecError: The name that confirms is another, or nobody could be asked.
    """
    asks = not as_json and sys.stdin.isatty()
    if confirm is not None and confirm != stack:
        raise SpecError(WHERE, [Problem("--confirm", f"{confirm!r} is not the stack's name", stack)])
    if environment == PROD and confirm is None and (yes or not asks):
        what = "is not enough for prod" if yes else "is missing, and there is no terminal at which the stack's name could be typed"
        raise SpecError(WHERE, [Problem("--yes" if yes else "--confirm", what, fix=f"{WHERE} {stack} --confirm {stack}")])
    if environment != PROD and confirm is None and not yes and not asks:
        raise SpecError(WHERE, [Problem("--yes", "is missing, and there is no terminal at which somebody could say yes", fix="add --yes")])


def _sure(stack: str, environment: str) -> bool:
    """Whether somebody at the terminal means it: for prod, by typing the name."""
    prod = environment == PROD
    sys.stderr.write("This cannot be undone. Type the stack's name to destroy it: " if prod else f"Destroy {stack}? [y/N] ")
    sys.stderr.flush()
    typed = sys.stdin.readline().strip()
    return typed == stack if prod else typed.lower() in ("y", "yes")


def _show(stack: str, environment: str, goes: Sequence[Declared], *, keep_protected: bool) -> None:
    """What goes, what is lost with it, and what is protected."""
    from rich.text import Text

    from infra.gitops.changes import ORDER, kind_of
    from infra.gitops.lost import lost

    out = console()
    kept = [one for one in goes if one.protect]
    out.print(Text.assemble((stack, "bold"), f": {environment}, {len(goes)} resources stand, {len(kept)} of them protected"))
    out.print()
    found = [(one, what) for one in goes if not one.protect and (what := lost(one.type))]
    if found:
        table = plain_table("lost", "")
        for one, (kind, words) in sorted(found, key=lambda item: ORDER.index(item[1][0])):
            table.add_row(Text(f"{kind_of(one.type)} {one.name}", "bold red"), Text(f"{kind}: {words}", "bold red"))
        out.print(table)
    rest = Counter(kind_of(one.type) for one in goes if not one.protect and not lost(one.type))
    if rest:
        out.print(Text(f"goes too: {', '.join(f'{count} {kind}' for kind, count in sorted(rest.items()))}"))
    for one in kept if keep_protected else ():
        out.print(Text(f"stays, since it is protected: {kind_of(one.type)} {one.name}"))
    if any(one.type == RUNNER for one in goes):
        out.print(
            Text(f"machines of a run are not the stack's: end runs first, by accelform jobs list --stack {stack} --cloud"), soft_wrap=True
        )
    out.print()


def _refusal(stack: str, environment: str, kept: Sequence[Declared]) -> str:
    """
    The engine would delete all else first, and fail then (CLI 3.274, `destroy` without a preview): so it is not begun.
    """
    from infra.gitops.changes import kind_of

    lines = [f"\n  {kind_of(one.type)} {one.name}\n    pulumi state unprotect '{one.urn}' --stack {stack}" for one in kept]
    return (
        f"stack {stack}: {len(kept)} of its resources are protected, with the data in them, and nothing was destroyed"
        + "".join(lines)
        + f"\n  fix: --keep-protected, which destroys all else; or, to lose the data too, unprotect each of them by its line above, or set"
        f"\n  accelform:environment: dev (now {environment}) and `accelform up --cloud {stack}`, then destroy; a bucket must be empty, too"
    )


def _said(as_json: bool, data: Mapping[str, Any], text: str) -> None:
    if as_json:
        print_json(dict(data))
    else:
        console().print(text, markup=False, soft_wrap=True)
