"""
What a new version's metrics must be for it to be served: the condition of a stack file's `accept_if`, and the verdict by it.

    recall_at_50 >= 0.98 * champion and click_auc > 0.6 and ndcg_at_50 >= champion - 0.01

Nothing is evaluated but this grammar. Numbers are compared exactly as they are written: 0.49 is 0.98 * 0.5.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

CHAMPION = "champion"
AND = "and"
LETTERS = 1000
"""How long a condition may be."""
EXAMPLE = "recall_at_50 >= 0.98 * champion and click_auc > 0.6"
ALLOWED = (
    "METRIC OP VALUE, joined by `and`; OP is >=, >, <= or <; VALUE is NUMBER, NUMBER * champion, champion, champion + NUMBER or - NUMBER"
)

METRIC = re.compile(r"[A-Za-z_][A-Za-z0-9_.@/]{0,63}", re.ASCII)
"""What a metric may be called."""
_OPERATORS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_TOKEN = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?![\w.@])|(?P<word>[A-Za-z_][A-Za-z0-9_.@/]*)|(?P<sign>>=|<=|[><*+-])", re.ASCII)
_WORD = re.compile(r"\S+")


class ConditionError(ValueError):
    """A text is no condition: where, what it may be, and an example."""

    def __init__(self, column: int, what: str, allowed: str = ALLOWED) -> None:
        super().__init__(f"column {column}: {what}")
        self.column = column
        """Of the text, from 1."""
        self.allowed = allowed
        self.fix = f"for example: {EXAMPLE}"


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison. Its right side is `factor` times the champion's metric, and `plus`."""

    metric: str
    op: str
    factor: Decimal
    """0: the champion is not asked."""
    plus: Decimal

    def __str__(self) -> str:
        if not self.factor:
            return f"{self.metric} {self.op} {self.plus}"
        if self.plus:
            return f"{self.metric} {self.op} {CHAMPION} {'-' if self.plus < 0 else '+'} {abs(self.plus)}"
        return f"{self.metric} {self.op} {CHAMPION}" if self.factor == 1 else f"{self.metric} {self.op} {self.factor} * {CHAMPION}"


@dataclass(frozen=True, slots=True)
class Condition:
    """All of them hold."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return f" {AND} ".join(map(str, self.terms))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a version is accepted, and why, for people."""

    accepted: bool
    reason: str


def parse(text: str) -> Condition:
    """
    Raises:
        ConditionError: It is none.
    """
    return _Reader(text).condition()


def judge(condition: Condition, candidate: Mapping[str, float], champion: Mapping[str, float] | None) -> Verdict:
    """
    Whether a version is good enough. What is not known is not good enough.

    Args:
        candidate: Metrics of the new version.
        champion: Those of the version that is served; None where there is none: what compares with it holds then.
    """
    judged = [_judged(term, candidate, champion) for term in condition.terms]
    broken = [said for holds, said in judged if not holds]
    return Verdict(not broken, "; ".join(broken or [said for _, said in judged]))


def _judged(term: Term, candidate: Mapping[str, float], champion: Mapping[str, float] | None) -> tuple[bool, str]:
    has = _exact(candidate.get(term.metric))
    if has is None:
        return False, _missing(term.metric, "the new version", candidate)
    shown = f"{term.metric} is {candidate[term.metric]!r}"
    if not term.factor:
        holds = _OPERATORS[term.op](has, Fraction(term.plus))
        return holds, f"{shown}, {'' if holds else 'not '}{term.op} {term.plus}"
    if champion is None:
        return True, f"{shown}, and there is no champion yet to compare with"
    than = _exact(champion.get(term.metric))
    if than is None:
        return False, _missing(term.metric, CHAMPION, champion)
    limit = Fraction(term.factor) * than + Fraction(term.plus)
    holds = _OPERATORS[term.op](has, limit)
    right = str(term).split(f" {term.op} ", 1)[1]
    return holds, f"{shown}, {'' if holds else 'not '}{term.op} {right}, where {CHAMPION} is {champion[term.metric]!r}"


def _exact(value: object) -> Fraction | None:
    """A number as it is written; None where it is none, or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):  # of any length: it may be longer than a float goes
        return Fraction(value)
    return Fraction(repr(value)) if math.isfinite(value) else None


def _missing(metric: str, whose: str, metrics: Mapping[str, float]) -> str:
    if metric in metrics:
        return f"{metric} of {whose} is {metrics[metric]!r}, which is no finite number"
    return f"{metric} of {whose} is not known: it has {', '.join(sorted(metrics)) or 'no metrics'}"


class _Reader:
    """Reads one condition, from left to right."""

    def __init__(self, text: str) -> None:
        if len(text) > LETTERS:
            raise ConditionError(LETTERS + 1, f"has {len(text)} characters", f"at most {LETTERS}")
        self._text = text
        self._at = 0
        self._last = 0

    def condition(self) -> Condition:
        terms = [self._term()]
        while self._peek() is not None:
            self._take({AND}, f"`{AND}` and another comparison, or the end")
            terms.append(self._term())
        return Condition(tuple(terms))

    def _term(self) -> Term:
        metric = self._metric()
        op = self._take(set(_OPERATORS), ", ".join(_OPERATORS))
        if self._peek() == CHAMPION:
            self._next()
            sign = self._next() if self._peek() in ("+", "-") else ""
            return Term(metric, op, Decimal(1), self._number(sign == "-") if sign else Decimal(0))
        negative = self._peek() == "-"
        if negative:
            self._next()
        number = self._number(negative, "a number or champion")
        if self._peek() != "*":
            return Term(metric, op, Decimal(0), number)
        self._next()
        self._take({CHAMPION}, CHAMPION)
        if not number:
            raise ConditionError(self._last + 1, "0 * champion compares with nothing", "another number, or 0 alone")
        return Term(metric, op, number, Decimal(0))

    def _metric(self) -> str:
        token = self._peek()
        if token is None or token in (AND, CHAMPION) or not METRIC.fullmatch(token):
            raise self._refused("the name of a metric: up to 64 letters, digits, _ . @ and /, no digit first")
        return self._next()

    def _number(self, negative: bool, allowed: str = "a number, such as 0.02") -> Decimal:
        token = self._peek()
        if token is None or not token[0].isdigit():
            raise self._refused(allowed)
        number = Decimal(self._next())
        return -number if negative and number else number

    def _take(self, wanted: set[str], allowed: str) -> str:
        if self._peek() not in wanted:
            raise self._refused(allowed)
        return self._next()

    def _peek(self) -> str | None:
        """The next token; None at the end."""
        self._skip()
        if self._at == len(self._text):
            return None
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise ConditionError(self._at + 1, f"{self._word()!r} is nothing that a condition has")
        return match[0]

    def _next(self) -> str:
        token = self._peek()
        assert token is not None  # whoever takes one has seen it
        self._last = self._at
        self._at += len(token)
        return token

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t\n":
            self._at += 1

    def _refused(self, allowed: str) -> ConditionError:
        got = "the end" if self._peek() is None else repr(self._word())
        return ConditionError(self._at + 1, f"{got} stands there", allowed)

    def _word(self) -> str:
        match = _WORD.match(self._text, self._at)
        return match[0][:40] if match else self._text[self._at]
