"""`accelform cost`: the month, what a change of a stack file makes of it, and what Google billed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import google.auth
import httplib2
import pytest

from infra.operate import billing_export

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
    base["accelform:budgets"] = {"monthly": {"amount": "350 USD"}}
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
    assert [(one["budget"], one["over"]) for one in costed["budgets"]] == [("monthly", "may be"), ("free-credit", "yes")]


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
    """What changes, how much stays, totals before and after, how the budget then fares, and whose program and prices they are."""
    out = accelform("cost", "--against", "main", "--stacks", str(repository)).out
    for expected in (
        "this checkout's on both sides",
        "eval: v6e-4 spot, was v6e-1 spot",
        "bad: its file was wrong there (1 problem)",
        "main:Pulumi.bad.yaml:",
        "old: gone: there is no such stack any more",
        " free line ",
        " lines the same\n",
        "budget monthly: 350 USD a month: ",
        "difference",
    ):
        assert expected in out


def test_against_says_that_nothing_changes(accelform: Accelform, repository: Path) -> None:
    """No table of zeros."""
    out = accelform("cost", "--against", "main", "old", "--stacks", str(repository)).out
    assert "gone" in out
    (repository / "Pulumi.young.yaml").rename(repository / "Pulumi.old.yaml")
    out = accelform("cost", "--against", "main", "old", "--stacks", str(repository)).out
    assert "nothing changes: " in out
    assert "\nimages" not in out


def test_against_says_how_the_budgets_fare_then(accelform: Accelform, repository: Path) -> None:
    """A v6e-4 is more than 350 USD: over in the JSON, in the text and in the comment."""
    arguments = ("cost", "--against", "main", "try", "--stacks", str(repository))
    (stack,) = accelform(*arguments, "--json").data["stacks"]
    assert [(one["budget"], one["over"]) for one in stack["budgets"]] == [("monthly", "yes")]
    assert "at most: OVER\n" in accelform(*arguments).out
    assert "\n- budget monthly: 350 USD a month: " in accelform(*arguments, "--markdown").out


def test_against_names_single_stacks_by_name_and_by_path(accelform: Accelform, repository: Path) -> None:
    """A stack that only the ref has is found by its name, and by its path."""
    ran = accelform("cost", "--against", "main", "old", "young", "--stacks", str(repository), "--json")
    assert [one["stack"] for one in ran.data["stacks"]] == ["young", "old"]
    by_path = accelform("cost", "--against", "main", str(repository / "Pulumi.old.yaml"), "--json")
    assert [one["state"] for one in by_path.data["stacks"]] == ["gone"]
    for name in ("nosuch", "a" * 5000, f"Pulumi.{'a' * 5000}.yaml", str(repository / f"Pulumi.{'a' * 5000}.yaml"), "Pulumi.🦊.yaml"):
        assert accelform("cost", "--against", "main", name, "--stacks", str(repository)).code == 2


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


TABLE = "shop-billing.billing.gcp_billing_export_resource_v1_01ABCD_23EF45_67890A"
ROW = {
    "stack": "us-east5",
    "service": "Compute Engine",
    "sku_id": "AAAA",
    "sku": "TPU v6e chip hour",
    "cluster": None,
    "namespace": None,
    "cost_type": "regular",
    "currency": "USD",
    "cost": "1000",
    "credits": "-5",
    "usd": "1000",
    "without_rate": "0",
    "earlier": "2.5",
    "late": "0",
    "last_export": "2024-12-01",
}


@pytest.fixture
def bill(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Lets BigQuery answer with these rows, and gives back what it was asked."""

    def answer_with(*rows: dict[str, str | None]) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        class Transport:
            def request(self, uri: str, method: str = "GET", body: Any = None, **ignored: Any) -> tuple[httplib2.Response, bytes]:
                asked.append(json.loads(body))
                answer = {
                    "jobComplete": True,
                    "totalBytesProcessed": "52000000",
                    "jobReference": {"projectId": "shop-billing", "jobId": "job", "location": "US"},
                    "schema": {"fields": [{"name": name} for name in ROW]},
                    "rows": [{"f": [{"v": row[name]} for name in ROW]} for row in rows],
                }
                return httplib2.Response({"status": 200, "content-type": "application/json"}), json.dumps(answer).encode()

        monkeypatch.setattr(billing_export, "default_connect", lambda project: (Transport, []))
        return asked

    return answer_with


def test_actual_holds_the_bill_against_the_estimate(accelform: Accelform, bill: Callable[..., Any]) -> None:
    """What it reads is said first; then stacks, what carries no label, the share explained and the rows."""
    asked = bill(ROW, ROW | {"stack": None, "sku": "NAT gateway", "cost": "-3.004", "usd": "-3.004"})
    ran = accelform("cost", "us-east5", "--actual", "--billing-table", TABLE, "--month", "2024-11")
    assert ran.code == 0
    assert f"reads 52.0 MB of {TABLE}" in ran.err
    for expected in ("invoice of 2024-11", "within the estimate", "no label", "-3.00", "explained: 100 %", "TPU v6e chip hour"):
        assert expected in ran.out
    assert [one["parameterValue"]["value"] for one in asked[1]["queryParameters"]] == ["tw-shop-dev", "202411", "2024-11-01", "2024-11-30"]
    assert f"FROM `{TABLE}`" in asked[1]["query"]


def test_actual_prints_for_machines(accelform: Accelform, bill: Callable[..., Any]) -> None:
    """One project for both stacks, each with its part; amounts as text; nothing but JSON is printed."""
    bill(ROW)
    ran = accelform("cost", "us-central1", "us-east5", "--actual", "--billing-table", TABLE, "--month", "2024-11", "--json")
    assert (ran.code, ran.err) == (0, "")
    (project,) = ran.data["projects"]
    assert (project["bytes_read"], project["billed_usd"]) == (52000000, "1000")
    assert {part["stack"]: part["billed_usd"] for part in project["parts"]} == {"us-central1": "0", "us-east5": "1000"}


def test_actual_without_a_row_is_not_complete(accelform: Accelform, bill: Callable[..., Any]) -> None:
    """No row is not a bill of nothing."""
    bill()
    ran = accelform("cost", "us-east5", "--actual", "--billing-table", TABLE, "--month", "2024-11")
    assert (ran.code, "The export has no row of this project and period" in ran.out) == (4, True)


def test_actual_shows_the_largest_rows_only(accelform: Accelform, bill: Callable[..., Any]) -> None:
    """People get the rows that matter, and are told of the others."""
    bill(*(ROW | {"sku": f"SKU number {number:02}", "cost": str(number), "usd": str(number)} for number in range(40)))
    out = accelform("cost", "us-east5", "--actual", "--billing-table", TABLE, "--month", "2024-11").out
    assert "and 15 smaller rows" in out
    assert "SKU number 39" in out
    assert "SKU number 14" not in out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--billing-table", "a.b.c"], 2, "is not the name of a detailed usage cost export"),
        (["--billing-table", TABLE, "--month", "soon"], 2, "is neither a month nor days"),
        (["--billing-table", TABLE, "--month", "2024-10"], 6, "gcloud auth application-default login"),
    ],
)
def test_actual_is_refused_in_a_sentence(
    arguments: list[str], code: int, said: str, accelform: Accelform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong name, a wrong month, and no credentials."""

    def none(**ignored: Any) -> Any:
        raise google.auth.exceptions.DefaultCredentialsError("none")

    monkeypatch.setattr(google.auth, "default", none)
    ran = accelform("cost", "us-east5", "--actual", *arguments)
    assert (ran.code, said in ran.err) == (code, True)
