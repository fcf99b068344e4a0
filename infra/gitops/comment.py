"""
One comment of a pull request: of every stack that it touches, what the check finds, what would change, and what that costs a month.

Text that others wrote (a stack file, a cloud's error) stands in code, where nothing is a link, a mention or HTML.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.cost.against import MARKER as COST_MARKER
from infra.errors import Problem, SpecError
from infra.gitops.changed import BY_PEOPLE
from infra.gitops.lost import lost
from infra.gitops.plan import Change, Plan

MARKER = "<!-- accelform preview -->"
"""First line of the comment: what posts it finds its own by this line, and writes it anew."""
LENGTH_MAX = 65_000
"""Letters. GitHub takes 65,536. Source: its own refusal, told in
https://github.com/telia-oss/github-pr-resource/issues/259, read 2026-11."""
URL = re.compile(r"https://[A-Za-z0-9._~/:-]+")
"""Address of a log, in which nothing ends a link."""
CHANGES_MAX = 100
"""Changes that are listed of a stack."""
CHECK, COST, PLAN, STACKS = "check.json", "cost.md", "plan.json", "stacks.json"
"""Files of a stack's folder, each made by one step of its job; and, beside the folders, which stacks there are."""

DIFFERENCE = re.compile(r"^\| \*\*difference\*\* \|[^|]*\|[^|]*\|(?P<expected>[^|]*)\|[^|]*\|(?P<remark>[^|]*)\|$", re.MULTILINE)
"""The row of `infra.cost.against.markdown` that says the difference."""

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")

OPS = {"create": "new", "update": "changed", "replace": "made anew", "delete": "deleted", "import": "taken over"}


@dataclass(frozen=True, slots=True)
class Told:
    """What the job of one stack left. Each part is None where the job did not come so far."""

    stack: str
    check: dict[str, Any] | None
    cost: str | None
    plan: Plan | None


def read(folder: Path) -> tuple[list[Told], list[str], list[str]]:
    """
    What the jobs left in *folder*, the stacks whose file is gone, and those that people make.

    Raises:
        SpecError: There is no such folder, or a file is not what its step writes.
    """
    if not os.path.isdir(folder):  # a name that no file system takes is no folder
        raise SpecError(str(folder), [Problem("", "is no folder", "the folder that the jobs' steps wrote into")])
    expected = _json(folder / STACKS) or {}
    stacks, gone, kinds = expected.get("stacks"), expected.get("gone", []), expected.get("kinds", {})
    if not (_is_names(stacks or []) and _is_names(gone) and isinstance(kinds, dict)):
        raise SpecError(str(folder / STACKS), [Problem("", "is not what `accelform gitops stacks --json` writes")])
    names = stacks if stacks is not None else sorted(path.name for path in folder.glob("*") if path.is_dir())
    by_people = [name for kind in BY_PEOPLE for name in kinds.get(kind, [])]
    return [told(folder / name) for name in names], gone, by_people


def told(folder: Path) -> Told:
    """
    What the job of one stack left.

    Raises:
        SpecError: A file is not what its step writes.
    """
    cost, plan = folder / COST, _text(folder / PLAN)
    check = _json(folder / CHECK)
    if check is not None and not (isinstance(check.get("stacks"), list) and len(check["stacks"]) == 1):
        raise SpecError(str(folder / CHECK), [Problem("", "is not what `accelform check STACK --json` writes")])
    return Told(
        folder.name, check["stacks"][0] if check else None, _text(cost), None if plan is None else Plan.parse(plan, str(folder / PLAN))
    )


