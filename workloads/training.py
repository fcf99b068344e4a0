"""
Training on JAX, whatever is trained: steps on all devices of all hosts.

A program makes its model, and says what a loss is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from workloads.checkpoints import Checkpoints, host_value
from workloads.contract import InputError, TrainSettings
from workloads.devices import is_first, meet, together
from workloads.reading import reader
from workloads.tries import Try, of_input

BATCH_AXIS = "batch"


def prepare(distribution: Any, *, bfloat16: bool, seed: int) -> None:
    """Before a model is made: how its variables lie on devices, in what it computes, and chance."""
    # Pinned, so that a TPU computes what a processor does: by itself it multiplies float32 in bfloat16.
    jax.config.update("jax_default_matmul_precision", "bfloat16" if bfloat16 else "float32")
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16" if bfloat16 else "float32")
    # All that Keras draws seeds from. Its own `set_random_seed` imports TensorFlow where it is there: five seconds of a start.
    random.seed(seed)
    keras.distribution.set_distribution(distribution)


class Training(Try):
    """One try of a run, on JAX."""

    def __init__(
        self,
        *,
        settings: TrainSettings,
        model: Any,
        optimizer: Any,
        distribution: Any,
        batches: Any,
        steps: int,
        frozen: Any = (),
        identity: Mapping[str, Any],
    ) -> None:
        """
        Args:
            batches: This host's part of each step's batch, by number.
            frozen: Variables that no step changes: they are not part of a checkpoint.
            identity: What the checkpoints of a run go with, beside its input. Those of another are refused.
        """
        first = is_first(settings)
        checkpoints = Checkpoints(settings.checkpoints, writes=first)
        super().__init__(settings, steps, checkpoints, first=first, identity={**identity, **of_input(batches)})
        self.model = model
        self.optimizer = optimizer
        self._batches = batches
        self._input = reader(batches)
        self._sharding = NamedSharding(distribution.device_mesh.backend_mesh, PartitionSpec(BATCH_AXIS))
        kept = {id(variable) for variable in frozen}
        self._is_frozen = [id(variable) in kept for variable in model.non_trainable_variables]
        self.optimizer.build(model.trainable_variables)
        self._state = self._beginning()
        self._before: Any = None
        """Loss of the step before, which may still be computed."""
        placed = jax.tree.map(lambda array: array.sharding, self._state)
        self._step = jax.jit(self._one_step, donate_argnums=0, out_shardings=(placed, None))

    def _loss(self, trainable: list[Any], other: list[Any], batch: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Of values of the model's variables and a batch: the loss, and what the step makes of those that are not trained."""
        raise NotImplementedError

    def _advance(self, step: int) -> Any:
        batch = self._placed(next(self._input))
        with together(self.settings, f"after step {step}"):
            self._state, loss = self._step(self._state, batch)
            # With several hosts, each waits for its step: a lost host shows here, and not in the middle of a checkpoint. One alone is a
            # step ahead of its devices and no more: what they have yet to do when a notice comes is time in which nothing is saved.
            awaited, self._before = (loss if self.settings.hosts > 1 else self._before), loss
            jax.block_until_ready(awaited)
        return loss

    def _agree(self, step: int) -> None:
        """Hosts that went on from different steps would spoil each other's weights, and nobody would see it."""
        if self.settings.hosts == 1:
            return
        from jax.experimental import multihost_utils

        with together(self.settings, "at the beginning"):
            steps = np.ravel(multihost_utils.process_allgather(np.int32(step))).tolist()
        if len(set(steps)) > 1:
            found = ", ".join(f"{each} of host {host}" for host, each in enumerate(steps))
            raise InputError(f"{self.settings.checkpoints}: the last whole step is {found}: is it one folder, which all hosts see?")

    def _kept(self) -> dict[str, Any]:
        return {name: values for name, values in self._state.items() if name != "frozen"}

    def _held(self, state: Any) -> Any:
        return jax.tree.map(host_value, state)

    def _value(self, array: Any) -> Any:
        return host_value(array)

    def _take(self, state: Any) -> None:
        self._state |= jax.tree.map(_as, state, self._kept())

    def _position(self) -> Any:
        return self._input.get_state()

    def _seek(self, position: Any) -> None:
        self._input.set_state(position)

    def weights(self) -> list[Any]:
        """Values of the model's variables, in their order."""
        pairs = [
            *zip(self.model.trainable_variables, self._state["trainable"], strict=True),
            *zip(self.model.non_trainable_variables, self._others(self._state), strict=True),
        ]
        values = {id(variable): value for variable, value in pairs}
        return [host_value(values[id(variable)]) for variable in self.model.variables]

    def devices(self) -> dict[str, Any]:
        """What computed it."""
        device = jax.devices()[0]
        return {"count": jax.device_count(), "kind": device.device_kind, "platform": device.platform, "hosts": jax.process_count()}

    def meet(self) -> None:
        """Waits for all hosts: one that ends early takes the others' work for lost."""
        meet(self.settings, "at the end")

    def _beginning(self) -> dict[str, Any]:
        others = list(zip(self.model.non_trainable_variables, self._is_frozen, strict=True))
        return {
            "trainable": [variable.value for variable in self.model.trainable_variables],
            "other": [variable.value for variable, frozen in others if not frozen],
            "frozen": [variable.value for variable, frozen in others if frozen],
            "optimizer": [variable.value for variable in self.optimizer.variables],
        }

    def _placed(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch of all hosts, of which this one brings its part."""
        if self.settings.hosts == 1:  # all arrays at once: one by one takes twice as long
            return dict(jax.device_put(batch, self._sharding))
        return {name: jax.make_array_from_process_local_data(self._sharding, array) for name, array in batch.items()}

    def _one_step(self, state: dict[str, Any], batch: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        (loss, others), gradients = jax.value_and_grad(self._loss, has_aux=True)(state["trainable"], self._others(state), batch)
        trainable, optimizer = self.optimizer.stateless_apply(state["optimizer"], gradients, state["trainable"])
        other = [value for value, frozen in zip(others, self._is_frozen, strict=True) if not frozen]
        return state | {"trainable": trainable, "other": other, "optimizer": optimizer}, loss

    def _others(self, state: dict[str, Any]) -> list[Any]:
        """Values of the variables that are not trained, in the model's order."""
        kinds = iter(state["other"]), iter(state["frozen"])
        return [next(kinds[frozen]) for frozen in self._is_frozen]


def _as(value: Any, like: Any) -> Any:
    """A value of this host's memory, spread over devices as another is."""
    return jax.make_array_from_callback(like.shape, like.sharding, lambda part: value[part])
