"""`accelform gitops`: what it writes, what it prints, and how it ends."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.gitops.plan import Change, Plan
from tests.gitops.conftest import POOL, Git, begun, checkout, lines, summary

__all__ = ["checkout"]

Accelform = Callable[..., Any]
FILES = [f".github/workflows/accelform-{name}.yml" for name in ("preview", "apply", "drift")]


@pytest.fixture
def here(checkout: tuple[Path, Git], accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the checkout, after `accelform` went to its own."""
    monkeypatch.chdir(checkout[0])
    return checkout[0]


def test_writes_three_workflows_and_says_what_is_to_be_set(accelform: Accelform, here: Path) -> None:
    """Again it changes nothing; what somebody changed it leaves, all of it, until it is told otherwise."""
    ran = accelform("gitops", "init", "github")
    assert ran.code == 0, ran.err
    assert [line for line in ran.out.splitlines() if line.startswith("wrote ")] == [f"wrote {name}" for name in FILES]
    assert "gh variable set ACCELFORM_STATE_URL" in ran.out
    again = accelform("gitops", "init", "github", "--json").data
    assert [(one["path"], one["state"]) for one in again["files"]] == [(name, "same") for name in FILES]
    assert [one["output"] for one in again["variables"]] == ["pipeline_provider", "pipeline_preview", "pipeline_apply", "state_url"]
    (here / FILES[0]).unlink()
    (here / FILES[1]).write_text("mine\n", encoding="utf-8")
    (here / FILES[2]).write_text("mine\n", encoding="utf-8")
    refused = accelform("gitops", "init", "github", "--json")
    assert refused.code == 2
    assert [Path(one["path"]).name for one in refused.data["problems"]] == ["accelform-apply.yml", "accelform-drift.yml"]
    assert not (here / FILES[0]).exists()
    assert (here / FILES[1]).read_text(encoding="utf-8") == "mine\n"
    forced = accelform("gitops", "init", "github", "--force", "--branch", "release", "--environment", "live")
    assert forced.code == 0
    assert "overwrote .github/workflows/accelform-apply.yml" in forced.out
    assert 'branches: ["release"]' in (here / FILES[1]).read_text(encoding="utf-8")


def test_writes_a_manifest_for_each_stack(accelform: Accelform, here: Path, checkout: tuple[Path, Git]) -> None:
    """The repository is git's own, without what somebody logs in with; all that is missing is told at once."""
    ran = accelform("gitops", "init", "operator", "--json")
    assert ran.code == 2
    assert [one["path"] for one in ran.data["problems"]] == ["--repository", "--state-url", "--account"]
    assert not (here / "operator").exists()
    checkout[1]("remote", "add", "origin", "https://me:token@github.com/shop/ml.git")
    options = ("--state-url", "gs://shop-ml-state", "--account", "base-apply@shop-ml.iam.gserviceaccount.com")
    ran = accelform("gitops", "init", "operator", *options, "--json")
    assert ran.code == 0, ran.out
    names = ["operator/access.yaml", "operator/asia.yaml", "operator/asia-apps.yaml", "operator/europe.yaml", "infra/requirements.txt"]
    assert sorted(one["path"] for one in ran.data["files"]) == sorted(names)
    assert "projectRepo: https://github.com/shop/ml.git\n" in (here / "operator" / "asia.yaml").read_text(encoding="utf-8")
    assert (here / "infra" / "requirements.txt").read_text(encoding="utf-8").endswith("-r ../requirements/run.lock\n")
    ran = accelform("gitops", "init", "operator", *options, "--namespace", "ops")
    assert (ran.code, ran.err.count("is not what would be written")) == (2, 4)


