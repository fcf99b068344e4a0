"""
Checkpoints of a run: whole or not there, written while training goes on, and read on any number of hosts and devices.

Orbax writes one on this machine's disk; the first host then sends it to the run's folder and says last that it is whole. What is kept is
the values and not how they were spread over devices, so that a later try may have others. A try that ends in the middle leaves a half
checkpoint, which the next one does not see.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from workloads.files import CHECKSUMS, DeniedError, FilesError, Folder

KEEP = 2
"""Whole checkpoints that stay: the last one, and the one before should the last be damaged."""
META = "meta.json"
STATE = "state"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is known after so many steps."""

    step: int
    state: Any
    """Tree of arrays."""
    meta: dict[str, Any]
    """What is no array: the position of the input, the curve."""


class Checkpoints:
    """The checkpoints of one run. Only the first host writes."""

    def __init__(
        self,
        location: str,
        *,
        writes: bool,
        write: Callable[[Path, Any], None] | None = None,
        read: Callable[[Path, Any], Any] | None = None,
    ) -> None:
        """
        Args:
            write: Writes a state to a place that is not there yet, other than by Orbax.
            read: Reads it; its second argument is a state of the same form.
        """
        self._folder = Folder(location)
        self._write, self._read = write or _write, read or _read
        self._writes = writes
        self._sender = ThreadPoolExecutor(1)
        self._sending: Future[None] | None = None
        self.skipped: list[str] = []
        """Why a checkpoint was not used."""
        self._useless: set[int] = set()
        """Steps of those: they go with the next one that is saved, and are none of the `KEEP`."""

    @cached_property
    def _stage(self) -> Path:
        """A folder of this machine's disk, made where it is needed: a training whose steps are only measured leaves none."""
        return Path(tempfile.mkdtemp(prefix="accelform-checkpoints-"))

    def last(self, like: Any, suits: Callable[[dict[str, Any]], None] = lambda meta: None) -> Checkpoint | None:
        """
        The newest one that is whole and undamaged, as arrays of this machine's memory.

        Args:
            like: Tree of the same form as what was saved.
            suits: Looks at what is no array before the arrays are read, and raises where they cannot be of that form.

        Raises:
            DeniedError: One may not be read: it may well be good, and must not go for it.
        """
        for step in sorted((int(name) for name in self._folder.children() if name.isdigit()), reverse=True):
            place = self._stage / f"read-{step}"
            try:
                self._folder.child(str(step)).download(place)
                meta = json.loads((place / META).read_bytes())
                suits(meta)
                state = self._read(place / STATE, like)
            except DeniedError:
                raise
            except FilesError as error:
                self.skipped.append(str(error))
                self._useless.add(step)
                continue
            return Checkpoint(step, state, meta)
        return None

    def save(self, checkpoint: Checkpoint) -> None:
        """Begins to write one, after the one before is whole."""
        self.wait()
        if self._writes:
            self._sending = self._sender.submit(self._send, checkpoint)

    def wait(self) -> None:
        """Waits until what was begun is whole."""
        if self._sending is not None:
            self._sending.result()
            self._sending = None

    def close(self) -> None:
        """Waits, and leaves this machine's disk as it was."""
        self.wait()
        self._sender.shutdown()
        shutil.rmtree(self._stage, ignore_errors=True)

    def _send(self, checkpoint: Checkpoint) -> None:
        place = self._stage / str(checkpoint.step)
        place.mkdir()
        self._write(place / STATE, checkpoint.state)
        (place / META).write_text(json.dumps(checkpoint.meta), encoding="utf-8")
        self._folder.child(str(checkpoint.step)).upload(place)
        shutil.rmtree(place)
        self._useless.discard(checkpoint.step)
        names = self._folder.names()
        steps = {int(name.split("/")[0]) for name in names if name.split("/")[0].isdigit() and "/" in name}
        whole = {step for step in steps - self._useless if f"{step}/{CHECKSUMS}" in names}
        for old in steps - set(sorted(whole)[-KEEP:]) - {checkpoint.step}:
            self._folder.child(str(old)).erase()


def host_value(array: Any) -> Any:
    """The whole of an array of which this host's devices hold all parts, in this machine's memory."""
    if array.is_fully_addressable:
        return np.asarray(array)
    whole = np.empty(array.shape, array.dtype)
    for part in array.addressable_shards:
        whole[part.index] = np.asarray(part.data)
    return whole


def _write(place: Path, state: Any) -> None:
    with _checkpointer() as checkpointer:
        checkpointer.save(place, state)


def _read(place: Path, like: Any) -> Any:
    import jax

    with _checkpointer() as checkpointer:
        return checkpointer.restore(place, jax.tree.map(lambda array: np.empty(array.shape, array.dtype), like))


def _checkpointer() -> Any:
    """Orbax's, of this process alone: the others neither write nor wait for it."""
    import jax
    import orbax.checkpoint as ocp

    me = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(primary_host=me, active_processes={me}, barrier_sync_key_prefix=f"host-{me}")
    return ocp.Checkpointer(ocp.StandardCheckpointHandler(multiprocessing_options=alone), multiprocessing_options=alone)
