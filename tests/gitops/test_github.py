"""The workflows: what they may do, held by a strict reading of each, and that such a reading sees what is wrong."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.check import stack_files
from infra.errors import SpecError
from infra.gitops import github
from tests.gitops.conftest import Git, write

TEXTS = {path.name: text for path, text in github.workflows(github.Asked("main", "production")).items()}
PIN = re.compile(r"(?:- )?uses: ([a-z-]+/[a-z-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+")
MAY = {
    "stacks": [{"contents": "read"}],
    "preview": [{"contents": "read", "id-token": "write"}],
    "comment": [{"contents": "read", "pull-requests": "write"}],
    "region": [{"contents": "read", "id-token": "write"}],
    "apps": [{"contents": "read", "id-token": "write"}],
    "drift": [{"contents": "read", "id-token": "write", "issues": "write"}],
}
"""What a job may do, by its name."""


def faults(text: str) -> Iterator[str]:
    """What is wrong in a workflow."""
    for line in text.splitlines():
        if "uses:" in line and not PIN.fullmatch(line.strip()):
            yield f"no pin by commit with its tag: {line.strip()}"
    for word in ("pull_request_target", "secrets.", "<<:", "@branch@", "@environment@", "workflow_run"):
        if word in text:
            yield f"holds {word}"
    data = YAML(typ="safe", pure=True).load(text)
    if data["permissions"] != {}:
        yield "rights for every job"
    if data["defaults"] != {"run": {"shell": "bash"}}:
        yield "a pipe may fail unseen"
    for name, job in data["jobs"].items():
        yield from (f"{name}: {fault}" for fault in _job(name, job, data["jobs"]))


def _job(name: str, job: dict[str, Any], jobs: dict[str, Any]) -> Iterator[str]:
    if job.get("permissions") not in MAY[name]:
        yield "rights that it does not need"
    if not job.get("timeout-minutes") or not re.fullmatch(r"ubuntu-\d\d\.\d\d", job["runs-on"]):
        yield "no limit, or no fixed machine"
    needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
    if not set(needs) <= set(jobs) or any(f"needs.{one}." in str(job) and one not in needs for one in jobs):
        yield "reads a job that it does not wait for"
    if "strategy" in job:
        if job["strategy"]["fail-fast"] is not False:
            yield "one failure stops others"
        if "${{ matrix.stack }}" not in job["concurrency"]["group"]:
            yield "no group for each stack"
        if job["concurrency"]["cancel-in-progress"] is not (name == "preview"):
            yield "cancels what it must not, or does not what it may"
    if (name in ("region", "apps")) != ("environment" in job):
        yield "nobody lets it through"
    for step in job["steps"]:
        run = step.get("run", "")
        if "${{" in run:
            yield "text of others in a script"
        if run and subprocess.run(["bash", "-n"], input=run, text=True, capture_output=True, check=False).returncode:
            yield "no script"
        if "actions/checkout@" in step.get("uses", "") and step["with"]["persist-credentials"] is not False:
            yield "leaves a token on the disk"
        for said in re.findall(r"steps\.([\w-]+)\.", str(step)):
            if said not in [other.get("id") for other in job["steps"]]:
                yield f"reads step {said}, which is none"


@pytest.mark.parametrize("name", TEXTS)
def test_a_workflow_may_do_no_more_than_it_needs(name: str) -> None:
    assert list(faults(TEXTS[name])) == []


@pytest.mark.parametrize(
    ("name", "before", "after", "fault"),
    [
        ("preview", "  pull_request:\n", "  pull_request_target:\n", "holds pull_request_target"),
        ("preview", "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "no pin"),
        ("preview", "permissions: {}", "permissions: write-all", "rights for every job"),
        ("preview", "      pull-requests: write", "      id-token: write\n      pull-requests: write", "comment: rights that"),
        ("preview", 'check "$STACK"', "check ${{ matrix.stack }}", "text of others in a script"),
        ("preview", "fail-fast: false", "fail-fast: true", "one failure stops others"),
        ("preview", "persist-credentials: false", "persist-credentials: true", "leaves a token"),
        ("preview", "id: auth", "id: other", "reads step auth"),
        ("preview", "needs: [stacks, preview]", "needs: preview", "reads a job"),
        ("apply", '    environment: "production"\n', "", "nobody lets it through"),
        ("apply", "group: accelform-${{ matrix.stack }}", "group: accelform", "no group for each stack"),
        ("apply", "cancel-in-progress: false", "cancel-in-progress: true", "cancels what it must not"),
        ("drift", "timeout-minutes: 60", "", "no limit"),
        ("drift", "code=$?\n", "code=$(\n", "no script"),
        ("drift", "${{ github.token }}", "${{ secrets.TOKEN }}", "holds secrets."),
        ("drift", "shell: bash", "shell: sh", "a pipe may fail"),
    ],
)
def test_the_reading_sees_what_is_wrong(name: str, before: str, after: str, fault: str) -> None:
    text = TEXTS[f"accelform-{name}.yml"]
    assert before in text
    assert any(fault in one for one in faults(text.replace(before, after)))


def test_an_action_has_one_pin() -> None:
    """One place to raise it in each file, and never two versions."""
    pins: dict[str, set[str]] = {}
    for text in TEXTS.values():
        for action, sha in PIN.findall(text):
            pins.setdefault(action, set()).add(sha)
    assert {action: len(shas) for action, shas in pins.items()} == dict.fromkeys(
        (
            "actions/checkout",
            "actions/setup-python",
            "pulumi/actions",
            "google-github-actions/auth",
            "actions/upload-artifact",
            "actions/download-artifact",
        ),
        1,
    )


def test_the_engine_is_the_one_that_is_tested_here() -> None:
    """The version that the sandbox's engine is built from."""
    built = re.search(
        r"pulumi/pkg/v3 v([0-9.]+)", (Path(github.__file__).parents[1] / "local" / "engine" / "go.mod").read_text(encoding="utf-8")
    )
    assert built
    assert {version for text in TEXTS.values() for version in re.findall(r"pulumi-version: (\S+)", text)} == {built[1]}


