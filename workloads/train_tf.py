"""
Trains the recommender's two towers on TensorFlow: `python -m workloads.entry train_tf`. This is the older way, for who stays with it.

It reads what `train_recommender` reads (`WL_DATA_CLICKS`, `WL_DATA_PICTURES`), learns the same towers from the same batches, and measures
the same: so the two ways can be held against each other. It learns no likelihood of clicks and purchases. It leaves in `WL_OUTPUT`:

    model/       a SavedModel: `user` and `history` are rows of `users.json` and `items.json` beside it, the answer is `item` and `score`
    report.json  as `train_recommender` has it, and which strategy it was

One code is for a TPU (`TPUStrategy`), for GPUs and for several devices of the processor (`MirroredStrategy`), and for one device (the
default strategy). `WL_ACCELERATOR_TYPE` is that of a TPU, of GPUs (`nvidia-l4`, with their number as `WL_CHIPS`), or `cpu`; what is there
must be what it says. It is of one host.

Why it is the older way: TensorFlow for TPUs ended with `tensorflow-tpu` 2.20.0 of August 2025, while TensorFlow itself went on to 2.21 (the
package index, read in November 2026). Keras 3 does not work under TPUStrategy (github.com/keras-team/keras, issue 19448), so the model is
written in plain TensorFlow here. On a TPU, TensorFlow 2.18 ended with a segmentation fault (github.com/tensorflow/tensorflow, issue 82208).
It has an image of its own, with that last release and the libtpu of its time. No TPU has run it where it was written: what is tested is
the processor, with one device and with several.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workloads.arguments import batch_problems, problems
from workloads.checkpoints import Checkpoints
from workloads.contract import ARTEFACT, REPORT, RESTART_EXIT, SIMULATED, ContractError, InputError, TrainSettings
from workloads.devices import GPU, DevicesError, check, expected
from workloads.files import Folder
from workloads.recommender import metrics, train
from workloads.recommender.batches import Batches
from workloads.recommender.data import HISTORY
from workloads.tries import Try, of_input

OWN_DEVICES = True
"""This program looks at its devices by itself: its image has no JAX."""
TWO_CORES = ("v4-", "v5p-")
"""Accelerator types whose chips have two cores that work as one device, or as two: which of them TensorFlow shows is not known here."""
TEMPERATURE = 0.3
"""As in `workloads.recommender.model`, which needs Keras."""
ABSENT = -1e9
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
"""Adam's, as in Keras."""


def parser(program: str) -> argparse.ArgumentParser:
    """The command line."""
    found = train.common(
        argparse.ArgumentParser(prog=program, description="Trains the recommender's two towers on TensorFlow, the older way.")
    )
    found.set_defaults(example=False)
    return found


def strategy_for(tf: Any, settings: TrainSettings, environment: Mapping[str, str]) -> Any:
    """
    The strategy for what is declared, of devices that are there.

    Raises:
        ContractError: Several hosts.
        DevicesError: Other devices than declared.
    """
    check(settings)
    if settings.hosts > 1:
        raise ContractError(f"WL_HOSTS={settings.hosts}: train_tf is of one host; train_recommender is of several")
    if settings.accelerator_type == "cpu" or environment.get(SIMULATED) == "1":
        count = expected(settings.accelerator_type, settings.chips)
        (processor,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * count)
        return tf.distribute.MirroredStrategy([f"CPU:{one}" for one in range(count)]) if count > 1 else tf.distribute.get_strategy()
    if settings.accelerator_type.startswith(GPU):
        count = len(tf.config.list_physical_devices("GPU"))
        if count != settings.chips:
            raise DevicesError(f"{count} GPU devices, expected {settings.chips} ({settings.accelerator_type})")
        return tf.distribute.MirroredStrategy() if count > 1 else tf.distribute.OneDeviceStrategy("GPU:0")
    wanted = expected(settings.accelerator_type, settings.chips)
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise DevicesError(f"0 TPU devices, expected {wanted}: {(str(error).splitlines() or [''])[0]}") from None
    count = len(tf.config.list_logical_devices("TPU"))
    if count != wanted and not (settings.accelerator_type.startswith(TWO_CORES) and count == 2 * wanted):
        raise DevicesError(f"{count} TPU devices, expected {wanted} ({settings.accelerator_type}, {settings.chips} chips)")
    return tf.distribute.TPUStrategy(resolver)


