"""Numbers of each product's picture: those that are there already, and what is missing is made as `embed_images` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads import embeddings, vision
from workloads.contract import InputError, TrainSettings
from workloads.devices import meet
from workloads.embeddings import Embeddings
from workloads.files import Folder
from workloads.recommender.data import Products


def features(settings: TrainSettings, kept: str | None, pictures: Folder, products: Products) -> tuple[Any, str]:
    """
    `[products, size]`, each number with mean 0 and deviation 1 over the pictures, and what measured them.

    A product whose picture is not there or cannot be read has zeros: the mean. Several hosts share the work.

    Args:
        kept: Folder of embeddings that outlives the run; the run's own where it is None.
    """
    output = Folder(settings.output)
    folder = output.child(embeddings.PLACE) if kept is None else Folder(kept)
    extractor = vision.extractor(settings.data)
    embeddings.measured_by_others(folder, extractor)
    found = Embeddings(folder, pictures, embeddings.listed(pictures, output, alone=settings.hosts == 1), extractor)
    rows = {name: row for shard in _shards(settings, found) for name, row in zip(shard.names, shard.numbers, strict=True)}
    good = [place for place, name in enumerate(products.pictures) if name in rows]
    numbers = np.zeros((len(products.names), len(rows[products.pictures[good[0]]]) if good else 1), np.float32)
    if good:
        some = np.stack([rows[products.pictures[place]] for place in good])
        numbers[good] = (some - some.mean(axis=0)) / np.maximum(some.std(axis=0), 1e-6)
    return numbers, f"{extractor.name}; {len(good)} of {len(products.names) - 1} products have a picture that can be read"


def _shards(settings: TrainSettings, found: Embeddings) -> list[embeddings.Shard]:
    """All shards; what is missing is made by this host and the others."""
    if settings.hosts == 1:
        return [found.whole(number) or found.make(number) for number in range(found.count)]
    import jax

    for number in range(jax.process_index(), found.count, settings.hosts):
        if found.whole(number) is None:
            found.make(number)
    meet(settings, "at the end of the pictures")
    shards = found.whole_shards()
    if shards is None:
        raise InputError(f"{found.folder.location}: a shard went away, or its pictures did: begin again")
    return shards
