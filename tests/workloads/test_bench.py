"""What `make bench` says of training is held where it cannot differ from machine to machine: the collectives of a step."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.workloads.jobs import ROOT


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import bench_workloads  # type: ignore[import-not-found]

    return bench_workloads


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({1: {}, 2: {"all-reduce": 3}, 8: {"all-reduce": 3}}, []),
        ({1: {"all-reduce": 1}, 2: {"all-reduce": 1}}, ["way: 1 collectives on 1 device, which has nobody to speak to"]),
        ({1: {}, 2: {}}, ["way: no collective on several devices: each would learn alone"]),
        ({2: {"all-reduce": 2}, 4: {"all-reduce": 2, "all-gather": 1}}, ["way: the collectives grow with the devices: {2: 2, 4: 3}"]),
    ],
)
def test_says_what_of_the_collectives_should_not_be(bench: object, counts: Mapping[int, Mapping[str, int]], said: list[str]) -> None:
    assert bench.broken({"way": counts}) == said  # type: ignore[attr-defined]
