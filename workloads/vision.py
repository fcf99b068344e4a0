"""
What a picture is as numbers.

A real vision model is used where its folder is named, as `WL_DATA_VISION`: any backbone of KerasHub that takes a picture and nothing else,
as a preset with its `image_converter.json` (`workloads.presets` says what a preset is). A picture's numbers are the mean of the backbone's
last features over all places. Without a model, plain measurements of colours and edges are taken, and the report says so.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workloads import presets
from workloads.contract import InputError
from workloads.files import CHECKSUMS, Folder

MODEL = "vision"
"""The folder of the model, among a program's data."""
PLAIN_EDGE = 64
"""Edge of the square that a picture is made, in pixels, before it is measured plainly."""
BATCH = 64
"""Pictures that are measured at once, about."""
CONVERTER = "image_converter.json"


class PictureError(Exception):
    """A file is no picture that can be read. The reason, for whoever sets it aside."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How squares become numbers."""

    edge: int
    """Edge of the square pictures that it wants, in pixels."""
    function: Callable[[Any], Any]
    """From `[batch, edge, edge, 3]` of 0 to 1 to `[batch, size]`."""
    batch: int = BATCH
    """Pictures of each call: always as many, so that nothing is compiled twice."""


class Extractor:
    """Something that measures pictures. It is loaded when the first picture needs it: where all are measured already, nothing is."""

    def __init__(self, key: str, name: str, load: Callable[[], Measure]) -> None:
        """
        Args:
            key: What it is, as a name of a folder: another where its numbers are others.
            name: What the report calls it.
        """
        self.key = key
        self.name = name
        self._load = load

    @functools.cached_property
    def _measure(self) -> Measure:
        return self._load()

    @property
    def edge(self) -> int:
        """Edge of the square pictures that it wants, in pixels."""
        return self._measure.edge

    def __call__(self, pictures: list[Any]) -> Any:
        """Numbers of some squares: `[pictures, size]`."""
        measure = self._measure
        parts = []
        for begin in range(0, len(pictures), measure.batch):
            part = np.zeros((measure.batch, measure.edge, measure.edge, 3), np.float32)
            some = pictures[begin : begin + measure.batch]
            part[: len(some)] = some
            parts.append(np.asarray(measure.function(part), np.float32)[: len(some)])
        return np.concatenate(parts)


def extractor(data: Mapping[str, str]) -> Extractor:
    """
    The model whose folder is among a program's data; without one, plain measurements.

    Raises:
        InputError: The folder is no such model's.
    """
    return pretrained(Folder(data[MODEL])) if MODEL in data else plain()


def plain() -> Extractor:
    """Colours of a grid of 4 by 4, their spread, and directions of edges in a grid of 2 by 2: 83 numbers."""
    return Extractor("plain-1", "plain: colours and edges, no vision model", lambda: Measure(PLAIN_EDGE, _measure_plainly))


def pretrained(folder: Folder) -> Extractor:
    """
    A backbone of KerasHub.

    Raises:
        InputError: The folder is no preset of one.
    """
    names = presets.files(folder)
    said, whose = presets.class_name(folder)
    if whose != "keras_hub" or not (said.isidentifier() and said.isascii()):
        raise InputError(f"{folder.location}/{presets.CONFIG}: {said[:60]!r} of {whose[:60]!r} is no model of keras_hub")
    presets.lacks(folder, names, CONVERTER)
    digests = {name: digest for name, digest in folder.digests().items() if name != CHECKSUMS}
    key = f"{said}-{hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]}"

    def load() -> Measure:
        with tempfile.TemporaryDirectory(prefix="accelform-vision-") as place:
            presets.bring(folder, names, Path(place))
            with presets.readable(folder.location, said):
                return _backbone(place, folder.location, said)

    return Extractor(key, f"{key} of KerasHub", load)


def _backbone(place: str, location: str, said: str) -> Measure:
    """Its pictures are shared out among this host's devices."""
    try:
        import keras_hub
    except ImportError:
        fix = "let embed_images measure the pictures first, and name what it filled by --embeddings"
        raise InputError(f"{location}: there is no KerasHub in this image to read it: {fix}") from None
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    backbone = keras_hub.models.Backbone.from_preset(place, dtype="float32")
    converter = keras_hub.layers.ImageConverter.from_preset(place)
    height, width = converter.image_size or (0, 0)
    if height != width or not height or len(backbone.inputs) != 1:
        takes = f"{len(backbone.inputs)} inputs, pictures of {height} x {width}"
        raise InputError(f"{location}: {said} takes {takes}: one that takes a square picture and nothing else is wanted")
    scale, offset = (np.float32(plain if given is None else given) for plain, given in ((1.0, converter.scale), (0.0, converter.offset)))
    devices = jax.local_devices()
    mesh = Mesh(np.array(devices), ("picture",))
    whole, cut = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("picture"))
    weights = jax.device_put(
        [[one.value for one in some] for some in (backbone.trainable_variables, backbone.non_trainable_variables)], whole
    )

    @jax.jit
    def numbers(weights: Any, pictures: Any) -> Any:
        # Pinned, so that a TPU computes what a processor does.
        with jax.default_matmul_precision("float32"):
            found, _ = backbone.stateless_call(*weights, pictures * (255.0 * scale) + offset, training=False)
        if not hasattr(found, "shape"):
            raise InputError(f"{location}: {said} answers with {type(found).__name__}: one that answers with its last features is wanted")
        return found.mean(axis=tuple(range(1, found.ndim - 1)))

    batch = -(-BATCH // len(devices)) * len(devices)
    return Measure(height, lambda pictures: numbers(weights, jax.device_put(pictures, cut)), batch)


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
    except Exception as error:  # what a decoder trips over has any name, such as RuntimeError of AVIF's: one file must stop nobody
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
