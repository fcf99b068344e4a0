"""The steps of fine-tuning: data parallel, on any number of devices and hosts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, SupportsIndex

import jax
import keras
import numpy as np
from keras import ops

from workloads.contract import TrainSettings
from workloads.reading import shuffled
from workloads.training import Training

WARM_UP = 0.1
"""Part of the steps in which the learning rate grows, as for BERT: arXiv 1810.04805, appendix A.2. It falls as a cosine after that."""


@dataclass(frozen=True)
class Batches:
    """Batch of each step: `index` among `count` hosts gets its part. Grain asks by number."""

    inputs: dict[str, Any]
    """What the model takes, by name: `[examples, ...]`. Of 8 bits are pictures, which are scaled here."""
    labels: Any
    rows: Any
    """Rows that are learned from."""
    batch: int
    """Rows of a step, over all hosts."""
    steps: int
    seed: int
    scaling: tuple[Any, Any] = (1.0, 0.0)
    index: int = 0
    count: int = 1

    @property
    def fingerprint(self) -> str:
        """Of what is learned, in its order."""
        found = hashlib.sha256(self.labels.tobytes())
        found.update(self.rows.tobytes())
        return found.hexdigest()

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: SupportsIndex) -> dict[str, Any]:
        part = self.batch // self.count
        places = int(step) * self.batch + self.index * part + np.arange(part)
        rows = self.rows[shuffled(places, len(self.rows), self.seed)]
        return taken(self.inputs, rows, self.scaling) | {"label": self.labels[rows]}


def taken(inputs: dict[str, Any], rows: Any, scaling: tuple[Any, Any]) -> dict[str, Any]:
    """What the model takes of some rows."""
    scale, offset = scaling
    return {
        name: array[rows] if array.dtype != np.uint8 else array[rows].astype(np.float32) * scale + offset for name, array in inputs.items()
    }


def fed(batch: dict[str, Any]) -> Any:
    """As the model wants it: KerasHub's text models take a dictionary, its picture models an array."""
    return batch["images"] if "images" in batch else {name: array for name, array in batch.items() if name != "label"}


class FineTuner(Training):
    """One try of a run."""

    def __init__(
        self, *, settings: TrainSettings, model: Any, distribution: Any, batches: Batches, learning_rate: float, identity: Any
    ) -> None:
        warm = max(1, int(batches.steps * WARM_UP))
        schedule = keras.optimizers.schedules.CosineDecay(
            learning_rate / 10, max(1, batches.steps - warm), warmup_target=learning_rate, warmup_steps=warm
        )
        super().__init__(
            settings=settings,
            model=model,
            optimizer=keras.optimizers.Adam(schedule),
            distribution=distribution,
            batches=batches,
            steps=batches.steps,
            # Seeds of dropout are no weights: they go on from step to step.
            frozen=model.non_trainable_weights,
            identity=identity,
        )

    def _loss(self, trainable: list[Any], other: list[Any], batch: dict[str, Any]) -> tuple[Any, list[Any]]:
        logits, after = self.model.stateless_call(trainable, other, fed(batch), training=True)
        wide = ops.cast(logits, "float32")
        return ops.mean(keras.losses.sparse_categorical_crossentropy(batch["label"], wide, from_logits=True)), after


def logits(model: Any, inputs: dict[str, Any], rows: Any, scaling: tuple[Any, Any], size: int) -> Any:
    """What the model says to some rows: `[rows, classes]`, in batches of one size."""
    values = [variable.value for variable in model.trainable_variables], [variable.value for variable in model.non_trainable_variables]
    call = jax.jit(lambda trained, other, batch: model.stateless_call(trained, other, batch, training=False)[0])
    parts = []
    for begin in range(0, len(rows), size):
        some = rows[np.arange(begin, begin + size) % len(rows)]
        parts.append(np.asarray(call(*values, fed(taken(inputs, some, scaling))), np.float32)[: len(rows) - begin])
    return np.concatenate(parts)