def run(settings: TrainSettings, options: argparse.Namespace) -> int:
    """Trains, evaluates and writes. Answers the exit code."""
    begun = time.monotonic()
    # TensorFlow tells of its build and of every processor that it does not use.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    strategy = strategy_for(tf, settings, os.environ)
    parts = strategy.num_replicas_in_sync
    given = (options.learning_rate, options.seed, settings, ("clicks", "pictures"), "name the folders")
    wrong = [*batch_problems(options.batch, parts), *problems(*given)]
    if wrong:
        raise InputError("\n".join(wrong))
    data = train.read_data(settings, options, Folder(settings.output))
    clicks = int(data.clicks.clicked[data.train].sum())
    sizes = train.Sizes.of(options, clicks, parts)
    towers = Towers(tf, strategy, data, sizes.dimension, sizes.learning_rate, options.seed)
    batches = Batches(data.clicks, data.products, data.features, data.train, sizes.batch, sizes.steps, options.seed)
    trainer = Trainer(settings, towers, batches)
    if not trainer.train():
        return RESTART_EXIT
    with tempfile.TemporaryDirectory(prefix="accelform-model-") as place:
        found = min(train.FOUND, len(data.products.names) - 1)
        towers.save(place, found)
        for name, names in (("users.json", data.clicks.users), ("items.json", data.products.names)):
            (Path(place) / name).write_text(json.dumps(list(names)), encoding="utf-8")
        measured = evaluate(tf.saved_model.load(place).signatures["serving_default"], data, found)
        output = Folder(settings.output)
        output.child(ARTEFACT).upload(Path(place))
    report = {
        "workload": "train_tf",
        "run_id": settings.run_id,
        "metrics": measured,
        "data": {"users": len(data.clicks.users) - 1, "items": len(data.products.names) - 1, "rows": len(data.clicks), "clicks": clicks},
        "steps": sizes.steps,
        "seconds": round(time.monotonic() - begun, 2),
        "picture_features": data.features_by,
        "devices": {"count": parts, "strategy": type(strategy).__name__, "hosts": 1},
        "resumed_from": trainer.resumed_from,
        "checkpoints_skipped": trainer.checkpoints.skipped,
        "loss": trainer.curve,
    }
    trainer.tell(measured, {"batch": sizes.batch, "learning_rate": sizes.learning_rate, "dimension": sizes.dimension})
    output.write_json(REPORT, report)
    return 0


