"""A run learns from a log as it was when it began."""

from __future__ import annotations

from pathlib import Path

import pytest

from workloads.contract import TrainSettings
from workloads.files import FilesError, Folder
from workloads.pinned import copied, pinned


@pytest.fixture(params=["path", "bucket"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """Two files of a log."""
    if request.param == "bucket":
        request.getfixturevalue("bucket")
    folder = Folder("gs://shop-models/clicks" if request.param == "bucket" else str(tmp_path / "clicks"))
    folder.erase()
    folder.write("01/a.csv", b"one")
    folder.write("b.csv", b"two")
    return folder


def run(place: Path) -> TrainSettings:
    """A run that has saved a step."""
    Folder(str(place)).write("8/meta.json", b"{}")
    return TrainSettings("r", "out", str(place), "cpu", 1)


def content(folder: Folder) -> dict[str, bytes]:
    return {name: folder.read(name) for name in folder.names()}


def test_what_comes_later_is_not_read(log: Folder, tmp_path: Path) -> None:
    """By any later try: neither a file nor the end of one. Another run reads it."""
    one = run(tmp_path / "run")
    first = pinned(log, one, "clicks.json")
    log.write("c.csv", b"three")
    log.write("b.csv", b"two and more")

    for read in (first, pinned(log, one, "clicks.json")):
        assert content(read) == {"01/a.csv": b"one", "b.csv": b"two"}
    assert content(pinned(log, run(tmp_path / "later"), "clicks.json")) == content(log)


def test_a_run_that_has_saved_nothing_begins_with_what_is_there(log: Folder, tmp_path: Path) -> None:
    """Its first try may have been refused for what was in a file."""
    one = TrainSettings("r", "out", str(tmp_path / "run"), "cpu", 1)
    pinned(log, one, "clicks.json")
    log.write("b.csv", b"mended")

    assert content(pinned(log, one, "clicks.json")) == content(log)


def test_fails_where_something_went_away(log: Folder, tmp_path: Path) -> None:
    """With the file's name: a run cannot go on with other rows."""
    one = pinned(log, run(tmp_path / "run"), "clicks.json")
    log.write("b.csv", b"t")
    log.delete("01/a.csv")

    with pytest.raises(FilesError, match=r"b\.csv had 3 bytes when the run began, and has 1"):
        one.read("b.csv")
    with pytest.raises(FilesError, match=r"01/a\.csv is not there"):
        one.read("01/a.csv")


def test_a_table_is_read_as_it_was(log: Folder, tmp_path: Path) -> None:
    """Whatever was written under its name, and where it went away; other files are read as they are, and another run reads it anew."""
    one = run(tmp_path / "run")
    copied(log, one, "b.csv")
    log.write("b.csv", b"new")
    log.write("01/a.csv", b"changed")

    again = copied(log, one, "b.csv")
    assert again.location == log.location
    assert content(again) == {"01/a.csv": b"changed", "b.csv": b"two"}
    assert content(copied(log, run(tmp_path / "later"), "b.csv")) == content(log)
    assert content(copied(log, TrainSettings("r", "out", str(tmp_path / "new"), "cpu", 1), "b.csv")) == content(log)
    log.delete("b.csv")
    assert copied(log, one, "b.csv").read("b.csv") == b"two"


def test_fails_where_the_table_is_not_there(log: Folder, tmp_path: Path) -> None:
    """By who reads it, with the folder's name: on every host."""
    one = copied(log, run(tmp_path / "run"), "c.csv")

    with pytest.raises(FilesError, match=rf"{log.location}: c\.csv is not there"):
        one.read("c.csv")
