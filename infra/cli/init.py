"""`accelform init`: a stack file that passes, from a few answers."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from infra import environments
from infra.cli.output import print_json
from infra.errors import ExitCode, Problem, SpecError
from infra.stack_file import KINDS, REGION

APPS, FOUNDATION = "apps", "foundation"
ENDPOINT = "endpoint"
CLUSTER = "cluster"
NOTHING = "nothing"
THINGS = (ENDPOINT, CLUSTER)
"""What a region can run besides machines."""
PLAIN_DIGITS = re.compile(r"[1-9][0-9]{0,8}")
PROVISIONINGS = ("spot", "on-demand", "flex-start")
"""What can be answered in a word: a reservation has a name too, and is written into the file by hand."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What is asked, as options gave it; None was not said."""

    kind: str = REGION
    region_stack: str | None = None
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
    because: str | None = None
    callers: list[str] | None = None
    monthly_limit: str | None = None


def run(answers: Answers, folder: Path, *, ask: bool, force: bool, as_json: bool) -> int:
    """Asks what was not said, writes the file, and reads it back: what does not pass is not kept."""
    from infra.stack_file import check_stack_name

    if answers.kind not in KINDS:
        raise SpecError("accelform init", [Problem("--kind", f"{answers.kind!r} is no kind of stack", ", ".join(KINDS))])
    ask = ask and sys.stdin.isatty()
    answers = _of_region(answers, folder, ask=ask) if answers.kind == APPS else _complete(answers, ask=ask)
    stack = answers.stack or {FOUNDATION: FOUNDATION, APPS: f"{answers.region_stack}-apps"}.get(answers.kind, str(answers.region))
    check_stack_name(stack)
    path = folder / f"Pulumi.{stack}.yaml"
    if path.exists() and not force:
        raise SpecError(str(path), [Problem("", "is there already", fix="--force overwrites it; --stack NAME writes another")])
    if path.exists() and (kept := engine_keys(path)):
        said = f"holds {', '.join(kept)}: without them the stack's secrets cannot be read any more"
        raise SpecError(str(path), [Problem("", said, fix="edit the file, or write another with --stack NAME")])
    write(path, _text(answers), "the answers")
    if as_json:
        print_json({"exit_code": int(ExitCode.OK), "written": str(path), "problems": []})
    else:
        sys.stdout.write(f"wrote {path}\nnext: accelform check {stack}\n")
    return ExitCode.OK


def engine_keys(path: Path) -> list[str]:
    """What the engine itself keeps in a stack file, and nobody can write again."""
    from infra.yaml_file import read

    return [key for key in ("secretsprovider", "encryptionsalt", "encryptedkey") if key in read(path).data]


def write(path: Path, text: str, said: str) -> None:
    """Writes what passes, whole or not at all: it is read back from beside its place before it takes it."""
    from infra import stack_kinds

    try:
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / path.name
            draft.write_text(text, encoding="utf-8", errors="surrogateescape")
            stack_kinds.load(draft, said, beside=path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".draft", delete=False, encoding="utf-8") as file:
            file.write(text)
        try:
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path.resolve())
        except OSError:
            Path(file.name).unlink()
            raise
    except OSError as error:
        raise SpecError(str(path), [Problem("", f"cannot be written: {error.strerror or error}")]) from None


def _complete(answers: Answers, *, ask: bool) -> Answers:
    """Every answer, asked in turn where nobody gave it as an option; all that are missing at once where nobody can be asked."""
    from infra.components.tpu_offer import SliceType
    from infra.components.tpu_slice import UNLIMITED, RunLimit
    from infra.spec import Because, Label, Member, Money, ProjectId
    from infra.stack_file import Region

    missing: list[Problem] = []

    def minutes_or_unlimited(said: str) -> Any:
        return int(said) if PLAIN_DIGITS.fullmatch(said) else said

    def need(option: str, given: Any, question: str, choices: Iterable[str] = (), read: Callable[[str], Any] = str, kind: Any = str) -> Any:
        if given is not None:
            return given
        if not ask:
            missing.append(Problem(f"--{option}", "is missing", ", ".join(choices) or question))
            return None
        from rich.prompt import Prompt

        options = list(choices)
        while True:
            try:
                answer = read(Prompt.ask(question, choices=options or None, show_choices=len(options) <= 6))
            except EOFError:
                raise SpecError("accelform init", [Problem(f"--{option}", "was not answered")]) from None
            if not (complaint := _complaint(kind, answer)):
                return answer
            sys.stderr.write(f"{complaint}\n")

    def words(said: str) -> list[str]:
        return [word for word in said.replace(",", " ").split() if word not in (NOTHING, "none")]

    project = need("project", answers.project, "project id", kind=ProjectId)
    region = need("region", answers.region, "region, such as asia-east1", kind=Region)
    environment = need("environment", answers.environment, "environment", environments.NAMES)
    owner = need("owner", answers.owner, "owner: a label of every resource, such as ml-team", kind=Label)
    said = answers.run if answers.kind == REGION else answers.run or [NOTHING]
    runs = need(
        "run",
        said,
        "what to run: endpoint, cluster, a TPU type such as v6e-1, or nothing",
        read=words,
        kind=list[Literal["endpoint", "cluster"] | SliceType],
    )
    runs = [one for one in runs or [] if one != NOTHING]
    if answers.kind != REGION and runs:
        missing.append(Problem("--run", f"a {answers.kind} runs nothing", fix="leave it out, or --kind region"))
    answers = replace(answers, project=project, region=region, environment=environment, owner=owner, run=runs)
    machines = [one for one in runs if one not in THINGS]
    if machines:
        zone = need("zone", answers.zone, f"zone for {machines[0]}", _zones(machines[0], region))
        provisioning = need("provisioning", answers.provisioning, "how its capacity is got", PROVISIONINGS)
        minutes = need(
            "max-run-minutes",
            answers.max_run_minutes,
            "minutes after which it is deleted, or unlimited",
            read=minutes_or_unlimited,
            kind=RunLimit,
        )
        because = answers.because
        if str(minutes) == UNLIMITED or provisioning == "on-demand":
            because = need("because", because, "why it stands around the clock, or is got on demand, in a sentence", kind=Because)
        minutes = None if minutes is None else str(minutes)
        answers = replace(answers, zone=zone, provisioning=provisioning, max_run_minutes=minutes, because=because)
    if ENDPOINT in runs:
        callers = need("callers", answers.callers, "who may call the endpoint, as IAM members, or none", read=words, kind=list[Member])
        answers = replace(answers, callers=[one for one in callers or [] if one != "none"])
    limit = need("monthly-limit", answers.monthly_limit, "monthly limit in the billing account's currency, such as 350 USD", kind=Money)
    for_machine = {"zone": answers.zone, "provisioning": answers.provisioning, "max-run-minutes": answers.max_run_minutes}
    for_machine["because"] = answers.because
    unused: dict[str, object] = {} if machines else dict(for_machine)
    if ENDPOINT not in runs:
        unused["callers"] = answers.callers
    if answers.region_stack:
        missing.append(Problem("--region-stack", "is for --kind apps", fix="leave it out"))
    missing += [Problem(f"--{option}", "belongs to nothing that is to run", fix="see --run") for option, given in unused.items() if given]
    if len(set(runs)) != len(runs):
        missing.append(Problem("--run", "names something twice", fix="name each once"))
    if missing:
        raise SpecError("accelform init", missing)
    return replace(answers, monthly_limit=limit)


