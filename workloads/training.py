"""
Training itself, whatever is trained: steps on all devices of all hosts, checkpoints on the way, and an end when the machine is taken away.

A program makes its model, and says what a loss is.
"""

from __future__ import annotations

import random
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from workloads.checkpoints import Checkpoint, Checkpoints, host_value
from workloads.contract import InputError, TrainSettings
from workloads.devices import HostLostError
from workloads.preemption import Notice
from workloads.reading import reader
from workloads.say import say

BATCH_AXIS = "batch"
LOG_EVERY = 10
"""Steps between two points of the curve."""


def prepare(distribution: Any, *, bfloat16: bool, seed: int) -> None:
    """Before a model is made: how its variables lie on devices, in what it computes, and chance."""
    # Pinned, so that a TPU computes what a processor does: by itself it multiplies float32 in bfloat16.
    jax.config.update("jax_default_matmul_precision", "bfloat16" if bfloat16 else "float32")
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16" if bfloat16 else "float32")
    # All that Keras draws seeds from. Its own `set_random_seed` imports TensorFlow where it is there: five seconds of a start.
    random.seed(seed)
    keras.distribution.set_distribution(distribution)


class Training:
    """One try of a run."""

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
        identity: Any = None,
    ) -> None:
        """
        Args:
            batches: This host's part of each step's batch, by number.
            frozen: Variables that no step changes: they are not part of a checkpoint.
            identity: What the checkpoints of a run go with, as JSON has it. Those of another are refused.
        """
        self.settings = settings
        self.model = model
        self.optimizer = optimizer
        self.steps = steps
        self.curve: list[tuple[int, float]] = []
        """Mean loss of the steps up to each."""
        self.resumed_from: list[int] = []
        self.first = jax.process_index() == 0
        self.checkpoints = Checkpoints(settings.checkpoints, writes=self.first)
        self._batches = batches
        self._identity = identity
        self._sharding = NamedSharding(distribution.device_mesh.backend_mesh, PartitionSpec(BATCH_AXIS))
        kept = {id(variable) for variable in frozen}
        self._is_frozen = [id(variable) in kept for variable in model.non_trainable_variables]
        self.optimizer.build(model.trainable_variables)
        self._state = self._beginning()
        placed = jax.tree.map(lambda array: array.sharding, self._state)
        self._step = jax.jit(self._one_step, donate_argnums=0, out_shardings=(placed, None))

    def _loss(self, trainable: list[Any], other: list[Any], batch: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Of values of the model's variables and a batch: the loss, and what the step makes of those that are not trained."""
        raise NotImplementedError

    def train(self) -> bool:
        """Trains to the end, or until the machine is taken away: then what was done is saved, and the answer is no."""
        notice = Notice(self.settings.hosts)
        iterator = reader(self._batches)
        step, losses = self._resume(iterator)
        saved = step
        # Two are begun in an interval: one that is lost while it is written costs no more than the interval.
        interval = max(1, self.settings.save_every_steps // 2)
        while step < self.steps:
            batch = self._placed(next(iterator))
            try:
                self._state, loss = self._step(self._state, batch)
                # With several hosts, each waits for its step: a lost host shows here, and not in the middle of a checkpoint.
                if self.settings.hosts > 1:
                    loss.block_until_ready()
            # A failed collective is a ValueError where hosts are connected by gloo.
            except (jax.errors.JaxRuntimeError, ValueError) as error:
                if self.settings.hosts == 1 or "RESOURCE_EXHAUSTED" in str(error):
                    raise
                raise HostLostError(f"another host does not answer after step {step}: {str(error).splitlines()[0]}") from None
            step += 1
            losses.append(loss)
            if step % LOG_EVERY == 0 or step == self.steps:
                self.curve.append((step, float(np.mean(_floats(losses)))))
                losses = []
                if self.first:
                    say(f"step {step} of {self.steps}, loss {self.curve[-1][1]:.4f}")
            leaving = notice.at(step)
            if step < self.steps and (leaving or step - saved >= interval):
                meta = {
                    "input": iterator.get_state(),
                    "curve": list(self.curve),  # as it is now: a checkpoint is written while training goes on
                    "open": _floats(losses),
                    "resumed_from": self.resumed_from,
                    "identity": self._identity,
                }
                self.checkpoints.save(Checkpoint(step, jax.tree.map(host_value, _saved(self._state)), meta))
                saved = step
                if leaving:
                    self.checkpoints.close()
                    say(f"this machine is taken away: step {step} is saved")
                    return False
        self.checkpoints.close()
        return True

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
        if self.settings.hosts > 1:
            from jax.experimental import multihost_utils

            multihost_utils.sync_global_devices("done")

    def _resume(self, iterator: Any) -> tuple[int, list[Any]]:
        """Goes on from the last whole checkpoint: steps that are done, and losses since the curve's last point."""
        last = self.checkpoints.last(_saved(self._state), self._suits)
        if last is None:
            return 0, []
        if last.step >= self.steps:
            raise InputError(
                f"{self.settings.checkpoints}: {last.step} steps are done already, of {self.steps}: is it another run's folder?"
            )
        self._state |= jax.tree.map(_as, last.state, _saved(self._state))
        say(f"goes on after step {last.step}")
        iterator.set_state(last.meta["input"])
        self.curve = [(at, loss) for at, loss in last.meta["curve"]]
        self.resumed_from = [*last.meta["resumed_from"], last.step]
        return last.step, list(last.meta["open"])

    def _suits(self, meta: dict[str, Any]) -> None:
        if meta["identity"] != self._identity:
            raise InputError(f"{self.settings.checkpoints}: its checkpoints are of another model, other data or other settings")

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


def _saved(state: dict[str, Any]) -> dict[str, Any]:
    """What of it a checkpoint holds."""
    return {name: values for name, values in state.items() if name != "frozen"}


def _as(value: Any, like: Any) -> Any:
    """A value of this host's memory, spread over devices as another is."""
    return jax.make_array_from_callback(like.shape, like.sharding, lambda part: value[part])


def _floats(losses: list[Any]) -> list[float]:
    return [loss if isinstance(loss, float) else float(host_value(loss)) for loss in losses]
