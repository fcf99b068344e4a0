"""The key `images:` of a stack file, written by a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.errors import SpecError
from infra.operate.image_keys import write

ROOT = Path(__file__).parents[2]
OLD, NEW = (f"us-east5-docker.pkg.dev/p/r/serve@sha256:{digit * 64}" for digit in "01")
FILES = sorted([*(ROOT / "stacks").glob("Pulumi.*.yaml"), *(ROOT / "docs" / "examples").glob("*.yaml")])


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_nothing_else_changes(tmp_path: Path, file: Path) -> None:
    """Of the stacks of this project, comments, quotes, flow maps and order stay to the letter."""
    path = tmp_path / file.name
    path.write_bytes(file.read_bytes())

    assert write(path, {"serve": NEW, "train": NEW}) == ["serve", "train"]
    before, after = file.read_text().splitlines(), path.read_text().splitlines()
    added = [line.partition(" #")[0] for line in after if line not in before]
    had = [name for name in ("serve", "train") if any(line.startswith(f"    {name}: ") and "@sha256:" in line for line in before)]
    head = [] if any(line.startswith("  accelform:images:") for line in before) else ["  accelform:images:"]

    assert sorted(added) == [f"    serve: {NEW}", f"    train: {NEW}", *head]
    assert len([line for line in before if line not in after]) == len(had)
    assert write(path, {"serve": NEW, "train": NEW}) == []


SPOKEN = f"""# A shop.
config:
    gcp:project: "p"   # quoted
    accelform:images:
        # what serves
        serve: {OLD} # sandbox: nothing was built
        # what learns
        train: {OLD} # keep me
    accelform:notify:
    - "email:a@b.example"
    accelform:budgets: {{ monthly: {{ amount: "1 USD" }} }}
secretsprovider: x
"""


def test_a_new_reference_takes_the_place_of_the_old(tmp_path: Path) -> None:
    """The note beside the old one goes with it; others stay, as the file indents."""
    path = tmp_path / "Pulumi.a.yaml"
    path.write_text(SPOKEN)

    assert write(path, {"serve": NEW}) == ["serve"]
    assert path.read_text() == SPOKEN.replace(f"{OLD} # sandbox: nothing was built", NEW)
    assert write(path, {"train": NEW}) == ["train"]
    assert f"train: {NEW} # keep me\n" in path.read_text()


def test_a_new_entry_stands_with_the_others(tmp_path: Path) -> None:
    """The gap and the comment of the next key stay before the next key."""
    path = tmp_path / "Pulumi.a.yaml"
    text = f"config:\n  accelform:images: # these\n    runner: {OLD}\n{{new}}\n  # Every night.\n  accelform:jobs:\n    a: 1\n"
    path.write_text(text.format(new=""))
    write(path, {"serve": NEW})

    assert path.read_text() == text.format(new=f"    serve: {NEW}\n")


def test_a_note_stands_beside(tmp_path: Path) -> None:
    """A reference that no registry has says so."""
    path = tmp_path / "Pulumi.a.yaml"
    path.write_text(SPOKEN)
    write(path, {"serve": NEW}, note="sandbox: nothing was built")

    assert path.read_text() == SPOKEN.replace(OLD, NEW, 1)
    write(path, {"train": NEW}, note="sandbox: nothing was built")
    assert f"train: {NEW} # sandbox: nothing was built\n" in path.read_text()


def test_the_same_reference_leaves_the_file_alone(tmp_path: Path) -> None:
    """Not even its time changes."""
    path = tmp_path / "Pulumi.a.yaml"
    path.write_text(SPOKEN)
    before = path.stat().st_mtime_ns

    assert write(path, {"serve": OLD}) == []
    assert path.stat().st_mtime_ns == before


def test_a_link_stays_one(tmp_path: Path) -> None:
    """What it points to is written."""
    (tmp_path / "kept").mkdir()
    target, path = tmp_path / "kept" / "stack.yaml", tmp_path / "Pulumi.a.yaml"
    target.write_text(SPOKEN)
    path.symlink_to(target)
    write(path, {"serve": NEW})

    assert path.is_symlink()
    assert NEW in target.read_text()
    assert [one.name for one in (tmp_path / "kept").iterdir()] == ["stack.yaml"]


@pytest.mark.parametrize("text", ["config:\n  accelform:images: [a]\n", "config: []\n", "a: 1\n", "{"])
def test_fails_where_there_is_no_place_for_it(tmp_path: Path, text: str) -> None:
    """The file stays as it was."""
    path = tmp_path / "Pulumi.a.yaml"
    path.write_text(text)

    with pytest.raises(SpecError):
        write(path, {"serve": NEW})
    assert path.read_text() == text
