"""The workflows' own steps, in order, in a fresh clone, by the real engine against the sandbox: preview, apply, drift."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.gitops import github
from infra.local.engine import find
from infra.local.home import Home
from infra.sandbox import process
from tests.engine.workflow import GitHub, Job

URL = {"github.server_url": "https://github.com", "github.repository": "shop/ml", "github.run_id": "1"}
VARS = {"vars.ACCELFORM_STATE_URL": "gs://is-the-sandbox-here", "github.token": "t"}
OWN = "github.event.pull_request.head.repo.full_name == github.repository && github.actor != 'dependabot[bot]'"
REQUEST = {"github.event.pull_request.number": "7", "github.event.pull_request.head.sha": "a" * 40}


@pytest.fixture
def hub(tmp_path: Path, base: dict[str, Any]) -> Iterator[GitHub]:
    if find.find() is None:
        pytest.skip("there is no engine on this machine: python -m infra.local.engine.build")
    hub = GitHub(tmp_path, {"try": base})
    for path, text in github.workflows(github.Asked("main", "production")).items():
        (hub.work / path).parent.mkdir(parents=True, exist_ok=True)
        (hub.work / path).write_text(text, encoding="utf-8")
    hub.commit("workflows")
    hub.push()
    yield hub
    hub.end()
    gc.collect()


def request(hub: GitHub, branch: str, trusted: str = "true") -> tuple[list[Job], str]:
    """A pull request of a branch: the jobs of its preview, and its one comment."""
    hub.merged(branch)
    touched = hub.job("preview", "stacks", {}, {})
    assert touched.passed, touched.said
    stacks = json.loads(touched.outputs["stacks"])
    jobs = []
    for stack in stacks["stacks"]:
        sandbox = hub.sandbox_env() if trusted == "true" else {}
        jobs.append(hub.job("preview", "preview", {"matrix.stack": stack, OWN: trusted, **VARS}, sandbox))
    if trusted == "true":
        values = {"needs.stacks.outputs.stacks": touched.outputs["stacks"], **REQUEST, **URL, **VARS}
        commented = hub.job("preview", "comment", values, {})
        assert commented.passed, commented.said
        comments = hub.gh()["comments"]
        assert len(comments) == 1
        return jobs, comments[0]["body"]
    return jobs, ""


def pushed(hub: GitHub, before: str) -> Job:
    """What is on `main` is applied."""
    hub.checkout("origin/main")
    touched = hub.job("apply", "stacks", {"github.event.before": before}, {})
    assert json.loads(touched.outputs["stacks"])["kinds"] == {"foundation": [], "region": ["try"], "apps": []}, touched.said
    return hub.job("apply", "region", {"matrix.stack": "try", **VARS}, hub.sandbox_env())


def night(hub: GitHub) -> Job:
    hub.checkout("origin/main")
    every = hub.job("drift", "stacks", {}, {})
    assert json.loads(every.outputs["stacks"])["stacks"] == ["try"], every.said
    return hub.job("drift", "drift", {"matrix.stack": "try", **URL, **VARS}, hub.sandbox_env())


@pytest.mark.soak
def test_a_change_is_previewed_applied_and_watched(hub: GitHub, base: dict[str, Any], a_slice: dict[str, Any]) -> None:
    """
    One comment, written anew; what is merged stands; what somebody changes by hand opens an issue, which is closed once it is mended.
    """
    first = pushed(hub, "0" * 40)
    assert first.passed, first.said
    assert "| `try` | passes |" in first.summary

    hub.git(hub.work, "checkout", "-q", "-b", "change")
    hub.write("try", base | {"accelform:tpu_slices": {"eval": a_slice}})
    hub.commit("a slice")
    hub.push("change")
    (preview,), comment = request(hub, "change")
    assert preview.passed, preview.said
    assert comment.startswith(
        "<!-- accelform preview -->\n## Stacks that change at aaaaaaaaaaaa ([log](https://github.com/shop/ml/actions/runs/1))"
    )
    assert "| `try` | passes | " in comment
    assert "- new: `Instance eval" in comment
    assert "| **difference** |  | +" in comment

    hub.write("try", base | {"accelform:region": "us-east"})
    hub.commit("a mistake")
    hub.push("change")
    hub.merged("change")
    (wrong,), nothing = request_without_sandbox(hub)
    assert (wrong.outcomes["check"], wrong.outcomes["summary"], nothing) == ("failure", "success", "")
    assert "**1 problem in the file**" in wrong.summary

    hub.git(hub.work, "reset", "-q", "--hard", "HEAD^")
    hub.push("change")
    _, again = request(hub, "change")
    assert again == comment

    before = hub.git(hub.work, "rev-parse", "main")
    hub.push("main")
    second = pushed(hub, before)
    assert second.passed, second.said
    assert (second.outcomes["preview"], second.outcomes["up"]) == ("success", "success")

    assert night(hub).passed
    assert not hub.gh()["issues"]
    tamper(hub)
    for _ in range(2):
        found = night(hub)
        assert found.passed, found.said
        (issue,) = hub.gh()["issues"]
        assert (issue["open"], issue["title"]) == (True, "Drift of stack try")
        assert re.search(r"^- changed: `Bucket \w+`, for `[^`]*[lL]abels", issue["body"], flags=re.MULTILINE)
    mended = hub.job("apply", "region", {"matrix.stack": "try", **VARS}, refreshed(hub))
    assert mended.passed, mended.said
    closed = night(hub)
    assert closed.passed, closed.said
    assert [one["open"] for one in hub.gh()["issues"]] == [False]

    # As the operator runs an update: it cannot be told of a pack but by the environment.
    operator = hub.sandbox_env() | {"PULUMI_OPTION_POLICY_PACK": str(hub.clone / "infra" / "policy"), "PYTHONPATH": str(hub.clone)}
    up = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", "try"]
    done = subprocess.run(up, cwd=hub.clone, env=os.environ | operator, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"accelform@v[0-9.]+ \(local: {re.escape(str(hub.clone))}", done.stdout)


def request_without_sandbox(hub: GitHub) -> tuple[list[Job], str]:
    """A fork's request: no token, so no preview and no comment."""
    return request(hub, "change", trusted="false")


def refreshed(hub: GitHub) -> dict[str, str]:
    """The next update looks at the cloud first, as a person who mends drift has it do."""
    return hub.sandbox_env() | {"PULUMI_OPTION_REFRESH": "true"}


def tamper(hub: GitHub) -> None:
    """Somebody changes a bucket by hand."""
    running = process.running(Home.of(hub.clone).sandbox)
    assert running is not None
    with httpx.Client(trust_env=False) as client:
        found = process.ask(running, "GET", "resources")["resources"]
        name = next(one["name"] for one in found if one["service"] == "storage.googleapis.com" and "/o/" not in one["name"])
        address = f"{running.base}/storage.googleapis.com/storage/v1/{name}"
        assert client.patch(address, json={"labels": {"owner": "somebody-else"}}).status_code == 200


@pytest.mark.soak
def test_what_is_written_is_what_actionlint_takes(tmp_path: Path) -> None:
    """By its own program, built from the module proxy where Go is."""
    from tests.engine import actionlint

    program = actionlint.built()
    for path, text in github.workflows(github.Asked("main", "production")).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    with chdir(tmp_path):
        assert actionlint.run(program, tmp_path) == ""
        wrong = tmp_path / ".github" / "workflows" / "wrong.yml"
        wrong.write_text(
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ matrix.x }}\n", encoding="utf-8"
        )
        assert "matrix" in actionlint.run(program, tmp_path)
