"""`accelform report`: where pages go, what is refused, and how it ends."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Accelform = Callable[..., Any]
REGIONS = ("asia-east1", "us-east5")
"""What is written where more than one is: pages of all examples would take twice as long."""
MARK = '<meta name="generator" content="accelform report">'


def test_writes_one_page_where_a_file_is_named(accelform: Accelform, tmp_path: Path) -> None:
    """And says where; a second run writes over it, byte by byte the same."""
    path = tmp_path / "new" / "us.html"
    ran = accelform("report", "us-east5", "--html", str(path))
    assert (ran.code, ran.out, ran.err) == (0, f"wrote {path}\n", "")
    first = path.read_bytes()
    assert MARK.encode() in first
    assert path.stat().st_mode & 0o777 == 0o644
    assert accelform("report", "us-east5", "--html", str(path)).code == 0
    assert path.read_bytes() == first
    assert list(path.parent.iterdir()) == [path]


def test_writes_a_page_a_stack_and_an_index_into_a_folder(accelform: Accelform, tmp_path: Path) -> None:
    """The index links to the pages and adds their totals up."""
    ran = accelform("report", *REGIONS, "--html", str(tmp_path))
    assert ran.code == 0
    assert ran.out.splitlines() == [f"wrote {tmp_path / name}.html" for name in ("index", *REGIONS)]
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'href="./asia-east1.html"' in text
    assert ">1,227.07<" in text.partition("<tfoot>")[2]


def test_without_a_place_it_is_the_folder_reports(accelform: Accelform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the folder that one stands in; one stack needs no index."""
    monkeypatch.chdir(tmp_path)
    file = Path(__file__).parents[2] / "stacks" / "Pulumi.asia-east1.yaml"
    ran = accelform("report", str(file))
    assert (ran.code, ran.out) == (0, f"wrote {Path('reports') / 'asia-east1.html'}\n")
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["asia-east1.html"]


def test_ends_with_0_where_a_page_says_that_something_is_wrong(
    accelform: Accelform, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Any, tmp_path: Path
) -> None:
    """`check` judges; a report that is written is written."""
    a_slice |= {"zone": "asia-east1-c"}
    path = stack_file(base | {"accelform:region": "asia-east1", "accelform:tpu_slices": {"eval": a_slice}})
    assert accelform("check", str(path)).code == 4
    assert accelform("report", str(path), "--html", str(tmp_path / "x.html")).code == 0


def test_never_writes_over_what_is_no_report(accelform: Accelform, tmp_path: Path) -> None:
    """All of them are named at once, nothing is written, and --force is one's own word."""
    for name in ("index", "us-east5"):
        (tmp_path / f"{name}.html").write_text("mine", encoding="utf-8")
    ran = accelform("report", *REGIONS, "--html", str(tmp_path))
    assert ran.code == 2
    assert ran.err.count("is there already, and is no report") == 2
    assert "--force overwrites it" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "us-east5.html"]
    assert (tmp_path / "us-east5.html").read_text(encoding="utf-8") == "mine"
    assert accelform("report", *REGIONS, "--html", str(tmp_path), "--force").code == 0
    assert MARK in (tmp_path / "us-east5.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("one.html", "is one file, for 2 stacks"),
        ("ONE.HTM", "is one file, for 2 stacks"),
        ("notes.txt", "is a file that is not named like a page"),
        ("notes.txt/below", "cannot be written"),
        ("", "is no name of a file or a folder"),
        ("  ", "is no name of a file or a folder"),
        ("a" * 5000, "cannot be"),
        ("folder", "index.html: is a folder"),
        ("pipes", "index.html: is a device or the like"),
    ],
)
def test_fails_on_a_place_that_cannot_be(said: str, told: str, accelform: Accelform, tmp_path: Path) -> None:
    """In a sentence with what may be, and nothing is left."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "folder" / "index.html").mkdir(parents=True)
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "index.html")
    ran = accelform("report", *REGIONS, "--html", f"{tmp_path}/{said}" if said.strip() else said)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "index.html", "index.html", "notes.txt", "pipes"]


def test_writes_nothing_where_a_stack_file_is_wrong(accelform: Accelform, base: dict[str, Any], stack_file: Any, tmp_path: Path) -> None:
    """Every problem of every file is told at once."""
    stack_file(base, "fine")
    for name in ("bad", "worse"):
        stack_file(base | {"accelform:region": "nowhere"}, name)
    ran = accelform("report", "--stacks", str(tmp_path), "--html", str(tmp_path / "out"))
    assert (ran.code, ran.out) == (2, "")
    assert "Pulumi.bad.yaml" in ran.err
    assert "Pulumi.worse.yaml" in ran.err
    assert not (tmp_path / "out").exists()


def test_fails_where_two_pages_would_have_one_name(accelform: Accelform, base: dict[str, Any], stack_file: Any, tmp_path: Path) -> None:
    """A stack called index, and two files of one stack."""
    index, fine = stack_file(base, "index"), stack_file(base, "fine")
    ran = accelform("report", str(index), str(fine), "--html", str(tmp_path / "out"))
    assert (ran.code, "the page of the stack index and the list of all" in ran.err) == (2, True)
    assert accelform("report", str(index), "--html", str(tmp_path / "out")).code == 0
    other = tmp_path / "other" / fine.name
    other.parent.mkdir()
    other.write_bytes(fine.read_bytes())
    ran = accelform("report", str(fine), str(other), "--html", str(tmp_path / "out"))
    assert (ran.code, "two pages of the name fine" in ran.err) == (2, True)


def test_leaves_what_was_there_where_the_disk_is_full(accelform: Accelform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every page is written beside its place before the first takes it."""
    assert accelform("report", *REGIONS, "--html", str(tmp_path)).code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    chmod = Path.chmod

    def full(path: Path, mode: int) -> None:
        if list(tmp_path.glob(".*.draft"))[2:]:
            raise OSError(28, "No space left on device")
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", full)
    ran = accelform("report", *REGIONS, "--html", str(tmp_path))
    assert (ran.code, "cannot be written: No space left on device" in ran.err) == (2, True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("opens", [True, False])
def test_opens_the_page_where_asked(opens: bool, accelform: Accelform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The index where there are several; a machine without a browser gets a sentence."""
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or opens)
    ran = accelform("report", *REGIONS, "--html", str(tmp_path), "--open")
    assert asked == [(tmp_path / "index.html").as_uri()]
    assert (ran.code, "no browser could be opened" in ran.err) == (0, not opens)
