"""
Trained models in KerasHub's own format, a folder that it calls a preset: which are taken, and how one becomes a classifier.

Such a folder is what `save_to_preset` of a KerasHub model writes, and what Kaggle has under "Keras": `config.json`, `model.weights.h5`
(several files where it is large), and `tokenizer.json` with `assets/` or `image_converter.json`. It is copied into a bucket as it is.
Only files of this machine are given to KerasHub, so it asks no network for a model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workloads.contract import InputError
from workloads.files import CHECKSUMS, PARALLEL, Folder

CONFIG = "config.json"
WEIGHTS = ("model.weights.h5", "model.weights.json")
"""In one file, or in several that the second one names."""
LENGTH = 128
"""Tokens of a text, unless somebody says more. The time of a step grows faster than they do."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model that is taken."""

    name: str
    column: str
    """What an example has: `text` or `picture`."""
    backbone: str
    """KerasHub's class of it."""
    needs: str
    """File without which its input cannot be made."""


KINDS = (Kind("BERT", "text", "BertBackbone", "tokenizer.json"), Kind("ViT", "picture", "ViTBackbone", "image_converter.json"))


@dataclass(frozen=True, slots=True)
class Preset:
    """One on this machine's disk."""

    location: str
    """Where it came from."""
    place: Path
    kind: Kind
    fingerprint: str
    """SHA-256 of all its files."""


def fetch(folder: Folder, place: Path) -> Preset:
    """
    Brings it onto this machine. Where it has checksums, it is held against them.

    Raises:
        InputError: It is no preset, or of no kind that is taken.
        FilesError: It is damaged.
    """
    names = [name for name in folder.names() if name != CHECKSUMS]
    if CONFIG not in names:
        raise InputError(f"{folder.location} has no {CONFIG}: it is no preset of KerasHub; `save_to_preset` of a model writes one")
    kind = _kind(folder)
    if missing := [
        what for what, there in ((" or ".join(WEIGHTS), set(WEIGHTS) & set(names)), (kind.needs, kind.needs in names)) if not there
    ]:
        raise InputError(
            f"{folder.location} lacks {' and '.join(missing)}: save the classifier with its preprocessor, not its backbone alone"
        )
    if folder.find(CHECKSUMS) is not None:
        folder.download(place)
    else:
        with ThreadPoolExecutor(PARALLEL) as pool:
            list(pool.map(lambda name: Folder(str(place)).write(name, folder.read(name)), names))
    whole = hashlib.sha256()
    for name in names:
        whole.update(f"{name}\0".encode() + hashlib.sha256((place / name).read_bytes()).digest())
    return Preset(folder.location, place, kind, whole.hexdigest())


def _kind(folder: Folder) -> Kind:
    config = folder.read_json(CONFIG)
    said = str(config.get("class_name")) if isinstance(config, dict) else ""
    whose = str(config.get("module")) if isinstance(config, dict) else ""
    found = next((kind for kind in KINDS if kind.backbone == said and whose.split(".")[0] == "keras_hub"), None)
    if found is None:
        taken = " and ".join(f"{kind.backbone} ({kind.name})" for kind in KINDS)
        raise InputError(f"{folder.location}/{CONFIG}: {said[:60]!r} of {whose[:60]!r} is not taken; {taken} of keras_hub are")
    return found


def classifier(preset: Preset, classes: int, *, dtype: str, length: int | None, lora: int) -> Any:
    """
    A classifier on what the preset has learned, with a new head.

    Args:
        length: Tokens of a text.
        lora: Rank of LoRA: small factors beside the queries and values of attention are trained, their biases, and the head; 0: everything.

    Raises:
        InputError: The preset cannot be read, or does not go with the arguments.
    """
    import keras_hub

    models, layers = keras_hub.models, keras_hub.layers
    path = str(preset.place)
    with _readable(preset):
        backbone = models.Backbone.from_preset(path, dtype=dtype)
        if preset.kind.column == "text":
            if (length or 0) > backbone.max_sequence_length:
                raise InputError(f"--length {length}: {preset.location} takes {backbone.max_sequence_length} tokens at most")
            tokenizer = models.BertTokenizer.from_preset(path)
            if tokenizer.vocabulary_size() > backbone.vocabulary_size:
                known = f"{tokenizer.vocabulary_size()} words, the model {backbone.vocabulary_size}"
                raise InputError(f"{preset.location}: its tokenizer knows {known}: they are not of one model")
            tokens = length or min(LENGTH, backbone.max_sequence_length)
            preprocessor = models.BertTextClassifierPreprocessor(tokenizer, sequence_length=tokens)
            model = models.BertTextClassifier(backbone=backbone, num_classes=classes, preprocessor=preprocessor)
        else:
            height, width, colours = backbone.image_shape
            if height != width or colours != 3:
                raise InputError(f"{preset.location}: its pictures are {height} x {width} x {colours}: squares of three colours are taken")
            converter = layers.ViTImageConverter.from_preset(path, image_size=(height, width))
            preprocessor = models.ViTImageClassifierPreprocessor(converter)
            model = models.ViTImageClassifier(backbone=backbone, num_classes=classes, preprocessor=preprocessor)
    if lora:
        backbone.enable_lora(lora)
    return model


def read_back(preset: Preset) -> Any:
    """The classifier that somebody saved, by what is in its files alone."""
    import keras_hub

    base = keras_hub.models.TextClassifier if preset.kind.column == "text" else keras_hub.models.ImageClassifier
    with _readable(preset):
        return base.from_preset(str(preset.place), dtype="float32")


def tokens(model: Any, texts: tuple[str, ...], size: int = 1024) -> dict[str, Any]:
    """What a text model takes: `token_ids`, `padding_mask` and `segment_ids`, each `[texts, length]`."""
    parts = [model.preprocessor(list(texts[begin : begin + size])) for begin in range(0, len(texts), size)]
    kinds = {"token_ids": np.int32, "padding_mask": bool, "segment_ids": np.int32}
    return {name: np.concatenate([np.asarray(part[name]) for part in parts]).astype(kind) for name, kind in kinds.items()}


def scaling(model: Any) -> tuple[Any, Any]:
    """What a picture's 0 to 255 is multiplied by, and what is added then: a number, or one for each colour."""
    converter = model.preprocessor.image_converter
    return np.float32(1.0 if converter.scale is None else converter.scale), np.float32(
        0.0 if converter.offset is None else converter.offset
    )


@contextmanager
def _readable(preset: Preset) -> Iterator[None]:
    """KerasHub and Keras fail in many ways where files are not what they say."""
    try:
        yield
    except (ValueError, OSError, KeyError, TypeError, AttributeError, RuntimeError, json.JSONDecodeError) as error:
        said = (str(error).strip().splitlines() or [""])[0]
        raise InputError(f"{preset.location} cannot be read as a preset of {preset.kind.name}: {type(error).__name__}: {said}") from None
