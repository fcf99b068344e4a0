"""The order of the input depends on the seed alone, and not on hosts, devices or when it was begun again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workloads.reading import reader
from workloads.recommender.batches import Batches
from workloads.recommender.data import HISTORY, Clicks, Products

ITEMS = 5


def batches(index: int = 0, count: int = 1, seed: int = 0) -> Batches:
    """Sixty rows of a log."""
    random = np.random.default_rng(0)
    rows = 60
    flags = random.integers(0, 2, (3, rows)).astype(np.int32)
    item = random.integers(1, ITEMS, rows).astype(np.int32)
    user = np.arange(rows, dtype=np.int32)
    clicks = Clicks(user, item, flags[0], flags[1], flags[1] & flags[2], np.zeros((rows, HISTORY), np.int32), tuple(map(str, range(rows))))
    zeros = np.zeros(ITEMS, np.int32)
    products = Products(tuple(map(str, range(ITEMS))), zeros, ("",), zeros.astype(np.float32), ("",) * ITEMS)
    return Batches(clicks, products, np.zeros((ITEMS, 2), np.float32), np.arange(50), 12, 20, seed, index, count)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_hosts_share_the_same_batch(count: int) -> None:
    """What several hosts get in a step is, one after the other, what one would get."""
    for step in (0, 7, 19):
        parts = [batches(index, count)[step] for index in range(count)]
        whole = batches()[step]
        assert {name: np.concatenate([part[name] for part in parts]).tolist() for name in whole} == {
            name: array.tolist() for name, array in whole.items()
        }


def test_only_clicks_are_found_and_only_given_rows_are_read() -> None:
    """The tower learns from clicks, the head from all that was shown, and neither from rows that are held out."""
    made = batches()
    clicked = np.concatenate([made[step]["clicked_user"] for step in range(20)])
    shown = np.concatenate([made[step]["shown_user"] for step in range(20)])

    assert set(clicked) == set(np.flatnonzero(made.clicks.clicked[:50]))
    assert set(shown) == set(range(50))


def test_goes_on_where_it_was() -> None:
    """Grain's position, put back on a host of another number, goes on with the next batch: none twice, none left out."""
    whole = [batch["shown_user"] for batch in reader(batches())]
    iterator = reader(batches())
    for _ in range(7):
        next(iterator)
    position = iterator.get_state()

    halves = []
    for index in range(2):
        again = reader(batches(index, 2))
        again.set_state(position)
        halves.append([batch["shown_user"] for batch in again])

    assert len(whole) == 20
    assert [np.concatenate(pair).tolist() for pair in zip(*halves, strict=True)] == [batch.tolist() for batch in whole[7:]]


def test_other_data_is_other_data() -> None:
    """Whatever of a log or of products is another; who reads it, and the numbers of its pictures, do not matter."""
    made = batches()
    clicks, products, one = made.clicks, made.products, np.int32(1)
    others = [
        replace(made, clicks=replace(clicks, **{name: getattr(clicks, name) + one})) for name in ("user", "ad", "clicked", "purchased")
    ]
    others += [replace(made, products=replace(products, **{name: getattr(products, name) + one})) for name in ("category", "price")]
    others += [replace(made, products=replace(products, **{name: ("other",) * ITEMS})) for name in ("names", "categories", "pictures")]
    others += [replace(made, clicks=replace(clicks, users=("other",) * 60)), replace(made, rows=np.arange(49))]

    assert len({one.fingerprint for one in [made, *others]}) == 1 + len(others)
    assert replace(made, features=made.features + 1, index=1, count=2).fingerprint == made.fingerprint
