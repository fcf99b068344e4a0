"""What a program of a job is told, and when it runs: wherever it runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from infra.components.images import Image
from infra.components.model import Text, Variable
from infra.errors import Problem
from infra.schedule import Schedule, ScheduleError
from infra.spec import Spec, WholeNumber, YesNo, pattern, problem
from workloads.contract import DATA_PREFIX, PREFIX
from workloads.job import PROGRAMS, Program

WORKLOADS = tuple(one.name for one in PROGRAMS.values() if one.kind != "serve")
COMMAND = "command"
"""What is said in the place of a workload where a job has a command."""


def _workload(value: str) -> str:
    program = PROGRAMS.get(value)
    if program is None:
        raise problem("is no workload", allowed=WORKLOADS)
    if program.kind == "serve":
        raise problem("serves until it is stopped: a job of it would never end", allowed=WORKLOADS, fix="serve it by an endpoint")
    return value


def in_bucket(bucket: str, example: str) -> AfterValidator:
    """A refusal of paths that lead out of a bucket, or nowhere."""

    def check(value: str) -> str:
        if any(part in ("", ".", "..") for part in value.rstrip("/").split("/")):
            raise problem(f"is no folder of the {bucket} bucket", allowed=f"a path without gs://, . and .., for example {example}")
        return value

    return AfterValidator(check)


Folder = Annotated[
    str,
    StringConstraints(strict=True, max_length=500),
    pattern(r"[A-Za-z0-9][A-Za-z0-9._=/-]*", "is no folder of the data bucket (letters, digits, . _ = - and /)", "clicks/"),
    in_bucket("data", "clicks/"),
]
DataName = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[a-z](?:[a-z0-9_-]{0,38}[a-z0-9])?", "is no name of data (1 to 40 of a-z, 0-9, _ and -, a letter first)", "clicks"),
]


class ProgramSpec(Spec):
    """What runs, what it reads, and when."""

    workload: Annotated[str, StringConstraints(strict=True), AfterValidator(_workload)] | None = None
    """Program of this project that runs, such as `train_recommender`. (default: none; `command` is said)"""
    image: Image | None = None
    """Image of the container, by its digest, in a repository of the stack's region. (default: the workload's, of `images`; needed with
    `command`)"""
    command: list[Text] = []
    """What runs in an image that is not this project's, such as Google's of MaxText: the first word is its entry point. It is told the
    run by the same variables; what this project's programs check of themselves, such as that every chip is there, it has to do itself.
    (default: the workload's)"""
    args: list[Text] = []
    """Arguments of the program."""
    env: Annotated[dict[Variable, Text], Field(max_length=200)] = {}
    """Environment of the container, beside what each run is told. No secrets: whoever may read the machine reads it."""
    data: dict[DataName, Folder] = {}
    """Folders of the data bucket by the names that the program knows them by."""
    save_every_steps: Annotated[WholeNumber, Field(ge=1)] = 200
    """Steps between two checkpoints at most."""
    schedule: Annotated[str, StringConstraints(strict=True, min_length=1)] | None = None
    """When it runs, as minute, hour, day of the month, month and day of the week: `0 2 * * *`. (default: when somebody runs it)"""
    timezone: Annotated[str, StringConstraints(strict=True, min_length=1)] | None = None
    """Time zone of `schedule`, as the IANA database calls it: `Asia/Taipei`. (default: none; it goes with `schedule`)"""
    paused: YesNo = False
    """Whether the schedule starts nothing for now."""

    @field_validator("env")
    @classmethod
    def _not_the_contract(cls, value: dict[str, str]) -> dict[str, str]:
        if ours := sorted(name for name in value if name.upper().startswith(PREFIX)):
            raise problem(f"has what each run is told by itself: {', '.join(ours)}", allowed=f"names that do not begin with {PREFIX}")
        return value

    @field_validator("data")
    @classmethod
    def _one_variable_each(cls, value: dict[str, str]) -> dict[str, str]:
        variables = sorted((variable(name), name) for name in value)
        for (one, first), (other, second) in itertools.pairwise(variables):
            if one == other:
                raise problem(f"has two names of one variable, {one}: {first} and {second}", fix="rename one")
        return value

    @property
    def program(self) -> Program | None:
        """The program of this project; None where a command is said."""
        return PROGRAMS[self.workload] if self.workload else None

    @property
    def runs(self) -> str:
        """What runs, in a word: the workload, or `command`."""
        return self.workload or COMMAND

    @property
    def clock(self) -> Schedule | None:
        """When it runs; None where somebody runs it."""
        return Schedule(self.schedule, self.timezone) if self.schedule and self.timezone else None

    def _runs(self) -> Iterator[Problem]:
        """What is to run: a program of this project, or a command of an image."""
        if self.workload and self.command:
            yield Problem("command", "is said besides workload", "one of the two", "remove one")
        elif self.command and self.image is None:
            words = "is missing: a command runs in an image that is not among this project's"
            yield Problem("image", words, "an image by its digest, in a repository of the stack's region", "write it")
        elif not self.workload and not self.command:
            fix = "write workload, for a program of this project; or `command` and `image`, for another"
            yield Problem("workload", "is missing", ", ".join(WORKLOADS), fix)
        if self.command and not self.command[0].strip():
            yield Problem("command.0", "is no word: it names what is started", "such as python3")

    def _clock(self) -> Iterator[Problem]:
        if bool(self.schedule) != bool(self.timezone):
            missing, there = ("timezone", "schedule") if self.schedule else ("schedule", "timezone")
            example = "such as Asia/Taipei" if missing == "timezone" else "such as 0 2 * * *"
            yield Problem(missing, f"is missing: {there} says nothing without it", example, f"write it, or remove {there}")
        elif self.schedule and self.timezone:
            try:
                Schedule(self.schedule, self.timezone)
            except ScheduleError as error:
                key, _, part = error.what.partition(": ")
                words = f"{error.got!r} is no {part or ('schedule' if key == 'cron' else 'time zone')}"
                yield Problem("schedule" if key == "cron" else "timezone", words, error.allowed)
        if self.paused and not self.schedule:
            yield Problem("paused", "does nothing: there is no schedule", fix="remove it")

    def _reads(self) -> Iterator[Problem]:
        if self.program and (missing := self.program.lacks(self.args, self.data)):
            entries = ", ".join(f"{name}: {name}/" for name in missing)
            fix = f"write {{{entries}}} with the folders of the data bucket"
            if self.program.alone:
                fix += f"; or write `args: [{self.program.alone}]`: it then makes them up"
            yield Problem("data", f"lacks {' and '.join(missing)}: {self.workload} reads them", ", ".join(self.program.needs), fix)


def variable(name: str) -> str:
    """The variable that says a folder to the program."""
    return f"{DATA_PREFIX}{name.upper().replace('-', '_')}"
