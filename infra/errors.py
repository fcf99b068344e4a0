"""
What can go wrong for a user, and the exit code each wrong has.

    AccelformError          a sentence for the user, never a traceback
    |- SpecError            the stack file is not what it may be: every problem of the file at once
    |- MachineError         this machine lacks something
    `- StoppedError         a signal asked for an end
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command. `accelform explain exit-codes` prints them."""

    OK = 0
    INTERNAL = 1
    SPEC = 2
    FINDINGS = 3
    INCOMPLETE = 4
    ENVIRONMENT = 5
    CLOUD = 6
    INTERRUPTED = 130


EXIT_CODES: dict[ExitCode, str] = {
    ExitCode.OK: "all is well",
    ExitCode.INTERNAL: "a fault of accelform itself; please report it with the text above",
    ExitCode.SPEC: "the command line or a stack file is wrong; every problem is printed",
    ExitCode.FINDINGS: "a rule or a guard of a rollout does not hold, what was asked about cannot be had, or `--check` finds a change",
    ExitCode.INCOMPLETE: "the cost total is incomplete: at least one price is unknown",
    ExitCode.ENVIRONMENT: "this machine lacks something that the command needs",
    ExitCode.CLOUD: "Google Cloud refused, did not answer, or its project is not ready for this stack",
    ExitCode.INTERRUPTED: "a signal stopped it; what was made until then stays",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in one place: where, what, got, allowed, fix."""

    path: str
    """Dotted path in the stack file, without the `accelform:` prefix."""
    message: str
    allowed: str = ""
    fix: str = ""
    line: int | None = None

    def lines(self, file: str) -> list[str]:
        where = file if self.line is None else f"{file}:{self.line}"
        first = f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"
        rest = [f"  allowed: {self.allowed}"] if self.allowed else []
        return [_printable(line) for line in (first, *rest, *([f"  fix: {self.fix}"] if self.fix else []))]


def _printable(line: str) -> str:
    """A line without what would steer a terminal: keys of a file reach it as they are."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1] for letter in line)


class AccelformError(Exception):
    """A sentence for the user. Its subclass says the exit code."""

    exit_code = ExitCode.INTERNAL


class SpecError(AccelformError):
    """Every problem of one stack file."""

    exit_code = ExitCode.SPEC

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = list(problems)
        super().__init__("\n".join(line for problem in self.problems for line in problem.lines(file)))


class MachineError(AccelformError):
    """This machine lacks something that the command needs."""

    exit_code = ExitCode.ENVIRONMENT


class StoppedError(AccelformError):
    """A signal asked for an end."""

    exit_code = ExitCode.INTERRUPTED


class ProblemsError(ValueError):
    """Several problems that one validator found; each path is relative to the validated object."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


def nearest(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known words that look most like *word*, best first."""
    return difflib.get_close_matches(word, list(known), n=count, cutoff=0.5)
