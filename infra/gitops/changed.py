"""
Which stacks a change of the repository touches, in the order in which they are made.

A stack is touched by its own file, by the file of a stack that it reads, and by anything that the program is made of: whoever leaves one
out too many would find out at night, whoever takes one too many waits a minute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.check import FILE, stack_files
from infra.errors import SpecError
from infra.operate.git import Commit
from infra.refusals import NAMESPACE, PROJECT_KEY
from infra.stack_file import KINDS, REGION
from infra.yaml_file import read

BY_PEOPLE = ("foundation",)
"""Kinds that people make, by hand: a pipeline that could change its own identity and the keys of the states could give itself anything."""
READS = ("region_stack", "foundation")
"""Keys of a stack file that name another stack."""
APART = ("docs/", "tests/", "tools/", "reports/", ".github/", ".ci/", "LICENSE")
"""What no program is made of, and no stack file either."""


@dataclass(frozen=True, slots=True)
class Stacks:
    """Stacks of a folder that are touched, each kind after those that it builds on."""

    kinds: Mapping[str, Sequence[str]]
    """Names by kind: every kind that there is, in order."""
    gone: Sequence[str] = ()
    """Stacks whose file was there before: what they made stands until somebody destroys it."""

    @property
    def names(self) -> list[str]:
        return [name for names in self.kinds.values() for name in names]

    @property
    def applied(self) -> list[str]:
        """Those that a pipeline makes."""
        return [name for kind, names in self.kinds.items() if kind not in BY_PEOPLE for name in names]

    def as_json(self) -> dict[str, Any]:
        return {
            "stacks": self.names,
            "kinds": {kind: list(names) for kind, names in self.kinds.items()},
            "gone": list(self.gone),
        }


def touched(folder: Path, ref: str | None) -> Stacks:
    """
    Args:
        ref: What is checked out (`HEAD`) is compared with it; None for every stack.

    Raises:
        SpecError: The folder has no stack file, or git knows no such ref.
        MachineError: There is no git.
    """
    commit = None if ref is None else Commit.at(ref, folder)
    before = [match[1] for name in commit.files(folder) if (match := FILE.fullmatch(name))] if commit else []
    here = os.path.isdir(folder) and any(FILE.fullmatch(path.name) for path in folder.glob("Pulumi.*.yaml"))
    files = stack_files([], folder) if here or not before else []
    configs = {file.stack: _config(file.path) for file in files}
    if commit is None:
        return Stacks(_by_kind(configs, configs))
    changes = set(commit.changes())
    own = {file.stack for file in files if commit.path_of(file.path) in changes}
    of_stacks = f"{commit.path_of(folder)}/".removeprefix("./")
    program = any(not path.startswith((*APART, of_stacks)) and not path.endswith(".md") for path in changes)
    names = configs if program else {*own, *_readers(configs, own)}
    return Stacks(_by_kind(configs, names), [name for name in before if name not in configs])


def _config(path: Path) -> Mapping[str, Any]:
    """What a file says, unjudged: one that cannot be read is touched as well, and its check says what is wrong."""
    try:
        config = read(path).data.get("config")
    except SpecError:
        return {}
    return config if isinstance(config, dict) else {}


def _by_kind(configs: Mapping[str, Mapping[str, Any]], names: Sequence[str] | Mapping[str, Any] | set[str]) -> dict[str, list[str]]:
    """A file of no known kind stands with the regions, where its check refuses it."""
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name, config in configs.items():
        if name in names:
            kind = str(config.get(f"{NAMESPACE}kind", REGION))
            kinds[kind if kind in kinds else REGION].append(name)
    return kinds


def _readers(configs: Mapping[str, Mapping[str, Any]], own: set[str]) -> Iterator[str]:
    """Stacks that read one of *own*, by name; and the foundation of a region's project, which turns on the APIs that regions need."""
    projects = {configs[name].get(PROJECT_KEY) for name in own if configs[name].get(f"{NAMESPACE}kind", REGION) == REGION}
    found = set(own)
    for name, config in configs.items():
        if config.get(f"{NAMESPACE}kind") == "foundation" and config.get(PROJECT_KEY) in projects:
            yield name
    while more := {
        name for name, config in configs.items() if name not in found and any(config.get(f"{NAMESPACE}{key}") in found for key in READS)
    }:
        found |= more
        yield from more
