"""`accelform promote`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "environments"


@pytest.fixture
def promote(accelform: Run, tmp_path: Path) -> Run:
    """The command, on a copy of the example's files."""
    for path in EXAMPLES.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    return lambda *arguments: accelform("promote", *arguments, "--stacks", str(tmp_path))


def test_a_look_then_a_write_then_nothing_more(promote: Run, tmp_path: Path) -> None:
    """A workflow asks with --check: it fails as long as the file lacks something."""
    assert promote("staging", "prod", "--check").code == 3
    assert (tmp_path / "Pulumi.prod.yaml").read_bytes() == (EXAMPLES / "Pulumi.prod.yaml").read_bytes()
    done = promote("staging", "prod")
    assert done.code == 0
    assert '- ["--steps", "10000"]\n+ ["--steps", "20000"]\n' in done.out
    assert "gcrane cp us-central1-docker.pkg.dev/tw-shop-staging/staging-images/train@sha256:2222" in done.out
    again = promote("staging", "prod", "--check")
    assert (again.code, again.out.startswith("prod has all that staging has to give")) == (0, True)


def test_for_machines(promote: Run) -> None:
    looked = promote("staging", "prod", "--check", "--json").data
    assert (looked["exit_code"], looked["written"]) == (3, False)
    done = promote("staging", "prod", "--json").data
    assert {**looked, "exit_code": 0, "written": True} == done
    assert [one["key"] for one in done["changes"]][-1] == "models.recommender.accept_if"
    assert done["changes"][-1]["before"].endswith("0.98 * champion")
    assert done["copies"][0]["command"].startswith("gcrane cp ")


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("prod", "staging", "fix: accelform promote staging prod"),
        ("staging", "staging", "is one file, named twice"),
        ("stagin", "prod", "there is no such stack"),
        ("", "prod", "is a folder"),
        ("staging", "пr\x00d", "there is no such stack"),
    ],
)
def test_fails_on_what_is_no_pair(source: str, target: str, said: str, promote: Run) -> None:
    done = promote(source, target)
    assert done.code == 2
    assert said in done.err
