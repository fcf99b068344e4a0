"""Which trained models (`workloads.presets`) are taken to be fine-tuned, and how one becomes a classifier."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workloads.contract import InputError
from workloads.files import Folder
from workloads.presets import CONFIG, bring, class_name, files, lacks, readable

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
    names = files(folder)
    kind = _kind(folder)
    lacks(folder, names, kind.needs)
    bring(folder, names, place)
    whole = hashlib.sha256()
    for name in names:
        whole.update(f"{name}\0".encode() + hashlib.sha256((place / name).read_bytes()).digest())
    return Preset(folder.location, place, kind, whole.hexdigest())


def _kind(folder: Folder) -> Kind:
    said, whose = class_name(folder)
    found = next((kind for kind in KINDS if kind.backbone == said and whose == "keras_hub"), None)
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
    with readable(preset.location, preset.kind.name):
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
    with readable(preset.location, preset.kind.name):
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
