"""
Trained models in KerasHub's own format, a folder that it calls a preset.

Such a folder is what `save_to_preset` of a KerasHub model writes, and what Kaggle has under "Keras": `config.json`, `model.weights.h5`
(several files where it is large), and `tokenizer.json` with `assets/` or `image_converter.json`. It is copied into a bucket as it is.
Only files of this machine are given to KerasHub, so it asks no network for a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from workloads.contract import InputError
from workloads.files import CHECKSUMS, PARALLEL, Folder

CONFIG = "config.json"
WEIGHTS = ("model.weights.h5", "model.weights.json")
"""In one file, or in several that the second one names."""


def files(folder: Folder) -> list[str]:
    """
    Names of its files.

    Raises:
        InputError: It is no preset.
    """
    names = [name for name in folder.names() if name != CHECKSUMS]
    if CONFIG not in names:
        raise InputError(f"{folder.location} has no {CONFIG}: it is no preset of KerasHub; `save_to_preset` of a model writes one")
    return names


def class_name(folder: Folder) -> tuple[str, str]:
    """What its configuration says that it is: the class, and the package that the class is of."""
    config = folder.read_json(CONFIG)
    said = config if isinstance(config, dict) else {}
    return str(said.get("class_name", "")), str(said.get("module", "")).split(".")[0]


def lacks(folder: Folder, names: list[str], needs: str) -> None:
    """
    Raises:
        InputError: Its weights are not there, or the file *needs*, without which its input cannot be made.
    """
    there = ((" or ".join(WEIGHTS), bool(set(WEIGHTS) & set(names))), (needs, needs in names))
    if missing := [what for what, is_there in there if not is_there]:
        raise InputError(
            f"{folder.location} lacks {' and '.join(missing)}: save the classifier with its preprocessor, not its backbone alone"
        )


def bring(folder: Folder, names: list[str], place: Path) -> None:
    """
    Brings it onto this machine. Where it has checksums, it is held against them.

    Raises:
        FilesError: It is damaged.
    """
    if folder.find(CHECKSUMS) is not None:
        folder.download(place)
        return
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(lambda name: Folder(str(place)).write(name, folder.read(name)), names))


@contextmanager
def readable(location: str, what: str) -> Iterator[None]:
    """KerasHub and Keras fail in many ways where files are not what they say."""
    try:
        yield
    except (ValueError, OSError, KeyError, TypeError, AttributeError, RuntimeError, json.JSONDecodeError) as error:
        said = (str(error).strip().splitlines() or [""])[0]
        raise InputError(f"{location} cannot be read as a preset of {what}: {type(error).__name__}: {said}") from None
