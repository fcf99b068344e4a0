"""The programs that a job may run: which image holds each, and how one is started."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["train", "serve", "batch"]
Image = Literal["train", "serve", "tf"]


@dataclass(frozen=True, slots=True)
class Program:
    """One program of this package."""

    name: str
    image: Image
    """Name of the image that has what it needs, as under `images:` in the stack file."""
    module: str
    """Where it is."""
    kind: Kind
    """`train` makes a model, `batch` reads and writes files, `serve` answers until it is stopped: no job ends with that."""

    needs: tuple[str, ...] = ()
    """Folders that it reads, as under `data` of a job in the stack file."""
    example: str = ""
    """Module that makes their data up, told the folders in that order; empty where none does."""
    alone: str = ""
    """Argument with which it makes its data up by itself and reads no folder; empty where it cannot."""

    @property
    def command(self) -> tuple[str, ...]:
        """What a container of it runs; its arguments follow."""
        return ("python", "-m", "workloads.serve" if self.kind == "serve" else "workloads.entry", self.name)

    def lacks(self, arguments: Iterable[str], data: Container[str]) -> tuple[str, ...]:
        """Folders that it needs, so called, and does not get."""
        return () if self.alone and self.alone in arguments else tuple(name for name in self.needs if name not in data)


PROGRAMS = {
    one.name: one
    for one in (
        Program(
            "train_recommender",
            "train",
            "workloads.recommender.train",
            "train",
            ("clicks", "pictures"),
            "workloads.recommender.data",
            "--example",
        ),
        Program("finetune", "train", "workloads.finetune.train", "train", ("model", "examples")),
        Program("train_tf", "tf", "workloads.train_tf", "train", ("clicks", "pictures"), "workloads.recommender.data"),
        Program("embed_images", "train", "workloads.embed_images", "batch", ("pictures",)),
        Program("serve_recommender", "serve", "workloads.recommender.online", "serve"),
    )
}
"""Every program by its name."""
