"""Each row once a time through, in an order of its own, and any position at once."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.reading import shuffled


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 17, 64, 1000, 4097])
@pytest.mark.parametrize("seed", [0, 1, 2**31])
def test_each_run_has_each_row_once(count: int, seed: int) -> None:
    """Two runs through, in two orders."""
    rows = shuffled(np.arange(2 * count), count, seed).reshape(2, count)

    for run in rows:
        assert sorted(run) == list(range(count))
    if count > 16:
        assert not np.array_equal(rows[0], rows[1])
        assert not np.array_equal(rows[0], np.arange(count))


def test_any_position_is_found_at_once() -> None:
    """A position far away, of a log of a thousand million rows, needs none of those before it."""
    far = shuffled(np.array([10**12, 10**12 + 1]), 10**9, 0)

    assert ((far >= 0) & (far < 10**9)).all()
    assert far[1] == shuffled(np.array([10**12 + 1]), 10**9, 0)[0]


def test_rows_are_mixed_well() -> None:
    """Neighbours do not stay neighbours, and where a row goes does not tell where it was."""
    rows = shuffled(np.arange(10_000), 10_000, 0)

    assert abs(np.corrcoef(rows, np.arange(10_000))[0, 1]) < 0.05
    assert (np.abs(np.diff(rows)) == 1).mean() < 0.01
