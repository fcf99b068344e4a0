"""
How good a recommender is, beside what costs nothing: the products that sell best, and chance.

All numbers are of people's last clicks, which training never saw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workloads.recommender.data import Clicks

ANSWERED = 1024
"""People who are answered at once."""


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


def popular(clicked: Any, items: int, k: int) -> Any:
    """The *k* products that were clicked most, for everybody: `[1, k]`. *clicked* holds the product of each click in training."""
    return (np.argsort(-np.bincount(clicked, minlength=items)[1:], kind="stable")[:k] + 1)[None]


def random_recall(items: int, k: int) -> float:
    """Recall of *k* products drawn blindly from *items*, row 0 not counted: what is expected, not one draw."""
    return min(1.0, k / max(items - 1, 1))


def random_ndcg(items: int, k: int) -> float:
    """The same for NDCG: each place has the product that is wanted equally often."""
    count = max(items - 1, 1)
    return float((1 / np.log2(2.0 + np.arange(min(k, count)))).sum() / count)


def retrieval(answer: Callable[[Clicks], Any], clicks: Clicks, items: int, train: Any, test: Any, found: int) -> dict[str, float | None]:
    """
    Recall and NDCG of what a model finds for the clicks among the rows *test*, of what is clicked most in *train*, and of chance.

    Args:
        answer: From rows of the log to products, the best first: `[rows, found]`.
    """
    rows, learned = (some[(clicks.clicked[some] == 1) & (clicks.item[some] > 0)] for some in (test, train))
    wanted = clicks.item[rows]
    lists = {"": _answers(answer, clicks.take(rows)), "popularity_": popular(clicks.item[learned], items, found)}
    measured: dict[str, float | None] = {}
    for k in dict.fromkeys(min(k, found) for k in (10, found)):
        for whose, some in lists.items():
            measured[f"{whose}recall_at_{k}"] = recall(some[:, :k], wanted) if len(rows) else None
            measured[f"{whose}ndcg_at_{k}"] = ndcg(some[:, :k], wanted) if len(rows) else None
        measured |= {f"random_recall_at_{k}": random_recall(items, k), f"random_ndcg_at_{k}": random_ndcg(items, k)}
    return measured


def _answers(answer: Callable[[Clicks], Any], clicks: Clicks) -> Any:
    """Answers to all rows, in batches of one size."""
    parts = [np.zeros((0, 0), np.int32)]
    for begin in range(0, len(clicks), ANSWERED):
        some = clicks.take(np.arange(begin, begin + ANSWERED) % len(clicks))
        parts.append(np.asarray(answer(some))[: len(clicks) - begin])
    return np.concatenate(parts[1:] or parts)
