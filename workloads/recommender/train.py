"""
Trains the recommender: `python -m workloads.entry train_recommender`.

It reads the folders `WL_DATA_CLICKS` and `WL_DATA_PICTURES` (`workloads/recommender/data.py` says what is in them), or makes data up where
`--example` asks for that. What pictures are as numbers, the model in `WL_DATA_VISION` says (`workloads/recommender/pictures.py`). It leaves
`model/` (`workloads/recommender/export.py`), `logs/` for TensorBoard (`workloads/events.py`) and `report.json` in `WL_OUTPUT`:

    {"workload": "train_recommender", "run_id": "...", "metrics": {"recall_at_50": 0.41, ...}, "data": {...}, "steps": 600, "seconds": 9.1,
     "picture_features": "...", "devices": {...}, "resumed_from": [200], "loss": [[10, 5.1], ...]}

All metrics are of the last tenth of the log, which training never saw, and of the exported model as it is read back from its file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workloads import embeddings
from workloads.arguments import batch_problems, positive, problems
from workloads.contract import ARTEFACT, REPORT, RESTART_EXIT, InputError, TrainSettings
from workloads.files import Folder
from workloads.pinned import copied, pinned
from workloads.recommender.data import HISTORY, Clicks, Products, read_clicks, read_products, write_example

FOUND = 50
"""Products of an answer, as many as recall is measured at."""
HELD_OUT = 0.1
LARGEST_BATCH, SMALLEST_BATCH = 8192, 256
BATCHES = 16
"""Of one time through the clicks, at least: larger batches would leave too few steps to learn in."""
LEAST_STEPS = 120
CLICKS = "clicks.json"
"""Beside a run's checkpoints: what of the log it learns from."""
EVALUATED = 20_000
"""Rows that metrics are computed of at most."""


def parser(program: str) -> argparse.ArgumentParser:
    """The command line."""
    found = common(argparse.ArgumentParser(prog=program, description="Trains the recommender."))
    found.add_argument("--example", action="store_true", help="make clicks and products up instead of reading folders")
    found.add_argument("--bfloat16", action="store_true", help="compute in bfloat16; variables stay float32")
    found.add_argument("--model-parallel", type=positive, default=1, help="devices of a host that share the tables; default: 1")
    return found


