"""`accelform up`, `down`, `env` and `recover`: stacks on this machine, against the sandbox."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, plain_table, print_json
from infra.cli.progress import Progress
from infra.errors import ExitCode

if TYPE_CHECKING:
    from infra.check import StackFile
    from infra.local.home import Home
    from infra.local.up import Place, Result
    from infra.stack import StackSpec


def run(
    names: Sequence[str],
    folder: Path,
    *,
    release: Sequence[str] = (),
    allow_replace: Sequence[str] = (),
    cloud: bool = False,
    yes: bool = False,
    as_json: bool,
) -> int:
    """
    `accelform up`. With *release*, holds are ended first, and what they kept is looked at anew. Node pools of *allow_replace* may be made
    anew, besides those that the stack files name.
    """
    if cloud:
        from infra.cli import up_cloud

        _, stacks = meant(names, folder)
        allowed = _allowed(stacks, allow_replace)
        return up_cloud.run(names, folder, release=release, allow_replace=allowed, yes=yes, as_json=as_json)
    _only_cloud("up", {"--yes": yes})
    from infra.local import up
    from infra.local.adopt import taking
    from infra.local.home import Home

    started = time.monotonic()
    progress = Progress(quiet=as_json)
    root, stacks = meant(names, folder)
    with Home.of(root).alone("up"):
        allowed = _allowed(stacks, allow_replace)
        _check_whole(stacks)
        place = up.prepare(root, stacks, progress, allowed)
        for line in _released(stacks, release, place.sandbox.base):
            progress.say(line)
        begun = up.clock(place)
        results = []
        for file in stacks:
            replaces = allowed.get(file.stack, ())
            if (count := taking.take(place.home, place.engine, file.path.parent, file.stack)) is not None:
                progress.say(f"{file.stack}: took what stands into the state, {count} resources, and removed the import file")
            results.append(up.up(place, file.stack, progress, refresh=bool(release), allow_replace=replaces))
        virtual = up.clock(place) - begun
    seconds = time.monotonic() - started
    if as_json:
        print_json(_json(place, results, seconds) | {"sandbox_seconds": round(virtual, 2)})
        return ExitCode.OK
    from infra.cli.under_way import lasted

    _print(results)
    out = console()
    out.out(
        f"\nup in {seconds:.0f} s, {lasted(virtual)} of the sandbox's own clock, in a local Google Cloud: nothing was asked of the\n"
        "real one, and nothing costs\n"
        "  what stands:   accelform sandbox status\n"
        '  plain pulumi:  eval "$(accelform env)"\n'
        "  away with it:  accelform down"
    )
    return ExitCode.OK


def _allowed(stacks: Sequence[StackFile], named: Sequence[str]) -> dict[str, list[str]]:
    """Node pools that may be made anew, by stack: those that its file names, and those of *named* that it has."""
    from infra.errors import Problem, SpecError

    specs = _regions(stacks)
    known = sorted({name for spec in specs.values() for name in spec.node_pools})
    if wrong := [name for name in named if name not in known]:
        allowed = ", ".join(known) or "none has one"
        raise SpecError("up", [Problem("--allow-replace", f"{name!r} is no node pool of these stacks", allowed) for name in wrong])
    return {
        stack: list(dict.fromkeys([*spec.allow_replace, *(name for name in named if name in spec.node_pools)]))
        for stack, spec in specs.items()
    }


def _check_whole(stacks: Sequence[StackFile]) -> None:
    """
    What the engine cannot see before all is made, such as a month beside its budget.

    Raises:
        PolicyError: A rule of a whole stack does not hold.
    """
    from infra.check import check
    from infra.local.up import PolicyError
    from infra.policy.stack_rules import STACK_RULES

    names = {rule.name for rule in STACK_RULES}
    for file in stacks:
        found = [one for one in check(file).findings if one.rule in names]
        if found:
            lines = [f"{one.resource}: {one.rule}: {one.path}: {one.message}\n    fix: {one.fix}" for one in found]
            raise PolicyError(f"stack {file.stack}: a rule does not hold, and nothing was made\n  " + "\n  ".join(lines))


def _regions(stacks: Sequence[StackFile]) -> dict[str, StackSpec]:
    """Those of the stacks that hold a region."""
    from infra import stack_kinds
    from infra.stack import StackSpec

    specs = {stack.stack: stack_kinds.load(stack.path) for stack in stacks}
    return {stack: spec for stack, spec in specs.items() if isinstance(spec, StackSpec)}


def _released(stacks: Sequence[StackFile], release: Sequence[str], sandbox: str) -> list[str]:
    """Ends the holds on endpoints of those names, in every stack that has one; `all`: every hold."""
    from infra.cli import rollout
    from infra.cli.rollout import ALL
    from infra.errors import Problem, SpecError

    if not release:
        return []
    specs = _regions(stacks)
    known = sorted({name for spec in specs.values() for name in spec.endpoints})
    wrong = [name for name in release if name != ALL and name not in known]
    if wrong:
        allowed = ", ".join([*known, ALL])
        raise SpecError("up", [Problem("--release", f"{name!r} is no endpoint of these stacks", allowed) for name in wrong])
    return [
        line
        for stack, spec in specs.items()
        for name in ([""] if ALL in release else dict.fromkeys(release))
        if not name or name in spec.endpoints
        for line in rollout.release(spec, stack, sandbox, name)
    ]


def _only_cloud(command: str, given: Mapping[str, object]) -> None:
    """
    Raises:
        SpecError: An option is given that means nothing in the sandbox.
    """
    from infra.errors import Problem, SpecError

    if wrong := [name for name, value in given.items() if value]:
        fix = "add --cloud, or leave it out: in the sandbox nobody is asked, since nothing real is lost"
        raise SpecError(f"accelform {command}", [Problem(name, "belongs to --cloud", fix=fix) for name in wrong])


def down(
    names: Sequence[str],
    folder: Path,
    *,
    force: bool,
    as_json: bool,
    cloud: bool = False,
    confirm: str | None = None,
    yes: bool = False,
    keep_protected: bool = False,
) -> int:
    """`accelform down`."""
    if cloud:
        from infra.cli import down_cloud
        from infra.errors import Problem, SpecError

        if force:
            problem = Problem("--force", "drops the sandbox, and means nothing in Google Cloud", fix="leave it out; or leave --cloud out")
            raise SpecError("accelform down --cloud", [problem])
        return down_cloud.run(names, folder, confirm=confirm, yes=yes, keep_protected=keep_protected, as_json=as_json)
    _only_cloud("down", {"--confirm": confirm, "--yes": yes, "--keep-protected": keep_protected})
    from infra.local import project, up
    from infra.local.home import Home

    started = time.monotonic()
    progress = Progress(quiet=as_json)
    root = project.checkout(Path.cwd())
    home = Home.of(root)
    results: list[Result] = []
    left: list[str] = []
    with home.alone("down"):
        standing = up.standing(home)
        gone = those_up(names, home, "accelform down")
        if gone and not force:
            place = up.prepare_down(root, gone, progress)
            results = [up.down(place, stack, progress) for stack in up.last_first(place, gone)]
            left = up.left_over(place) if set(gone) == set(standing) else []
        everything = set(gone) == set(standing) and not left
        if everything:
            up.clear(home)
    code = ExitCode.FINDINGS if left else ExitCode.OK
    if as_json:
        print_json({"exit_code": int(code), "stacks": [_result(one) for one in results], "left": left})
    else:
        _print(results)
        out = console()
        for name in left:
            out.print(f"left over: {name}", markup=False)
        if everything:
            out.print(f"down in {time.monotonic() - started:.0f} s: nothing is left, of the stacks or of the sandbox.")
    return code


def env(names: Sequence[str], folder: Path, *, as_json: bool) -> int:
    """`accelform env`: variables on standard output, all else on standard error."""
    from infra.local import up
    from infra.local.home import Home

    root, stacks = meant(names, folder)
    with Home.of(root).alone("env"):
        place = up.prepare(root, stacks, Progress(quiet=as_json))
        variables = up.shell(place)
    if as_json:
        print_json(dict(variables))
    else:
        lines = (f"unset {key}\n" if value is None else f"export {key}={shlex.quote(value)}\n" for key, value in variables.items())
        console().out("".join(lines), end="", highlight=False)
    return ExitCode.OK


def recover(names: Sequence[str], *, forget: bool, allow_gone: bool = False, as_json: bool) -> int:
    """`accelform recover`."""
    from infra.local import project, up
    from infra.local.home import Home

    progress = Progress(quiet=as_json)
    root = project.checkout(Path.cwd())
    done: dict[str, list[str]] = {}
    with Home.of(root).alone("recover"):
        if stacks := those_up(names, Home.of(root), "accelform recover"):
            place = up.prepare_down(root, stacks, progress)
            done = {stack: up.recovered(place, stack, progress, forget=forget, allow_gone=allow_gone) for stack in stacks}
    if as_json:
        print_json({"exit_code": 0, "stacks": done})
    elif not done:
        console().print("nothing is up: nothing to recover")
    else:
        for stack, lines in done.items():
            console().print(f"{stack}: {'; '.join(lines) or 'nothing to recover'}", markup=False)
    return ExitCode.OK


def meant(names: Sequence[str], folder: Path) -> tuple[Path, list[StackFile]]:
    """The checkout that we are in, and the stack files that are meant: those of its own folder, unless another is named."""
    from infra import stack_kinds
    from infra.check import stack_files
    from infra.cli.arguments import STACKS
    from infra.local import project

    root = project.checkout(Path.cwd())
    return root, stack_kinds.in_order(stack_files(names, root / STACKS if folder == STACKS else folder))


def those_up(names: Sequence[str], home: Home, command: str) -> list[str]:
    """Those of *names* that the sandbox's backend knows; all that it knows where none is named. Their files may be gone."""
    from infra.errors import Problem, SpecError
    from infra.local import up

    standing = up.standing(home)
    allowed = ", ".join(standing) or "none is up"
    problems = [Problem(name, "there is no such stack in the sandbox", allowed) for name in names if name not in standing]
    if problems:
        raise SpecError(command, problems)
    return list(dict.fromkeys(names)) or standing


def _print(results: Sequence[Result]) -> None:
    if not results:
        return
    table = plain_table("stack", "created", "updated", "replaced", "deleted", "same", "seconds", right=("seconds",))
    for one in results:
        count = one.changes
        row = (count.get("create", 0), count.get("update", 0), count.get("replace", 0), count.get("delete", 0), count.get("same", 0))
        table.add_row(one.stack, *(str(number) for number in row), f"{one.seconds:.1f}")
    console().print(table)


def _result(one: Result) -> dict[str, Any]:
    return {"stack": one.stack, "changes": one.changes, "seconds": round(one.seconds, 2), "recovered": one.recovered}


def _json(place: Place, results: Sequence[Result], seconds: float) -> dict[str, Any]:
    return {
        "exit_code": 0,
        "engine": {"version": place.engine.version, "path": str(place.engine.path)},
        "plugin": place.plugin.kind,
        "sandbox": place.sandbox.base,
        "stacks": [_result(one) for one in results],
        "seconds": round(seconds, 2),
    }
