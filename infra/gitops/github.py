"""The three workflows of GitHub: preview, apply and drift, from the templates beside this file, and what is to be set for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from infra.check import StackFile
from infra.errors import Problem, SpecError
from infra.refusals import NAMESPACE
from infra.yaml_file import read

WORKFLOWS = ("accelform-preview.yml", "accelform-apply.yml", "accelform-drift.yml")
FOLDER = Path(".github", "workflows")
BRANCH, ENVIRONMENT = "main", "production"
NAMES = {
    "branch": re.compile(r"(?!/)(?!.*//)(?!.*\.\.)[A-Za-z0-9._/-]{1,100}(?<!/)"),
    "environment": re.compile(r"[A-Za-z0-9._-]{1,100}"),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the repository."""

    name: str
    what: str
    output: str
    """Output of the foundation's stack that it is."""


VARIABLES = (
    Variable("ACCELFORM_IDENTITY_PROVIDER", "the workload identity provider, projects/NUMBER/...", "pipeline_provider"),
    Variable("ACCELFORM_PREVIEW_ACCOUNT", "the service account that reads", "pipeline_preview"),
    Variable("ACCELFORM_APPLY_ACCOUNT", "the service account that makes", "pipeline_apply"),
    Variable("ACCELFORM_STATE_URL", "the bucket of the states, gs://...", "state_url"),
)
"""None is a secret: no key exists."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the workflows are written for."""

    branch: str
    """Branch that is applied."""
    environment: str
    """Environment whose reviewers let a stack through."""
    foundation: str = ""
    """Stack that holds the pipeline's identities; empty where no file says so."""


def asked(stacks: Iterable[StackFile], branch: str | None, environment: str | None) -> Asked:
    """
    What was not said is read from the foundation's file, since its identity provider takes no other branch and environment.

    Raises:
        SpecError: The foundation's file says otherwise, or a name is none.
    """
    foundation, pipeline = _pipeline(stacks)
    own = {"branch": pipeline.get("branch", BRANCH), "environment": pipeline.get("environment", ENVIRONMENT)}
    found: dict[str, str] = {}
    problems = []
    for key, said in (("branch", branch), ("environment", environment)):
        found[key] = str(own[key]) if said is None else said
        if not NAMES[key].fullmatch(found[key]):
            problems.append(
                Problem(f"--{key}", f"{found[key][:60]!r} is not the name of one", "letters, digits, ., _ and -", f"--{key} main")
            )
        elif foundation and found[key] != own[key]:
            words = f"is {found[key]}, and stack {foundation} lets {own[key]} in"
            problems.append(Problem(f"--{key}", words, str(own[key]), f"leave it out, or change `pipeline.{key}` of that stack first"))
    if problems:
        raise SpecError("accelform gitops init github", problems)
    return Asked(found["branch"], found["environment"], foundation)


def _pipeline(stacks: Iterable[StackFile]) -> tuple[str, Mapping[str, Any]]:
    """The foundation that has a pipeline, and what it says of it; nothing where there is none, or several."""
    found = []
    for one in stacks:
        config = read(one.path).data.get("config")
        if isinstance(config, dict) and config.get(f"{NAMESPACE}kind") == "foundation":
            pipeline = config.get(f"{NAMESPACE}pipeline")
            if isinstance(pipeline, dict):
                found.append((one.stack, pipeline))
    return found[0] if len(found) == 1 else ("", {})


def workflows(asked: Asked) -> dict[Path, str]:
    """The files, by their path in the checkout."""
    texts = {name: files("infra.gitops").joinpath("workflows", name).read_text(encoding="utf-8") for name in WORKFLOWS}
    return {
        FOLDER / name: text.replace("@branch@", asked.branch).replace("@environment@", asked.environment) for name, text in texts.items()
    }


def to_do(asked: Asked) -> list[str]:
    """What is set in GitHub, once, as commands of `gh`."""
    stack = asked.foundation or "FOUNDATION"
    return [
        f"gh api --method PUT repos/{{owner}}/{{repo}}/environments/{asked.environment} # then its reviewers, in the settings",
        *(f'gh variable set {one.name} --body "$(pulumi stack output {one.output} --stack {stack})"' for one in VARIABLES),
    ]
