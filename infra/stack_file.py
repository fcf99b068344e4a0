"""
A stack file of any kind: `stacks/Pulumi.<stack>.yaml` -> its spec, with all errors of a file at once.

The engine hands the program the same keys as text (`pulumi.Config` would ignore a key that nobody reads; here it is refused).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from infra import environments, keys, one_project, refusals
from infra.catalog import places
from infra.components.placement import Placement
from infra.cost.usage import Usage
from infra.environments import EnvironmentName
from infra.errors import Problem, SpecError, nearest
from infra.exceptions import ExceptionSpec
from infra.refusals import NAMESPACE, PROJECT_KEY
from infra.spec import Label, ProjectId, Spec, problem
from infra.yaml_file import YamlFile, read

SCHEMA = 1
"""Version of the stack file's shape. A file of another version is refused, with what to do."""

ENGINE_KEYS = ("config", "secretsprovider", "encryptionsalt", "encryptedkey")
"""What the engine itself keeps at the top of a stack file. Not `environment`: it brings configuration in that no check could see.
Source: https://www.pulumi.com/docs/iac/concepts/projects/stack-settings-file/, read 2026-11."""


REGION = "region"
KINDS = {"foundation": "what a project has once", REGION: "everything in one region", "apps": "what lives in a cluster of a region"}
"""Kinds of stacks, by the key `kind`, in the order in which they are made."""

STACK_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?")


def check_stack_name(stack: str) -> None:
    """
    Raises:
        SpecError: The name cannot be a part of physical names: bucket and account names are lower case, and no bucket may speak of Google.
    """
    if not STACK_NAME.fullmatch(stack) or "goog" in stack:
        allowed = "1 to 40 of a-z, 0-9 and -, a letter first, no - at the end, without goog; for example asia-east1"
        raise SpecError(
            f"stack {stack!r}", [Problem("", "the name cannot be a part of resource names", allowed, "rename the file and the stack")]
        )


def _region(value: object) -> object:
    try:
        places.check_region(str(value))
    except places.UnknownPlace as error:
        raise problem("is not a Google Cloud region", allowed=error.nearest or places.regions()) from None
    return value


def _version(value: object) -> object:
    if value == str(SCHEMA):
        return SCHEMA  # `pulumi stack init` writes the file anew, and each of its scalars as text
    if value != SCHEMA or isinstance(value, bool):
        raise problem("is not the version of the file's shape", allowed=f"{SCHEMA}")
    return value


Region = Annotated[str, BeforeValidator(_region)]


class FileSpec(Spec):
    """What a stack file of every kind says."""

    project: ProjectId
    """Project id: the engine's own key `gcp:project`."""
    schema_version: Annotated[Literal[1], BeforeValidator(_version), Field(alias="schema")]
    """Version of the file's shape: 1."""
    kind: str
    """What kind of stack it is."""
    region: Region
    """Region that everything in this file lives in."""
    environment: EnvironmentName
    """`dev`: everything can be destroyed with its data. `staging` and `prod`: buckets, repository, clusters and node pools are protected.
    The rest that it decides: `accelform explain environment`."""
    owner: Label
    """Label of every resource that can carry one."""
    usage: Usage = Usage()
    """Assumptions for the cost estimate."""
    exceptions: list[ExceptionSpec] = []
    """Rules that need not hold of a resource, each until a day and with its reason."""

    def placement(self, stack: str) -> Placement:
        """
        Where the stack of that name stands.

        Raises:
            SpecError: The stack's name cannot be a part of physical names.
        """
        check_stack_name(stack)
        return Placement(self.project, stack, self.region, self.environment, self.owner)

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Stacks that stand before it does: it reads their outputs."""
        return ()

    @classmethod
    def load(cls, path: Path, name: str | None = None, *, beside: bool = True) -> Self:
        """
        Reads one stack file.

        Args:
            beside: Whether files of other stacks in its folder are read, too. (default: they are)

        Raises:
            SpecError: With every problem of the file.
        """
        return cls.from_file(read(path, name), path.parent if beside else None)

    @classmethod
    def from_file(cls, file: YamlFile, folder: Path | None = None) -> Self:
        """
        The same of a file that was read already.

        Args:
            folder: Where the files of other stacks are; None where they are not read.

        Raises:
            SpecError: With every problem of the file.
        """
        config = file.data.get("config")
        foreign = [
            Problem(
                str(key),
                "is not a key of a stack file",
                allowed=", ".join(ENGINE_KEYS),
                fix=f"move it under `config:` as `{NAMESPACE}{key}`" if str(key) in cls.model_fields else "",
                line=file.line_of((key,)),
            )
            for key in file.data
            if key not in ENGINE_KEYS
        ]
        if not isinstance(config, dict):
            allowed = f"{PROJECT_KEY} and keys that begin with {NAMESPACE}"
            line = file.line_of(("config",))
            missing = Problem("config", "is missing, or is not a mapping of keys", allowed, "write one: accelform init", line)
            raise SpecError(file.name, [*foreign, missing])
        return cls._from_config(config, file, foreign, folder)

    @classmethod
    def from_engine(cls, config: Mapping[str, str], name: str, folder: Path | None = None) -> Self:
        """
        Reads what the engine hands over: full keys to text, objects as JSON.

        Args:
            folder: Where the files of other stacks are.

        Raises:
            SpecError: With every problem of the configuration.
        """
        parsed = {key: _parsed(key, text) for key, text in config.items() if not key.startswith("pulumi:")}
        return cls._from_config(parsed, YamlFile(name, {"config": parsed}, {}), [], folder)

    @classmethod
    def _from_config(cls, config: Mapping[str, Any], file: YamlFile, problems: list[Problem], folder: Path | None) -> Self:
        fields: dict[str, Any] = {}
        problems = list(problems)
        for key, value in config.items():
            field = "project" if key == PROJECT_KEY else str(key).removeprefix(NAMESPACE)
            if key != PROJECT_KEY and not str(key).startswith(NAMESPACE):
                problems.append(_foreign_key(str(key), file.line_of(("config", key))))
            elif field == "project" and key != PROJECT_KEY:
                problems.append(Problem(field, f"is the engine's own key: write `{PROJECT_KEY}`", line=file.line_of(("config", key))))
            else:
                fields[field] = value
        _check_version(fields, file)
        _check_kind(cls, fields, file)
        problems += _beside(fields, file, folder)
        context = cls.context(fields, file, folder)
        try:
            spec = cls.model_validate(fields, context=context)
        except ValidationError as error:
            problems += refusals.problems(cls, error, file)
            raise SpecError(file.name, _in_file_order(problems)) from None
        if problems:
            raise SpecError(file.name, _in_file_order(problems))
        return spec

    @classmethod
    def context(cls, fields: Mapping[str, Any], file: YamlFile, folder: Path | None) -> dict[str, Any]:
        """What validators of its parts read of the rest of the file; `region` is None where the file's is wrong."""
        region = fields.get("region")
        return {"region": region if isinstance(region, str) and region in places.regions() else None}


