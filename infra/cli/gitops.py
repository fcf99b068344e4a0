"""`accelform gitops`: what a pipeline runs, and what it is made of."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from infra.cli.output import print_json
from infra.errors import AccelformError, ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.gitops.plan import Plan


class NotSeenError(AccelformError):
    """A preview did not come to its end: nobody knows whether anything drifts."""

    exit_code = ExitCode.CLOUD


def init_github(folder: Path, *, branch: str | None, environment: str | None, force: bool, as_json: bool) -> int:
    """Writes the workflows into the checkout that we are in."""
    from infra.check import stack_files
    from infra.gitops import files, github
    from infra.local import project

    root = project.checkout(Path.cwd())
    asked = github.asked(stack_files([], _folder(folder, root)), branch, environment)
    written = files.write({root / path: text for path, text in github.workflows(asked).items()}, force=force)
    next_ = github.to_do(asked)
    if as_json:
        variables = [{"name": one.name, "what": one.what, "output": one.output} for one in github.VARIABLES]
        settings = {
            "branch": asked.branch,
            "environment": asked.environment,
            "foundation": asked.foundation or None,
            "variables": variables,
        }
        print_json({"exit_code": 0, "files": _states(written, root), **settings, "next": next_})
        return ExitCode.OK
    _tell(written, root)
    sys.stdout.write(f"\napplied: what is on {asked.branch}, once a reviewer of the environment {asked.environment} lets it through\n")
    sys.stdout.write("next, once, by whoever may change the repository's settings:\n" + "".join(f"  {line}\n" for line in next_))
    return ExitCode.OK


def init_operator(folder: Path, into: Path, said: Mapping[str, str | None], *, force: bool, as_json: bool) -> int:
    """Writes a manifest for each stack, and who runs them."""
    from infra.check import stack_files
    from infra.gitops import files, operator
    from infra.local import project
    from infra.operate import git

    root = project.checkout(Path.cwd())
    every = dict(said)
    if every["repository"] is None:
        every["repository"] = git.origin(root)
    if found := list(operator.problems(every)):
        raise SpecError("accelform gitops init operator", found)
    asked = operator.Asked(**{key.replace("-", "_"): value for key, value in every.items() if value is not None})
    objects, left = operator.manifests(asked, stack_files([], _folder(folder, root)))
    texts = {root / into / name: operator.text(one) for name, one in objects.items()}
    written = files.write(texts | {root / operator.REQUIREMENTS: operator.requirements()}, force=force)
    next_ = [
        f"git add {operator.REQUIREMENTS} {into} && git commit",
        f"gcloud iam service-accounts add-iam-policy-binding {asked.account} --role roles/iam.workloadIdentityUser "
        f'--member "serviceAccount:CLUSTER_PROJECT.svc.id.goog[{asked.namespace}/{operator.PROJECT}]"',
        f"kubectl create namespace {asked.namespace} && kubectl apply -f {into}",
    ]
    if as_json:
        print_json({"exit_code": 0, "files": _states(written, root), "left_out": left, "next": next_})
        return ExitCode.OK
    _tell(written, root)
    sys.stdout.writelines(f"left out: stack {name}, which people make\n" for name in left)
    sys.stdout.write("\nnext, once, in a cluster with workload identity and the operator:\n" + "".join(f"  {line}\n" for line in next_))
    return ExitCode.OK


def stacks(folder: Path, *, against: str | None, as_json: bool) -> int:
    """Says which stacks a change touches, in the order in which they are made."""
    from infra.gitops import changed

    found = changed.touched(folder, against)
    if as_json:
        print_json(found.as_json())
        return ExitCode.OK
    for kind, names in found.kinds.items():
        for name in names:
            by = " (made by people)" if kind in changed.BY_PEOPLE else ""
            sys.stdout.write(f"{name}: {kind}{by}\n")
    for name in found.gone:
        sys.stdout.write(f"{name}: its file is gone; what it made stands\n")
    if not found.names and not found.gone:
        sys.stdout.write("no stack is touched\n")
    return ExitCode.OK


def plan() -> int:
    """Reads the engine's events from standard input, writes what they come to, and says it on standard error, for the log."""
    from infra.gitops.comment import OPS, short
    from infra.gitops.plan import Plan

    if sys.stdin.isatty():
        fix = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json 2>&1 | accelform gitops plan"
        raise SpecError("accelform gitops plan", [Problem("", "reads what the engine says from its standard input", fix=fix)])
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # what a cloud says need not be text
    found = Plan.of(sys.stdin)
    print_json(found.as_json())
    for one in found.changes:
        of = f" for {', '.join(one.causes)}" if one.causes else ""
        sys.stderr.write(f"{OPS.get(one.op, one.op)}: {short(one.type)} {one.name}{of}\n")
    sys.stderr.writelines(f"rule: {line}\n" for line in found.violations)
    sys.stderr.writelines(f"error: {line}\n" for line in found.errors)
    sys.stderr.write(f"{len(found.changes)} would change, {found.same} stay\n")
    return _code(found)


def _code(found: Plan) -> ExitCode:
    return ExitCode.FINDINGS if found.violations else ExitCode.CLOUD if found.failed else ExitCode.OK


def comment(folder: Path, *, run_url: str, sha: str) -> int:
    """Prints the comment of what the jobs left in a folder."""
    from infra.gitops import comment as comments

    every, gone, by_people = comments.read(folder)
    sys.stdout.write(comments.markdown(every, gone=gone, by_people=by_people, run_url=run_url, sha=sha))
    return ExitCode.OK


def drift(folder: Path, *, run_url: str) -> int:
    """Prints an issue's text where a preview after a look at the cloud would change anything."""
    from infra.gitops import drift as drifts
    from infra.gitops.comment import PLAN, told

    found = told(folder).plan
    if found is None:
        raise SpecError(str(folder), [Problem("", f"holds no {PLAN}", fix="pulumi preview --refresh --json 2>&1 | accelform gitops plan")])
    stack = folder.resolve().name
    if found.failed:
        raise NotSeenError(drifts.said(stack, found))
    if drifts.is_elsewhere(found):
        raise NotSeenError(
            f"{stack}: none of its {len(found.changes)} resources was found: rather the account or the project is another one\n"
            "  fix: look who the pipeline is: gcloud auth list; and never `pulumi refresh` as it is, but accelform refresh --cloud"
        )
    sys.stderr.write(f"{drifts.said(stack, found)}\n")
    if not found.changes:
        return ExitCode.OK
    sys.stdout.write(drifts.markdown(stack, found, run_url=run_url))
    return ExitCode.FINDINGS


def _folder(folder: Path, root: Path) -> Path:
    """The stack files that are meant: those of the checkout, unless another folder is named."""
    from infra.cli.arguments import STACKS

    return root / STACKS if folder == STACKS else folder


def _states(written: Mapping[Path, str], root: Path) -> list[dict[str, str]]:
    return [{"path": _shown(path, root), "state": state} for path, state in written.items()]


def _tell(written: Mapping[Path, str], root: Path) -> None:
    words = {"new": "wrote", "overwritten": "overwrote", "same": "there already:"}
    sys.stdout.writelines(f"{words[state]} {_shown(path, root)}\n" for path, state in written.items())


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
