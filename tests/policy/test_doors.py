"""The three doors of the rules give the same findings on the same inputs: `check` on a program, pytest on fixtures, the pack in the engine."""

from __future__ import annotations

import cases
import pytest

from infra.collect import collect
from infra.policy.rule import Finding, check
from infra.policy.rules import RULES

KNOWN = cases.known()


@pytest.fixture(scope="module")
def of_fixtures() -> list[Finding]:
    """What pytest finds: the fixtures themselves, in the order of their rules' names."""
    named = [cases.declared(case, rule) for rule, _, case in sorted(KNOWN)]
    return check(named, cases.REGION)


def test_every_rule_is_among_the_known_inputs(of_fixtures: list[Finding]) -> None:
    assert {rule.name for rule in RULES} <= {one.rule for one in of_fixtures}


def test_a_program_that_declares_them_has_the_same_findings(of_fixtures: list[Finding]) -> None:
    """What the collector hands to `check` is what the fixtures say."""
    collected = sorted(collect(cases.program, "try"), key=lambda one: one.name)
    found = [(one.rule, one.resource, one.path, one.message) for one in check(collected, cases.REGION)]
    assert sorted(found) == sorted((one.rule, one.resource, one.path, one.message) for one in of_fixtures)
