"""
Rules of a whole stack. The engine shows a pack the whole only after it was made: `accelform check` decides them before, and with it the
pipeline, the report and `accelform up`.
"""

from __future__ import annotations

from dataclasses import dataclass

from infra.policy.rule import Rule, Severity


@dataclass(frozen=True, slots=True)
class StackRule:
    """A rule over all that a stack declares; mandatory as the others are."""

    name: str
    description: str
    """What is true where it holds, in one sentence."""
    remediation: str
    severity: Severity


WITHIN_BUDGET = StackRule(
    name="within-budget",
    description="What is expected to be paid a month is within every budget that counts it.",
    remediation="declare less, say under `usage` what is really used, or raise the amount",
    severity="high",
)
STACK_RULES = (WITHIN_BUDGET,)


def every() -> list[Rule | StackRule]:
    """All rules, those of the pack first."""
    from infra.policy.rules import RULES

    found: list[Rule | StackRule] = [*RULES]
    found.extend(STACK_RULES)
    return found
