"""Numbers of each product's picture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from workloads import vision
from workloads.files import PARALLEL, Folder
from workloads.recommender.data import Products


def features(folder: Folder, products: Products) -> tuple[Any, str]:
    """
    `[products, size]`, each number with mean 0 and deviation 1 over the pictures, and what measured them.

    A product whose picture is not there or cannot be read has zeros: the mean.
    """
    extractor = vision.plain()
    rows = [row for row, name in enumerate(products.pictures) if name]
    found = np.zeros((len(products.names), extractor.size), np.float32)
    good: list[int] = []

    def load(row: int) -> Any:
        content = folder.find(products.pictures[row])
        try:
            return None if content is None else vision.square(content, extractor.edge)
        except vision.PictureError:
            return None

    with ThreadPoolExecutor(PARALLEL) as pool:
        for begin in range(0, len(rows), vision.BATCH):
            part = rows[begin : begin + vision.BATCH]
            squares = {row: picture for row, picture in zip(part, pool.map(load, part), strict=True) if picture is not None}
            if squares:
                found[list(squares)] = extractor(list(squares.values()))
                good += squares
    if good:
        some = found[good]
        found[good] = (some - some.mean(axis=0)) / np.maximum(some.std(axis=0), 1e-6)
    return found, f"{extractor.name}; {len(good)} of {len(products.names) - 1} products have a picture that can be read"
