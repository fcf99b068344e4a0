"""`accelform import`: what it asks and refuses. The imports themselves are in tests/engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.cli import import_, import_estate
from infra.cli.import_ import Asked, Row
from infra.components.budget import BudgetSpec
from infra.local.adopt.import_file import COMMAND
from infra.operate.estate import Thing
from infra.operate.taking import Taken
from infra.stack import StackSpec

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "import-what-exists.md"
LEAST = Asked("theirs", "tw-shop-ml", "us-east5", "dev", "ml-team")
Accelform = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "--stack: is missing"),
        (["--stack", "Bad_Name"], 2, "cannot be a part of resource names"),
        (["--stack", "new", "--region", "us-east5"], 2, "--project: is missing"),
        (["--stack", "new", "--project", "tw-shop-ml", "--region", "us-east5", "--owner", "a"], 2, "--environment: is missing"),
        (["--stack", "there", "--region", "us-east4"], 2, "--region: us-east4 is not that of"),
    ],
)
def test_fails_on_what_is_not_said(
    arguments: list[str],
    code: int,
    words: str,
    accelform: Accelform,
    base: dict[str, Any],
    stack_file: Callable[..., Path],
) -> None:
    """Before anything is asked of a cloud."""
    folder = stack_file(base, "there").parent
    ran = accelform("import", *arguments, "--stacks", str(folder))
    assert (ran.code, words in ran.err) == (code, True), ran.err
    assert [path.name for path in folder.glob("*new*")] == []


def test_what_a_check_refuses_is_left_out_with_its_words() -> None:
    """The rest is a file that passes; what nobody said is asked for by its option."""
    budget = Taken(
        ("budgets", "all"),
        {"existing": "billingAccounts/0A1B2C-3D4E5F-6A7B8C/budgets/b", "amount": "350 USD"},
        Thing("budget", "b", "global"),
    )
    odd = Taken(("gpu_vms", "a"), {"existing": "projects/tw-shop-ml/zones/us-east5-a/instances/-a"}, Thing("machine", "-a", "us-east5-a"))
    spec, text, kept, left = import_estate._passing(LEAST, [budget, odd], "theirs")
    assert isinstance(spec.budgets["all"], BudgetSpec)
    assert (kept, [one for one, _ in left]) == ([budget], [odd])
    assert "is not the full name of a machine" in left[0][1]
    assert YAML(typ="safe", pure=True).load(text)["config"]["accelform:budgets"] == {"all": budget.value}
    with pytest.raises(Exception, match="--monthly-limit: is missing"):
        import_estate._passing(LEAST, [], "theirs")
    with pytest.raises(Exception, match="--owner: "):
        import_estate._passing(Asked("theirs", "tw-shop-ml", "us-east5", "dev", "No Label", monthly_limit="1 USD"), [], "theirs")


def test_what_could_not_be_looked_at_is_told_by_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """The rest goes on; what stands in other regions is counted."""
    rows = [
        Row("stays a create", "t", "n", "", "Google answers 403: no"),
        *(Row("not taken", "subnet", "s", "x", f"stands in {n}, and") for n in "ab"),
    ]
    assert import_.told(rows, "theirs", [Path("stacks/theirs.import.json")], cloud=True, as_json=False) == 6
    printed = capsys.readouterr().out
    assert "1 could not be looked at" in printed
    assert re.search(r"not taken +subnet +2 +in other regions", printed)
    assert f"next: pulumi import --stack theirs --file stacks/theirs.import.json {' '.join(COMMAND)}" in printed
    assert import_.told(rows[1:], "theirs", [], cloud=False, as_json=True) == 0


def test_the_guide_says_what_is_so(base: dict[str, Any], stack_file: Callable[..., Path], accelform: Accelform) -> None:
    """Its block is a file that passes, its options are there, and its words are those of the table."""
    text = GUIDE.read_text(encoding="utf-8")
    [block] = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    spec = StackSpec.load(stack_file(base | {"accelform:region": "asia-east1"} | YAML(typ="safe", pure=True).load(block)))
    assert spec.node_pools["gpus"].bounds() == (2, 2)
    known = accelform("import", "--help").out
    options = set(re.findall(r"--[a-z-]+", " ".join(line for line in text.splitlines() if line.startswith("accelform import"))))
    assert options
    assert all(option in known for option in options)
    assert text.count(" ".join(COMMAND)) == 2
    for word in (import_.ADOPTED, import_.CREATE, import_.LEFT, import_.NOT_TAKEN):
        assert f"| {word} |" in text
