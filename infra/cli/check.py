"""`accelform check`."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.check import Checked, StackFile, check, place, stack_files
from infra.cli import check_made
from infra.cli.output import console, plain_table, print_json, problems_json
from infra.errors import ExitCode, SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from infra.apps import AppsSpec


def run(names: Sequence[str], folder: Path, *, as_json: bool) -> int:
    """Checks every named stack, even where one of them is wrong; answers the gravest exit code."""
    files = stack_files(names, folder)
    apps: dict[str, AppsSpec] = {}
    if as_json:
        results = [_checked(file, apps) for file in files]
        code = max(map(_code, results), key=_gravity)
        stacks = [_as_json(file, result) for file, result in zip(files, results, strict=True)]
        print_json({"exit_code": int(code), "stacks": stacks})
        return code
    code = ExitCode.OK
    for file in files:
        result = _checked(file, apps)
        _print(console(), file, result)
        code = max(code, _code(result), key=_gravity)
    return code


def _checked(file: StackFile, apps: dict[str, AppsSpec]) -> Checked | SpecError:
    """
    One stack, and whether it shares its cluster with another.

    Args:
        apps: Stacks in clusters that were checked before: this one is added.
    """
    try:
        checked = check(file)
        if spec := checked.apps:
            from infra import apps_beside

            if found := list(apps_beside.problems(file.stack, spec, apps)):
                raise SpecError(str(file.path), found)
            apps[file.stack] = spec
    except SpecError as error:
        return error
    return checked


def _now() -> float:
    """Seconds since 1970; as SOURCE_DATE_EPOCH says where it is set, so that documents with output in them can be made again."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    return float(said) if said.isascii() and said.isdigit() else time.time()


def _code(result: Checked | SpecError) -> ExitCode:
    if isinstance(result, SpecError):
        return ExitCode.SPEC
    if result.findings:
        return ExitCode.FINDINGS
    return ExitCode.OK if result.estimate.complete else ExitCode.INCOMPLETE


def _gravity(code: ExitCode) -> int:
    return [ExitCode.OK, ExitCode.INCOMPLETE, ExitCode.FINDINGS, ExitCode.SPEC].index(code)


def _print(out: Console, file: StackFile, result: Checked | SpecError) -> None:
    from rich.text import Text

    from infra.cost import headroom, report

    if isinstance(result, SpecError):
        count = len(result.problems)
        out.print(Text.assemble((file.stack, "bold"), f": {count} problem{'s' * (count != 1)} in the stack file", style="red"))
        out.print(Text(str(result)), soft_wrap=True)
        out.print()
        return
    spec = result.spec
    out.print(Text.assemble((file.stack, "bold"), f": {spec.project}, {spec.region}, {spec.environment} ({file.path})"))
    out.print()
    check_made.show(out, result.resources)
    out.print()
    if result.jobs:
        from infra.catalog.services import doubts
        from infra.cli.check_jobs import table

        out.print(table(result, _now()))
        for line in doubts(spec.region):
            out.print(Text(line, "yellow"), soft_wrap=True)
        out.print()
    out.print(report.table(result.estimate))
    for line in headroom.lines(result.headroom):
        out.print(Text(line))
    out.print()
    _print_rules(out, result)


def _print_rules(out: Console, result: Checked) -> None:
    from rich.text import Text

    from infra.cost.within_budget import undecided
    from infra.policy.stack_rules import WITHIN_BUDGET, every

    broken = Counter(finding.rule for finding in result.findings)
    rules = plain_table("rule", "", "")
    unsure = undecided(result.headroom)
    for rule in every():
        count = broken[rule.name]
        mark = Text("holds", "green") if not count else Text(f"{count} finding{'s' * (count != 1)}", "red")
        if not count and rule is WITHIN_BUDGET and unsure:
            mark = Text("unknown", "yellow")
        rules.add_row(rule.name, mark, rule.description)
    out.print(rules)
    for one in result.confirmed:
        out.print(Text(f"confirmed by name: {one.what} in {one.zone or one.region}: {one.because}"), soft_wrap=True)
    for at, words in result.reasons.items():
        out.print(Text(f"with a reason: {at}: {words}"), soft_wrap=True)
    until = {(one.rule, one.resource): one for one in result.spec.exceptions}
    for finding in result.excepted:
        named = until[finding.rule, finding.resource]
        where = f"{finding.resource}: {finding.path}: {finding.message}"
        said = f"excepted from {named.rule} until {named.until}: {where}\n  because: {named.because}"
        out.print(Text(said, "yellow"), soft_wrap=True)
    for finding in result.findings:
        out.print(Text(f"{finding.resource}: {finding.path}: {finding.message}\n  fix: {finding.fix}", "red"), soft_wrap=True)
    for warning in result.warnings:
        out.print(Text(f"{warning.check}: {warning.message}\n  fix: {warning.fix}", "yellow"), soft_wrap=True)
    out.print()


def _as_json(file: StackFile, result: Checked | SpecError) -> dict[str, Any]:
    from infra.cost import headroom, report

    head: dict[str, Any] = {"stack": file.stack, "file": str(file.path), "exit_code": int(_code(result))}
    if isinstance(result, SpecError):
        return head | {"problems": problems_json(result)}
    from infra.catalog.services import doubts
    from infra.cli import check_jobs
    from infra.cost.within_budget import undecided
    from infra.policy.stack_rules import every

    return head | {
        "project": result.spec.project,
        "region": result.spec.region,
        "environment": result.spec.environment,
        "resources": [
            {
                "type": resource.type,
                "name": resource.name,
                "urn": resource.urn,
                "stands_in": place(resource),
                "protected": resource.protect,
                "existing": resource.existing,
            }
            for resource in result.resources
        ],
        "jobs": check_jobs.as_json(result, _now()),
        "unconfirmed": list(doubts(result.spec.region)) if result.jobs else [],
        "cost": report.as_json(result.estimate),
        "budgets": headroom.as_json(result.headroom),
        "confirmed": [one.model_dump(mode="json") for one in result.confirmed],
        "reasons": result.reasons,
        "rules": [
            {
                "name": rule.name,
                "description": rule.description,
                "holds": not any(finding.rule == rule.name for finding in result.findings),
            }
            for rule in every()
        ],
        "undecided": undecided(result.headroom),
        "warnings": [asdict(warning) for warning in result.warnings],
        "findings": [asdict(finding) for finding in result.findings],
        "exceptions": [one.model_dump(mode="json") for one in result.spec.exceptions],
        "excepted": [asdict(finding) for finding in result.excepted],
    }
