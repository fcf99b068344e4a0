"""
The model: a tower for a person, a tower for a product, and a head for what becomes of showing one to the other.

A person is who they are and what they clicked last, so that somebody new is served after a click. A product is itself, its category, its
price and its picture, so that a product that nobody has seen yet has a place. The head says how likely a click is, and how likely a
purchase after a click: their product is the likelihood of a purchase, learned from all that was shown and not from clicks alone.
"""

from __future__ import annotations

import math
from typing import Any

import keras
import keras_rs
import numpy as np
from keras import ops

from workloads.recommender.data import HISTORY

TEMPERATURE = 0.3
"""Scores are cosines divided by this. On the example, recall@50 is 0.42 with 0.05 and 0.1, 0.47 with 0.2, and 0.49 with 0.3."""
ABSENT = -1e9
"""Score of what must not be chosen."""


FEW = 2**24
"""Values that are drawn at once on the host; larger tables are drawn on the devices, each its part."""


class Drawn(keras.initializers.RandomNormal):  # type: ignore[misc]
    """
    Normal values around 0: with the deviation that is given, or with Glorot's of a kernel `[in, out]` where it is None.

    Few are drawn by NumPy. JAX compiles a program for each shape, which took a third of a second each, at every start.
    """

    def __call__(self, shape: tuple[int, ...], dtype: Any = None) -> Any:
        deviation = math.sqrt(2 / sum(shape)) if self.stddev is None else self.stddev
        if math.prod(shape) > FEW:
            return keras.random.normal(shape, stddev=deviation, seed=self.seed, dtype=dtype)
        return np.random.default_rng(self.seed).normal(0, deviation, shape).astype(dtype)


class TwoTowers(keras.Model):  # type: ignore[misc]
    """See above. Row 0 of people and products is the one that is not known."""

    def __init__(self, users: int, items: int, categories: int, dimension: int, picture_size: int, **settings: Any) -> None:
        super().__init__(**settings)

        def table(rows: int, name: str) -> Any:
            return keras.layers.Embedding(rows, dimension, name=name, embeddings_initializer=Drawn(stddev=0.05))

        def dense(size: int, name: str, **more: Any) -> Any:
            return keras.layers.Dense(size, name=name, kernel_initializer=Drawn(stddev=None), **more)

        self.user_table = table(users, "user_table")
        self.item_table = table(items, "item_table")
        self.category_table = table(categories, "category_table")
        self.picture = dense(dimension, "picture", activation="relu")
        self.user_hidden = dense(2 * dimension, "user_hidden", activation="relu")
        self.user_out = dense(dimension, "user_out")
        self.item_hidden = dense(2 * dimension, "item_hidden", activation="relu")
        self.item_out = dense(dimension, "item_out")
        self.cross = keras_rs.layers.FeatureCross(name="cross", kernel_initializer=Drawn(stddev=None))
        self.head_hidden = dense(dimension, "head_hidden", activation="relu")
        self.head_out = dense(2, "head_out", dtype="float32")
        self.dimension = dimension
        self.picture_size = picture_size

    def call(self, inputs: dict[str, Any]) -> Any:
        """One pass over everything, which also makes the variables: the head's two logits, of a click and of a purchase after it."""
        person = self.person(inputs["user"], inputs["history"])
        product = self.product(inputs["item"], inputs["category"], inputs["price"], inputs["picture"])
        return self.logits(person, product, inputs["ad"])

    def person(self, user: Any, history: Any) -> Any:
        """Place of each person, of length 1. `user` is `[batch]`, `history` is `[batch, HISTORY]`."""
        clicked = self.item_table(history)
        there = ops.cast(ops.expand_dims(history > 0, -1), clicked.dtype)
        mean = ops.sum(clicked * there, axis=1) / ops.maximum(ops.sum(there, axis=1), 1)
        return _unit(self.user_out(self.user_hidden(ops.concatenate([self.user_table(user), mean], axis=-1))))

    def product(self, item: Any, category: Any, price: Any, picture: Any) -> Any:
        """Place of each product, of length 1. `picture` is `[batch, picture_size]`."""
        parts = [self.item_table(item), self.category_table(category), self.picture(picture)]
        parts.append(ops.cast(ops.expand_dims(price, -1), parts[0].dtype))
        return _unit(self.item_out(self.item_hidden(ops.concatenate(parts, axis=-1))))

    def logits(self, person: Any, product: Any, ad: Any) -> Any:
        """Logits of a click, and of a purchase after it: `[batch, 2]`."""
        flag = ops.cast(ops.expand_dims(ad, -1), person.dtype)
        together = ops.concatenate([person, product, person * product, flag], axis=-1)
        return self.head_out(self.head_hidden(self.cross(together)))


def retrieval_loss(person: Any, product: Any, item: Any, share: Any) -> Any:
    """
    How hard it is to tell which product of the batch each person clicked.

    Products of the batch come as often as they are clicked, so *share*, the part of all clicks that each has, is taken out again.
    The same product in another row is put aside here: `RemoveAccidentalHits` of keras_rs 0.4 adds 1e-40 where it should take much away.
    """
    scores = ops.cast(ops.matmul(person, ops.transpose(product)), "float32") / TEMPERATURE
    scores = keras_rs.layers.SamplingProbabilityCorrection()(scores, share)
    same = ops.logical_and(ops.equal(item[:, None], item[None, :]), ops.logical_not(ops.eye(item.shape[0], dtype="bool")))
    cleared = ops.where(same, ABSENT, scores)
    return ops.mean(keras.losses.sparse_categorical_crossentropy(ops.arange(item.shape[0]), cleared, from_logits=True))


def ranking_loss(logits: Any, clicked: Any, purchased: Any) -> Any:
    """Cross entropy of clicks and of purchases, over all that was shown."""
    click, after = ops.log_sigmoid(logits[:, 0]), ops.log_sigmoid(logits[:, 1])
    no_click = ops.log_sigmoid(-logits[:, 0])
    purchase = click + after
    no_purchase = ops.log(-ops.expm1(ops.minimum(purchase, -1e-6)))
    return -ops.mean(clicked * click + (1 - clicked) * no_click + purchased * purchase + (1 - purchased) * no_purchase)


def build(model: TwoTowers) -> None:
    """Makes the variables, and computes nothing."""
    shapes = {"user": (), "history": (HISTORY,), "item": (), "category": (), "ad": (), "price": (), "picture": (model.picture_size,)}
    measured = ("price", "picture")
    model({name: keras.Input(shape, dtype="float32" if name in measured else "int32") for name, shape in shapes.items()})


def _unit(vector: Any) -> Any:
    wide = ops.cast(vector, "float32")
    return ops.cast(wide / ops.sqrt(ops.sum(wide * wide, axis=-1, keepdims=True) + 1e-12), vector.dtype)
