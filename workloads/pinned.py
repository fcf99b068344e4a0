"""
Data as it was when a run began: what came in later is not read by a later try or by another host.

A log grows while a run trains. A try that read more of it than the one before would go on in another order of the rows: some would be left
out, and others learned twice. A table is written anew: one with another product has other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.contract import TrainSettings
from workloads.devices import is_first, meet
from workloads.files import FilesError, Folder


@dataclass(frozen=True, slots=True)
class Pinned(Folder):
    """Its files, and of those that grew the part that was there."""

    files: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each, by name."""

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, name: str) -> bytes:
        content, size = Folder.read(self, name), self.files[name]
        if len(content) < size:
            raise FilesError(f"{self.location}: {name} had {size} bytes when the run began, and has {len(content)}")
        return content[:size]


def pinned(folder: Folder, settings: TrainSettings, name: str) -> Pinned:
    """
    *folder* as the run found it when it began: as it is now before the first checkpoint, and then as the file *name* beside them says.

    The first host looks, and the others wait for it.
    """
    run = Folder(settings.checkpoints)
    if _looks(run, settings, name):
        run.write_json(name, folder.sizes())
    meet(settings, f"at {name}")
    return Pinned(folder.location, run.read_json(name))


@dataclass(frozen=True, slots=True)
class Copied(Folder):
    """A folder of which some files are read as they were."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Content of each of those, by name."""

    def find(self, name: str) -> bytes | None:
        return self.files[name] if name in self.files else Folder.find(self, name)


def copied(folder: Folder, settings: TrainSettings, name: str) -> Copied:
    """
    *folder* with its file *name* as the run found it when it began, in the same way: a copy of it lies beside the checkpoints.

    Where it is not there, each host finds that when it reads it: if the first one failed here, the others would take it for lost.
    """
    run = Folder(settings.checkpoints)
    if _looks(run, settings, name) and (now := folder.find(name)) is not None:
        run.write(name, now)
    meet(settings, f"at {name}")
    kept = run.find(name)
    return Copied(folder.location, {} if kept is None else {name: kept})


def _looks(run: Folder, settings: TrainSettings, name: str) -> bool:
    """Whether this host sees how the data is now: a run that has saved nothing may have been refused for what was in a file."""
    return is_first(settings) and (not run.children() or run.find(name) is None)
