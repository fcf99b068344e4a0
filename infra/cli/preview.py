"""`accelform preview`: one screen a stack of what an update would do, what it costs, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, plain_table, print_json, problems_json
from infra.cli.progress import Progress
from infra.cli.up import meant
from infra.errors import AccelformError, ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from infra.check import Checked, StackFile
    from infra.cost.against import Difference
    from infra.gitops.changes import Changed
    from infra.local.engine.events import Outcome, Step
    from infra.local.reach import Reach
    from infra.stack_file import FileSpec

GRAVITY = [ExitCode.OK, ExitCode.INCOMPLETE, ExitCode.FINDINGS, ExitCode.CLOUD, ExitCode.ENVIRONMENT, ExitCode.SPEC]
LINES_MAX = 6
"""Lines of a list that a screen has room for; `--full` has all."""
NAMES_MAX = 4


@dataclass(frozen=True, slots=True)
class Previewed:
    """What is known of one stack before an update."""

    checked: Checked
    changed: Sequence[Changed]
    difference: Difference
    same: int = 0
    outcome: Outcome | None = None
    """What the engine said; None where it was not asked."""
    waits_for: str = ""
    """The stack that must stand before this one can be looked at."""
    steps: Sequence[Step] = ()
    """Each resource that the engine looked at."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Endpoints that stand, with their numbers."""

    @property
    def stack(self) -> str:
        return self.checked.file.stack

    @property
    def up(self) -> bool:
        """Whether anything of it stands."""
        return self.difference.before is not None

    @property
    def refused_pools(self) -> list[str]:
        """Node pools that an update would make anew, and that nobody named: it stops before them."""
        region = self.checked.region
        allowed = region.allow_replace if region else ()
        pools = [one.change.name for one in self.changed if one.op == "replace" and one.change.type == "gcp:container/nodePool:NodePool"]
        return [name for name in pools if region and name in region.node_pools and name not in allowed]

    @property
    def violations(self) -> Sequence[str]:
        """Rules that only the engine's look broke: those that the file alone breaks are findings."""
        return self.outcome.violations if self.outcome and not self.checked.findings else ()

    @property
    def errors(self) -> list[str]:
        """Why the look itself failed; a rule that does not hold is no failure."""
        outcome = self.outcome
        if outcome is None or not outcome.code or outcome.violations:
            return []
        return outcome.text().splitlines() or ["the engine said nothing"]

    @property
    def held(self) -> Sequence[str]:
        """What controllers keep as it is, whatever the file says."""
        return self.outcome.notes if self.outcome else ()

    @property
    def code(self) -> ExitCode:
        if self.errors:
            return ExitCode.CLOUD
        if self.checked.findings or self.violations or self.refused_pools:
            return ExitCode.FINDINGS
        return ExitCode.OK if self.difference.complete else ExitCode.INCOMPLETE


def run(names: Sequence[str], folder: Path, *, cloud: bool, full: bool, as_json: bool) -> int:
    """Looks at every named stack, even where one of them is wrong; answers the gravest exit code."""
    root, every = meant(names, folder)
    progress = Progress(quiet=as_json)
    results: list[tuple[StackFile, Previewed | AccelformError]] = []
    for file, result in previews(root, every, progress, cloud=cloud):
        results.append((file, result))
        if not as_json:
            show(console(), file, result, full=full)
    code = max((code_of(result) for _, result in results), key=GRAVITY.index)
    if as_json:
        print_json({"exit_code": int(code), "cloud": cloud, "stacks": [as_data(file, result) for file, result in results]})
    elif code in (ExitCode.OK, ExitCode.INCOMPLETE) and any(isinstance(one, Previewed) and one.changed for _, one in results):
        names = [file.stack for file, _ in results]
        console().print(f"make it so: accelform up {'--cloud ' if cloud else ''}{' '.join(names)}", markup=False, soft_wrap=True)
    return code


def code_of(result: Previewed | AccelformError) -> ExitCode:
    return result.code if isinstance(result, Previewed) else result.exit_code


