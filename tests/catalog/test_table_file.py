"""Rows of a table change in its file, and nothing else does."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from infra.catalog import tables
from infra.catalog.table_file import counted, edited

TEXT = 'kind,zone,notes\nb,z1,"one, two"\nb,z3,\na,z2,""\n'
KEY = ("kind", "zone")


def row(kind: str, zone: str, notes: str = "") -> dict[str, str]:
    return {"zone": zone, "kind": kind, "notes": notes}


def test_no_row_no_change() -> None:
    """Every byte stays, whatever the quotes and the ends of lines."""
    for text in (TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip("\n")):
        assert edited(text, KEY, []) == text


@pytest.mark.parametrize("table", ["zones", "gpu_zones", "regions"])
def test_a_table_written_from_its_own_rows_is_the_same(table: tables.Table) -> None:
    """The real files are written as this writes them: quotes only where a cell needs them."""
    keys = {"zones": ("accelerator", "zone"), "gpu_zones": ("accelerator_type", "series", "zone"), "regions": ("region",)}
    text = (tables.DATA / f"{table}.csv").read_bytes().decode()

    assert edited(text, keys[table], tables.rows(table)) == text


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("b", "z3", 'say "no"')], 'kind,zone,notes\nb,z1,"one, two"\nb,z3,"say ""no"""\na,z2,""\n'),
        ([row("b", "z2")], 'kind,zone,notes\nb,z1,"one, two"\nb,z2,\nb,z3,\na,z2,""\n'),
        ([row("b", "z0")], 'kind,zone,notes\nb,z0,\nb,z1,"one, two"\nb,z3,\na,z2,""\n'),
        ([row("b", "z9"), row("b", "z8")], 'kind,zone,notes\nb,z1,"one, two"\nb,z3,\nb,z8,\nb,z9,\na,z2,""\n'),
        ([row("c", "z1"), row("0", "z1")], TEXT + "0,z1,\nc,z1,\n"),
    ],
    ids=["changed", "between", "first of its kin", "last of its kin", "without kin"],
)
def test_a_row_has_its_place(rows: list[Mapping[str, str]], expected: str) -> None:
    """A known key in its place, a new one beside its kin, whatever the order that the rows come in."""
    assert edited(TEXT, KEY, rows) == expected
    assert edited(TEXT, KEY, reversed(rows)) == expected
    assert edited(expected, KEY, rows) == expected


def test_ends_of_lines_are_kept() -> None:
    """A file of Windows stays one; a last line without an end gets one before another follows it."""
    assert edited(TEXT.replace("\n", "\r\n"), KEY, [row("c", "z1")]).endswith('a,z2,""\r\nc,z1,\r\n')
    assert edited(TEXT.rstrip("\n"), KEY, [row("c", "z1")]) == TEXT + "c,z1,\n"
    assert edited("kind,zone,notes\n", KEY, [row("c", "z1")]) == "kind,zone,notes\nc,z1,\n"


def test_fails_on_a_row_without_a_column() -> None:
    """A column that the file has is never left blank by mistake."""
    with pytest.raises(KeyError, match="notes"):
        edited(TEXT, KEY, [{"kind": "c", "zone": "z1"}])


def test_the_number_of_rows_is_kept_true() -> None:
    """Only that of the table that is meant."""
    text = "| `zones.csv` | 77 | one |\n| `gpu_zones.csv` | 265 | one |\n"
    assert counted(text, "zones", 78) == "| `zones.csv` | 78 | one |\n| `gpu_zones.csv` | 265 | one |\n"