class Towers:
    """The two towers on all devices: their variables, and a step."""

    def __init__(self, tf: Any, strategy: Any, data: Any, dimension: int, rate: float, seed: int) -> None:
        self._tf, self._strategy, self._data, self._rate = tf, strategy, data, rate
        random = np.random.default_rng(seed)
        wide, picture = 2 * dimension, data.features.shape[1]
        tables = {"user": len(data.clicks.users), "item": len(data.products.names), "category": len(data.products.categories)}
        layers = {
            "picture": (picture, dimension),
            "user_hidden": (wide, wide),
            "user_out": (wide, dimension),
            "item_hidden": (3 * dimension + 1, wide),
            "item_out": (wide, dimension),
        }
        first = {f"{name}_table": random.normal(0, 0.05, (rows, dimension)) for name, rows in tables.items()}
        for name, (rows, columns) in layers.items():
            most = np.sqrt(6 / (rows + columns))
            first |= {name: random.uniform(-most, most, (rows, columns)), f"{name}_bias": np.zeros(columns)}
        with strategy.scope():
            self.variables = {name: tf.Variable(value.astype(np.float32), name=name) for name, value in first.items()}
            zeros = [np.zeros(value.shape, np.float32) for value in first.values()]
            self._means, self._squares = ([tf.Variable(zero) for zero in zeros] for _ in range(2))
        self.step = tf.function(self._one_step)

    def state(self) -> dict[str, Any]:
        """Values of all that a step changes."""
        return {str(place): variable.numpy() for place, variable in enumerate(self._all())}

    def restore(self, state: dict[str, Any]) -> None:
        for place, variable in enumerate(self._all()):
            variable.assign(state[str(place)])

    def placed(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch, of which each device gets a part."""
        part = len(batch["clicked_user"]) // self._strategy.num_replicas_in_sync

        def of(name: str) -> Any:
            array = batch[f"clicked_{name}"]

            def value(context: Any) -> Any:
                begin = context.replica_id_in_sync_group * part
                return self._tf.constant(array[begin : begin + part])

            return self._strategy.experimental_distribute_values_from_function(value)

        return {name: of(name) for name in ("user", "history", "item", "category", "price", "picture", "share")}

    def person(self, user: Any, history: Any) -> Any:
        tf, held = self._tf, self.variables
        clicked = tf.gather(held["item_table"], history)
        there = tf.cast(history > 0, tf.float32)[..., None]
        mean = tf.reduce_sum(clicked * there, 1) / tf.maximum(tf.reduce_sum(there, 1), 1.0)
        return self._out("user", tf.concat([tf.gather(held["user_table"], user), mean], -1))

    def product(self, item: Any, category: Any, price: Any, picture: Any) -> Any:
        tf, held = self._tf, self.variables
        seen = tf.nn.relu(picture @ held["picture"] + held["picture_bias"])
        parts = [tf.gather(held["item_table"], item), tf.gather(held["category_table"], category), seen, price[:, None]]
        return self._out("item", tf.concat(parts, -1))

    def save(self, place: str, found: int) -> None:
        """Writes a SavedModel that answers with *found* products."""
        tf, products = self._tf, self._data.products
        served = tf.Module()
        held = {name: tf.Variable(variable.numpy()) for name, variable in self.variables.items()}
        alone = object.__new__(Towers)
        alone._tf, alone.variables = tf, held
        rows = np.arange(len(products.names), dtype=np.int32)
        places = alone.product(rows, products.category, products.price, self._data.features)
        # What persons need, and places of products in place of what they are made of.
        served.held = {name: held[name] for name in held if name.startswith(("user", "item_table"))}
        served.places = tf.Variable(places)

        def answer(user: Any, history: Any) -> dict[str, Any]:
            scores = tf.matmul(alone.person(user, history), served.places, transpose_b=True)
            scores += tf.one_hot(0, len(products.names), on_value=ABSENT, off_value=0.0)[None]
            top = tf.math.top_k(scores, found)
            return {"item": top.indices, "score": top.values}

        shapes = (tf.TensorSpec([None], tf.int32, "user"), tf.TensorSpec([None, HISTORY], tf.int32, "history"))
        served.answer = tf.function(answer, input_signature=shapes)
        tf.saved_model.save(served, place, signatures=served.answer)

    def _all(self) -> list[Any]:
        return [*self.variables.values(), *self._means, *self._squares]

    def _out(self, tower: str, inputs: Any) -> Any:
        tf, held = self._tf, self.variables
        hidden = tf.nn.relu(inputs @ held[f"{tower}_hidden"] + held[f"{tower}_hidden_bias"])
        vector = hidden @ held[f"{tower}_out"] + held[f"{tower}_out_bias"]
        return vector / tf.sqrt(tf.reduce_sum(vector * vector, -1, keepdims=True) + 1e-12)

    def _one_step(self, batch: dict[str, Any], number: Any) -> Any:
        """*number* is that of the step, from 1. Answers the loss."""
        tf, strategy = self._tf, self._strategy
        variables = list(self.variables.values())
        rate = self._rate * tf.sqrt(1 - BETA_2**number) / (1 - BETA_1**number)

        def update(variable: Any, gradient: Any, mean: Any, square: Any, rate: Any) -> None:
            mean.assign_add((gradient - mean) * (1 - BETA_1))
            square.assign_add((gradient * gradient - square) * (1 - BETA_2))
            variable.assign_sub(rate * mean / (tf.sqrt(square) + EPSILON))

        def merged(strategy: Any, gradients: list[Any], rate: Any) -> None:
            together = strategy.extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, list(zip(gradients, variables, strict=True)))
            for variable, gradient, mean, square in zip(variables, together, self._means, self._squares, strict=True):
                strategy.extended.update(variable, update, args=(gradient, mean, square, rate), group=False)

        def on_one(batch: dict[str, Any], rate: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = self._loss(batch)
            gradients = [tf.convert_to_tensor(one) for one in tape.gradient(loss, variables)]
            tf.distribute.get_replica_context().merge_call(merged, args=(gradients, rate))
            return loss

        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(on_one, args=(batch, rate)), axis=None)

    def _loss(self, batch: dict[str, Any]) -> Any:
        """This device's part of the loss: its persons among the products of all devices, as the JAX way has it."""
        tf, context = self._tf, self._tf.distribute.get_replica_context()
        person = self.person(batch["user"], batch["history"])
        product = self.product(batch["item"], batch["category"], batch["price"], batch["picture"])
        products, items, shares = (context.all_gather(one, axis=0) for one in (product, batch["item"], batch["share"]))
        part, whole = person.shape[0], person.shape[0] * self._strategy.num_replicas_in_sync
        own = tf.cast(context.replica_id_in_sync_group, tf.int32) * part + tf.range(part)
        scores = tf.matmul(person, products, transpose_b=True) / TEMPERATURE - tf.math.log(tf.clip_by_value(shares, 1e-6, 1.0))[None]
        same = (batch["item"][:, None] == items[None]) & (own[:, None] != tf.range(whole)[None])
        scores = tf.where(same, ABSENT, scores)
        return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(own, scores)) / whole


class Trainer(Try):
    """One try of a run."""

    def __init__(self, settings: TrainSettings, towers: Towers, batches: Batches) -> None:
        self._towers, self._batches = towers, batches
        checkpoints = Checkpoints(settings.checkpoints, writes=True, write=_write, read=_read)
        shapes = {name: list(variable.shape) for name, variable in towers.variables.items()}
        super().__init__(settings, len(batches), checkpoints, identity={"towers": shapes, **of_input(batches)})

    def _advance(self, step: int) -> float:
        batch = self._towers.placed(self._batches[step])
        return float(self._towers.step(batch, self._towers._tf.constant(float(step + 1))))

    def _kept(self) -> dict[str, Any]:
        return self._towers.state()

    def _take(self, state: dict[str, Any]) -> None:
        self._towers.restore(state)


def evaluate(served: Any, data: Any, found: int) -> dict[str, float | None]:
    """Metrics of the saved model on rows that it did not learn from, as of `train_recommender`."""

    def answer(some: Any) -> Any:
        return served(user=some.user, history=some.history)["item"].numpy()

    return metrics.retrieval(answer, data.clicks, len(data.products.names), data.train, data.test, found)


def _write(place: Path, state: dict[str, Any]) -> None:
    with place.open("wb") as file:
        np.savez(file, **state)


def _read(place: Path, like: dict[str, Any]) -> dict[str, Any]:
    with np.load(place, allow_pickle=False) as file:
        return {name: file[name] for name in like}
