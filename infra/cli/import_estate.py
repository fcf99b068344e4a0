"""`accelform import` of what others made: a stack file that names it, and owns nothing of it."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli import import_
from infra.cli.import_ import LEFT, NOT_TAKEN, READ, Asked, Row
from infra.errors import Problem, SpecError

if TYPE_CHECKING:
    from infra.cli.progress import Progress
    from infra.operate.taking import Taken
    from infra.stack import StackSpec

BUDGETS = "accelform:budgets"


def run(asked: Asked, stack: str, path: Path, progress: Progress, *, cloud: bool, as_json: bool) -> int:
    """Lists the project, writes the file, and looks for what the file would make."""
    from infra.operate import estate, taking

    asked = _complete(asked)
    if path.exists():
        from infra.cli.init import engine_keys

        if kept := engine_keys(path):
            said = f"holds {', '.join(kept)}: without them the stack's secrets cannot be read any more"
            raise SpecError(str(path), [Problem("", said, fix="write another file with --stack NAME")])
    project, region = str(asked.project), str(asked.region)
    base = import_.sandbox(project, cloud=cloud)
    with progress.status(f"{project}: listing"):
        found = estate.look(project, region, base)
    sorted_ = taking.sort(found.things, stack, region)
    spec, text, taken, refused = _passing(asked, sorted_.taken, stack)
    rows = [Row(READ, one.thing.kind, one.key, one.thing.name) for one in taken]
    rows += [Row(NOT_TAKEN, one.thing.kind, one.thing.short, one.thing.name, why) for one, why in refused]
    rows += [Row(LEFT if thing.stack == stack else NOT_TAKEN, thing.kind, thing.short, thing.name, why) for thing, why in sorted_.left]
    rows += [Row(NOT_TAKEN, one.kind, "all", "", f"{import_.UNLISTED}: {one.why}") for one in found.refused]
    seen = import_.look(spec, stack, base, progress)
    rows += import_.rows_of(seen)

    from infra.cli.init import write

    write(path, text, "what was found")
    written = [path, *import_.write(path.parent, stack, seen)]
    return import_.told(rows, stack, written, cloud=cloud, as_json=as_json)


def _complete(asked: Asked) -> Asked:
    """All answers that no list can give; all that are missing at once."""
    needed = {
        "project": "a project id",
        "region": "a region, such as asia-east1",
        "environment": "dev, staging or prod",
        "owner": "a label of what the stack makes, such as ml-team",
    }
    missing = [Problem(f"--{key}", "is missing", allowed) for key, allowed in needed.items() if not getattr(asked, key)]
    if missing:
        raise SpecError("accelform import", missing)
    return asked


def _passing(asked: Asked, taken: Sequence[Taken], stack: str) -> tuple[StackSpec, str, list[Taken], list[tuple[Taken, str]]]:
    """
    The file of as much as a check takes: what it refuses is left out, with its words.

    Raises:
        SpecError: What is wrong is not one of them.
    """
    from infra.operate import taking
    from infra.stack import StackSpec

    left: list[tuple[Taken, str]] = []
    kept = list(taken)
    while True:
        text = _text(asked, taking.config(kept))
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / f"Pulumi.{stack}.yaml"
            draft.write_text(text, encoding="utf-8")
            try:
                return StackSpec.load(draft, "what was found"), text, kept, left
            except SpecError as error:
                paths = {one.path: f"{one.message}{f'; allowed: {one.allowed}' if one.allowed else ''}" for one in error.problems}
                wrong = list(taking.refused(kept, paths))
                if not wrong:
                    raise _asked_for(error) from None
                left += wrong
                out = {one.key for one, _ in wrong}
                kept = [one for one in kept if one.key not in out]


def _asked_for(error: SpecError) -> SpecError:
    """Where the project has no budget, one must be said; other words are those of the check, by the options that they are of."""
    options = {"gcp:project": "--project", "environment": "--environment", "owner": "--owner", "region": "--region"}
    problems = [
        replace(one, path="--monthly-limit", message="is missing: no budget counts the whole project", allowed="350 USD", fix="", line=None)
        if one.path == "budgets"
        else replace(one, path=options.get(one.path, one.path), line=None)
        for one in error.problems
    ]
    return SpecError("accelform import", problems)


def _text(asked: Asked, said: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML

    own: dict[str, Any] = {
        "gcp:project": asked.project,
        "accelform:schema": 1,
        "accelform:region": asked.region,
        "accelform:environment": asked.environment,
        "accelform:owner": asked.owner,
    }
    notify = [*(asked.notify or []), *said.get("notify", [])]
    parts = {f"accelform:{key}": value for key, value in said.items() if key != "notify"}
    if notify:
        own["accelform:notify"] = list(dict.fromkeys(notify))[:5]
    if asked.monthly_limit and not parts.get(BUDGETS):
        parts[BUDGETS] = {"monthly": {"amount": asked.monthly_limit}}
    yaml = YAML(typ="rt", pure=True)
    yaml.default_flow_style = False
    yaml.width = 4096
    text = io.StringIO()
    yaml.dump({"config": own | parts}, text)
    head = "# yaml-language-server: $schema=stack.schema.json\n# What others own is only read: written by accelform import.\n"
    return head + text.getvalue()
