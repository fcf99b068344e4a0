"""
Numbers of all pictures of a folder, kept in another one: made once, by whoever needs them first.

    FOLDER/MODEL/shard-00003-of-00008.safetensors

is one file, written whole or not at all: `embeddings` of float32, `[pictures, size]`, and JSON under `about` of its metadata: `names` of
the pictures in that order, `set_aside`, the reason by name for each file that is no picture, and `files`, a digest by name for each of all.
MODEL says what measured them, so that several models may share a folder, and another version of one is another.

A picture belongs to the shard that its name says. So one that comes, goes or changes touches one shard, of which the other pictures are
taken as they are; the number of shards is a power of two, and only where it doubles all are measured anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads import vision
from workloads.contract import InputError
from workloads.files import PARALLEL, Folder

LIST = "pictures.json"
"""In a run's folder, of a run of several workers: digest of each picture, by name."""
PLACE = "embeddings"
"""Folder of a run's own, where nobody names one that is kept over runs."""
SHARD = 1000
"""Pictures of a shard, at most and on average."""
GONE = "it went away while it was read"
PRODUCTS = "products.csv"
"""The list of products in a folder of pictures, which is no picture."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Some pictures, measured."""

    files: dict[str, str]
    """Digest of each file, by name."""
    names: list[str]
    """Of those that are pictures, in the order of their numbers."""
    set_aside: dict[str, str]
    """Why each of the others is none."""
    numbers: Any
    """`[pictures, size]`."""


class Embeddings:
    """Those of some pictures, by one model."""

    def __init__(
        self, folder: Folder, pictures: Folder, digests: Mapping[str, str], extractor: vision.Extractor, *, shard: int = SHARD
    ) -> None:
        """
        Args:
            digests: Of each picture, by name.
            shard: Pictures of a shard on average, at most.
        """
        self.folder = folder.child(extractor.key)
        self._extractor = extractor
        self._pictures = pictures
        self._digests = {name: digest for name, digest in digests.items() if name != PRODUCTS}
        self.count = 1 << max(0, -(-len(self._digests) // shard) - 1).bit_length()
        self.shards: list[list[str]] = [[] for _ in range(self.count)]
        for name in sorted(self._digests):
            self.shards[int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % self.count].append(name)

    def __len__(self) -> int:
        return len(self._digests)

    def whole(self, number: int) -> Shard | None:
        """A shard, where it is of these pictures as they are now."""
        found = self._made(number)
        if found is None:
            return None
        back = any(why == GONE and self._pictures.find(name) is not None for name, why in found.set_aside.items())
        return None if back else found

    def make(self, number: int) -> Shard:
        """Measures those pictures of a shard that are new, and writes it."""
        before, files = self._read(number), self._files(number)
        known = {} if before is None else {before.files[name]: row for name, row in zip(before.names, before.numbers, strict=True)}
        rows = {name: known[digest] for name, digest in files.items() if digest in known}
        aside: dict[str, str] = {}
        wanted = [name for name in files if name not in rows]
        with ThreadPoolExecutor(PARALLEL) as pool:
            for begin in range(0, len(wanted), vision.BATCH):
                some = wanted[begin : begin + vision.BATCH]
                squares = {}
                for name, found in zip(some, pool.map(self._square, some), strict=True):
                    if isinstance(found, str):
                        aside[name] = found
                    else:
                        squares[name] = found
                if squares:
                    rows |= dict(zip(squares, self._extractor(list(squares.values())), strict=True))
        names = sorted(rows)
        made = Shard(files, names, aside, np.stack([rows[name] for name in names]) if names else np.zeros((0, 0), np.float32))
        self.folder.write(self._file(number), _written(made))
        return made

    def whole_shards(self) -> list[Shard] | None:
        """
        All shards, or nothing where one is not made yet. A picture that is back after its worker was done is of a later try: nobody makes
        that shard again in this one, and who waits for it would wait for ever.
        """
        with ThreadPoolExecutor(PARALLEL) as pool:
            found = list(pool.map(self._made, range(self.count)))
        return None if None in found else [one for one in found if one]

    def clear(self) -> None:
        """Deletes shards of another number of them."""
        mine = {self._file(number) for number in range(self.count)}
        for name in self.folder.names():
            if name not in mine:
                self.folder.delete(name)

    def _square(self, name: str) -> Any:
        content = self._pictures.find(name)
        if content is None:
            return GONE
        try:
            return vision.square(content, self._extractor.edge)
        except vision.PictureError as error:
            return str(error)

    def _file(self, number: int) -> str:
        return f"shard-{number:05}-of-{self.count:05}.safetensors"

    def _files(self, number: int) -> dict[str, str]:
        return {name: self._digests[name] for name in self.shards[number]}

    def _made(self, number: int) -> Shard | None:
        """A shard of these pictures, with those set aside that were away when it was made."""
        found = self._read(number)
        return None if found is None or found.files != self._files(number) else found

    def _read(self, number: int) -> Shard | None:
        """A shard as it is, of whatever pictures. One that is damaged is none."""
        content = self.folder.find(self._file(number))
        if content is None:
            return None
        try:
            begins = 8 + int.from_bytes(content[:8], "little")
            head = json.loads(content[8:begins])
            about = json.loads(head["__metadata__"]["about"])
            numbers = np.frombuffer(content[begins:], "<f4").reshape(head["embeddings"]["shape"])
            return Shard(about["files"], about["names"], about["set_aside"], numbers)
        except (ValueError, KeyError, TypeError):
            return None


def _written(shard: Shard) -> bytes:
    """As a file of safetensors, by hand: its package is not in every image that reads them."""
    about = {"names": shard.names, "set_aside": shard.set_aside, "files": shard.files}
    data = np.ascontiguousarray(shard.numbers, "<f4").tobytes()
    tensor = {"dtype": "F32", "shape": list(shard.numbers.shape), "data_offsets": [0, len(data)]}
    head = json.dumps({"__metadata__": {"about": json.dumps(about)}, "embeddings": tensor}).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + data


def listed(pictures: Folder, run: Folder, *, alone: bool) -> dict[str, str]:
    """
    Digest of each picture, by name. Of several workers, all get what the first one found: so they mean the same shards.

    Args:
        run: The run's folder, where it is noted.
    """
    if alone:
        return pictures.digests()
    if (noted := run.find(LIST)) is None:
        run.create(LIST, json.dumps(pictures.digests()).encode())
        noted = run.read(LIST)
    found: dict[str, str] = json.loads(noted)
    return found


def measured_by_others(folder: Folder, extractor: vision.Extractor) -> None:
    """
    Raises:
        InputError: Pictures would be measured plainly, and beside what a model made of them.
    """
    there = folder.children()
    if extractor.key == vision.plain().key and there and extractor.key not in there:
        raise InputError(f"{folder.location} has what {', '.join(there)} made of pictures: name that model's folder, WL_DATA_VISION")
