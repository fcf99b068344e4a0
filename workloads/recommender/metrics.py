"""
How good a recommender is, beside what costs nothing: the products that sell best, and chance.

All numbers are of people's last clicks, which training never saw.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def recall(found: Any, wanted: Any) -> float:
    """Share of the people whose product is among those found. *found* is `[people, k]`, *wanted* is `[people]`."""
    return float((found == wanted[:, None]).any(axis=1).mean())


def ndcg(found: Any, wanted: Any) -> float:
    """The same, where a later place is worth less: 1 / log2(1 + place)."""
    places = (found == wanted[:, None]) / np.log2(2.0 + np.arange(found.shape[1]))
    return float(places.sum(axis=1).mean())


def area(scores: Any, labels: Any) -> float | None:
    """
    Area under the ROC curve: how often one that happened has a higher score than one that did not. Half is chance.

    Nothing where all or none happened.
    """
    positive = int(labels.sum())
    negative = len(labels) - positive
    if not positive or not negative:
        return None
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = ends - (counts - 1) / 2.0
    return float((middle[inverse][labels == 1].sum() - positive * (positive + 1) / 2.0) / (positive * negative))


def popularity_recall(clicked: Any, wanted: Any, items: int, k: int) -> float:
    """Recall of the *k* products that were clicked most: *clicked* holds the product of each click in training."""
    best = np.argsort(-np.bincount(clicked, minlength=items)[1:], kind="stable")[:k] + 1
    return float(np.isin(wanted, best).mean())


def random_recall(items: int, k: int) -> float:
    """Recall of *k* products drawn blindly from *items*, row 0 not counted: what is expected, not one draw."""
    return min(1.0, k / max(items - 1, 1))