def previews(
    root: Path, every: Sequence[StackFile], progress: Progress, *, cloud: bool
) -> Iterator[tuple[StackFile, Previewed | AccelformError]]:
    """Each stack in turn; what is wrong with one stops no other."""
    from infra import stack_kinds

    specs: dict[str, FileSpec] = {}
    wrong: dict[str, AccelformError] = {}
    for file in every:
        try:
            specs[file.stack] = stack_kinds.load(file.path)
        except AccelformError as error:
            wrong[file.stack] = error
    right = [file for file in every if file.stack in specs]
    from infra.local import reach

    if not right:
        yield from ((file, wrong[file.stack]) for file in every)
    elif cloud:
        there = reach.theirs(root, [file.stack for file in right], "preview")
        yield from ((file, wrong.get(file.stack) or _looked(there, file, progress)) for file in every)
    else:
        with reach.ours(root, specs, right, progress) as there:
            yield from ((file, wrong.get(file.stack) or _looked(there, file, progress, specs[file.stack])) for file in every)


def _looked(there: Reach, file: StackFile, progress: Progress, spec: FileSpec | None = None) -> Previewed | AccelformError:
    try:
        return look(there, file, progress, spec)
    except AccelformError as error:
        return error


def look(there: Reach, file: StackFile, progress: Progress, spec: FileSpec | None = None) -> Previewed:
    """
    Previews one stack. The file is checked while the engine gets ready: each takes seconds of its own.

    Args:
        spec: Of a stack of the sandbox, whose backend is at hand: what it reads must stand there.

    Raises:
        SpecError: The file is wrong.
        MachineError: This machine lacks something.
    """
    from infra.check import check
    from infra.cost.against import difference
    from infra.cost.estimate import estimate
    from infra.gitops import changes
    from infra.gitops.plan import is_component
    from infra.local.stored import stored

    if spec is not None and (missing := [name for name in spec.refers_to if not there.knows(name)]):
        checked = check(file)
        return Previewed(checked, changes.by_the_file(checked.resources), difference(None, checked.estimate), waits_for=missing[0])
    state = there.standing[file.stack]
    before = stored(state)
    steps: list[Step] = []
    found: list[Checked] = []
    with progress.steps(f"{file.stack}: preview", lines=False) as step:

        def take(one: Step) -> None:
            steps.append(one)
            step(one)

        outcome = there.preview(file.stack, step=take, meanwhile=lambda: found.append(check(file)))
    (checked,) = found
    same = {one.urn for one in steps if one.op == "same" and not one.done}
    # What stays is priced as it stands: the file says some values of it only by what they refer to.
    stands = {one.urn: one for one in before if one.urn in same}
    after = [stands.get(one.urn, one) for one in checked.resources]
    autopilot = bool(checked.apps and not checked.apps.cluster_spec.own_nodes)
    month = [estimate(one, checked.spec.usage, region=checked.spec.region, autopilot=autopilot) for one in (before, after)]
    return Previewed(
        checked,
        changes.changes(steps, outcome, checked.resources, before),
        difference(month[0] if before else None, month[1]),
        sum(not is_component(one.type) for one in stands.values()),
        outcome,
        steps=steps,
        numbers=changes.endpoints(state),
    )


def show(out: Console, file: StackFile, result: Previewed | AccelformError, *, full: bool) -> None:
    """One stack, on one screen."""
    from rich.text import Text

    if isinstance(result, AccelformError):
        out.print(Text.assemble((file.stack, "bold"), ": cannot be previewed", style="red"))
        out.print(Text(str(result)), soft_wrap=True)
        out.print()
        return
    out.print(Text.assemble((result.stack, "bold"), f": {_summary(result)}"))
    for section in (_stopped, _lost, _parts, _in_place, _held, _waits, _numbers, _cost):
        section(out, result, full)
    if result.changed or result.code is not ExitCode.OK:
        out.print()


