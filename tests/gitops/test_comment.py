"""The comment of a pull request: what it says first, what it leaves out, and that nobody can write into it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.cost import against
from infra.errors import SpecError
from infra.gitops.comment import LENGTH_MAX, MARKER, Told, code, fenced, markdown, read
from infra.gitops.plan import Change, Plan
from tests.gitops.conftest import POOL

COST = "<!-- accelform cost -->\n## Cost against `HEAD^1` (abc)\n\n### asia\n\n| USD | a |\n|---|---|\n| gpu | +1.00 |\n| **difference** |  | +0.50 | +1.00 | +2.00 |  |\n"
GOOD: dict[str, Any] = {"findings": [], "rules": []}


def asia(*changes: Change, check: dict[str, Any] | None = GOOD, cost: str | None = COST, **plan: Any) -> Told:
    return Told("asia", check, cost, Plan(changes, 3, **plan))


def test_a_comment_says_what_changes_what_it_costs_and_what_is_lost() -> None:
    """Accelerators that are given back come first, in bold, with what goes with them."""
    text = markdown(
        [
            asia(
                Change("create", "gcp:storage/bucket:Bucket", "new"),
                Change("delete", "gcp:storage/bucket:Bucket", "old"),
                Change("replace", POOL, "gpu", ("nodeConfig.machineType",)),
                Change("replace", "gcp:compute/network:Network", "net"),
            )
        ],
        gone=["europe"],
        sha="0123456789abcdef",
        run_url="https://github.com/o/r/actions/runs/1",
    )
    assert text.splitlines()[:2] == [MARKER, "## Stacks that change at 0123456789ab ([log](https://github.com/o/r/actions/runs/1))"]
    assert "| `asia` | passes | 1 | 0 | 2 | 1 | 3 | +1.00 |" in text
    assert "- `europe`: its file is gone." in text
    pool = (
        "- :warning: **made anew: `NodePool gpu`** (accelerators), for `nodeConfig.machineType`: "
        "every node goes, with the pods on it; its capacity is given back, and may not come again."
    )
    assert pool in text
    assert text.index("**made anew: `NodePool gpu`**") < text.index("**deleted: `Bucket old`** (data)") < text.index("<summary>Changes")
    assert "**made anew: `Network net`**" not in text
    assert "| gpu | +1.00 |" in text
    assert "## Cost" not in text


def test_what_stops_it_is_told_whole() -> None:
    """Problems of the file, findings of the check, rules of the preview, and an error of the cloud."""
    problem = {"file": "stacks/Pulumi.asia.yaml", "line": 3, "path": "region", "message": "is wrong", "allowed": "x", "fix": "y"}
    text = markdown([asia(check={"problems": [problem]}, errors=["no preview of that"])])
    assert "| `asia` | **1 problem in the file** | ? |" in text
    assert "stacks/Pulumi.asia.yaml:3: region: is wrong\n  allowed: x\n  fix: y\n" in text
    finding = {"rule": "same-region", "resource": "b", "path": "location", "message": "is US", "fix": "move"}
    text = markdown([asia(check={"findings": [finding]}, violations=["B b: same-region: no"])])
    assert "| **2 rules broken** |" in text
    assert "same-region: b: location: is US\n  fix: move" in text
    assert "B b: same-region: no" in text
    text = markdown([asia(Change("create", POOL, "a"), errors=["googleapi: Error 403"])])
    assert "| **preview failed** | 1 |" in text
    assert "googleapi: Error 403" in text
    text = markdown([Told("asia", None, None, None)])
    assert "| `asia` | **not checked** | ? |" in text
    assert "No preview" in text


def test_a_stack_that_people_make_is_said_to_be() -> None:
    assert "- `asia` is made by people" in markdown([asia()], by_people=["asia"])


def test_the_difference_is_that_of_the_cost_command() -> None:
    """In the words of its own table; where a line has no price the whole of it is unknown."""
    sums = against.totals(against.difference(None, None))
    assert "| passes | 0 | 0 | 0 | 0 | 3 | 0.00 |" in markdown([asia(cost="\n".join(against.table([], sums)))])
    sums[-1] = (*sums[-1][:2], "of what has a price on both sides of the change")
    assert "| passes | 0 | 0 | 0 | 0 | 3 | unknown |" in markdown([asia(cost="\n".join(against.table([], sums)))])
    assert "| passes | 0 | 0 | 0 | 0 | 3 | unknown |" in markdown([asia(cost=None)])


def test_nothing_touched_is_a_sentence() -> None:
    assert markdown([]) == f"{MARKER}\n## Stacks that change\n\nNo stack is touched.\n"


@pytest.mark.parametrize(("stacks", "changes"), [(1, 90), (20, 90), (1200, 1)])
def test_no_comment_is_longer_than_github_takes(stacks: int, changes: int) -> None:
    """Costs go first, then lists of changes; the table and what is lost stay as long as they can."""
    pools = [Change("replace", POOL, f"pool-{number}", ("x" * 60,)) for number in range(changes)]
    text = markdown([asia(*pools, cost=COST + "| a | 1 |\n" * (7000 // stacks))] * stacks)
    assert len(text) <= LENGTH_MAX
    assert text.startswith(MARKER)
    assert "_Cut: " in text
    assert f"| `asia` | passes | 0 | 0 | {changes} |" in text
    assert (stacks > 1) or "**made anew: `NodePool pool-89`**" in text


NASTY = "@team #1 <img src=x> [a](http://x) | ``` ` **b** \x1b[31m\u202e\n<!-- x -->"


def test_nobody_writes_into_the_comment_by_a_name_or_an_error() -> None:
    """All that others wrote stands in code: no mention, link, HTML or end of a cell."""
    plan = Plan([Change("delete", "gcp:storage/bucket:Bucket", NASTY)], 0, [NASTY], [NASTY])
    text = markdown([Told(NASTY, {"findings": [{"rule": NASTY, "message": NASTY}]}, None, plan)], gone=[NASTY], run_url=NASTY, sha=NASTY)
    bare = re.sub(r"(`{3,})text\n.*?\n\1\n", "", text, flags=re.DOTALL)
    bare = re.sub(r"(?<!`)(`+)(?!`) .*? (?<!`)\1(?!`)", "", bare)
    for trace in ("@team", "<img", "http://x", "**b**", "\x1b", "\u202e", "<!-- x"):
        assert trace not in bare.replace(MARKER, "")
    assert "\x1b" not in text


def test_code_stays_code() -> None:
    assert code("a") == "`a`"
    assert code("a `` b|c\nd") == "``` a `` b/c d ```"
    assert fenced(["a ```` b\nc"]) == ["", "`````text", "a ```` b", "c", "`````", ""]


def test_reads_what_the_jobs_left(tmp_path: Path) -> None:
    """Stacks in their order; what a job did not come to is missing, and said to be."""
    (tmp_path / "stacks.json").write_text(
        json.dumps({"stacks": ["b", "a"], "gone": ["c"], "kinds": {"foundation": ["b"], "region": ["a"]}}), encoding="utf-8"
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "check.json").write_text(json.dumps({"exit_code": 0, "stacks": [GOOD]}), encoding="utf-8")
    (tmp_path / "a" / "cost.md").write_text("", encoding="utf-8")
    (tmp_path / "a" / "plan.json").write_text(json.dumps(Plan().as_json()), encoding="utf-8")
    assert read(tmp_path) == ([Told("b", None, None, None), Told("a", GOOD, None, Plan([], 0))], ["c"], ["b"])
    (tmp_path / "stacks.json").unlink()
    assert [one.stack for one in read(tmp_path)[0]] == ["a"]
    with pytest.raises(SpecError, match="is no folder"):
        read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stacks.json", "["),
        ("stacks.json", "[]"),
        ("stacks.json", '{"stacks": 1}'),
        ("stacks.json", '{"stacks": [".."]}'),
        ("stacks.json", '{"stacks": ["a/b"]}'),
        ("stacks.json", '{"stacks": [], "gone": [1]}'),
        ("a/check.json", "{}"),
        ("a/check.json", '{"stacks": []}'),
        ("a/plan.json", "{}"),
    ],
)
def test_fails_on_files_that_no_step_writes(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SpecError):
        read(tmp_path)
