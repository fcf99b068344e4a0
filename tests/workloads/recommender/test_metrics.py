"""Metrics, against figures made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.recommender import metrics
from workloads.recommender.data import Clicks

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
    """The two that were clicked most are 3 and 1; row 0 is no product. Chance puts each of four products at each of two places equally often."""
    clicked, wanted = np.array([3, 3, 3, 1, 1, 2, 0, 0, 0, 0]), np.array([3, 1, 2, 4])
    best = metrics.popular(clicked, 5, 2)
    assert best.tolist() == [[3, 1]]
    assert metrics.recall(best, wanted) == pytest.approx(0.5)
    assert metrics.ndcg(best, wanted) == pytest.approx((1 + 1 / np.log2(3)) / 4)
    assert metrics.random_recall(5, 2) == pytest.approx(0.5)
    assert metrics.random_recall(5, 50) == 1.0
    assert metrics.random_ndcg(5, 2) == pytest.approx((1 + 1 / np.log2(3)) / 4)
    assert metrics.random_ndcg(2, 50) == pytest.approx(1.0)


def test_all_of_it_together() -> None:
    """Of the clicks that are held out, on products that are known: one of two is found by the model, none by what sells best."""
    user = np.zeros(6, np.int32)
    item = np.array([1, 1, 2, 3, 0, 2], np.int32)
    flags = np.array([1, 1, 1, 1, 1, 0], np.int32)
    clicks = Clicks(user, item, user, flags, user, np.zeros((6, 8), np.int32), ("",))

    found = metrics.retrieval(lambda some: np.full((len(some), 1), 3), clicks, 4, np.arange(2), np.arange(2, 6), 1)

    assert found["recall_at_1"] == found["ndcg_at_1"] == 0.5
    assert found["popularity_recall_at_1"] == found["popularity_ndcg_at_1"] == 0.0
    assert found["random_recall_at_1"] == found["random_ndcg_at_1"] == pytest.approx(1 / 3)
    nobody = metrics.retrieval(lambda some: some.item[:, None], clicks, 4, np.arange(2), np.arange(4, 6), 1)
    assert nobody["recall_at_1"] is None
    assert nobody["popularity_ndcg_at_1"] is None
