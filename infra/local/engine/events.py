"""Runs an update by the engine, and reads its events as they come."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.errors import AccelformError, ExitCode
from infra.local.engine import find

REFUSED = "googleapi: Error"
"""In what the provider says where Google answered: then the create is known not to have been done."""


@dataclass(frozen=True, slots=True)
class Step:
    """One resource that the engine begins or has finished."""

    op: str
    """`create`, `update`, `delete`, `replace`, `same`, `read`, `refresh` ..."""
    type: str
    name: str
    done: bool
    failed: bool = False

    @property
    def changes(self) -> bool:
        return self.op not in ("same", "read", "refresh")


@dataclass(slots=True)
class Outcome:
    """What an update did, or a preview would do."""

    code: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    """Operation -> number of resources."""
    replaced: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """Mandatory policies that do not hold."""
    said: list[str] = field(default_factory=list)
    """What the engine wrote besides events, and what the program said as it failed."""
    unsure: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Creates that were begun and of which nobody said how they ended, as where a provider was killed: URN -> the resource."""

    @property
    def changed(self) -> int:
        return sum(count for op, count in self.changes.items() if op not in ("same", "read", "refresh"))

    def text(self) -> str:
        """Why it failed, as the engine and the provider put it."""
        lines = self.violations + self.errors or self.said[-12:]
        return "\n".join(dict.fromkeys(line.strip() for line in lines if line.strip()))


class InterruptedUpdateError(AccelformError):
    """The user stopped an update. The engine ended what it had begun, unless it was told twice."""

    exit_code = ExitCode.INTERRUPTED


def run(
    arguments: Sequence[str], *, engine: find.Engine, env: Mapping[str, str], folder: Path, step: Callable[[Step], None] | None = None
) -> Outcome:
    """
    `pulumi ARGUMENTS --json`, an event a line.

    Raises:
        InterruptedUpdateError: A signal asked for an end. The engine gets it, and is waited for; a second signal kills it.
    """
    outcome = Outcome()
    with (
        subprocess.Popen(
            [str(engine.path), *arguments, "--json", "--non-interactive"],
            cwd=folder,
            env=dict(env) | {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # a terminal's ^C reaches this process alone, which hands it on
        ) as process,
        _handing_on(process) as signals,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            for one in _read(line, outcome):
                if step is not None:
                    step(one)
        outcome.code = process.wait()
    if signals:
        raise InterruptedUpdateError(
            "interrupted: what was made until then stays\n  fix: `accelform up` goes on from there, `accelform down` takes it away"
        )
    return outcome


@contextmanager
def _handing_on(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """Hands signals that ask for an end on to the engine, in the thread that gets signals; the list says which came."""
    came: list[int] = []

    def handle(number: int, _frame: object) -> None:
        came.append(number)
        process.send_signal(signal.SIGINT if len(came) == 1 else signal.SIGKILL)

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    heard = [one for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read(line: str, outcome: Outcome) -> Iterator[Step]:
    try:
        event = json.loads(line)
    except ValueError:
        outcome.said.append(line.rstrip())
        return
    if not isinstance(event, dict):
        return
    if begun := event.get("resourcePreEvent"):
        one = _step(begun["metadata"], done=False)
        resource = begun["metadata"].get("new") or {}
        if one.op.startswith("create") and resource.get("custom"):
            outcome.unsure[begun["metadata"]["urn"]] = resource
        yield one
    elif ended := event.get("resOutputsEvent"):
        outcome.unsure.pop(ended["metadata"]["urn"], None)
        one = _step(ended["metadata"], done=True)
        if one.op == "replace":
            outcome.replaced.append(f"{one.type} {one.name}")
        yield one
    elif failed := event.get("resOpFailedEvent"):
        yield _step(failed["metadata"], done=True, failed=True)
    elif said := event.get("diagnosticEvent"):
        _diagnosis(said, outcome)
    elif policy := event.get("policyEvent"):
        if policy.get("enforcementLevel") == "mandatory":
            outcome.violations.append(
                f"{_name(policy.get('resourceUrn', ''))}: {policy['policyName']}: {' '.join(policy['message'].split())}"
            )
    elif summary := event.get("summaryEvent"):
        outcome.changes = {op: count for op, count in (summary.get("resourceChanges") or {}).items() if count}


def _diagnosis(said: dict[str, Any], outcome: Outcome) -> None:
    message, urn = said.get("message", "").strip(), said.get("urn", "")
    if not message or said.get("ephemeral") or _repeats(message):
        return
    if REFUSED in message:
        outcome.unsure.pop(urn, None)
    text = f"{_name(urn)}: {message}" if _name(urn) else message
    severity = said.get("severity")
    if severity == "error":
        outcome.errors.append(text)
    elif severity == "warning":
        outcome.warnings.append(text)
    elif severity == "info#err":
        outcome.said.append(message)  # the program's own words, on its standard error


def _repeats(message: str) -> bool:
    """What the engine adds to every failure, after the failure itself was said."""
    return message in ("update failed", "preview failed", "an unhandled error occurred: Program exited with non-zero exit code: 1")


def _step(metadata: dict[str, Any], *, done: bool, failed: bool = False) -> Step:
    return Step(metadata["op"], metadata["type"], metadata["urn"].rpartition("::")[2], done, failed)


def _name(urn: str) -> str:
    words = urn.split("::")
    return f"{words[2].rpartition('$')[2]} {words[3]}" if len(words) > 3 else ""
