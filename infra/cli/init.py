"""`accelform init`: a stack file that passes, from a few answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from infra.cli.output import print_json
from infra.errors import ExitCode, Problem, SpecError

ENDPOINT = "endpoint"
NOTHING = "nothing"
ENVIRONMENTS = ("dev", "staging", "prod")
PROVISIONINGS = ("spot", "on-demand", "flex-start", "reservation")


@dataclass(frozen=True, slots=True)
class Answers:
    """What is asked, as options gave it; None was not said."""

    stack: str | None = None
    project: str | None = None
    region: str | None = None
    environment: str | None = None
    owner: str | None = None
    notify: list[str] | None = None
    run: list[str] | None = None
    zone: str | None = None
    provisioning: str | None = None
    max_run_minutes: str | None = None
    callers: list[str] | None = None
    monthly_limit: str | None = None


def run(answers: Answers, folder: Path, *, ask: bool, force: bool, as_json: bool) -> int:
    """Asks what was not said, writes the file, and reads it back: what does not pass is not kept."""
    from infra.stack import StackSpec, check_stack_name

    answers = _complete(answers, ask=ask and sys.stdin.isatty())
    stack = answers.stack or str(answers.region)
    check_stack_name(stack)
    path = folder / f"Pulumi.{stack}.yaml"
    if path.exists() and not force:
        raise SpecError(str(path), [Problem("", "is there already", fix="--force overwrites it; --stack NAME writes another")])
    text = _text(answers)
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".yaml.draft")
    draft.write_text(text, encoding="utf-8")
    try:
        StackSpec.load(draft, str(path))
    except SpecError:
        draft.unlink()
        raise
    draft.replace(path)
    if as_json:
        print_json({"exit_code": int(ExitCode.OK), "written": str(path), "problems": []})
    else:
        sys.stdout.write(f"wrote {path}\nnext: accelform check {stack}\n")
    return ExitCode.OK


def _complete(answers: Answers, *, ask: bool) -> Answers:
    """Every answer, asked in turn where nobody gave it as an option; all that are missing at once where nobody can be asked."""
    from infra.components.tpu_slice import OneMachine
    from infra.spec import Label, Member, Money, ProjectId
    from infra.stack import Region

    missing: list[Problem] = []

    def need(option: str, given: Any, question: str, choices: Iterable[str] = (), read: Callable[[str], Any] = str, kind: Any = str) -> Any:
        if given is not None:
            return given
        if not ask:
            missing.append(Problem(f"--{option}", "is missing", ", ".join(choices) or question))
            return None
        from rich.prompt import Prompt

        options = list(choices)
        while True:
            answer = read(Prompt.ask(question, choices=options or None, show_choices=len(options) <= 6))
            if not (complaint := _complaint(kind, answer)):
                return answer
            sys.stderr.write(f"{complaint}\n")

    def words(said: str) -> list[str]:
        return [word for word in said.replace(",", " ").split() if word not in (NOTHING, "none")]

    project = need("project", answers.project, "project id", kind=ProjectId)
    region = need("region", answers.region, "region, such as asia-east1", kind=Region)
    environment = need("environment", answers.environment, "environment", ENVIRONMENTS)
    owner = need("owner", answers.owner, "owner: a label of every resource, such as ml-team", kind=Label)
    runs = need(
        "run",
        answers.run,
        "what to run: endpoint, a TPU type such as v6e-1, or nothing",
        read=words,
        kind=list[Literal["endpoint"] | OneMachine],
    )
    runs = [one for one in runs or [] if one != NOTHING]
    answers = replace(answers, project=project, region=region, environment=environment, owner=owner, run=runs)
    machines = [one for one in runs if one != ENDPOINT]
    if machines:
        zone = need("zone", answers.zone, f"zone for {machines[0]}", _zones(machines[0], region))
        provisioning = need("provisioning", answers.provisioning, "how its capacity is got", PROVISIONINGS)
        minutes = need("max-run-minutes", answers.max_run_minutes, "minutes after which it is deleted, or unlimited")
        answers = replace(answers, zone=zone, provisioning=provisioning, max_run_minutes=minutes)
    if ENDPOINT in runs:
        callers = need("callers", answers.callers, "who may call the endpoint, as IAM members, or none", read=words, kind=list[Member])
        answers = replace(answers, callers=[one for one in callers or [] if one != "none"])
    limit = need("monthly-limit", answers.monthly_limit, "monthly limit in the billing account's currency, such as 350 USD", kind=Money)
    if missing:
        raise SpecError("accelform init", missing)
    return replace(answers, monthly_limit=limit)


def _complaint(kind: Any, answer: Any) -> str:
    """Why an answer will not do, at once: nobody should answer nine questions to hear that the first was wrong."""
    from pydantic import TypeAdapter, ValidationError

    from infra.refusals import sentence

    try:
        TypeAdapter(kind).validate_python(answer)
    except ValidationError as error:
        return sentence(error)
    return ""


def _zones(accelerator_type: str, region: str | None) -> list[str]:
    """Zones of the region that offer the type; none where the type or the region is unknown: the file's check says so."""
    from infra.catalog import tpu, zones

    try:
        shape = tpu.shape(accelerator_type)
    except tpu.UnknownAcceleratorType:
        return []
    return sorted(offer.zone for offer in zones.offers(shape) if offer.region == region and offer.trust != "low")


def _text(answers: Answers) -> str:
    """The file, in the order of its keys, with the words that a reader needs."""
    import json

    def quoted(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = [
        "# yaml-language-server: $schema=stack.schema.json",
        "config:",
        f"  gcp:project: {quoted(answers.project)}",
        "  accelform:schema: 1",
        f"  accelform:region: {quoted(answers.region)} # everything below lives here",
        f"  accelform:environment: {quoted(answers.environment)} # dev: everything can be destroyed with its data",
        f"  accelform:owner: {quoted(answers.owner)} # label on every resource",
    ]
    if answers.notify:
        lines.append(f"  accelform:notify: {quoted(answers.notify)}")
    machines = [one for one in answers.run or [] if one != ENDPOINT]
    if machines:
        lines += ["", "  accelform:tpu_slices:"]
    for machine in machines:
        minutes = str(answers.max_run_minutes)
        lines += [
            f"    {quoted(machine)}:",
            f"      accelerator_type: {quoted(machine)}",
            f"      zone: {quoted(answers.zone)}",
            f"      provisioning: {quoted(answers.provisioning)}",
            f"      max_run_minutes: {minutes if minutes.isdigit() else quoted(minutes)}",
        ]
    if ENDPOINT in (answers.run or []):
        lines += ["", "  accelform:endpoints:", "    predict:", f"      callers: {quoted(answers.callers or [])}"]
    lines += [
        "",
        "  accelform:budgets:",
        "    monthly:",
        f"      amount: {quoted(answers.monthly_limit)} # must be the billing account's currency",
        "",
    ]
    return "\n".join(lines)
