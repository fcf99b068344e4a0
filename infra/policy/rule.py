"""What a rule is, and how all of them are asked. The pack, `accelform check` and the tests ask the same functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from infra.declared import Declared, Secret
from infra.policy.excepted import Excepted, covers, this_day
from infra.policy.said import Said

if TYPE_CHECKING:
    from infra.catalog.fits import Verdict

Severity = Literal["low", "medium", "high", "critical"]
NOTHING = Said()
"""A stack that overrules nothing."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Where one resource breaks a rule: the property path, and why."""

    path: str
    message: str
    verdicts: tuple[Verdict, ...] = ()
    """What the catalogue says, where the rule does no more than say it: words of the stack file that overrule one of them are enough."""
    reason_at: str = ""
    """Where the stack file may say why, where a reason is enough: `tpu_slices.try`. Empty where none is."""

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
    reason_at: str = ""
    """Where the stack file may say why instead; empty where no reason is enough."""


PLAIN = frozenset({str, int, float, bool, type(None)})


def broken(resource: Declared, region: str, said: Said) -> Iterator[tuple[Rule, Broken]]:
    """Where a resource breaks which rule, less what the stack file confirms, gives a reason for, or excepts today."""
    from infra.policy.rules import RULES

    inputs = _opened(resource.inputs)
    opened = replace(resource, inputs=inputs) if inputs is not resource.inputs else None
    for rule in RULES:
        if resource.existing and not rule.of_others:
            continue
        for one in _found(rule, resource, opened, region):
            if not _overruled(one, said) and not covers(said.exceptions, rule.name, resource.name, this_day()):
                yield rule, one


def _found(rule: Rule, resource: Declared, opened: Declared | None, region: str) -> Iterator[Broken]:
    """
    Where it is broken, also by what is secret: that a value is not shown does not change what it makes. It is not shown here, either.

    Args:
        opened: The same without secrets; None where it has none.
    """
    found = list(_judged(rule, resource, region))
    yield from found
    if opened is not None:
        paths = {one.path for one in found}
        for one in _judged(rule, opened, region):
            if one.path not in paths:
                yield replace(one, message="a value that is secret, and so is not shown here, breaks the rule")


def _judged(rule: Rule, resource: Declared, region: str) -> Iterator[Broken]:
    """What it finds. A value of a kind that it never thought of is a finding of this rule, and ends no other rule and no preview."""
    try:
        yield from rule.find(resource, region)
    except Exception as error:
        said = f"cannot be judged ({type(error).__name__}): a value is of another type than the provider's schema has"
        yield Broken("inputs", said)


def _opened(value: Any) -> Any:
    """The same without secrets; the very same where it has none. Most values are plain, which their type tells."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Secret):
        return _opened(value.value)
    if isinstance(value, Mapping):
        opened = {key: _opened(inner) for key, inner in value.items()}
        return opened if any(opened[key] is not inner for key, inner in value.items()) else value
    if isinstance(value, list | tuple):
        several = [_opened(inner) for inner in value]
        return several if any(new is not old for new, old in zip(several, value, strict=True)) else value
    return value


def _overruled(one: Broken, said: Said) -> bool:
    if one.reason_at:
        return one.reason_at in said.reasons
    if not one.verdicts or not said.confirmations:
        return False
    from infra.catalog.confirmed import covers as confirms

    return any(confirms(said.confirmations, verdict) for verdict in one.verdicts)


def check(resources: Iterable[Declared], region: str, said: Said = NOTHING) -> list[Finding]:
    """Every finding of every rule, in the order of the resources."""
    return [
        Finding(rule.name, resource.name, resource.urn, one.path, one.message, rule.remediation, one.reason_at)
        for resource in resources
        for rule, one in broken(resource, region, said)
    ]


def parted(found: Iterable[Finding], exceptions: Sequence[Excepted]) -> tuple[list[Finding], list[Finding]]:
    """The findings that stand today, and those that somebody excepted."""
    today = this_day()
    parts: tuple[list[Finding], list[Finding]] = ([], [])
    for one in found:
        parts[covers(exceptions, one.rule, one.resource, today)].append(one)
    return parts
