"""Every guide is walked through: what it says to type is typed, and what it shows is what is printed."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest

from infra.local.engine import find
from infra.local.home import Home
from infra.sandbox import process
from tests import walk

INDEX = walk.GUIDES / "README.md"
EVERY = sorted(path for path in walk.GUIDES.glob("*.md") if path != INDEX)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_guide_can_be_followed(path: Path, tmp_path: Path) -> None:
    """What is quick is typed; of the rest, our own commands and options are there. A guide in which nothing is to be tried fails."""
    walk.Walk(tmp_path, whole=False).through(path)
    tried = [block for block in walk.blocks(path) if block.kind == "sh" and not block.mark]
    assert tried, f"{path.relative_to(walk.ROOT)}: has no commands that this machine could try (tests/walk.py says how they are written)"


@pytest.mark.soak
@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_guide_is_followed_to_its_end(path: Path, tmp_path: Path) -> None:
    """All that needs no Google Cloud is typed, by the real engine, in a copy of the project."""
    if find.find() is None:
        pytest.skip("there is no engine on this machine: python -m infra.local.engine.build")
    folder = tmp_path / "shop"
    folder.mkdir()
    try:
        walk.Walk(folder, whole=True).through(path)
    finally:
        process.stop(Home.of(folder).sandbox)
        gc.collect()


def test_the_index_has_every_guide_once() -> None:
    """In the order in which a newcomer wants them, a line each, and the README leads there."""
    listed = re.findall(r"^\| \[[^\]]+\]\(([\w-]+\.md)\) \|", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == [path.name for path in EVERY]
    assert "](docs/guides/README.md)" in (walk.ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("said", "printed", "fits"),
    [
        ("a  b", "a b\n", True),
        ("...\nb", "a\nb\n", True),
        ("at ... USD", "at 3 USD\n", True),
        ("a", "a\nb\n", False),
        ("...\na", "b\n", False),
        ("a\nc", "a\nb\nc\n", False),
    ],
)
def test_what_is_shown_is_held_against_what_is_printed(said: str, printed: str, fits: bool) -> None:
    """Every line, in order; only `...` leaves some out."""
    assert walk.shows(said, printed) is fits