def _summary(one: Previewed) -> str:
    from infra.cost.report import cents
    from infra.gitops.changes import WORDS, counted

    spec = one.checked.spec
    where = f"{spec.project}, {spec.region}, {spec.environment}"
    if one.errors and not one.changed:
        return f"the preview failed ({where})"
    if one.changed:
        told = ", ".join(f"{count} {WORDS.get(op, op)}" for op, count in counted(one.changed).items())
        if one.waits_for:
            return f"{told}, by the file alone: it is looked at once {one.waits_for} stands ({where})"
        return f"{told}, {one.same} stay ({where})" if one.up else f"not up yet: {told} ({where})"
    after = one.difference.after
    month = f", {cents(after.total[1])} USD a month are expected" if after and after.complete else ""
    return f"no changes: {one.same} resources stand as the file says{month} ({where})"


def _table(out: Console, title: str, rows: Sequence[tuple[str, str]], style: str = "") -> None:
    """Rows of two cells, the second of which wraps below itself."""
    from rich.text import Text

    if rows:
        table = plain_table(title, "")
        for first, second in rows:
            table.add_row(Text(first, style), Text(second, style))
        out.print()
        out.print(table)


def _stopped(out: Console, one: Previewed, full: bool) -> None:
    """What would stop an update."""
    rules = [(finding.resource, f"{finding.path}: {finding.message}\nfix: {finding.fix}") for finding in one.checked.findings]
    _table(out, "rules that do not hold", [*rules, *(("", line) for line in one.violations)], "red")
    _table(out, "the preview failed", [("", line) for line in one.errors], "red")


def _lost(out: Console, one: Previewed, full: bool) -> None:
    from infra.gitops.changes import WORDS

    rows = []
    for changed in one.changed:
        if changed.lost:
            kind, words = changed.lost
            of = f", for {', '.join(changed.change.causes)}" if changed.change.causes else ""
            kept = "; protected: it stays, and the update stops there" if changed.protected else ""
            rows.append((WORDS[changed.op], f"{changed.shown} ({kind}){of}: {words}{kept}"))
    _table(out, "lost", rows, "bold red")
    if one.refused_pools:
        named = " ".join(f"--allow-replace {name}" for name in one.refused_pools)
        _table(out, "refused", [("", f"accelform up makes no node pool anew that nobody named: {named}")], "red")


def _parts(out: Console, one: Previewed, full: bool) -> None:
    from infra.gitops.changes import WORDS, parts

    if full:
        rows = [(f"{WORDS.get(changed.op, changed.op)}: {changed.shown}", changed.place) for changed in one.changed]
        _table(out, "changes", rows)
        return
    rows = []
    for part in parts(one.changed):
        count = ", ".join(f"{number} {WORDS.get(op, op)}" for op, number in part.ops.items())
        rows.append((part.shown, f"{count}; {', '.join(part.places[:NAMES_MAX])}{' ...' if len(part.places) > NAMES_MAX else ''}"))
    _table(out, "changes", rows)


def _in_place(out: Console, one: Previewed, full: bool) -> None:
    from infra.gitops.changes import in_place

    rows = [
        (", ".join(causes) or "what it reads", _few([changed.shown for changed in held], full)) for causes, held in in_place(one.changed)
    ]
    _table(out, "differs", _cut(rows, full))


def _held(out: Console, one: Previewed, full: bool) -> None:
    _table(out, "held", [("", line) for line in one.held], "yellow")


def _waits(out: Console, one: Previewed, full: bool) -> None:
    from infra.catalog.usual_times import UNKNOWN
    from infra.gitops.changes import waits

    long, unknown = waits(one.changed)
    timed = [(changed.shown, changed.usual) for changed in long if changed.usual]
    rows = [(shown, f"{time.words} ({time.trust} trust, {time.as_of})") for shown, time in timed]
    rows = _cut(rows, full)
    if unknown:
        rows.append((_few([changed.shown for changed in unknown], full), UNKNOWN))
    _table(out, "takes long in Google Cloud", rows)


