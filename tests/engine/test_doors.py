"""The third door of the rules: a program with a known mistake of every kind, under the real engine with the pack."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local.engine import events
from infra.policy.rule import check
from infra.policy.rules import RULES
from tests.policy import cases

Make = Callable[[dict[str, Any]], Any]
HERE = Path(__file__).parent
PROGRAM = """
import sys

sys.path.insert(0, {policy!r})
import cases

cases.program()
"""


@pytest.mark.soak
def test_the_pack_in_the_engine_finds_what_check_finds(project: Make) -> None:
    """Each rule, its resource and its message, no more and no fewer; nothing is stopped before all of them are seen."""
    stack = project({"gcp:project": "tw-shop-ml", "accelform:region": cases.REGION})
    shutil.copytree(HERE / "provider", stack.folder / "home" / "plugins" / "resource-kubernetes-v4.34.2")
    (stack.folder / "infra" / "__main__.py").write_text(PROGRAM.format(policy=str(HERE.parent / "policy")), encoding="utf-8")
    ran = stack.run("preview", "--json", "--policy-pack", "infra/policy", PULUMI_ENABLE_STREAMING_JSON_PREVIEW="true")
    outcome = events.Outcome()
    events.read(ran.text.splitlines(), outcome, lambda step: None)
    descriptions = {rule.name: " ".join(rule.description.split()) for rule in RULES}
    expected = {
        f"{case['type']} {one.resource}: {one.rule}: {descriptions[one.rule]} {one.path}: {' '.join(f'{one.message} fix: {one.fix}'.split())}"
        for rule, _, case in cases.known()
        for one in check([cases.declared(case, rule)], cases.REGION)
    }
    assert ran.code != 0
    assert set(outcome.violations) == expected
