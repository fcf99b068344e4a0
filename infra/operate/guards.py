"""Guards of a rollout: what must hold of the new version at each step. `p95_ms<80`, `error_rate<0.01`, `requests>=100`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from infra.errors import Problem, SpecError, nearest
from infra.operate.latencies import Percentile
from infra.operate.readings import Reading

PERCENTILES = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99}
RATE = "error_rate"
TRAFFIC = "requests"
METRICS = (*PERCENTILES, RATE, TRAFFIC)
TEXT = re.compile(r"\s*([a-z_0-9]+)\s*(<=|>=|<|>|==|=|!=)\s*(\S.*?)\s*")
NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
LEAST_REQUESTS = 100
"""Requests that a step needs where no guard says it. Of 59 requests the slowest is above the true p95 with 95 % (0.95 ** 59 < 0.05): a
percentile of fewer says little."""
EXAMPLES = "p95_ms<80, error_rate<0.01, requests>=100"


@dataclass(frozen=True, slots=True)
class Guard:
    """One thing that must hold."""

    metric: str
    operator: str
    limit: Decimal

    def __str__(self) -> str:
        return f"{self.metric}{self.operator}{self.limit:f}"

    def holds(self, value: float) -> bool:
        found = Decimal(repr(value))
        return found <= self.limit if self.operator == "<=" else found < self.limit


@dataclass(frozen=True, slots=True)
class Breach:
    """A guard that does not hold."""

    guard: Guard
    value: str
    """What was read, for people."""
    window: str
    """Over which time."""
    requests: int

    def line(self) -> str:
        return f"{self.guard} does not hold: {self.guard.metric} is {self.value}, of {self.requests} requests {self.window}"


@dataclass(frozen=True, slots=True)
class Guards:
    """All guards of one rollout."""

    limits: tuple[Guard, ...]
    least: int
    """Requests that a step needs before it is proven."""

    def breaches(self, reading: Reading, window: str) -> list[Breach]:
        """
        What does not hold. With fewer requests than are needed, only what would not hold if all the missing ones were answered well and at
        once: a version that fails every request is found out early, and one slow request proves nothing.
        """
        found = []
        for guard in self.limits:
            value, shown = _value(guard, reading, max(self.least - _known(guard, reading), 0))
            if value is not None and not guard.holds(value):
                found.append(Breach(guard, shown, window, reading.requests))
        return found

    def lacks(self, reading: Reading) -> str:
        """
        What is missing before it can be said that the guards hold; empty where nothing is.

        Latencies are series of their own, which may be late or not there while requests are counted. And a percentile in the last bucket,
        which has no upper end, is not known to be below a limit above that bucket's lower one.
        """
        if reading.requests < self.least:
            return f"{reading.requests} of {self.least} requests"
        for guard in self.limits:
            if (known := _known(guard, reading)) < self.least:
                return f"{guard.metric} of {known} of {self.least} requests"
            found = reading.latencies.percentile(PERCENTILES[guard.metric]) if guard.metric in PERCENTILES else None
            if found and found.most is None and guard.holds(found.value):
                return f"{guard.metric} is {found} ms, and whether it is {guard.operator}{guard.limit:f} is unknown"
        return ""

    def proven(self, reading: Reading) -> bool:
        """Whether there was traffic enough to say that the guards hold."""
        return not self.lacks(reading)

    def texts(self) -> list[str]:
        return [*map(str, self.limits), f"{TRAFFIC}>={self.least}"]


def parse(texts: Iterable[str], where: str = "--guard") -> Guards:
    """
    Guards from texts.

    Raises:
        SpecError: With every text that is none, and what may stand there.
    """
    limits: list[Guard] = []
    least: list[int] = []
    problems = []
    for text in texts:
        try:
            guard = _one(text)
        except ValueError as error:
            message, _, allowed = str(error).partition("\n")
            problems.append(Problem(where, f"{text!r} {message}", allowed or f"for example {EXAMPLES}"))
            continue
        if any(guard.metric == other.metric for other in limits) or (guard.metric == TRAFFIC and least):
            problems.append(Problem(where, f"{text!r}: {guard.metric} has a guard already", "one guard each"))
        elif guard.metric == TRAFFIC:
            least.append(int(guard.limit) + (guard.operator == ">"))
        else:
            limits.append(guard)
    if not limits and not problems:
        allowed = f"at least one of {', '.join((*PERCENTILES, RATE))}; for example {EXAMPLES}"
        problems.append(Problem(where, "nothing guards the rollout", allowed))
    if problems:
        raise SpecError("rollout", problems)
    return Guards(tuple(limits), least[0] if least else LEAST_REQUESTS)


def texts(given: Mapping[str, Any]) -> list[str]:
    """Guards of the stack file, `p95_ms: 80`, as texts."""
    return [f"{metric}{'>=' if metric == TRAFFIC else '<'}{Decimal(str(limit)):f}" for metric, limit in given.items()]


def _one(text: str) -> Guard:
    """
    Raises:
        ValueError: What is wrong; after a line break, what is allowed.
    """
    match = TEXT.fullmatch(text)
    if match is None:
        raise ValueError("is no guard")
    metric, operator, number = match.groups()
    if metric not in METRICS:
        raise ValueError(f"is no guard: {metric} is not known\n{', '.join(nearest(metric, METRICS) or METRICS)}")
    allowed = (">=", ">") if metric == TRAFFIC else ("<", "<=")
    if operator not in allowed:
        why = "is traffic that a step needs" if metric == TRAFFIC else "is a limit that must not be reached"
        raise ValueError(f"has the wrong comparison: {metric} {why}\n{metric}{allowed[0]}NUMBER, {metric}{allowed[1]}NUMBER")
    if not NUMBER.fullmatch(number):
        raise ValueError(f"has no plain number: {number!r}\ndigits, with a point and decimals, such as 80 or 0.01; without a unit")
    limit = Decimal(number)
    if metric == RATE and limit > 1:
        raise ValueError("is above 1: a rate is a part of the requests\n0 to 1, such as 0.01 for one in a hundred")
    if metric == RATE and limit == (1 if operator == "<=" else 0):
        why = "always holds" if limit else "can never hold"
        raise ValueError(f"is no limit: it {why}\nerror_rate<=0 for no error at all, error_rate<0.01 for fewer than one in a hundred")
    if metric == TRAFFIC and (limit != limit.to_integral_value() or limit + (operator == ">") < 1):
        raise ValueError("is not a whole number of requests, 1 or more\nfor example requests>=100")
    if metric in PERCENTILES and not limit:
        raise ValueError("is no limit: every request takes time\nmilliseconds above 0, such as 80")
    return Guard(metric, operator, limit)


def _known(guard: Guard, reading: Reading) -> int:
    """Of how many requests a guard's metric is known."""
    return reading.requests if guard.metric == RATE else reading.latencies.count


def _value(guard: Guard, reading: Reading, missing: int) -> tuple[float | None, str]:
    if not _known(guard, reading):
        return None, ""
    if guard.metric == RATE:
        return reading.errors / (reading.requests + missing), f"{reading.errors / reading.requests:.4g}"
    percent = PERCENTILES[guard.metric]
    judged, shown = reading.latencies.percentile(percent, missing), reading.latencies.percentile(percent)
    return (None, "") if judged is None else (judged.value, _shown(shown))


def _shown(found: Percentile | None) -> str:
    return "unknown" if found is None else f"{found} ms"


def shown(reading: Reading, metrics: Sequence[str]) -> str:
    """The metrics of one reading in one line."""
    words = [f"{reading.requests} requests"]
    for metric in metrics:
        if metric == RATE:
            words.append(f"errors {reading.errors / reading.requests:.2%}" if reading.requests else "errors unknown")
        elif metric in PERCENTILES:
            words.append(f"{metric.removesuffix('_ms')} {_shown(reading.latencies.percentile(PERCENTILES[metric]))}")
    return ", ".join(words)
