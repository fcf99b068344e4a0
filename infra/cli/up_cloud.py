"""`accelform up --cloud`: stacks of Google Cloud, by the user's own Pulumi CLI. The preview is never left out, and somebody says yes."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli import preview
from infra.cli.output import console, print_json
from infra.cli.progress import Progress
from infra.errors import ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.cli.preview import Previewed
    from infra.local.engine.events import Outcome
    from infra.local.reach import Reach

STOPPED = (
    "^C lets what is under way end, and notes it. A kill leaves a lock, and creates that nobody noted: `pulumi cancel --stack {stack}`,\n"
    "then `pulumi refresh --stack {stack}`, which asks about each of them. (`accelform recover` mends the same in the sandbox.)"
)


def run(
    names: Sequence[str], folder: Path, *, release: Sequence[str], allow_replace: Mapping[str, Sequence[str]], yes: bool, as_json: bool
) -> int:
    """
    Args:
        allow_replace: Node pools that may be made anew, by stack.
    """
    from infra.cli.up import meant
    from infra.local import reach

    _consistent(release, yes=yes, as_json=as_json)
    root, every = meant(names, folder)
    progress = Progress(quiet=as_json)
    there = reach.theirs(root, [one.stack for one in every], "up")
    done: list[dict[str, Any]] = []
    for file in every:
        seen = preview.look(there, file, progress)
        if not as_json:
            preview.show(console(), file, seen, full=False)
        _passes(seen, allow_replace.get(file.stack, ()))
        told: dict[str, Any] = {"stack": file.stack, "changes": dict(seen.outcome.changes) if seen.outcome else {}, "seconds": 0.0}
        if seen.changed:
            if not yes and not _asked(f"Make these changes to {file.stack}, in Google Cloud project {seen.checked.spec.project}?"):
                console().print(f"{file.stack}: nothing was made", markup=False)
                break
            started = time.monotonic()
            told["changes"] = _made(there, seen, progress).changes
            told["seconds"] = round(time.monotonic() - started, 2)
            if not as_json:
                count = ", ".join(f"{number} {op}" for op, number in told["changes"].items())
                console().print(f"{file.stack}: {count}, in {told['seconds']:.0f} s", markup=False)
        done.append(told)
    if as_json:
        print_json({"exit_code": 0, "cloud": True, "engine": {"version": there.engine.version}, "stacks": done})
    return ExitCode.OK


def _consistent(release: Sequence[str], *, yes: bool, as_json: bool) -> None:
    """
    Raises:
        SpecError: Nobody could be asked, or an option means the sandbox only.
    """
    problems = []
    if release:
        fix = "leave --cloud out; in Google Cloud a hold ends with the rollout that made it: accelform rollout --cloud, or rollback --cloud"
        problems.append(Problem("--release", "ends holds of the sandbox", fix=fix))
    if not yes and as_json:
        problems.append(
            Problem("--yes", "is missing: with --json nobody is asked", fix="look at accelform preview --cloud, then add --yes")
        )
    elif not yes and not sys.stdin.isatty():
        fix = "look at accelform preview --cloud, then add --yes"
        problems.append(Problem("--yes", "is missing, and there is no terminal at which somebody could say yes", fix=fix))
    if problems:
        raise SpecError("accelform up --cloud", problems)


def _passes(seen: Previewed, allowed: Sequence[str]) -> None:
    """
    Raises:
        PolicyError: A rule does not hold.
        UpdateError: The preview failed.
        ReplaceError: A node pool with accelerators would be made anew, and nobody named it.
    """
    from infra.local import up

    rules = [f"{one.resource}: {one.path}: {one.message}" for one in seen.checked.findings] or list(
        seen.outcome.violations if seen.outcome else ()
    )
    if rules:
        raise up.PolicyError(f"stack {seen.stack}: a rule does not hold, and nothing was made\n  " + "\n  ".join(rules))
    if seen.errors:
        raise up.UpdateError(f"stack {seen.stack}: the preview failed, and nothing was made\n  " + "\n  ".join(seen.errors))
    if seen.outcome:
        region = seen.checked.region
        up.check_replaced(seen.stack, seen.outcome.replaced, {*allowed, *(region.allow_replace if region else ())})


def _asked(question: str) -> bool:
    """Whether somebody at the terminal says yes. Nothing typed is no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _made(there: Reach, seen: Previewed, progress: Progress) -> Outcome:
    """
    Raises:
        UpdateError: The engine or the cloud refused.
        StoppedError: A signal asked for an end.
    """
    from infra.local import up

    stack = seen.stack
    progress.say(STOPPED.format(stack=stack))
    make = ["up", "--yes", "--skip-preview", "--policy-pack", up.PACK]
    with progress.steps(f"{stack}: up", lines=True, ahead=seen.steps, cloud=True) as step:
        outcome = there.run(make, stack, step=step)
    if outcome.code:
        lines = "".join(f"\n  {line}" for line in outcome.text().splitlines())
        raise up.UpdateError(
            f"stack {stack}: the update stopped; what was made stays, and the next `accelform up --cloud {stack}` goes on from there{lines}"
        )
    return outcome