def common(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """What each way of training the towers takes."""
    parser.add_argument("--small", action="store_true", help="a small model, and with --example little data: some seconds on a processor")
    parser.add_argument("--steps", type=positive, help="steps; default: three times through the clicks, 120 at least (small: 120)")
    parser.add_argument(
        "--batch", type=positive, help="rows of a step over all devices; default 8192, fewer where the log is short (small: 512)"
    )
    parser.add_argument("--dimension", type=positive, help="numbers of a vector; default 128 (small: 32)")
    parser.add_argument("--learning-rate", type=float, help="default 0.005 (small: 0.02)")
    parser.add_argument(
        "--embeddings", help=f"folder that keeps what pictures are as numbers, over runs; default: {embeddings.PLACE} of WL_OUTPUT"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser


@dataclass(frozen=True, slots=True)
class Sizes:
    """What training does where nobody says otherwise."""

    batch: int
    """Rows of a step, over all devices."""
    steps: int
    dimension: int
    learning_rate: float

    @classmethod
    def of(cls, options: argparse.Namespace, clicks: int, parts: int) -> Sizes:
        """Of a log of so many clicks, and a batch that is cut into so many parts."""
        small = options.small
        batch = options.batch or (-(-512 // parts) * parts if small else batch_rows(clicks, parts))
        return cls(
            batch=batch,
            steps=options.steps or (LEAST_STEPS if small else max(LEAST_STEPS, 3 * clicks // batch)),
            dimension=options.dimension or (32 if small else 128),
            learning_rate=options.learning_rate or (0.02 if small else 0.005),
        )


@dataclass(frozen=True, slots=True)
class _Data:
    clicks: Clicks
    products: Products
    features: Any
    features_by: str
    train: Any
    """Rows that are learned from."""
    test: Any


def run(settings: TrainSettings, options: argparse.Namespace) -> int:
    """Trains, evaluates and writes. Answers the exit code."""
    begun = time.monotonic()
    _check(settings, options)
    with tempfile.TemporaryDirectory(prefix="accelform-data-") as place:
        data = read_data(settings, options, Folder(place))
    from workloads.recommender.loop import Trainer

    sizes = Sizes.of(options, int(data.clicks.clicked[data.train].sum()), _parts(options))
    trainer = Trainer(
        settings=settings,
        clicks=data.clicks,
        products=data.products,
        features=data.features,
        rows=data.train,
        batch=sizes.batch,
        steps=sizes.steps,
        dimension=sizes.dimension,
        learning_rate=sizes.learning_rate,
        bfloat16=options.bfloat16,
        model_parallel=options.model_parallel,
        seed=options.seed,
    )
    if not trainer.train():
        return RESTART_EXIT
    weights = trainer.weights()
    if trainer.first:
        _finish(settings, options, data, trainer, sizes, weights, begun)
    trainer.meet()
    return 0


def _parts(options: argparse.Namespace) -> int:
    """Parts that a batch is cut into: devices, but for those that share the tables."""
    import jax

    return int(jax.device_count()) // int(options.model_parallel)


def batch_rows(clicks: int, parts: int) -> int:
    """Rows of a step for a log of so many clicks: a power of two, filled up to a multiple of the parts."""
    fits = 1 << max(0, (clicks // BATCHES).bit_length() - 1)
    return -(-min(LARGEST_BATCH, max(SMALLEST_BATCH, fits)) // parts) * parts


def _check(settings: TrainSettings, options: argparse.Namespace) -> None:
    import jax

    here = jax.local_device_count()
    folders = () if options.example else ("clicks", "pictures")
    if here % options.model_parallel:
        found = [f"--model-parallel {options.model_parallel}: no divisor of the {here} devices of a host"]
    else:
        found = list(batch_problems(options.batch, _parts(options)))
    found += problems(options.learning_rate, options.seed, settings, folders, "name the folders, or make data up by --example")
    if found:
        raise InputError("\n".join(found))


def read_data(settings: TrainSettings, options: argparse.Namespace, place: Folder) -> _Data:
    if options.example:
        users, items, rows = (1500, 600, 40_000) if options.small else (8000, 2000, 400_000)
        write_example(place, users=users, items=items, rows=rows, seed=options.seed)
        folders = {name: place.child(name) for name in ("clicks", "pictures")}
    else:
        log = pinned(Folder(settings.data["clicks"]), settings, CLICKS)
        folders = {"clicks": log, "pictures": copied(Folder(settings.data["pictures"]), settings, embeddings.PRODUCTS)}
    products = read_products(folders["pictures"])
    clicks = read_clicks(folders["clicks"], products)
    cut = int(len(clicks) * (1 - HELD_OUT))
    train, test = np.arange(cut), np.arange(cut, len(clicks))[:EVALUATED]
    useful = int((clicks.clicked[train] & (clicks.item[train] > 0)).sum())
    if not useful or not len(test):
        raise InputError(f"{folders['clicks'].location}: {len(clicks)} rows, {useful} clicks on known products to learn from: too few")
    from workloads.recommender.pictures import features

    numbers, by = features(settings, options.embeddings, folders["pictures"], products)
    return _Data(clicks, products, numbers, by, train, test)


def _finish(
    settings: TrainSettings, options: argparse.Namespace, data: _Data, trainer: Any, sizes: Sizes, weights: Any, begun: float
) -> None:
    from workloads.recommender import export
    from workloads.recommender.serve import function_and_weights

    output = Folder(settings.output)
    found = min(FOUND, len(data.products.names) - 1)
    function, likelihoods, held = function_and_weights(trainer.architecture, weights, data.products, data.features, found)
    with tempfile.TemporaryDirectory(prefix="accelform-model-") as place:
        exported = export.write(
            Path(place),
            run_id=settings.run_id,
            function=function,
            weights=held,
            users=data.clicks.users,
            items=data.products.names,
            history=HISTORY,
            found=found,
        )
        metrics = evaluate(exported, likelihoods, held, data.clicks, data.products, data.train, data.test, found)
        output.child(ARTEFACT).upload(Path(place))
    told = {"batch": sizes.batch, "learning_rate": sizes.learning_rate, "dimension": sizes.dimension, "bfloat16": options.bfloat16}
    trainer.tell(metrics, told | {"pictures": data.features_by})
    clicks = data.clicks
    output.write_json(
        REPORT,
        {
            "workload": "train_recommender",
            "run_id": settings.run_id,
            "metrics": metrics,
            "data": {
                "example": options.example,
                "users": len(clicks.users) - 1,
                "items": len(data.products.names) - 1,
                "rows": len(clicks),
                "clicks": int(clicks.clicked.sum()),
                "purchases": int(clicks.purchased.sum()),
                "rows_of_unknown_items": int((clicks.item == 0).sum()),
            },
            "steps": trainer.steps,
            "seconds": round(time.monotonic() - begun, 2),
            "picture_features": data.features_by,
            "devices": trainer.devices(),
            "resumed_from": trainer.resumed_from,
            "checkpoints_skipped": trainer.checkpoints.skipped,
            "loss": trainer.curve,
        },
    )


def evaluate(
    exported: Any, likelihoods: Any, held: Any, clicks: Clicks, products: Products, train: Any, test: Any, found: int
) -> dict[str, float | None]:
    """Metrics of the exported model on rows that it did not learn from."""
    from workloads.recommender import metrics

    def answer(some: Clicks) -> Any:
        return exported.call(held, {"user": some.user, "history": some.history, "ad": some.ad})["item"]

    likely = likelihoods(held, {name: getattr(clicks, name)[test] for name in ("user", "item", "history", "ad")})
    return metrics.retrieval(answer, clicks, len(products.names), train, test, found) | {
        "click_auc": metrics.area(np.asarray(likely["click"]), clicks.clicked[test]),
        "purchase_auc": metrics.area(np.asarray(likely["purchase"]), clicks.purchased[test]),
    }
