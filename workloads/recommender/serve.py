"""The trained model as a function of weights and inputs, without Keras' devices: what is exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from workloads.recommender.data import Products
from workloads.recommender.model import ABSENT, TEMPERATURE, TwoTowers, build

SCORED = 4096
"""Products whose vectors are computed at once."""


def function_and_weights(
    architecture: dict[str, Any], weights: list[Any], products: Products, features: Any, found: int
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], dict[str, Any]]:
    """
    The function from weights and inputs by name to outputs by name; one from weights and rows of a log to likelihoods; and the weights.

    Args:
        weights: Values of the model's variables, in their order.
        found: Products of an answer.
    """
    import jax
    import jax.numpy as jnp

    # For good: training is over, and layers would write its devices into the function when it is exported.
    keras.distribution.set_distribution(None)
    model = TwoTowers(**architecture)
    build(model)
    names = [variable.path.split("/", 1)[1] for variable in model.variables]
    held = dict(zip(names, weights, strict=True))

    def applied(values: dict[str, Any], call: Callable[[], Any]) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(model.variables, (values[name] for name in names), strict=True))):
            return call()

    @jax.jit
    def vectors(values: Any, item: Any, category: Any, price: Any, picture: Any) -> Any:
        return applied(values, lambda: model.product(item, category, price, picture))

    count = len(products.names)
    parts = []
    for begin in range(0, count, SCORED):
        rows = np.arange(begin, begin + SCORED) % count
        part = vectors(held, rows.astype(np.int32), products.category[rows], products.price[rows], features[rows])
        parts.append(np.asarray(part)[: count - begin])

    def likely(person: Any, product: Any, ad: Any) -> dict[str, Any]:
        logits = model.logits(person, product, ad).astype(jnp.float32)
        click = jax.nn.sigmoid(logits[..., 0])
        return {"click": click, "purchase": click * jax.nn.sigmoid(logits[..., 1])}

    @jax.jit
    def likelihoods(values: Any, rows: Any) -> Any:
        products = values["product_vectors"][rows["item"]]
        return applied(values, lambda: likely(model.person(rows["user"], rows["history"]), products, rows["ad"]))

    def answer(values: Any, inputs: Any) -> Any:
        def scored() -> Any:
            person = model.person(inputs["user"], inputs["history"])
            scores = (person @ values["product_vectors"].T).astype(jnp.float32) / TEMPERATURE
            best, item = jax.lax.top_k(scores.at[:, 0].set(ABSENT), found)
            together = jnp.broadcast_to(person[:, None, :], (*item.shape, person.shape[-1]))
            ad = jnp.broadcast_to(inputs["ad"][:, None], item.shape)
            return {"item": item.astype(jnp.int32), "score": best, **likely(together, values["product_vectors"][item], ad)}

        return applied(values, scored)

    # Tables of products are in the vectors by now, but histories look products up.
    needed = {name: held[name] for name in names}
    return answer, likelihoods, needed | {"product_vectors": np.concatenate(parts)}