def _of_region(answers: Answers, folder: Path, *, ask: bool) -> Answers:
    """Answers for what lives in a cluster: the region's file has all but its name."""
    from infra.stack import StackSpec
    from infra.stack_file import check_stack_name

    problems = [Problem(f"--{option}", "is what the region's file says", fix="leave it out") for option in _said_of_region(answers)]
    stack = answers.region_stack
    if stack is None and ask:
        from rich.prompt import Prompt

        stack = Prompt.ask("stack of the region whose cluster it is")
    if stack is None:
        problems.append(Problem("--region-stack", "is missing", "name of the region's stack, whose file is in the same folder"))
    if problems or stack is None:
        raise SpecError("accelform init", problems)
    check_stack_name(stack)
    path = folder / f"Pulumi.{stack}.yaml"
    if not path.is_file():
        fix = f"accelform init --stack {stack} --run cluster"
        raise SpecError("accelform init", [Problem("--region-stack", f"there is no {path}", "a region's file in that folder", fix)])
    region = StackSpec.load(path)
    if not region.clusters:
        fix = "write `accelform:clusters`: accelform explain clusters"
        raise SpecError("accelform init", [Problem("--region-stack", f"{path} has no cluster", fix=fix)])
    return replace(
        answers,
        region_stack=stack,
        project=region.project,
        region=region.region,
        environment=region.environment,
        owner=region.owner,
        run=list(region.clusters),
    )


def _said_of_region(answers: Answers) -> list[str]:
    """Options that belong to other kinds."""
    own = ("kind", "region_stack", "stack")
    return [one.name.replace("_", "-") for one in fields(answers) if one.name not in own and getattr(answers, one.name)]


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


NAMESPACES = (
    "",
    "  accelform:namespaces:",
    "    serving: { pod_security: restricted } # nobody is root in it; accelform explain services",
    "    training: { pod_security: restricted } # accelform explain jobs",
)


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
        *([] if answers.kind == REGION else [f"  accelform:kind: {answers.kind} # {KINDS[answers.kind]}"]),
        *([f"  accelform:region_stack: {quoted(answers.region_stack)}"] if answers.region_stack else []),
        f"  accelform:region: {quoted(answers.region)} # everything below lives here",
        f"  accelform:environment: {quoted(answers.environment)} # dev: everything can be destroyed with its data",
        f"  accelform:owner: {quoted(answers.owner)} # label on every resource",
    ]
    if answers.notify:
        lines.append(f"  accelform:notify: {quoted(answers.notify)}")
    if answers.kind == APPS:
        if len(answers.run or []) > 1:
            lines.append(f"  accelform:cluster: {quoted((answers.run or [])[0])} # of {', '.join(answers.run or [])}")
        return "\n".join([*lines, *NAMESPACES, ""])
    machines = [one for one in answers.run or [] if one not in THINGS]
    if CLUSTER in (answers.run or []):
        lines += ["", "  accelform:clusters:", "    main:", "      mode: standard # its system pool always stands, and costs"]
    if machines:
        lines += ["", "  accelform:tpu_slices:"]
    for machine in machines:
        minutes = str(answers.max_run_minutes)
        lines += [
            f"    {quoted(machine)}:",
            f"      accelerator_type: {quoted(machine)}",
            f"      zone: {quoted(answers.zone)}",
            f"      provisioning: {quoted(answers.provisioning)}",
            f"      max_run_minutes: {minutes if re.fullmatch(r'[1-9][0-9]*', minutes) else quoted(minutes)}",
            *([f"      because: {quoted(answers.because)}"] if answers.because else []),
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
