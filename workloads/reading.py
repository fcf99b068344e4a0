"""Reading for training: rows in an order that depends on nothing but the seed, and a position that a checkpoint can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def reader(batches: Any) -> Any:
    """Grain's iterator over them: it reads ahead in threads, and `get_state` and `set_state` are its position."""
    import grain

    return iter(grain.MapDataset.source(batches).to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)))
