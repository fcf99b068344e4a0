"""What a server logged is read by training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workloads.contract import InputError
from workloads.files import Folder
from workloads.recommender.data import CLICK_COLUMNS, PRODUCT_COLUMNS, read_clicks, read_products
from workloads.recommender.online import click
from workloads.recommender.reports import rows
from workloads.serving.clicks import ClickLog
from workloads.serving.engine import InstanceError

REPORTS: list[dict[str, Any]] = [
    {"user": "ann", "item": "a", "clicked": 1, "time": 10},
    {"user": "ann", "item": "b", "clicked": 0, "time": 20.5, "ad": 1},
    {"user": "", "item": "a", "clicked": True, "purchased": 1, "time": 30},
]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "products.csv").write_text(",".join(PRODUCT_COLUMNS) + "\na,x,1,\nb,x,2,\n")
    return Folder(str(tmp_path))


def logged(target: str) -> None:
    log = ClickLog(target, click)
    assert log.write(REPORTS, {"variant": "green", "version": "7"}) == {}
    log.close()


def test_a_servers_file_is_read_as_a_click_log(folder: Folder) -> None:
    """The very columns, in the order of time, with who clicked what before."""
    logged(folder.child("clicks").location)
    found = read_clicks(folder.child("clicks"), read_products(folder))

    assert [found.users[row] for row in found.user] == ["ann", "ann", ""]
    assert found.item.tolist() == [1, 2, 1]
    assert (found.ad.tolist(), found.clicked.tolist(), found.purchased.tolist()) == ([0, 1, 0], [1, 0, 1], [0, 0, 1])
    assert found.history[1].tolist()[0] == 1


def test_what_a_log_sink_brings_is_read_alike(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """Cloud Logging takes severity out, and keeps numbers with a point; other entries are passed over."""
    logged("stdout")
    lines = [json.loads(line, parse_int=float) for line in capsys.readouterr().out.splitlines()]
    entries = [{"severity": line.pop("severity"), "jsonPayload": line} for line in lines]
    text = "".join(json.dumps(entry) + "\n" for entry in [{"textPayload": "hello"}, *entries, {"jsonPayload": {"message": "other"}}])
    folder.child("clicks").write("2026/11/30/08:00:00_08:59:59_S0.json", text.encode())
    found = read_clicks(folder.child("clicks"), read_products(folder))

    assert found.clicked.tolist() == [1, 0, 1]


def test_a_line_that_is_being_written_is_left_for_the_next_time(folder: Folder) -> None:
    folder.write("a.jsonl", b'{"user": "u", "item": "a", "time": 1, "ad": 0, "clicked": 1, "purchased": 0}\n{"user": "u", "it')
    assert list(rows(folder, "a.jsonl", CLICK_COLUMNS)) == [["u", "a", "1", "0", "1", "0"]]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 1 is no JSON"),
        ("3", "line 1 is no report"),
        ('{"user": "u"}', "line 1 lacks item, time, ad"),
        ("\xff", "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
    ids=["half", "a number", "fields missing", "no UTF-8", "nested"],
)
def test_fails_for_what_is_no_report(folder: Folder, line: str, says: str) -> None:
    folder.write("a.jsonl", line.encode("latin-1") + b"\n")
    with pytest.raises(InputError, match=says):
        list(rows(folder, "a.jsonl", CLICK_COLUMNS))


@pytest.mark.parametrize(
    ("report", "says"),
    [
        ([], "no object"),
        ({"item": "a"}, "clicked is missing"),
        ({"clicked": 1}, "item is missing"),
        ({"item": "a", "clicked": 2}, "clicked is neither 0 nor 1"),
        ({"item": "a", "clicked": "1"}, "clicked is neither 0 nor 1"),
        ({"item": "a", "clicked": 0, "purchased": 1}, "purchased and not clicked"),
        ({"item": "a" * 201, "clicked": 0}, "item is no text of at most 200"),
        ({"item": "a\n", "clicked": 0}, "item is no text"),
        ({"item": "\ud800", "clicked": 0}, "item is no text"),
        ({"item": 7, "clicked": 0}, "item is no text"),
        ({"item": "a", "clicked": 0, "time": "now"}, "time is no number"),
        ({"item": "a", "clicked": 0, "time": True}, "time is no number"),
        ({"item": "a", "clicked": 0, "time": 10**400}, "time is no number"),
        ({"item": "a", "clicked": 0, "\ud800": 1}, "is not known; user, item"),
    ],
)
def test_fails_for_reports_that_could_not_be_trained_on(report: object, says: str) -> None:
    """Each is refused with a sentence that can be sent."""
    with pytest.raises(InstanceError, match=says) as raised:
        click(report, 0.0)
    assert len(str(raised.value).encode()) < 200
