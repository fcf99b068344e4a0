"""What `make bench` says of training is held where it cannot differ from machine to machine: the collectives of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.workloads.jobs import ROOT


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import bench_workloads  # type: ignore[import-not-found]

    return bench_workloads


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({1: {}, 2: {"all-reduce": 5}, 8: {"all-reduce": 3, "all-gather": 2}}, []),
        ({1: {"all-reduce": 1}, 2: {"all-reduce": 1}}, ["data parallel: 1 collectives on 1 device, which has nobody to speak to"]),
        ({1: {}, 2: {}}, ["data parallel: no collective on several devices: each would learn alone"]),
        ({2: {"all-reduce": 5}, 4: {"all-reduce": 5, "all-gather": 1}}, ["data parallel: 6 collectives on 4 devices, and 5 were enough"]),
    ],
)
def test_says_what_of_the_collectives_should_not_be(bench: Any, counts: Mapping[int, Mapping[str, int]], said: list[str]) -> None:
    assert bench.broken({"data parallel": counts}) == said


@pytest.mark.soak
def test_collectives_are_no_more_than_they_were(bench: Any) -> None:
    """
    On 2, 4 and 8 devices that share a batch: products, their numbers and their shares come together, and gradients in one go.

    `.venv/bin/python -m pytest -n 0 -m soak tests/workloads/test_bench.py`
    """
    counts = bench.counted()

    assert bench.broken(counts) == []
    assert counts["data parallel"] == {1: {}} | {devices: {"all-gather": 3, "all-reduce": 2} for devices in (2, 4, 8)}
    assert set(counts["tables shared by 2"]) == {2, 4, 8}
