"""
The input of training: what each host gets in each step, in an order that depends on nothing but the seed.

Grain reads ahead and knows its position. An element is one step's batch, so a position means the same on any number of hosts: each host
takes its part of the same rows.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from workloads.reading import shuffled
from workloads.recommender.data import Clicks, Products


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

    @property
    def fingerprint(self) -> str:
        """
        Of whom and what the rows are, and of what they say: a row of a table means another person or product with other data.

        What pictures are as numbers is left out: another kind of device measures the same ones a little differently.
        """
        clicks, products = self.clicks, self.products
        found = hashlib.sha256(json.dumps([clicks.users, products.names, products.categories, products.pictures]).encode())
        for column in (clicks.user, clicks.item, clicks.ad, clicks.clicked, clicks.purchased, products.category, products.price, self.rows):
            found.update(column.tobytes())
        return found.hexdigest()

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