def _parsed(key: str, text: str) -> Any:
    """The engine's text as data: objects and lists come as JSON. A scalar stays text: nobody can tell `1` from `"1"` any more."""
    if text.startswith(("{", "[")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return int(text) if key == f"{NAMESPACE}schema" and re.fullmatch(r"[0-9]{1,9}", text) else text


def _foreign_key(key: str, line: int | None) -> Problem:
    close = nearest(key.rpartition(":")[2], ["project", *_names()], 1)
    right = "" if not close else PROJECT_KEY if close[0] == "project" else f"{NAMESPACE}{close[0]}"
    return Problem(
        key,
        "is not a key of this project",
        allowed=f"{PROJECT_KEY} and keys that begin with {NAMESPACE}",
        fix=f"did you mean `{right}`?" if right else "",
        line=line,
    )


def _names() -> list[str]:
    """Keys of every kind of file: of a wrong one nobody knows which kind was meant."""
    return sorted({name for spec in FileSpec.__subclasses__() for name in keys.names(spec)})


def _check_version(fields: Mapping[str, Any], file: YamlFile) -> None:
    """A file of another version is not judged by this version's keys."""
    version = fields.get("schema")
    if isinstance(version, int) and not isinstance(version, bool) and version != SCHEMA:
        what = "was written for a newer accelform" if version > SCHEMA else "is of a version that never was"
        fix = "upgrade accelform" if version > SCHEMA else f"set {NAMESPACE}schema to {SCHEMA}"
        line = file.line_of(("config", f"{NAMESPACE}schema"))
        raise SpecError(
            file.name, [Problem("schema", f"{refusals.show(version)}: the file {what}", allowed=str(SCHEMA), fix=fix, line=line)]
        )


def _beside(fields: Mapping[str, Any], file: YamlFile, folder: Path | None) -> list[Problem]:
    """Stacks of other environments in the same project."""
    project, environment = fields.get("project"), fields.get("environment")
    if folder is None or not isinstance(project, str) or not project or environment not in environments.NAMES:
        return []
    line = file.line_of(("config", f"{NAMESPACE}environment"))
    return [replace(one, line=line) for one in one_project.problems(project, str(environment), folder)]


def _check_kind(cls: type[FileSpec], fields: Mapping[str, Any], file: YamlFile) -> None:
    """A file of another kind is not judged by this kind's keys."""
    own = str(cls.model_fields["kind"].default)
    kind = fields.get("kind", REGION)
    if kind != own and kind in tuple(KINDS):  # a list is in no mapping, and asking one raises
        line = file.line_of(("config", f"{NAMESPACE}kind")) or file.line_of(("config",))
        message = f"the stack is of kind {kind}, and this wants one of kind {own}"
        raise SpecError(file.name, [Problem("kind", message, fix="name another stack", line=line)])


def _in_file_order(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda one: (one.line is None, one.line or 0))


Beside = TypeVar("Beside", bound=FileSpec)


def read_beside(spec: type[Beside], stack: object, folder: Path | None, *, beside: bool = True) -> Beside | SpecError | None:
    """The file of a stack that another one names, which must stand in the same folder; what is wrong with it; None where none is meant."""
    if not isinstance(stack, str) or not STACK_NAME.fullmatch(stack) or folder is None:
        return None
    try:
        return spec.load(folder / f"Pulumi.{stack}.yaml", beside=beside)
    except SpecError as error:
        return error


def check_beside(stack: str, found: object) -> str:
    """
    The name of a stack that a file names.

    Args:
        found: What `read_beside` found.

    Raises:
        PydanticCustomError: It is no name, or its file is wrong.
    """
    if not STACK_NAME.fullmatch(stack):
        raise problem("is not the name of a stack", allowed="for example asia-east1")
    if isinstance(found, SpecError):
        first = found.problems[0]
        said = f"{first.path}: {first.message}" if first.path else first.message
        allowed = "a stack whose file stands beside this one, and is right"
        raise problem(f"has a file that is wrong ({said})", allowed=allowed, fix=f"accelform check {stack}")
    return stack
