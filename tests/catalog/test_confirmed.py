"""What a confirmation by name is about, and what it overrules."""

from __future__ import annotations

from typing import Any

import pytest

from infra.catalog.confirmed import Confirmation, covers, is_name, kinds, parse, read
from infra.catalog.fits import judge
from infra.catalog.named import UnknownName
from infra.catalog.wish import Wish

WEAK = judge(Wish("compute-engine", "v6e-8", zone="us-central1-a"))
UNKNOWN = judge(Wish("gke", machine_type="g2-standard-4", zone="us-west3-a"))


@pytest.mark.parametrize("what", ["v6e-8", "tpu-v6e", "ct6e-standard-8t"])
@pytest.mark.parametrize("place", ["us-central1-a", "us-central1"])
def test_a_slice_is_meant_by_each_of_its_names(what: str, place: str) -> None:
    """By zone or region."""
    assert WEAK.kind == "unconfirmed"
    assert covers([Confirmation(what, place)], WEAK)


@pytest.mark.parametrize(
    ("what", "place"),
    [
        ("v6e-4", "us-central1-a"),
        ("tpu-v5e", "us-central1-a"),
        ("v6e-8", "us-central1-b"),
        ("v6e-8", "us-central"),
        ("", "us-central1-a"),
        ("v6e-8", ""),
    ],
)
def test_nothing_else_is_meant(what: str, place: str) -> None:
    """Another size, another place, nothing."""
    assert not covers([Confirmation(what, place)], WEAK)


def test_a_machine_with_gpus_is_meant_by_its_type() -> None:
    """Its zone is unknown, and confirmed."""
    assert UNKNOWN.kind == "unknown"
    assert covers([Confirmation("v6e-8", "us-west3-a"), Confirmation("g2-standard-4", "us-west3-a")], UNKNOWN)


@pytest.mark.parametrize("zone", ["us-west2-a", "us-east5-a"])
def test_the_impossible_and_what_works_are_not_overruled(zone: str) -> None:
    """There is nothing to overrule."""
    assert not covers([Confirmation("v6e-8", zone)], judge(Wish("compute-engine", "v6e-8", zone=zone)))


def test_one_impossible_part_is_enough() -> None:
    """A weak zone, and an API that has no such slice: no word changes that."""
    both = judge(Wish("tpu-api", "tpu7x-8", zone="europe-west4-a"))
    assert {one.kind for one in both.reasons} == {"unknown", "impossible"}
    assert not covers([Confirmation("tpu7x-8", "europe-west4-a")], both)


@pytest.mark.parametrize(
    ("what", "place", "expected"),
    [
        ("v6e-8", "us-central1-a", "unconfirmed"),
        ("v5litepod-4", "asia-east1-c", "unknown"),  # as flex-start
        ("v6e-8", "europe-west1-b", "unknown"),
        ("tpu-v6e", "us-central1", "unconfirmed"),
        ("nvidia-l4", "us-west3-a", "unknown"),
        ("g4-standard-48", "europe-west8-c", "unconfirmed"),
        ("nvidia-tesla-t4", "asia-east1", "unknown"),
    ],
)
def test_kinds_say_whether_there_is_something_to_confirm(what: str, place: str, expected: Any) -> None:
    """Over all ways of buying."""
    assert expected in kinds(Confirmation(what, place))


@pytest.mark.parametrize(("what", "place"), [("v6e-8", "us-central1-b"), ("v6e-8", "us-west2-a"), ("v4-8", "us-central2-b")])
def test_there_may_be_nothing_to_confirm(what: str, place: str) -> None:
    """What works, and what cannot be."""
    assert not kinds(Confirmation(what, place)) & {"unconfirmed", "unknown"}


def test_names_are_those_of_the_catalogue() -> None:
    """A wrong one is not put right: the entry would be found by nobody."""
    assert all(map(is_name, ["v6e-8", "tpu-v6e", "nvidia-l4", "g2-standard-4"]))
    assert not is_name("v5e-4")
    with pytest.raises(UnknownName):
        is_name("warp-drive")


@pytest.mark.parametrize(
    "entries", [None, {}, "x", [None], [[]], [{}], [{"what": 1, "zone": "a"}], [{"what": "v6e-8"}], [{"what": "v6e-8", "zone": 3}]]
)
def test_entries_that_say_nothing_confirm_nothing(entries: object) -> None:
    """They are refused where the file is checked."""
    assert read(entries) == ()


def test_the_text_of_the_engine_is_the_same() -> None:
    """JSON, or nothing."""
    assert parse('[{"what": "v6e-8", "zone": "us-central1-a", "because": "x"}]') == (Confirmation("v6e-8", "us-central1-a"),)
    assert parse(None) == parse("") == parse("{") == parse("[" * 100_000) == ()
