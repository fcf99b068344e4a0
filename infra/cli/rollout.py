"""`accelform rollout`, `rollback`, `compare-versions` and `holds`."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, plain_table, print_json
from infra.cli.reached import CloudError, reached, stack_sandbox, stack_spec
from infra.errors import ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.components.rollout import RolloutSpec
    from infra.operate.rollout import Event, Outcome, Plan, Rollout
    from infra.operate.versions import Comparison, Side
    from infra.stack import StackSpec

DURATION = re.compile(r"([0-9]{1,6})(s|m|min|h)")
VERSION = re.compile(r"[0-9]{1,19}|[a-z][a-z0-9-]{0,126}[a-z0-9]")
UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600}
LONGEST_SECONDS = 7 * 24 * 3600
ALL = "all"
"""In the place of an endpoint's name: every hold of the stack."""
QUIET = ("reading", "waiting")
"""Events that come each minute: people see the last one only."""


def run(
    stack: str,
    endpoint: str,
    folder: Path,
    *,
    to: str,
    steps: str | None,
    hold: str | None,
    guards: Sequence[str],
    keep_warm: str | None,
    probe: Path | None,
    resume: bool,
    cloud: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """`accelform rollout`."""
    spec = stack_spec(stack, folder)
    plan = None if resume else _plan(spec, stack, endpoint, to, steps, hold, guards, keep_warm)
    with _Screen(as_json=as_json) as screen, _rollout(spec, stack, endpoint, folder, screen, probe, cloud=cloud) as rollout:
        if plan is None:
            return _end(lambda: rollout.resume(), "done", screen)
        if not (yes or rollout.journal.is_open):
            _ask(plan, endpoint)
        return _end(lambda: rollout.start(plan), "done", screen)


def back(stack: str, endpoint: str, folder: Path, *, cloud: bool, as_json: bool) -> int:
    """`accelform rollback`."""
    spec = stack_spec(stack, folder)
    with _Screen(as_json=as_json) as screen, _rollout(spec, stack, endpoint, folder, screen, None, cloud=cloud) as rollout:
        return _end(lambda: rollout.back(), "returned", screen)


def compare(stack: str, endpoint: str, folder: Path, *, last: str, cloud: bool, as_json: bool) -> int:
    """`accelform compare-versions`."""
    from infra.operate import reach
    from infra.operate.readings import Monitoring
    from infra.operate.side_by_side import side_by_side

    spec = stack_spec(stack, folder)
    place = reach.place(spec, stack, endpoint)
    seconds = _seconds("--last", last)
    with reached(spec.project, stack_sandbox(stack, cloud=cloud)) as (google, time):
        now = time.now()
        found = side_by_side(google, place.endpoint, Monitoring(google, place.endpoint), now - seconds, now)
    if as_json:
        print_json({"endpoint": place.endpoint, "seconds": seconds, **found.shown()})
        return ExitCode.OK
    _table(found)
    return ExitCode.OK


def holds(stack: str, folder: Path, *, released: Sequence[str], cloud: bool, as_json: bool) -> int:
    """`accelform holds`. *released*: endpoints whose holds are ended first; `all` for every hold."""
    from infra import names
    from infra.provider.holds import Holds

    spec = stack_spec(stack, folder)
    sandbox = stack_sandbox(stack, cloud=cloud)
    gone = [line for name in released for line in release(spec, stack, sandbox, "" if name == ALL else name)]
    with reached(spec.project, sandbox) as (google, time):
        every = Holds(google, names.holds(spec.project, stack)).every()
        now = time.now()
    if as_json:
        print_json({"stack": stack, "released": gone, "holds": [one.shown() | {"counts": one.counts(now)} for one in every]})
        return ExitCode.OK
    for line in gone:
        console().print(line, markup=False)
    if not any(one.counts(now) for one in every):
        console().print(f"{stack}: nothing is held")
    for one in every:
        if one.counts(now):
            console().print(one.line(), markup=False)
    return ExitCode.OK


def release(spec: StackSpec, stack: str, sandbox: str, endpoint: str) -> list[str]:
    """Ends holds before an update; of one endpoint, or where that is empty all of the stack. Says which, in lines."""
    from infra import names
    from infra.operate import reach
    from infra.provider.holds import Holds

    resource = reach.place(spec, stack, endpoint).endpoint if endpoint else ""
    with reached(spec.project, sandbox) as (google, _):
        return [f"released: {one.line()}" for one in Holds(google, names.holds(spec.project, stack)).release(resource)]


def _end(do: Any, well: str, screen: _Screen) -> int:
    """Runs it, and says the exit code."""
    from infra import translated
    from infra.provider.server import ProviderError

    try:
        outcome: Outcome = do()
    except ProviderError as error:
        open_ = "the rollout is as its journal says: accelform rollout ... --resume goes on, accelform rollback returns"
        raise CloudError(f"{translated.told(str(error))}\n  {open_}") from None
    except KeyboardInterrupt:
        screen.say("interrupted: the traffic stays as it is, and held; accelform rollout ... --resume goes on, accelform rollback returns")
        raise
    code = ExitCode.OK if outcome.phase == well else ExitCode.FINDINGS
    screen.ended(outcome, code)
    return code


@contextmanager
def _rollout(
    spec: StackSpec, stack: str, endpoint: str, folder: Path, screen: _Screen, probe: Path | None, *, cloud: bool
) -> Iterator[Rollout]:
    from infra.operate import reach
    from infra.operate.probe import Probe
    from infra.operate.rollout import Rollout

    place = reach.place(spec, stack, endpoint)
    if probe and not cloud:
        fix = "declare callers instead: POST /sandbox/loads; or --cloud"
        raise SpecError("rollout", [Problem("--probe", "the sandbox runs no model that could answer", fix=fix)])
    if probe and spec.endpoints[endpoint].private_service_connect:
        fix = "leave it out: the readings of Cloud Monitoring decide"
        raise SpecError("rollout", [Problem("--probe", "the endpoint answers only in the networks of its callers' projects", fix=fix)])
    requests = Probe.read(probe) if probe else None
    with reached(spec.project, stack_sandbox(stack, cloud=cloud)) as (google, time):
        source = Probe(google, place.endpoint, requests, time.now) if requests else None
        yield Rollout(google, place, time, screen.event, source)


def _plan(
    spec: StackSpec,
    stack: str,
    endpoint: str,
    to: str,
    steps: str | None,
    hold: str | None,
    guards: Sequence[str],
    keep_warm: str | None,
) -> Plan:
    """
    What the command line says, and besides that the stack file.

    Raises:
        SpecError: With every problem.
    """
    from infra.operate import guards as guarding
    from infra.operate import reach
    from infra.operate.rollout import Plan

    reach.place(spec, stack, endpoint)
    written: RolloutSpec | None = getattr(spec.endpoints[endpoint], "rollout", None)
    problems: list[Problem] = []
    shares: tuple[int, ...] = tuple(written.traffic_percent) if written else ()
    held = float(written.hold_minutes * 60) if written else 0.0
    warm = float(written.keep_warm_minutes * 60) if written else 0.0
    texts = list(guards)
    if written and not texts:
        texts = guarding.texts(written.guards.limits() | {"requests": written.guards.requests})

    def take(read: Any, option: str, text: str | None, default: Any) -> Any:
        if text is None:
            if not default and option != "--keep-warm":
                problems.append(
                    Problem(option, "is missing", "in the stack file: endpoints.NAME.rollout", f"write it, such as {EXAMPLES[option]}")
                )
            return default
        try:
            return read(option, text)
        except SpecError as error:
            problems.extend(error.problems)
            return default

    shares, held = take(_steps, "--steps", steps, shares), take(_seconds, "--hold", hold, held)
    warm = take(_seconds, "--keep-warm", keep_warm, warm)
    if not VERSION.fullmatch(to):
        problems.append(Problem("--to", f"{to!r} is no version", "its number, or an alias, such as candidate"))
    parsed, alias = None, ""
    try:
        alias = reach.alias(spec, stack, endpoint)
    except SpecError as error:
        problems.extend(error.problems)
    try:
        parsed = guarding.parse(texts)
    except SpecError as error:
        problems.extend(error.problems)
    if hold is not None and held < 60 and not any(one.path == "--hold" for one in problems):
        problems.append(Problem("--hold", f"{held:g} s is shorter than a reading takes", "1m or longer"))
    if problems or parsed is None:
        raise SpecError("rollout", problems)
    return Plan(to, shares, held, parsed, warm, alias)


EXAMPLES = {"--steps": "10,50,100", "--hold": "60m"}


def _steps(option: str, text: str) -> tuple[int, ...]:
    words = [word.strip().removesuffix("%").strip() for word in text.split(",")]
    shares = tuple(int(word) for word in words if re.fullmatch(r"[0-9]{1,3}", word))
    grows = all(earlier < later for earlier, later in itertools.pairwise(shares))
    if len(shares) != len(words) or not grows or not shares[0] or shares[-1] != 100:
        allowed = "whole percent that grow, the last one 100: 10,50,100"
        raise SpecError("rollout", [Problem(option, f"{text!r} is no way up to all of the traffic", allowed)])
    return shares


def _seconds(option: str, text: str) -> float:
    match = DURATION.fullmatch(text.strip().lower())
    seconds = int(match[1]) * UNITS[match[2]] if match else -1
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise SpecError("rollout", [Problem(option, f"{text!r} is no time", "a number with s, m or h, up to 168h: 60m")])
    return float(seconds)


def _ask(plan: Plan, endpoint: str) -> None:
    import typer

    if not sys.stdin.isatty():
        raise SpecError("rollout", [Problem("--yes", "is missing: there is nobody to ask", fix="add --yes")])
    shares = ", ".join(f"{share} %" for share in plan.steps)
    if not typer.confirm(f"{endpoint}: {plan.to} gets {shares} of the traffic, {plan.hold_seconds / 60:g} min each. Begin?", err=True):
        raise SpecError("rollout", [Problem("", "not begun: nothing was done")])


class _Screen:
    """Tells people, in a line a step and on a terminal a countdown; or machines, in a line of JSON an event."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._status: Any = None
        self._until: float | None = None
        self._text = ""

    def __enter__(self) -> _Screen:
        if not self._json:
            from rich.console import Console
            from rich.status import Status

            self._console = Console(stderr=True, highlight=False)
            self._status = Status(self, console=self._console) if self._console.is_terminal else None
            if self._status:
                self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def __rich__(self) -> Any:
        """The last reading, and what is left of the step: drawn anew several times a second."""
        import time

        from rich.text import Text

        left = max(0.0, self._until - time.time()) if self._until else 0.0
        return Text(f"{self._text}  {int(left // 60)}:{int(left % 60):02d} left" if left else self._text)

    def event(self, event: Event) -> None:
        from infra.provider.holds import moment

        if self._json:
            found = {"at": moment(event.at), "event": event.kind, "text": event.text, **event.data}
            sys.stdout.write(json.dumps(found, default=str) + "\n")
            sys.stdout.flush()
            return
        self._text = event.text
        self._until = event.data.get("until")
        if event.kind not in QUIET:
            self.say(f"{moment(event.at)}  {event.text}")

    def say(self, text: str) -> None:
        """One line that stays."""
        if not self._json:
            from rich.text import Text

            self._console.print(Text(text), soft_wrap=True)

    def ended(self, outcome: Outcome, code: ExitCode) -> None:
        if self._json:
            sys.stdout.write(json.dumps({"event": "end", "phase": outcome.phase, "why": outcome.why, "exit_code": int(code)}) + "\n")


def _table(found: Comparison) -> None:
    table = plain_table(
        "", "requests", "p50 ms", "p95 ms", "errors", "USD/1000 requests", right=("requests", "errors", "USD/1000 requests")
    )
    for side in (found.old, found.new):
        table.add_row(*_row(side))
    out = console()
    out.print(table)
    out.print(found.verdict(), markup=False)


def _row(side: Side) -> list[str]:
    reading, cost = side.reading, side.usd_per_thousand
    percentiles = [reading.latencies.percentile(percent) for percent in (50, 95)]
    errors = f"{reading.errors / reading.requests:.2%}" if reading.requests else "unknown"
    return [
        f"{side.name}, version {side.version}" if side.name else f"version {side.version}",
        str(reading.requests),
        *("unknown" if one is None else str(one) for one in percentiles),
        errors,
        "unknown" if cost is None else f"{cost:.4f}",
    ]
