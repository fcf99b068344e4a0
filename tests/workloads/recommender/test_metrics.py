"""Metrics, against figures made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.recommender import metrics

FOUND = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
WANTED = np.array([1, 6, 3])


def test_recall_and_ndcg() -> None:
    """Two of three are found, at the first and the third place: 1 and 1 / log2(4) = 0.5."""
    assert metrics.recall(FOUND, WANTED) == pytest.approx(2 / 3)
    assert metrics.ndcg(FOUND, WANTED) == pytest.approx((1 + 0.5) / 3)


def test_area_under_the_curve() -> None:
    """One of four pairs is in the wrong order; equal scores count half; nothing to compare is nothing."""
    assert metrics.area(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])) == pytest.approx(0.75)
    assert metrics.area(np.array([0.5, 0.5, 0.5]), np.array([0, 1, 1])) == pytest.approx(0.5)
    assert metrics.area(np.array([0.5, 0.6]), np.array([1, 1])) is None


def test_what_costs_nothing() -> None:
    """The two that were clicked most are 3 and 1; row 0 is no product."""
    clicked = np.array([3, 3, 3, 1, 1, 2, 0, 0, 0, 0])
    assert metrics.popularity_recall(clicked, np.array([3, 1, 2, 4]), 5, 2) == pytest.approx(0.5)
    assert metrics.random_recall(5, 2) == pytest.approx(0.5)
    assert metrics.random_recall(5, 50) == 1.0
