"""Checkpoints in a format of a program's own, and those that are of something else."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from workloads.checkpoints import KEEP, Checkpoint, Checkpoints
from workloads.contract import InputError
from workloads.files import CHECKSUMS, DeniedError, Folder


def write(place: Path, state: Any) -> None:
    place.write_text(json.dumps(state))


def read(place: Path, like: Any) -> Any:
    return json.loads(place.read_text())


def never(place: Path, like: Any) -> Any:
    raise AssertionError("the arrays are read")


def test_the_newest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """By whoever wrote it, and no more are kept than are of use."""
    checkpoints = Checkpoints(str(tmp_path), writes=True, write=write, read=read)
    for step in (1, 2, 3):
        checkpoints.save(Checkpoint(step, {"a": step}, {"of": "this"}))
    checkpoints.close()

    again = Checkpoints(str(tmp_path), writes=False, write=write, read=read)
    assert again.last({}) == Checkpoint(3, {"a": 3}, {"of": "this"})
    again.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3"]
    assert KEEP == 2


def test_nothing_is_left_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by one that is closed; nor by one that neither reads nor writes, as where steps are only measured, which nobody closes."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    Checkpoints(str(tmp_path / "ck"), writes=True, write=write, read=read)
    assert list(here.iterdir()) == []

    used = Checkpoints(str(tmp_path / "ck"), writes=True, write=write, read=read)
    used.save(Checkpoint(1, {}, {}))
    used.wait()
    assert len(list(here.iterdir())) == 1
    used.close()
    assert list(here.iterdir()) == []


def test_half_and_damaged_ones_are_none_of_those_that_stay(tmp_path: Path) -> None:
    """The next one that is saved takes them away: else they would push out the only one that can be used, should the newest be damaged."""
    first = Checkpoints(str(tmp_path), writes=True, write=write, read=read)
    for step in (1, 2, 3):
        first.save(Checkpoint(step, {}, {}))
        first.wait()
        if step == 1:
            shutil.copytree(tmp_path / "1", tmp_path / "kept")
    first.close()
    (tmp_path / "kept").rename(tmp_path / "1")
    (tmp_path / "2" / CHECKSUMS).unlink()
    (tmp_path / "3" / "meta.json").write_text("{ }")

    again = Checkpoints(str(tmp_path), writes=True, write=write, read=read)
    assert again.last({}) == Checkpoint(1, {}, {})
    assert [re.sub(".*/(?=[0-9])", "", one) for one in again.skipped] == [
        "3: meta.json is not what its checksum says",
        "2 has no checksums.json: it is not whole, or not there",
    ]
    again.save(Checkpoint(4, {}, {}))
    again.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "4"]


def test_one_that_may_not_be_read_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A try that began from nothing, since its account lacks a role, would take away what the tries before have done."""

    def denied(folder: Folder, target: Path) -> None:
        raise DeniedError("2/meta.json may not be read")

    first = Checkpoints(str(tmp_path), writes=True, write=write, read=read)
    first.save(Checkpoint(2, {}, {}))
    first.close()
    monkeypatch.setattr(Folder, "download", denied)
    again = Checkpoints(str(tmp_path), writes=True, write=write, read=read)
    with pytest.raises(DeniedError):
        again.last({})
    assert again.skipped == []
    again.close()


def test_one_that_does_not_suit_is_told_before_its_arrays_are_read(tmp_path: Path) -> None:
    """They may have any form then."""
    checkpoints = Checkpoints(str(tmp_path), writes=True, write=write, read=never)
    checkpoints.save(Checkpoint(1, {}, {"of": "another"}))
    checkpoints.wait()

    def suits(meta: dict[str, Any]) -> None:
        raise InputError(f"it is of {meta['of']}")

    with pytest.raises(InputError, match="it is of another"):
        checkpoints.last({}, suits)
    checkpoints.close()
