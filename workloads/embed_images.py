"""
Makes numbers of pictures: `python -m workloads.entry embed_images`.

It reads every file in the folder `WL_DATA_PICTURES`, in shards of equal size by name, each by one host. A shard is one file of `WL_OUTPUT`,
written whole or not at all: so each picture is in the result once, and a later try makes only what is missing.

    shard-00000.safetensors  `embeddings` of float32, `[pictures, size]`; `about` of its metadata is JSON with `names` and `set_aside`
    report.json              {"metrics": {"pictures": N, "embedded": N, "set_aside": N}, "set_aside": {NAME: REASON}, ...}

A file that cannot be read as a picture is set aside with the reason, and stops nobody. Where somebody adds or takes away pictures between
two tries, the shards that are touched are made anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from workloads import vision
from workloads.contract import REPORT, RESTART_EXIT, InputError, TrainSettings
from workloads.files import PARALLEL, Folder
from workloads.preemption import Notice
from workloads.say import say


def parser(program: str) -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog=program, description="Makes numbers of pictures.")
    found.add_argument("--shard", type=int, default=1000, help="pictures of a shard; default 1000")
    return found


def run(settings: TrainSettings, options: argparse.Namespace) -> int:
    """Makes the shards that are missing. Answers the exit code."""
    begun = time.monotonic()
    if options.shard < 1:
        raise InputError(f"--shard {options.shard}: at least 1")
    if "pictures" not in settings.data:
        raise InputError("WL_DATA_PICTURES is missing: name the folder of the pictures")
    pictures, output = Folder(settings.data["pictures"]), Folder(settings.output)
    names = pictures.names()
    if not names:
        raise InputError(f"{pictures.location}: no file is there")
    extractor = vision.plain()
    shards = [names[begin : begin + options.shard] for begin in range(0, len(names), options.shard)]
    # Each host stops for itself: no step is common to them.
    notice = Notice(1)
    made = 0
    host = _host(settings)
    for number in range(host, len(shards), settings.hosts):
        if notice.at(number):
            say(f"this machine is taken away: {number} of {len(shards)} shards were looked at")
            return RESTART_EXIT
        if _found(output, number, shards[number], extractor) is None:
            _make(pictures, output, number, shards[number], extractor)
            made += 1
            say(f"shard {number + 1} of {len(shards)} is made")
    _meet(settings)
    if host == 0:
        _report(settings, output, shards, extractor, made, begun)
    return 0


def _make(pictures: Folder, output: Folder, number: int, names: list[str], extractor: vision.Extractor) -> None:
    import safetensors.numpy

    def load(name: str) -> Any:
        content = pictures.find(name)
        if content is None:
            return "it went away while it was read"
        try:
            return vision.square(content, extractor.edge)
        except vision.PictureError as error:
            return str(error)

    good: list[str] = []
    aside: dict[str, str] = {}
    parts = [np.zeros((0, extractor.size), np.float32)]
    with ThreadPoolExecutor(PARALLEL) as pool:
        for begin in range(0, len(names), vision.BATCH):
            some = names[begin : begin + vision.BATCH]
            squares = []
            for name, found in zip(some, pool.map(load, some), strict=True):
                if isinstance(found, str):
                    aside[name] = found
                else:
                    good.append(name)
                    squares.append(found)
            if squares:
                parts.append(extractor(squares))
    about = {"names": good, "set_aside": aside, "by": extractor.name, "of": _fingerprint(names)}
    output.write(_file(number), safetensors.numpy.save({"embeddings": np.concatenate(parts)}, metadata={"about": json.dumps(about)}))


def _found(output: Folder, number: int, names: list[str], extractor: vision.Extractor) -> dict[str, Any] | None:
    """Metadata of a shard that an earlier try made of the same pictures in the same way."""
    content = output.find(_file(number))
    if content is None:
        return None
    head = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    about: dict[str, Any] = json.loads(head["__metadata__"]["about"])
    return about if (about["by"], about["of"]) == (extractor.name, _fingerprint(names)) else None


def _report(settings: TrainSettings, output: Folder, shards: list[list[str]], extractor: vision.Extractor, made: int, begun: float) -> None:
    aside: dict[str, str] = {}
    embedded = 0
    for number, names in enumerate(shards):
        about = _found(output, number, names, extractor)
        if about is None:
            raise InputError(f"{output.location}: {_file(number)} went away, or its pictures did: begin again")
        aside |= about["set_aside"]
        embedded += len(about["names"])
    total = sum(len(names) for names in shards)
    # Files of an earlier try over more pictures.
    for name in output.names():
        if name.startswith("shard-") and name not in {_file(number) for number in range(len(shards))}:
            output.delete(name)
    output.write_json(
        REPORT,
        {
            "workload": "embed_images",
            "run_id": settings.run_id,
            "metrics": {"pictures": total, "embedded": embedded, "set_aside": len(aside)},
            "set_aside": aside,
            "picture_features": extractor.name,
            "shards": len(shards),
            "shards_made_by_this_try": made,
            "seconds": round(time.monotonic() - begun, 2),
        },
    )


def _host(settings: TrainSettings) -> int:
    """Number of this host, which with several JAX knows."""
    if settings.hosts == 1:
        return 0
    import jax

    return jax.process_index()


def _meet(settings: TrainSettings) -> None:
    if settings.hosts > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices("embedded")


def _fingerprint(names: list[str]) -> str:
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def _file(number: int) -> str:
    return f"shard-{number:05}.safetensors"