def test_names_are_the_foundations(checkout: tuple[Path, Git]) -> None:
    """Its identity provider lets no other branch and environment in; who asks for another one is refused."""
    root, _ = checkout
    pipeline = {"repository": "shop/ml", "environment": "live", "branch": "release/1"}
    write(root, "base", {"gcp:project": "p", "accelform:kind": "foundation", "accelform:pipeline": pipeline})
    files = stack_files([], root / "stacks")
    asked = github.asked(files, None, None)
    assert asked == github.Asked("release/1", "live", "base")
    text = github.workflows(asked)[github.FOLDER / "accelform-apply.yml"]
    assert 'branches: ["release/1"]' in text
    assert text.count('environment: "live"') == 2
    assert "refs/heads/release/1'" in text
    assert "--stack base)" in github.to_do(asked)[1]
    with pytest.raises(SpecError) as refused:
        github.asked(files, "main", "production")
    assert [(one.path, one.allowed) for one in refused.value.problems] == [("--branch", "release/1"), ("--environment", "live")]


@pytest.mark.parametrize("name", ["", " ", "a b", "a'b", 'a"b', "a\nb", "../x", "/a", "a/", "${{ x }}", "x" * 101, "日本"])
def test_refuses_what_is_no_branch(name: str) -> None:
    """It is written into the workflow as it is."""
    with pytest.raises(SpecError, match="--branch"):
        github.asked([], name, None)
    with pytest.raises(SpecError, match="--environment"):
        github.asked([], None, name)


def test_the_guide_names_what_is_to_be_set() -> None:
    """Each variable with the output that it is; and each workflow."""
    guide = (Path(github.__file__).parents[2] / "docs" / "guides" / "gitops.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(ACCELFORM_\w+)` \| `(\w+)` \|", guide, flags=re.MULTILINE)
    assert named == [(one.name, one.output) for one in github.VARIABLES]
    read = {name for text in TEXTS.values() for name in re.findall(r"vars\.(\w+)", text)}
    assert read == {one.name for one in github.VARIABLES}
    assert set(re.findall(r"^\| `(accelform-\w+\.yml)`", guide, flags=re.MULTILINE)) == set(github.WORKFLOWS)
