"""Arguments that every training takes, and what of them cannot be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from workloads.contract import TrainSettings


def positive(text: str) -> int:
    """A whole number from 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return value


def batch_problems(batch: int | None, parts: int) -> Iterator[str]:
    """
    Args:
        batch: Rows of a step; None where nobody said.
        parts: What a batch is cut into.
    """
    if batch and batch % parts:
        yield f"--batch {batch}: no multiple of {parts}, the parts that a batch is cut into"


def problems(learning_rate: float | None, seed: int, settings: TrainSettings, folders: Sequence[str], fix: str) -> Iterator[str]:
    """
    Args:
        learning_rate: None where nobody said.
        folders: Names of the data that is read.
        fix: What to do where one is not named.
    """
    if learning_rate is not None and not 0 < learning_rate < 1:
        yield f"--learning-rate {learning_rate}: between 0 and 1"
    if not 0 <= seed < 2**31:
        yield f"--seed {seed}: from 0 to {2**31 - 1}"
    if missing := [f"WL_DATA_{name.upper()}" for name in folders if name not in settings.data]:
        yield f"{' and '.join(missing)} missing: {fix}"
