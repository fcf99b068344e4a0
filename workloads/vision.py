"""
What a picture is as numbers.

A real vision model is used where its weights are given; without, plain measurements of colours and edges are, and the report says which.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

PLAIN_EDGE = 64
"""Edge of the square that a picture is made, in pixels, before it is measured plainly."""
BATCH = 64


class PictureError(Exception):
    """A file is no picture that can be read. The reason, for whoever sets it aside."""


@dataclass(frozen=True, slots=True)
class Extractor:
    """Something that measures pictures."""

    name: str
    """What the report calls it."""
    size: int
    """Numbers of a picture."""
    edge: int
    """Edge of the square pictures that it wants, in pixels."""
    measure: Callable[[Any], Any]
    """From `[batch, edge, edge, 3]` of 0 to 1 to `[batch, size]`."""

    def __call__(self, pictures: list[Any]) -> Any:
        """Numbers of some squares: always in batches of one size, so that nothing is compiled twice."""
        found = np.zeros((len(pictures), self.size), np.float32)
        for begin in range(0, len(pictures), BATCH):
            part = np.zeros((BATCH, self.edge, self.edge, 3), np.float32)
            some = pictures[begin : begin + BATCH]
            part[: len(some)] = some
            found[begin : begin + len(some)] = self.measure(part)[: len(some)]
        return found


def plain() -> Extractor:
    """Colours of a grid of 4 by 4, their spread, and directions of edges in a grid of 2 by 2."""
    return Extractor("plain: colours and edges, no vision model", 48 + 3 + 32, PLAIN_EDGE, _measure_plainly)


def square(content: bytes, edge: int) -> Any:
    """
    The middle square of a picture: `[edge, edge, 3]` of 0 to 1.

    Raises:
        PictureError: It cannot be read.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as picture:
            colours = picture.convert("RGB")
            side = min(colours.size)
            left, top = (colours.width - side) // 2, (colours.height - side) // 2
            small = colours.crop((left, top, left + side, top + side)).resize((edge, edge), Image.Resampling.BILINEAR)
            return np.asarray(small, np.float32) / 255.0
    except UnidentifiedImageError:
        raise PictureError("no kind of picture that is known") from None
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise PictureError(f"{type(error).__name__}: {error}") from None


def _measure_plainly(pictures: Any) -> Any:
    count, edge = len(pictures), PLAIN_EDGE
    grid = pictures.reshape(count, 4, edge // 4, 4, edge // 4, 3).mean(axis=(2, 4)).reshape(count, -1)
    spread = pictures.std(axis=(1, 2))
    grey = pictures.mean(axis=3)
    down, right = np.gradient(grey, axis=(1, 2))
    strength = np.hypot(down, right)
    direction = ((np.arctan2(down, right) + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    edges = [
        (strength * (direction == turn)).reshape(count, 2, edge // 2, 2, edge // 2).mean(axis=(2, 4)).reshape(count, 4) for turn in range(8)
    ]
    return np.concatenate([grid - 0.5, spread, 10.0 * np.concatenate(edges, axis=1)], axis=1).astype(np.float32)
