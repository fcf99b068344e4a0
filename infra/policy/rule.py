"""What a rule is, and how all of them are asked. The pack, `accelform check` and the tests ask the same functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from infra.declared import Declared
from infra.policy.excepted import Excepted, covers, this_day

if TYPE_CHECKING:
    from infra.catalog.confirmed import Confirmation
    from infra.catalog.fits import Verdict

Severity = Literal["low", "medium", "high", "critical"]


@dataclass(frozen=True, slots=True)
class Broken:
    """Where one resource breaks a rule: the property path, and why."""

    path: str
    message: str
    verdicts: tuple[Verdict, ...] = ()
    """What the catalogue says, where the rule does no more than say it: words of the stack file that overrule one of them are enough."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule over one resource. All are mandatory: a stack that breaks one is not made."""

    name: str
    description: str
    """What is true where it holds, in one sentence."""
    remediation: str
    severity: Severity
    find: Callable[[Declared, str], Iterator[Broken]]
    """From a resource and the stack's region: each place where it is broken."""
    of_others: bool = False
    """Whether it holds for what others own and the stack only reads, too: where that stands is the stack's matter, and nothing else is."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that one resource breaks."""

    rule: str
    resource: str
    urn: str
    path: str
    message: str
    fix: str


def find(rule: Rule, resource: Declared, region: str, confirmations: Sequence[Confirmation]) -> Iterator[Broken]:
    """Where a resource breaks a rule, less what the stack file confirms by name."""
    from infra.catalog.confirmed import covers

    if resource.existing and not rule.of_others:
        return
    for broken in rule.find(resource, region):
        if not any(covers(confirmations, verdict) for verdict in broken.verdicts):
            yield broken


def check(
    resources: Iterable[Declared], region: str, confirmations: Sequence[Confirmation] = (), exceptions: Sequence[Excepted] = ()
) -> list[Finding]:
    """Every finding of every rule, in the order of the resources."""
    from infra.policy.rules import RULES

    found = [
        Finding(rule.name, resource.name, resource.urn, broken.path, broken.message, rule.remediation)
        for resource in resources
        for rule in RULES
        for broken in find(rule, resource, region, confirmations)
    ]
    return parted(found, exceptions)[0]


def parted(found: Iterable[Finding], exceptions: Sequence[Excepted]) -> tuple[list[Finding], list[Finding]]:
    """The findings that stand today, and those that somebody excepted."""
    today = this_day()
    parts: tuple[list[Finding], list[Finding]] = ([], [])
    for one in found:
        parts[covers(exceptions, one.rule, one.resource, today)].append(one)
    return parts
