"""Training itself: steps on all devices of all hosts, checkpoints on the way, and an end when the machine is taken away."""

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
from workloads.recommender import model as models
from workloads.recommender.batches import Batches, reader
from workloads.recommender.data import Clicks, Products
from workloads.say import say

BATCH_AXIS = "batch"
MODEL_AXIS = "model"
LOG_EVERY = 10
"""Steps between two points of the curve."""
PRODUCT = ("item", "category", "price", "picture")


class Trainer:
    """One try of a run."""

    def __init__(
        self,
        *,
        settings: TrainSettings,
        clicks: Clicks,
        products: Products,
        features: Any,
        rows: Any,
        batch: int,
        steps: int,
        dimension: int,
        learning_rate: float,
        bfloat16: bool,
        model_parallel: int,
        seed: int,
    ) -> None:
        self.settings = settings
        self.steps = steps
        self.curve: list[tuple[int, float]] = []
        """Mean loss of the steps up to each."""
        self.resumed_from: list[int] = []
        self.first = jax.process_index() == 0
        # Pinned, so that a TPU computes what a processor does: by itself it multiplies float32 in bfloat16.
        jax.config.update("jax_default_matmul_precision", "bfloat16" if bfloat16 else "float32")
        keras.mixed_precision.set_dtype_policy("mixed_bfloat16" if bfloat16 else "float32")
        # All that Keras draws seeds from. Its own `set_random_seed` imports TensorFlow where it is there: five seconds of a start.
        random.seed(seed)
        distribution = _distribution(model_parallel)
        keras.distribution.set_distribution(distribution)
        self._sharding = NamedSharding(distribution.device_mesh.backend_mesh, PartitionSpec(BATCH_AXIS))
        self.architecture = {
            "users": len(clicks.users),
            "items": len(products.names),
            "categories": len(products.categories),
            "dimension": dimension,
            "picture_size": features.shape[1],
        }
        # Rows of a table are cut over devices, so their number is filled up.
        self.architecture |= {name: -(-self.architecture[name] // model_parallel) * model_parallel for name in ("users", "items")}
        self.model = models.TwoTowers(**self.architecture)
        models.build(self.model)
        self.optimizer = keras.optimizers.Adam(learning_rate)
        self.optimizer.build(self.model.trainable_variables)
        self._batches = Batches(clicks, products, features, rows, batch, steps, seed, index=jax.process_index(), count=jax.process_count())
        self.checkpoints = Checkpoints(settings.checkpoints, writes=self.first)
        self._state = self._beginning()
        placed = jax.tree.map(lambda array: array.sharding, self._state)
        self._step = jax.jit(self._one_step, donate_argnums=0, out_shardings=(placed, None))

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
                # The curve as it is now: it grows while this is written.
                meta = {"input": iterator.get_state(), "curve": list(self.curve), "open": _floats(losses)}
                meta |= {"resumed_from": self.resumed_from}
                self.checkpoints.save(Checkpoint(step, jax.tree.map(host_value, self._state), meta))
                saved = step
                if leaving:
                    self.checkpoints.close()
                    say(f"this machine is taken away: step {step} is saved")
                    return False
        self.checkpoints.close()
        return True

    def weights(self) -> list[Any]:
        """Values of the model's variables, in their order."""
        values = iter(self._state["trainable"]), iter(self._state["other"])
        return [host_value(next(values[0 if variable.trainable else 1])) for variable in self.model.variables]

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
        last = self.checkpoints.last(self._state)
        if last is None:
            return 0, []
        if last.step >= self.steps:
            raise InputError(
                f"{self.settings.checkpoints}: {last.step} steps are done already, of {self.steps}: is it another run's folder?"
            )
        self._state = jax.tree.map(_as, last.state, self._state)
        say(f"goes on after step {last.step}")
        iterator.set_state(last.meta["input"])
        self.curve = [(at, loss) for at, loss in last.meta["curve"]]
        self.resumed_from = [*last.meta["resumed_from"], last.step]
        return last.step, list(last.meta["open"])

    def _beginning(self) -> dict[str, Any]:
        return {
            "trainable": [variable.value for variable in self.model.trainable_variables],
            "other": [variable.value for variable in self.model.non_trainable_variables],
            "optimizer": [variable.value for variable in self.optimizer.variables],
        }

    def _placed(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch of all hosts, of which this one brings its part."""
        return {name: jax.make_array_from_process_local_data(self._sharding, array) for name, array in batch.items()}

    def _one_step(self, state: dict[str, Any], batch: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        loss, gradients = jax.value_and_grad(self._loss)(state["trainable"], state["other"], batch)
        trainable, optimizer = self.optimizer.stateless_apply(state["optimizer"], gradients, state["trainable"])
        return {"trainable": trainable, "other": state["other"], "optimizer": optimizer}, loss

    def _loss(self, trainable: list[Any], other: list[Any], batch: dict[str, Any]) -> Any:
        variables = [*self.model.trainable_variables, *self.model.non_trainable_variables]
        with keras.StatelessScope(state_mapping=list(zip(variables, [*trainable, *other], strict=True))):
            person = self.model.person(batch["clicked_user"], batch["clicked_history"])
            product = self.model.product(*(batch[f"clicked_{name}"] for name in PRODUCT))
            retrieval = models.retrieval_loss(person, product, batch["clicked_item"], batch["clicked_share"])
            person = self.model.person(batch["shown_user"], batch["shown_history"])
            product = self.model.product(*(batch[f"shown_{name}"] for name in PRODUCT))
            # The head learns what is made of the vectors, and the vectors learn to find: a click on what was shown says less than a choice.
            logits = self.model.logits(jax.lax.stop_gradient(person), jax.lax.stop_gradient(product), batch["ad"])
            return retrieval + models.ranking_loss(logits, batch["clicked"], batch["purchased"])


def _distribution(model_parallel: int) -> Any:
    """All devices of all hosts share a batch; with *model_parallel*, so many devices of a host share the tables besides."""
    if model_parallel == 1:
        return keras.distribution.DataParallel(auto_shard_dataset=False)
    devices = keras.distribution.list_devices()
    mesh = keras.distribution.DeviceMesh((len(devices) // model_parallel, model_parallel), [BATCH_AXIS, MODEL_AXIS], devices)
    layouts = keras.distribution.LayoutMap(mesh)
    layouts[".*(user|item)_table.*"] = (MODEL_AXIS, None)
    return keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name=BATCH_AXIS, auto_shard_dataset=False)


def _as(value: Any, like: Any) -> Any:
    """A value of this host's memory, spread over devices as another is."""
    return jax.make_array_from_callback(like.shape, like.sharding, lambda part: value[part])


def _floats(losses: list[Any]) -> list[float]:
    return [loss if isinstance(loss, float) else float(host_value(loss)) for loss in losses]
