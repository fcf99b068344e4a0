"""The recommender's training: its model on all devices, and what a step's loss is."""

from __future__ import annotations

from typing import Any

import jax
import keras

from workloads.contract import TrainSettings
from workloads.recommender import model as models
from workloads.recommender.batches import Batches
from workloads.recommender.data import Clicks, Products
from workloads.training import BATCH_AXIS, Training, prepare

MODEL_AXIS = "model"
PRODUCT = ("item", "category", "price", "picture")


class Trainer(Training):
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
        distribution = _distribution(model_parallel)
        prepare(distribution, bfloat16=bfloat16, seed=seed)
        self.architecture = {
            "users": len(clicks.users),
            "items": len(products.names),
            "categories": len(products.categories),
            "dimension": dimension,
            "picture_size": features.shape[1],
        }
        # Rows of a table are cut over devices, so their number is filled up.
        self.architecture |= {name: -(-self.architecture[name] // model_parallel) * model_parallel for name in ("users", "items")}
        model = models.TwoTowers(**self.architecture)
        models.build(model)
        super().__init__(
            settings=settings,
            model=model,
            optimizer=keras.optimizers.Adam(learning_rate),
            distribution=distribution,
            batches=Batches(clicks, products, features, rows, batch, steps, seed, index=jax.process_index(), count=jax.process_count()),
            steps=steps,
            identity=self.architecture,
        )

    def _loss(self, trainable: list[Any], other: list[Any], batch: dict[str, Any]) -> tuple[Any, list[Any]]:
        variables = [*self.model.trainable_variables, *self.model.non_trainable_variables]
        with keras.StatelessScope(state_mapping=list(zip(variables, [*trainable, *other], strict=True))):
            person = self.model.person(batch["clicked_user"], batch["clicked_history"])
            product = self.model.product(*(batch[f"clicked_{name}"] for name in PRODUCT))
            retrieval = models.retrieval_loss(person, product, batch["clicked_item"], batch["clicked_share"])
            person = self.model.person(batch["shown_user"], batch["shown_history"])
            product = self.model.product(*(batch[f"shown_{name}"] for name in PRODUCT))
            # The head learns what is made of the vectors, and the vectors learn to find: a click on what was shown says less than a choice.
            logits = self.model.logits(jax.lax.stop_gradient(person), jax.lax.stop_gradient(product), batch["ad"])
            return retrieval + models.ranking_loss(logits, batch["clicked"], batch["purchased"]), other


def _distribution(model_parallel: int) -> Any:
    """All devices of all hosts share a batch; with *model_parallel*, so many devices of a host share the tables besides."""
    if model_parallel == 1:
        return keras.distribution.DataParallel(auto_shard_dataset=False)
    devices = keras.distribution.list_devices()
    mesh = keras.distribution.DeviceMesh((len(devices) // model_parallel, model_parallel), [BATCH_AXIS, MODEL_AXIS], devices)
    layouts = keras.distribution.LayoutMap(mesh)
    layouts[".*(user|item)_table.*"] = (MODEL_AXIS, None)
    return keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name=BATCH_AXIS, auto_shard_dataset=False)
