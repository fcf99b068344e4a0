"""`accelform state list` and `restore`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.cli import state as command
from tests.cli.conftest import Ran
from tests.operate.state_bucket import BUCKET, LOCK, NAME, Bucket, state

Run = Callable[..., Ran]
FILE = """config:
  gcp:project: shop-prod
  accelform:schema: 1
  accelform:region: us-east5
  accelform:environment: dev
  accelform:owner: ml-team
"""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """The commands reach it as they would reach the sandbox of the checkout."""
    found = Bucket()

    @contextmanager
    def reached(project: str, sandbox: str) -> Iterator[tuple[Any, None]]:
        yield found.google, None

    monkeypatch.setattr(command, "reached", reached)
    monkeypatch.setattr(command, "_sandbox", lambda root: "http://sandbox.test")
    yield found
    found.google.close()


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """A region that names a foundation, and what lives in its cluster, however wrong both are besides."""
    (tmp_path / "Pulumi.try.yaml").write_text(f"{FILE}  accelform:foundation: once\n  accelform:nonsense: 1\n")
    (tmp_path / "Pulumi.try-apps.yaml").write_text(f"{FILE}  accelform:kind: apps\n  accelform:region_stack: try\n")
    (tmp_path / "Pulumi.once.yaml").write_text(f"{FILE}  accelform:kind: foundation\n")
    (tmp_path / "Pulumi.alone.yaml").write_text(FILE)
    return tmp_path


def test_the_versions_are_listed(bucket: Bucket, stacks: Path, accelform: Run) -> None:
    """For people and for machines: who wrote them, and which are damaged."""
    bucket.update("ann@laptop", 1, 2)
    bucket.put(NAME, b"{")
    shown = accelform("state", "list", "try", "--stacks", str(stacks))
    assert shown.code == 0
    assert f"stack try: gs://{BUCKET}/{NAME}" in shown.out
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert [line.partition("Z ")[2] for line in lines if "2027-" in line] == [
        "1 unknown unknown newest, damaged: is no JSON",
        "260 2 ann@laptop",
    ]
    assert "not shown: 1, most of them steps within an update; see them: --all" in lines
    told = accelform("state", "list", "try", "--stacks", str(stacks), "--all", "--json").data
    assert [(one["resources"], one["newest"]) for one in told["versions"]] == [(None, True), (2, False), (1, False)]
    assert told["not_shown"] == 0


def test_a_restore_says_what_it_does_and_what_is_next(bucket: Bucket, stacks: Path, accelform: Run) -> None:
    """First dry; then it is written; then there is nothing to do."""
    good = bucket.update("ann@laptop", 3)[0]
    bucket.put(NAME, b"nonsense")
    asked = ("state", "restore", "try", "--stacks", str(stacks), "--version", good)
    dry = accelform(*asked, "--dry-run")
    assert dry.out.splitlines()[0].endswith("with 3 resources, would be the newest: nothing was written")
    assert len(bucket.states.versions()) == 2
    done = accelform(*asked)
    assert done.code == 0
    assert "of 1 later version none can be read" in done.out
    assert done.out.splitlines()[-3:] == ["next:", "  pulumi refresh --stack try", "  pulumi preview --stack try"]
    newest = str(bucket.states.versions()[0].generation)
    again = accelform("state", "restore", "try", "--stacks", str(stacks), "--version", newest, "--json")
    assert (again.data["was_newest"], again.data["restored"]) == (True, None)


def test_by_a_moment_and_what_was_made_since(bucket: Bucket, stacks: Path, accelform: Run) -> None:
    """What a later version has besides is told by name and id, and kept where that is asked."""

    def made(*names: str) -> bytes:
        data = json.loads(state(0))
        data["checkpoint"]["latest"]["resources"] = [
            {"urn": f"urn:pulumi:try::accelform::a:b:C::{one}", "type": "a:b:C", "custom": True, "id": f"id-{one}"} for one in names
        ]
        return json.dumps(data).encode()

    bucket.put(NAME, made("one", "two"))
    bucket.wait(60)
    moment = bucket.now().isoformat()
    bucket.wait(60)
    bucket.put(NAME, made("two", "three"))
    asked = ("state", "restore", "try", "--stacks", str(stacks), "--as-of", moment)
    told = accelform(*asked, "--dry-run")
    assert "made since, and not in it:\n    a:b:C three: id-three\n" in told.out
    assert "gone since: the refresh takes it out:\n    a:b:C one: id-one\n" in told.out
    assert "fix: --keep-later adds it" in told.out
    done = accelform(*asked, "--keep-later", "--json").data
    assert (done["kept_later"], [one["name"] for one in done["made_since"]]) == (True, ["three"])
    assert [one.name for one in bucket.states.read(bucket.states.versions()[0]).things()] == ["one", "two", "three"]


@pytest.mark.parametrize("stack", ["try", "try-apps", "once"])
def test_the_bucket_is_the_foundations(bucket: Bucket, stacks: Path, accelform: Run, stack: str) -> None:
    """Of a region, of what lives in its cluster, and of the foundation itself; also of a file that its check refuses."""
    bucket.put(NAME.replace("try", stack), state(1).replace(b"accelform/try", f"accelform/{stack}".encode()))
    found = accelform("state", "list", stack, "--stacks", str(stacks), "--json")
    assert (found.code, found.data["address"]) == (0, f"gs://{BUCKET}/.pulumi/stacks/accelform/{stack}.json")


def test_a_stack_whose_file_is_lost_too(bucket: Bucket, tmp_path: Path, accelform: Run) -> None:
    bucket.put(NAME, state(1))
    found = accelform("state", "list", "try", "--stacks", str(tmp_path), "--state-url", f"gs://{BUCKET}", "--json")
    assert [one["resources"] for one in found.data["versions"]] == [1]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("restore", "try"), 2, "--as-of: say which"),
        (("restore", "try", "--as-of", "2026-12-01T00:00:00Z", "--version", "1"), 2, "--as-of: both are said"),
        (("restore", "try", "--version", "latest"), 2, "--version: 'latest' is no version"),
        (("restore", "try", "--version", "٣"), 2, "is no version"),
        (("restore", "try", "--as-of", "yesterday"), 2, "--as-of: 'yesterday' is no time"),
        (("restore", "try", "--as-of", "2026-12-01T00:00:00"), 2, "does not say its zone"),
        (("restore", "try", "--as-of", "2026-12-01T00:00:00Z"), 3, "it had no state that is kept"),
        (("restore", "try", "--version", "99999999999999999999"), 3, "there is no version 99999999999999999999 of its state"),
        (("list", "other", "--state-url", f"gs://{BUCKET}"), 3, "allowed: a stack whose state is in that bucket: try"),
        (("list", "try", "--state-url", "gs://nowhere-at-all"), 3, "gs://nowhere-at-all is not there, in the sandbox"),
        (("list", "try", "--state-url", "https://x"), 2, "--state-url: 'https://x' is no address of a bucket"),
        (("list", "alone"), 2, "names no foundation, whose bucket would have its states"),
        (("list", "nope"), 2, "nope: there is no such stack"),
    ],
)
def test_fails_on_what_cannot_be(bucket: Bucket, stacks: Path, accelform: Run, arguments: tuple[str, ...], code: int, words: str) -> None:
    bucket.put(NAME, state(1))
    ran = accelform("state", *arguments, "--stacks", str(stacks))
    assert (ran.code, words in ran.err) == (code, True), ran.err


def test_fails_on_a_damaged_version_and_says_which_is_whole(bucket: Bucket, stacks: Path, accelform: Run) -> None:
    good = bucket.put(NAME, state(2))
    bad = bucket.put(NAME, b"")
    ran = accelform("state", "restore", "try", "--stacks", str(stacks), "--version", bad)
    assert ran.code == 3
    assert f"version {bad} of its state is empty: nothing was restored\n  fix: --version {good}, of " in ran.err


def test_fails_while_somebody_works_on_it(bucket: Bucket, stacks: Path, accelform: Run) -> None:
    first = bucket.put(NAME, state(1))
    bucket.put(NAME, state(2))
    bucket.put(f"{LOCK}1.json", b'{"username": "ann", "hostname": "laptop"}')
    ran = accelform("state", "restore", "try", "--stacks", str(stacks), "--version", first, "--dry-run")
    assert (ran.code, "locked by ann@laptop since" in ran.err) == (5, True)
