"""Runs an update by the engine, and reads its events as they come."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra import translated
from infra.errors import StoppedError
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
    urn: str = ""
    paths: tuple[str, ...] = ()
    """Properties that differ, by path where the provider tells."""

    @property
    def changes(self) -> bool:
        return self.op not in ("same", "read", "refresh")


@dataclass(slots=True)
class Outcome:
    """What an update did, or a preview would do."""

    code: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    """Operation -> number of resources."""
    replaced: dict[str, list[str]] = field(default_factory=dict)
    """URN of what is made anew -> the properties that make it so."""
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a provider wants known of a resource, such as what a controller holds."""
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
        """Why it failed: what is known of it first, and below it what the engine and the provider said."""
        lines = self.violations + self.errors or [translated.told("\n".join(self.said[-12:]))]
        return "\n".join(dict.fromkeys(line.strip() for line in lines if line.strip()))


def run(
    arguments: Sequence[str],
    *,
    engine: find.Engine,
    env: Mapping[str, str],
    folder: Path,
    step: Callable[[Step], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Outcome:
    """
    `pulumi ARGUMENTS --json`, an event a line.

    Args:
        meanwhile: What is done while the engine gets ready, seconds before its first event. Where it raises, the engine is ended.

    Raises:
        StoppedError: A signal asked for an end. The engine gets it, and is waited for; a second signal kills it.
    """
    outcome = Outcome()
    with (
        _Signals() as signals,
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
    ):
        signals.hand_on_to(process)
        assert process.stdout is not None
        try:
            meanwhile()
        except BaseException:
            process.kill()
            raise
        read(process.stdout, outcome, step)
        outcome.code = process.wait()
    if signals.came:
        raise StoppedError("interrupted: what was done until then stays\n  fix: the same command goes on from there")
    return outcome


def read(lines: Iterable[str], outcome: Outcome, step: Callable[[Step], None] | None = None) -> None:
    """Takes the engine's events, one a line, into *outcome*, and hands each step on. What is no event is what the engine said besides."""
    for line in lines:
        for one in _read(line, outcome):
            if step is not None:
                step(one)


class _Signals:
    """Hands signals that ask for an end on to the engine: the first as an interrupt, a second kills it. Only the main thread gets them."""

    def __init__(self) -> None:
        self.came = 0
        self._process: subprocess.Popen[str] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        # Before the engine starts: a signal that comes in between is kept for it.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def hand_on_to(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        if self.came:
            process.send_signal(signal.SIGINT)

    def _handle(self, _number: int, _frame: object) -> None:
        self.came += 1
        if self._process is not None:
            self._process.send_signal(signal.SIGINT if self.came == 1 else signal.SIGKILL)


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
        if one.op == "replace":
            outcome.replaced[begun["metadata"]["urn"]] = _causes(begun["metadata"])
        resource = begun["metadata"].get("new") or {}
        if one.op.startswith("create") and resource.get("custom"):
            outcome.unsure[begun["metadata"]["urn"]] = resource
        yield one
    elif ended := event.get("resOutputsEvent"):
        outcome.unsure.pop(ended["metadata"]["urn"], None)
        yield _step(ended["metadata"], done=True)
    elif failed := event.get("resOpFailedEvent"):
        yield _step(failed["metadata"], done=True, failed=True)
    elif said := event.get("diagnosticEvent"):
        _diagnosis(said, outcome)
    elif policy := event.get("policyEvent"):
        if policy.get("enforcementLevel") == "mandatory":
            outcome.violations.append(
                f"{name(policy.get('resourceUrn', ''))}: {policy['policyName']}: {' '.join(policy['message'].split())}"
            )
    elif summary := event.get("summaryEvent"):
        outcome.changes = {op: count for op, count in (summary.get("resourceChanges") or {}).items() if count}


def _diagnosis(said: dict[str, Any], outcome: Outcome) -> None:
    message, urn = said.get("message", "").strip(), said.get("urn", "")
    if not message or said.get("ephemeral") or _repeats(message):
        return
    machine = _machine(outcome.unsure.get(urn, {}))
    if REFUSED in message:
        outcome.unsure.pop(urn, None)
    text = f"{name(urn)}: {message}" if name(urn) else message
    severity = said.get("severity")
    if severity == "error":
        outcome.errors.append(translated.told(message, where=name(urn), machine=machine))
    elif severity == "warning":
        outcome.warnings.append(text)
    elif severity == "info" and name(urn) and not urn.partition("::pulumi:pulumi:Stack::")[1]:
        outcome.notes.append(text)
    elif severity == "info#err":
        outcome.said.append(message)  # the program's own words, on its standard error


def _machine(resource: Mapping[str, Any]) -> str:
    """Accelerator or machine type of what is being made; empty where it has none."""
    inputs = resource.get("inputs") or {}
    return next((str(inputs[key]) for key in ("acceleratorType", "machineType") if isinstance(inputs.get(key), str)), "")


def _repeats(message: str) -> bool:
    """What the engine adds to every failure, after the failure itself was said."""
    return message in ("update failed", "preview failed", "an unhandled error occurred: Program exited with non-zero exit code: 1")


def _causes(metadata: dict[str, Any]) -> list[str]:
    """The properties that make a resource anew: each by its path where the provider tells, else by their first part."""
    detailed = metadata.get("detailedDiff") or {}
    return [path for path, one in detailed.items() if str(one.get("diffKind", "")).endswith("replace")] or (metadata.get("keys") or [])


def _step(metadata: dict[str, Any], *, done: bool, failed: bool = False) -> Step:
    paths = tuple(metadata.get("detailedDiff") or metadata.get("diffs") or ())
    return Step(metadata["op"], metadata["type"], metadata["urn"].rpartition("::")[2], done, failed, metadata["urn"], paths)


def name(urn: str) -> str:
    """A resource as people are told of it: `gcp:storage/bucket:Bucket models`; empty where there is none."""
    words = urn.split("::")
    return f"{words[2].rpartition('$')[2]} {words[3]}" if len(words) > 3 else ""
