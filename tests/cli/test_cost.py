"""`accelform cost`: the month, and what a change of a stack file makes of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

Accelform = Callable[..., Any]


@pytest.fixture
def repository(
    tmp_path: Path, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder of stack files in git: `try` with a v6e-1, `old`, and `bad`, which is wrong. All but `bad` are changed since."""
    for name in [one for one in os.environ if one.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    stack_file(base | {"accelform:tpu_slices": {"eval": a_slice}}, "try")
    stack_file(base, "old")
    stack_file(base | {"accelform:region": "nowhere"}, "bad")
    who = ["-c", "user.name=a", "-c", "user.email=a@shop.example"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    stack_file(base | {"accelform:tpu_slices": {"eval": a_slice | {"accelerator_type": "v6e-4"}}}, "try")
    (tmp_path / "Pulumi.old.yaml").rename(tmp_path / "Pulumi.young.yaml")
    stack_file(base, "bad")
    return tmp_path


def test_json_says_how_each_budget_fares(accelform: Accelform) -> None:
    """Budgets stand in the JSON of `cost` and of `check` alike."""
    (costed,) = accelform("cost", "asia-east1", "--json").data["stacks"]
    (checked,) = accelform("check", "asia-east1", "--json").data["stacks"]
    assert costed["budgets"] == checked["budgets"]
    assert [(one["budget"], one["over"]) for one in costed["budgets"]] == [("monthly", "no"), ("free-credit", "no")]


def test_against_says_of_every_stack_what_became_of_it(accelform: Accelform, repository: Path) -> None:
    """Changed, new, gone, and wrong at the ref: all of the folder, by name."""
    ran = accelform("cost", "--against", "main", "--stacks", str(repository), "--json")
    stacks = {one["stack"]: one for one in ran.data["stacks"]}
    assert {name: one["state"] for name, one in stacks.items()} == {
        "bad": "wrong at ref",
        "old": "gone",
        "try": "compared",
        "young": "new",
    }
    assert [one["path"] for one in stacks["bad"]["problems_at_ref"]] == ["region"]
    assert stacks["bad"]["problems_at_ref"][0]["file"] == "main:Pulumi.bad.yaml"
    changed = [one for one in stacks["try"]["difference"]["lines"] if one["change"] != "same"]
    assert [(one["before"], one["after"], one["change"]) for one in changed] == [("v6e-1 spot", "v6e-4 spot", "dearer")]
    for column, amount in stacks["try"]["difference"]["difference_usd_month"].items():
        assert Decimal(amount) == Decimal(changed[0]["difference_usd_month"][column]) > 0
    assert ran.code == 0


def test_against_prints_tables_for_people(accelform: Accelform, repository: Path) -> None:
    """Totals before and after, what is free in one row, and whose program and prices they are."""
    out = accelform("cost", "--against", "main", "--stacks", str(repository)).out
    for expected in (
        "this checkout's on both sides",
        "eval: v6e-4 spot, was v6e-1 spot",
        "bad: its file was wrong there (1 problem)",
        "main:Pulumi.bad.yaml:",
        "old: gone: there is no such stack any more",
        "free lines",
        "difference",
    ):
        assert expected in out


def test_against_names_single_stacks_by_name_and_by_path(accelform: Accelform, repository: Path) -> None:
    """A stack that only the ref has is found by its name, and by its path."""
    ran = accelform("cost", "--against", "main", "old", "young", "--stacks", str(repository), "--json")
    assert [one["stack"] for one in ran.data["stacks"]] == ["young", "old"]
    by_path = accelform("cost", "--against", "main", str(repository / "Pulumi.old.yaml"), "--json")
    assert [one["state"] for one in by_path.data["stacks"]] == ["gone"]
    assert accelform("cost", "--against", "main", "nosuch", "--stacks", str(repository)).code == 2


def test_a_folder_whose_stacks_are_all_gone_is_no_mistake(accelform: Accelform, repository: Path) -> None:
    """What a pull request takes away is told too."""
    for path in repository.glob("Pulumi.*.yaml"):
        path.unlink()
    ran = accelform("cost", "--against", "main", "--stacks", str(repository), "--json")
    assert {one["stack"]: one["state"] for one in ran.data["stacks"]} == {"bad": "wrong at ref", "old": "gone", "try": "gone"}


def test_against_ends_as_cost_ends(
    accelform: Accelform, repository: Path, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Any
) -> None:
    """What is now decides: an unknown price ends with 4, a wrong file with 2."""
    stack_file(base | {"accelform:region": "asia-east1", "accelform:tpu_slices": {"eval": a_slice | {"zone": "asia-east1-c"}}}, "try")
    ran = accelform("cost", "--against", "main", "try", "--stacks", str(repository))
    assert (ran.code, "after, at least" in ran.out) == (4, True)
    stack_file(base | {"accelform:region": "nowhere"}, "try")
    assert accelform("cost", "--against", "main", "try", "--stacks", str(repository)).code == 2


def test_the_comment_begins_with_its_marker_and_is_the_same_twice(accelform: Accelform, repository: Path) -> None:
    """A bot finds its comment by the first line, and one heading stands for each stack."""
    first = accelform("cost", "--against", "main", "--markdown", "--stacks", str(repository)).out
    assert first == accelform("cost", "--against", "main", "--markdown", "--stacks", str(repository)).out
    lines = first.splitlines()
    assert lines[0] == "<!-- accelform cost -->"
    assert [line for line in lines if line.startswith("### ")] == ["### bad", "### old", "### try", "### young"]
    assert "| eval: v6e-4 spot, was v6e-1 spot | dearer |" in first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--against", "nowhere"], "git knows no such commit here"),
        (["--against", "--all"], "git knows no such commit here"),
        (["--markdown"], "is a form of --against"),
        (["--against", "main", "--markdown", "--json"], "--json for machines"),
        (["--month", "2026-11"], "belongs to --actual"),
        (["--actual"], "--billing-table: is missing"),
        (["--actual", "--billing-table", "a.b.c", "--against", "main"], "run the command once with each"),
    ],
)
def test_fails_on_options_that_do_not_fit(arguments: list[str], said: str, accelform: Accelform, repository: Path) -> None:
    """Every refusal names the option and what mends it."""
    ran = accelform("cost", *arguments, "--stacks", str(repository))
    assert ran.code == 2
    assert said in ran.err + ran.out
    assert "fix: " in ran.err or '"fix": ' in ran.out


def test_against_outside_a_repository_is_a_sentence(accelform: Accelform, tmp_path: Path, base: dict[str, Any], stack_file: Any) -> None:
    """A folder without git, and a machine without it."""
    stack_file(base)
    ran = accelform("cost", "--against", "main", "--stacks", str(tmp_path))
    assert (ran.code, "is in no git repository" in ran.err) == (2, True)


def test_against_without_git_names_what_this_machine_lacks(accelform: Accelform, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No git on PATH ends with the code of a machine that lacks something."""
    monkeypatch.setenv("PATH", "")
    ran = accelform("cost", "--against", "main", "--stacks", str(repository))
    assert (ran.code, "fix: install git" in ran.err) == (5, True)
