"""Which stacks a change touches, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.errors import SpecError
from infra.gitops import changed
from tests.gitops.conftest import Git, write

ALL = ["asia", "europe", "asia-apps"]


def after(checkout: tuple[Path, Git], *paths: str, text: str = "# changed\n") -> changed.Stacks:
    """What is touched where these files got a line more."""
    root, git = checkout
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("a", encoding="utf-8") as file:
            file.write(text)
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "second")
    return changed.touched(root / "stacks", "HEAD^")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ([], []),
        (["stacks/Pulumi.europe.yaml"], ["europe"]),
        (["stacks/Pulumi.asia-apps.yaml"], ["asia-apps"]),
        (["stacks/Pulumi.asia.yaml"], ["asia", "asia-apps"]),
        (["infra/deep/er.py"], ALL),
        (["requirements/run.lock"], ALL),
        (["Pulumi.yaml"], ALL),
        (
            ["README.md", "docs/guides/x.md", "tests/test_x.py", ".github/workflows/x.yml", "stacks/stack.schema.json", "infra/README.md"],
            [],
        ),
    ],
)
def test_a_stack_is_touched_by_what_it_is_made_of(paths: list[str], names: list[str], checkout: tuple[Path, Git]) -> None:
    """Its file, the file that it reads, the program; regions come before what lives in their clusters."""
    found = after(checkout, *paths)
    assert (found.names, list(found.gone)) == (names, [])


def test_the_foundation_is_touched_by_its_regions_and_touches_those_that_name_it(
    checkout: tuple[Path, Git],
) -> None:
    """It turns on the APIs that its regions need. No pipeline makes it."""
    root, git = checkout
    write(root, "base", {"gcp:project": "shop-ml", "accelform:kind": "foundation"})
    write(root, "other", {"gcp:project": "other-ml", "accelform:kind": "foundation"})
    write(root, "asia", {"gcp:project": "shop-ml", "accelform:foundation": "base"})
    git("add", "-A")
    git("commit", "-q", "-m", "a foundation")
    found = after(checkout, "stacks/Pulumi.europe.yaml")
    assert (found.names, found.applied) == (["base", "europe"], ["europe"])
    found = after(checkout, "stacks/Pulumi.base.yaml")
    assert (found.names, found.applied) == (["base", "asia", "asia-apps"], ["asia", "asia-apps"])


def test_a_stack_whose_file_is_gone_is_told(checkout: tuple[Path, Git]) -> None:
    """Of a renamed one, both names; and of the last one too."""
    root, git = checkout
    git("mv", "stacks/Pulumi.europe.yaml", "stacks/Pulumi.africa.yaml")
    found = after(checkout)
    assert (found.names, list(found.gone)) == (["africa"], ["europe"])
    git("rm", "-q", "stacks/*.yaml")
    found = after(checkout)
    assert (found.names, list(found.gone)) == ([], ["africa", "asia-apps", "asia"])
    assert not any((root / "stacks").glob("Pulumi.*"))


@pytest.mark.parametrize(
    "text", ["\t- no yaml {", "config: [1]\n", "config:\n  accelform:kind: nonsense\n", "config:\n  accelform:kind: [1]\n", ""]
)
def test_a_file_that_cannot_be_read_is_touched_too(text: str, checkout: tuple[Path, Git]) -> None:
    """Its check says what is wrong."""
    root, _ = checkout
    (root / "stacks" / "Pulumi.europe.yaml").write_text(text, encoding="utf-8")
    assert after(checkout).names == ["europe"]


def test_without_a_ref_every_stack_is_meant(checkout: tuple[Path, Git]) -> None:
    found = changed.touched(checkout[0] / "stacks", None)
    shown: dict[str, Any] = found.as_json()
    assert (found.names, shown["kinds"]["region"], shown["kinds"]["apps"]) == (ALL, ["asia", "europe"], ["asia-apps"])


@pytest.mark.parametrize("ref", ["nonsense", "", "--output=x", "HEAD^^^^"])
def test_fails_on_a_ref_that_is_no_commit(ref: str, checkout: tuple[Path, Git]) -> None:
    with pytest.raises(SpecError):
        changed.touched(checkout[0] / "stacks", ref)


@pytest.mark.parametrize("name", ["infra", "nowhere", "x" * 5000, "Pulumi.yaml"])
def test_fails_where_there_never_was_a_stack(name: str, checkout: tuple[Path, Git]) -> None:
    """Not even a folder."""
    with pytest.raises(SpecError, match="holds no stack file"):
        changed.touched(checkout[0] / name, None)
