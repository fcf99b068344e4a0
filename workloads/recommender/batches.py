"""
The input of training: what each host gets in each step, in an order that depends on nothing but the seed.

Grain reads ahead and knows its position. An element is one step's batch, so a position means the same on any number of hosts: each host
takes its part of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from workloads.recommender.data import Clicks, Products

ROUNDS = 4


def shuffled(positions: Any, count: int, seed: int) -> Any:
    """
    Row at each position of an endless reading: each run through *count* rows has each row once, in an order of its own.

    It is a Feistel network over the next power of four, walked until the row exists: no list of the rows is ever made, so that a log of a
    thousand million rows costs nothing and any position is found at once.
    """
    positions = np.asarray(positions, np.uint64)
    turn, place = positions // np.uint64(count), positions % np.uint64(count)
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    mask = np.uint64((1 << int(half)) - 1)
    key = _mixed(turn ^ np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64))
    found, open_ = _permuted(place, key, half, mask), np.ones(place.shape, bool)
    while (open_ := found >= count).any():
        found[open_] = _permuted(found[open_], key[open_], half, mask)
    return found.astype(np.int64)


def _permuted(place: Any, key: Any, half: Any, mask: Any) -> Any:
    left, right = place >> half, place & mask
    for number in range(ROUNDS):
        left, right = right, left ^ (_mixed(right ^ key ^ _mixed(np.uint64(number + 1) + key)) & mask)
    return (left << half) | right


def _mixed(value: Any) -> Any:
    """The last step of splitmix64: each bit depends on each."""
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@dataclass(frozen=True)
class Batches:
    """Batch of each step: `index` among `count` hosts gets its part. Grain asks by number."""

    clicks: Clicks
    products: Products
    features: Any
    """Numbers of each product's picture: `[products, size]`."""
    rows: Any
    """Rows that are learned from."""
    batch: int
    """Rows of a step, over all hosts."""
    steps: int
    seed: int
    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        clicked = self.rows[(self.clicks.clicked[self.rows] == 1) & (self.clicks.item[self.rows] > 0)]
        counts = np.bincount(self.clicks.item[clicked], minlength=len(self.products.names))
        object.__setattr__(self, "_clicked", clicked)
        object.__setattr__(self, "_share", (counts / max(len(clicked), 1)).astype(np.float32))

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: SupportsIndex) -> dict[str, Any]:
        part = self.batch // self.count
        places = int(step) * self.batch + self.index * part + np.arange(part)
        clicked = self._clicked[shuffled(places, len(self._clicked), self.seed)]  # type: ignore[attr-defined]
        shown = self.rows[shuffled(places, len(self.rows), self.seed + 1)]
        found = self._of(clicked, "clicked_")
        found |= {"clicked_share": self._share[self.clicks.item[clicked]]}  # type: ignore[attr-defined]
        found |= self._of(shown, "shown_") | {"ad": self.clicks.ad[shown]}
        return found | {name: getattr(self.clicks, name)[shown].astype(np.float32) for name in ("clicked", "purchased")}

    def _of(self, rows: Any, prefix: str) -> dict[str, Any]:
        item = self.clicks.item[rows]
        found = {"user": self.clicks.user[rows], "history": self.clicks.history[rows], "item": item}
        found |= {"category": self.products.category[item], "price": self.products.price[item], "picture": self.features[item]}
        return {prefix + name: array for name, array in found.items()}


def reader(batches: Batches) -> Any:
    """Grain's iterator over them: it reads ahead in threads, and `get_state` and `set_state` are its position."""
    import grain

    return iter(grain.MapDataset.source(batches).to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)))