def _text(path: Path) -> str | None:
    """None where there is no such file, or an empty one: its step was killed as it began."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SpecError(str(path), [Problem("", f"cannot be read: {error.strerror or error}")]) from None


def _json(path: Path) -> dict[str, Any] | None:
    if (text := _text(path)) is None:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise SpecError(str(path), [Problem("", "is no JSON object", fix="run the step again that writes it")])
    return data


def _is_names(value: object) -> bool:
    """Names that are no way out of a folder."""
    return isinstance(value, list) and all(isinstance(one, str) and NAME.fullmatch(one) for one in value)


def markdown(every: Sequence[Told], *, gone: Sequence[str] = (), by_people: Sequence[str] = (), run_url: str = "", sha: str = "") -> str:
    """The comment, never longer than GitHub takes: costs are left out first, then lists of changes, then all but the table."""
    link = f" ([log]({run_url}))" if URL.fullmatch(run_url) else ""
    commit = f" at {sha[:12]}" if re.fullmatch(r"[0-9a-f]{7,64}", sha) else ""
    head = [MARKER, f"## Stacks that change{commit}{link}", ""]
    if not every and not gone:
        return "\n".join([*head, "No stack is touched."]) + "\n"
    head += [*_table(every), ""] if every else []
    head += [f"- {code(name)}: its file is gone. What it made stands until somebody runs `pulumi destroy`." for name in gone]
    head += [f"- {code(name)} is made by people: no pipeline may change its own rights." for name in by_people]
    parts = [(list(_worst(one)), list(_changes(one)), list(_cost(one))) for one in every]
    for kept in (3, 2, 1, 0):
        cut = ["", "_Cut: GitHub takes no longer comment. All of it is in the log and in the run's summary._"] if kept < 3 else []
        body = [line for one, three in zip(every, parts, strict=True) for line in _section(one, three[:kept])] if kept else []
        if len(text := "\n".join([*head, *body, *cut]) + "\n") <= LENGTH_MAX:
            return text
    return f"{text[: LENGTH_MAX - 100].rpartition(chr(10))[0]}\n\n_Cut: the rest is in the log._\n"


def _section(one: Told, parts: Sequence[Sequence[str]]) -> list[str]:
    lines = [line for part in parts for line in part]
    return ["", f"### {code(one.stack)}", *([] if lines[:1] == [""] else [""]), *lines] if lines else []


def _table(every: Sequence[Told]) -> list[str]:
    head = ["| stack | check | new | changed | made anew | deleted | same | USD a month |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    return head + [f"| {code(one.stack)} | {_verdict(one)} | {' | '.join(_counts(one))} | {_difference(one)} |" for one in every]


def _difference(one: Told) -> str:
    """What is expected to be paid more a month, in the words of the cost difference; unknown where any line has no price."""
    found = DIFFERENCE.search(one.cost or "")
    return "unknown" if found is None or found["remark"].strip() else found["expected"].strip()


def _verdict(one: Told) -> str:
    if one.check is None:
        return "**not checked**"
    if count := len(one.check.get("problems") or []):
        return f"**{count} problem{'s' * (count != 1)} in the file**"
    if count := len(one.check.get("findings") or []) + len(one.plan.violations if one.plan else ()):
        return f"**{count} rule{'s' * (count != 1)} broken**"
    if one.plan is not None and one.plan.failed:
        return "**preview failed**"
    return "passes"


def _counts(one: Told) -> tuple[str, ...]:
    if one.plan is None or (one.plan.failed and not one.plan.changes):
        return ("?",) * 5
    count = Counter(change.op for change in one.plan.changes)
    return (*(str(count[op]) for op in ("create", "update", "replace", "delete")), str(one.plan.same))


def _worst(one: Told) -> Iterator[str]:
    """What stops it, and what would be lost."""
    check = one.check or {}
    for problem in check.get("problems") or []:
        where = f"{problem.get('file')}:{problem['line']}" if problem.get("line") else problem.get("file")
        said = [f"{where}: {problem.get('path') or ''}: {problem.get('message')}"]
        yield from fenced([*said, *(f"  {key}: {problem[key]}" for key in ("allowed", "fix") if problem.get(key))])
    for finding in check.get("findings") or []:
        said = [f"{finding.get('rule')}: {finding.get('resource')}: {finding.get('path')}: {finding.get('message')}"]
        yield from fenced([*said, f"  fix: {finding['fix']}"] if finding.get("fix") else said)
    if one.plan is None:
        yield "No preview: a fork's changes get no credentials, or the job ended before it."
        return
    if one.plan.violations:
        yield from ["Rules that do not hold of what would be made:", *fenced(one.plan.violations)]
    if one.plan.failed:
        yield from ["The preview failed, so that changes may be missing here:", *fenced(one.plan.errors)]
    yield from warned(one.plan.changes)


def warned(changes: Sequence[Change]) -> Iterator[str]:
    """What goes and cannot be made again from the stack file alone, accelerators first."""
    found = [(change, what) for change in changes if change.op in ("replace", "delete") and (what := lost(change.type))]
    for change, (kind, words) in sorted(found, key=lambda one: ("accelerators", "data", "access").index(one[1][0])):
        of = f", for {', '.join(map(code, change.causes))}" if change.causes else ""
        yield f"- :warning: **{OPS[change.op]}: {code(f'{short(change.type)} {change.name}')}** ({kind}){of}: {words}."


def _changes(one: Told) -> Iterator[str]:
    if one.plan is not None and one.plan.changes:
        yield from ["", "<details><summary>Changes</summary>", "", *listed(one.plan.changes), "", "</details>"]


def listed(changes: Sequence[Change]) -> Iterator[str]:
    """Every change in a line, what is made anew or goes first."""
    order = ["replace", "delete", "update", "import", "create"]
    ranked = sorted(changes, key=lambda change: order.index(change.op) if change.op in order else len(order))
    for change in ranked[:CHANGES_MAX]:
        of = f", for {', '.join(map(code, change.causes))}" if change.causes else ""
        yield f"- {OPS.get(change.op, code(change.op))}: {code(f'{short(change.type)} {change.name}')}{of}"
    if (rest := len(ranked) - CHANGES_MAX) > 0:
        yield f"- and {rest} more: see the log"


def _cost(one: Told) -> Iterator[str]:
    """The difference, as `accelform cost --against --markdown` writes it, below the stack's own heading."""
    lines = [line for line in (one.cost or "").splitlines() if line != COST_MARKER and not line.startswith(("## ", "### "))]
    if any(lines):
        yield from ["", "<details><summary>Costs</summary>", "", *"\n".join(lines).strip().splitlines(), "", "</details>"]


def short(type_: str) -> str:
    """`gcp:container/nodePool:NodePool` -> `NodePool`."""
    return type_.rpartition(":")[2]


def code(text: str) -> str:
    """A code span in a line or a cell of a table: nothing in it is a link, a mention or HTML."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split())).replace("|", "/")
    marks = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    return f"{marks} {plain} {marks}" if "`" in plain else f"`{plain}`"


def fenced(lines: Sequence[str]) -> list[str]:
    """A block of code, behind a fence that is longer than any in it."""
    text = ["".join(letter if letter.isprintable() else "?" for letter in inner) for line in lines for inner in line.splitlines()]
    fence = "`" * max(3, max((len(marks) for line in text for marks in re.findall("`+", line)), default=0) + 1)
    return ["", f"{fence}text", *text, fence, ""]
