"""
One environment, one project: stack files of one project in a folder are all of one environment.

What dev may destroy, prod could then not miss: quota, budgets and rights are a project's, and so is the pipeline's account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from infra.errors import Problem, SpecError
from infra.yaml_file import read

FILES = "Pulumi.*.yaml"
SAID = re.compile(r"""^[ ]+["']?accelform:environment["']?\s*:\s*["']?(\w+)["']?\s*(?:#.*)?$""", re.MULTILINE)
"""The key as nearly every file has it: of one that says the same, nothing else need be read."""


def problems(project: str, environment: str, folder: Path) -> Iterator[Problem]:
    """
    Files of the same project that are of another environment: one problem with all of them.

    One that cannot be read is of no project that is known: whoever names it tells.
    """
    others: dict[str, list[str]] = {}
    for path in sorted(folder.glob(FILES)):
        if (found := _environment(path, project, environment)) not in (None, environment):
            others.setdefault(str(found), []).append(path.name)
    if others:
        said = "; ".join(f"{environment} is that of {', '.join(files)}" for environment, files in others.items())
        words = f"{environment}, and in the same project, {project}, {said}"
        yield Problem("environment", words, "one project each", "give the stacks of each environment a project of their own in gcp:project")


def _environment(path: Path, project: str, own: str) -> str | None:
    """The environment of a file of the project; None where it is of another one, or not known."""
    try:
        text = path.read_text(encoding="utf-8")
        if project not in text or set(SAID.findall(text)) == {own}:
            return None
        config = read(path).config
    except (OSError, UnicodeDecodeError, SpecError):
        return None
    if config.get("gcp:project") != project:
        return None
    found = config.get("accelform:environment")
    return found if isinstance(found, str) else None