def test_refuses_a_place_that_is_no_checkout(accelform: Accelform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = accelform("gitops", "init", "github")
    assert (ran.code, "is not in a checkout" in ran.err) == (5, True)


def test_refuses_a_path_that_cannot_be_written(accelform: Accelform, here: Path) -> None:
    (here / ".github").write_text("a file", encoding="utf-8")
    ran = accelform("gitops", "init", "github")
    assert (ran.code, "cannot be" in ran.err) == (2, True)


def test_says_which_stacks_a_change_touches(accelform: Accelform, here: Path, checkout: tuple[Path, Git]) -> None:
    git = checkout[1]
    git("rm", "-q", "stacks/Pulumi.europe.yaml")
    git("commit", "-q", "-m", "second")
    assert accelform("gitops", "stacks").out == "asia: region\nasia-apps: apps\n"
    assert accelform("gitops", "stacks", "--against", "HEAD^").out == "europe: its file is gone; what it made stands\n"
    assert accelform("gitops", "stacks", "--against", "HEAD").out == "no stack is touched\n"
    assert accelform("gitops", "stacks", "--against", "HEAD^", "--json").data == {
        "stacks": [],
        "kinds": {"foundation": [], "region": [], "apps": []},
        "gone": ["europe"],
    }
    assert accelform("gitops", "stacks", "--against", "nonsense").code == 2


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (lines(begun("create"), summary(create=1)), 0),
        (lines({"policyEvent": {"policyName": "p", "message": "m", "enforcementLevel": "mandatory"}}), 3),
        (["error: no stack"], 6),
        ([], 6),
    ],
)
def test_a_plan_is_read_from_standard_input(said: list[str], code: int, accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are no text are no end of it."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n" * bool(said) + "\n".join(said).encode())))
    ran = accelform("gitops", "plan")
    assert ran.code == code
    plan = Plan.parse(ran.out, "out")
    assert [one.op for one in plan.changes] == (["create"] if code == 0 else [])
    assert "would change" in ran.err
    assert ("new: Bucket data\n" in ran.err) is (code == 0)


def test_a_comment_is_of_what_the_jobs_left(accelform: Accelform, tmp_path: Path) -> None:
    (tmp_path / "asia").mkdir()
    plan = Plan([Change("replace", POOL, "gpu", ("nodeConfig",))], 4)
    (tmp_path / "asia" / "plan.json").write_text(json.dumps(plan.as_json()), encoding="utf-8")
    ran = accelform("gitops", "comment", str(tmp_path), "--sha", "0" * 40)
    assert ran.code == 0
    assert "**made anew: `NodePool gpu`**" in ran.out
    (tmp_path / "asia" / "plan.json").write_text("{}", encoding="utf-8")
    ran = accelform("gitops", "comment", str(tmp_path))
    assert (ran.code, "is not what `accelform gitops plan` writes" in ran.err) == (2, True)


def test_drift_is_told_and_what_nobody_saw_is_none(accelform: Accelform, tmp_path: Path) -> None:
    """3 where something differs, 0 where nothing does, 6 where the look failed: no issue is opened or closed for that."""
    folder = tmp_path / "asia"
    assert accelform("gitops", "drift", str(folder)).code == 2
    folder.mkdir()

    def told(plan: Plan) -> Any:
        (folder / "plan.json").write_text(json.dumps(plan.as_json()), encoding="utf-8")
        return accelform("gitops", "drift", str(folder), "--run-url", "https://github.com/o/r/actions/runs/1")

    ran = told(Plan([Change("delete", POOL, "gpu")], 4))
    assert ran.code == 3
    assert ran.out.startswith("<!-- accelform drift -->\nWhat stands of stack `asia` is not")
    assert "- :warning: **deleted: `NodePool gpu`**" in ran.out
    assert "actions/runs/1" in ran.out
    ran = told(Plan([], 4))
    assert (ran.code, ran.out, ran.err) == (0, "", "asia: no drift, 4 resources as declared\n")
    ran = told(Plan([Change("delete", POOL, "gpu")], 4, errors=["Error 403"]))
    assert (ran.code, ran.out) == (6, "")
    assert "asia: could not be looked at: Error 403" in ran.err
    ran = told(Plan([Change("create", POOL, "x" * 300, ("y" * 300,))] * 120, 4))
    assert len(ran.out) < 65_536