def _numbers(out: Console, one: Previewed, full: bool) -> None:
    if one.changed:
        _table(out, "endpoint", [(name, f"number {number}, {one.checked.spec.region}") for name, number in one.numbers.items()])


def _cost(out: Console, one: Previewed, full: bool) -> None:
    from rich.text import Text

    from infra.cost import against

    if not one.changed and one.difference.complete:
        return
    rows = against.changed(one.difference)
    biggest = sorted(rows, key=lambda row: row.change != "unknown") if full else _worst(rows)
    table = plain_table("costs, USD a month", "", "low", "expected", "high", " ", right=("low", "expected", "high"))
    for row in biggest:
        table.add_row(Text(row.what), row.change, *row.amounts, Text(row.why))
    if len(rows) > len(biggest):
        table.add_row(f"and {len(rows) - len(biggest)} lines more: --full", "", "", "", "", "")
    for what, amounts, remark in against.totals(one.difference):
        table.add_row(Text(STANDS.get(what.partition(",")[0], what), "bold"), "", *amounts, Text(remark))
    out.print()
    out.print(table)


STANDS = {"before": "what stands", "after": "after the update"}


def _worst(rows: Sequence[Any]) -> list[Any]:
    """Unknown lines first, then those that change the month most, as they are shown."""
    from decimal import Decimal, InvalidOperation

    def weight(row: Any) -> Decimal:
        try:
            return abs(Decimal(row.amounts[1].replace(",", "").lstrip("<>")))
        except InvalidOperation:
            return Decimal("Infinity")

    return sorted(rows, key=weight, reverse=True)[:LINES_MAX]


def _cut(rows: list[tuple[str, str]], full: bool) -> list[tuple[str, str]]:
    if full or len(rows) <= LINES_MAX:
        return rows
    return [*rows[: LINES_MAX - 1], (f"and {len(rows) - LINES_MAX + 1} more: --full", "")]


def _few(words: Sequence[str], full: bool) -> str:
    if full or len(words) <= NAMES_MAX:
        return ", ".join(words)
    return f"{', '.join(words[:NAMES_MAX])} and {len(words) - NAMES_MAX} more"


def as_data(file: StackFile, result: Previewed | AccelformError) -> dict[str, Any]:
    """One stack for machines: amounts as text, every change, no value of a property."""
    head: dict[str, Any] = {"stack": file.stack, "file": str(file.path), "exit_code": int(code_of(result))}
    if isinstance(result, AccelformError):
        return head | {"problems": problems_json(result)}
    from infra.cost import against
    from infra.gitops.changes import counted, waits

    long, unknown = waits(result.changed)
    return head | {
        "up": result.up,
        "looked_at": result.outcome is not None,
        "waits_for": result.waits_for or None,
        "counts": {**counted(result.changed), "same": result.same},
        "changes": [_change(one) for one in result.changed],
        "refused": result.refused_pools,
        "held": list(result.held),
        "endpoints": dict(result.numbers),
        "takes_long": [one.urn for one in long],
        "no_usual_time_known": [one.urn for one in unknown],
        "cost": against.as_json(result.difference),
        "findings": [asdict(finding) for finding in result.checked.findings],
        "violations": list(result.violations),
        "warnings": [asdict(warning) for warning in result.checked.warnings],
        "errors": result.errors,
    }


def _change(one: Changed) -> dict[str, Any]:
    time = one.usual
    return {
        "op": one.op,
        "type": one.change.type,
        "name": one.change.name,
        "urn": one.urn,
        "part": one.part,
        "stands_in": one.place,
        "causes": list(one.change.causes),
        "protected": one.protected,
        "lost": {"kind": one.lost[0], "what": one.lost[1]} if one.lost else None,
        "usual_minutes": {"low": str(time.low_minutes), "high": str(time.high_minutes), "as_of": time.as_of, "source": time.source}
        if time
        else None,
    }
