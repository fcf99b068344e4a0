"""
Fine-tunes BERT on texts or ViT on pictures: `python -m workloads.entry finetune`.

It reads the folders `WL_DATA_MODEL` (`workloads/finetune/presets.py` says what is in it) and `WL_DATA_EXAMPLES`
(`workloads/finetune/examples.py`); which of the two it is, the model says. It leaves in `WL_OUTPUT`:

    model/       a preset of KerasHub again, a whole classifier that `from_preset` reads, with LoRA's factors added into the weights;
                 `classes.json` beside them is the list of labels by number, and `checksums.json` says that it is whole
    report.json  {"workload": "finetune", "run_id": "...", "metrics": {"accuracy": 0.93, "majority_accuracy": 0.51, "cross_entropy": 0.2},
                  "model": {"kind": "BERT", "fingerprint": "...", "lora": 8, "trained_parameters": N, "parameters": N}, "data": {...},
                  "steps": 300, "seconds": 9.1, "devices": {...}, "resumed_from": [200], "loss": [[10, 0.6], ...]}

All metrics are of the examples that are held out, and of the classifier as it is read back from its files. `majority_accuracy` is of who
always says the label that comes most often in what is learned from.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from workloads.arguments import batch_problems, positive, problems
from workloads.contract import ARTEFACT, REPORT, RESTART_EXIT, InputError, TrainSettings
from workloads.files import Folder
from workloads.finetune.examples import Examples, read_examples, read_pictures
from workloads.finetune.presets import Preset, classifier, fetch, read_back, scaling, tokens

CLASSES = "classes.json"
RATE, LORA_RATE = 5e-5, 4e-4
"""Of those that the authors tried, the one that they used most: for BERT arXiv 1810.04805, appendix A.3; with LoRA arXiv 2106.09685,
table 9 (RoBERTa base)."""


def parser(program: str) -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog=program, description="Fine-tunes BERT on texts or ViT on pictures.")
    found.add_argument("--lora", type=positive, default=0, help="rank of LoRA, such as 8; default: all weights are trained")
    found.add_argument("--epochs", type=positive, default=3, help="times through the examples; default 3")
    found.add_argument("--steps", type=positive, help="steps, in place of --epochs")
    found.add_argument("--batch", type=positive, help="examples of a step over all devices; default 32, filled up to their number")
    found.add_argument("--learning-rate", type=float, help=f"default {RATE}, with --lora {LORA_RATE}")
    found.add_argument("--length", type=positive, help="tokens of a text; default 128, fewer where the model takes fewer")
    found.add_argument("--bfloat16", action="store_true", help="compute in bfloat16; variables stay float32")
    found.add_argument("--seed", type=int, default=0)
    return found


def run(settings: TrainSettings, options: argparse.Namespace) -> int:
    """Trains, evaluates and writes. Answers the exit code."""
    begun = time.monotonic()
    _check(settings, options)
    with tempfile.TemporaryDirectory(prefix="accelform-preset-") as place:
        preset = fetch(Folder(settings.data["model"]), Path(place))
        if options.length and preset.kind.column != "text":
            raise InputError(f"--length {options.length}: {preset.location} is {preset.kind.name}, which reads no text")
        folder = Folder(settings.data["examples"])
        examples = read_examples(folder, preset.kind.column)
        return _train(settings, options, preset, folder, examples, begun)


def _check(settings: TrainSettings, options: argparse.Namespace) -> None:
    import jax

    devices = jax.device_count()
    fix = "name the folder of a trained model, and that of the examples"
    found = [
        *batch_problems(options.batch, devices),
        *problems(options.learning_rate, options.seed, settings, ("model", "examples"), fix),
    ]
    if found:
        raise InputError("\n".join(found))


def _train(settings: TrainSettings, options: argparse.Namespace, preset: Preset, folder: Folder, examples: Examples, begun: float) -> int:
    import jax
    import keras

    from workloads.finetune.loop import Batches, FineTuner
    from workloads.training import prepare

    devices = jax.device_count()
    batch = options.batch or -(-32 // devices) * devices
    steps = options.steps or max(1, options.epochs * len(examples.train) // batch)
    rate = options.learning_rate or (LORA_RATE if options.lora else RATE)
    distribution = keras.distribution.DataParallel(auto_shard_dataset=False)
    prepare(distribution, bfloat16=options.bfloat16, seed=options.seed)
    made = {"classes": len(examples.classes), "length": options.length, "lora": options.lora}
    model = classifier(preset, dtype="mixed_bfloat16" if options.bfloat16 else "float32", **made)
    inputs = _inputs(model, preset, folder, examples)
    scale = scaling(model) if "images" in inputs else (1.0, 0.0)
    tuner = FineTuner(
        settings=settings,
        model=model,
        distribution=distribution,
        batches=Batches(
            inputs,
            examples.labels,
            examples.train,
            batch,
            steps,
            options.seed,
            scale,
            index=jax.process_index(),
            count=jax.process_count(),
        ),
        learning_rate=rate,
        identity={"model": preset.fingerprint, "classes": list(examples.classes), "lora": options.lora},
    )
    if not tuner.train():
        return RESTART_EXIT
    weights = tuner.weights()
    if tuner.first:
        # From here on this host is alone, and its variables lie on its first device.
        keras.distribution.set_distribution(None)
        whole = classifier(preset, dtype="float32", **made)
        for variable, value in zip(whole.variables, weights, strict=True):
            variable.assign(value)
        metrics = _save(settings, whole, preset, examples, inputs, scale, batch)
        tuner.tell(metrics, {"batch": batch, "learning_rate": rate, "lora": options.lora, "bfloat16": options.bfloat16})
        _report(settings, options, preset, examples, tuner, metrics, begun)
    tuner.meet()
    return 0


def _inputs(model: Any, preset: Preset, folder: Folder, examples: Examples) -> dict[str, Any]:
    if preset.kind.column == "text":
        return tokens(model, examples.inputs)
    return {"images": read_pictures(folder, examples.inputs, model.backbone.image_shape[0])}


def _save(
    settings: TrainSettings, model: Any, preset: Preset, examples: Examples, inputs: dict[str, Any], scale: tuple[Any, Any], batch: int
) -> dict[str, float]:
    """Writes the classifier, and answers the metrics of what was written."""
    from workloads.finetune.loop import logits

    with tempfile.TemporaryDirectory(prefix="accelform-model-") as place:
        model.save_to_preset(place)
        (Path(place) / CLASSES).write_text(json.dumps(list(examples.classes)) + "\n", encoding="utf-8")
        saved = read_back(Preset(place, Path(place), preset.kind, ""))
        said = logits(saved, inputs, examples.test, scale, batch)
        Folder(settings.output).child(ARTEFACT).upload(Path(place))
    return measured(said, examples.labels[examples.test], examples.labels[examples.train], len(examples.classes))


def measured(logits: Any, labels: Any, learned: Any, classes: int) -> dict[str, float]:
    """Metrics of what a model says to examples with these *labels*; *learned* are those that it learned from."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=1, keepdims=True)
    likely = wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))
    majority = int(np.bincount(learned, minlength=classes).argmax())
    return {
        "accuracy": float((wide.argmax(axis=1) == labels).mean()),
        "majority_accuracy": float((labels == majority).mean()),
        "cross_entropy": float(-likely[np.arange(len(labels)), labels].mean()),
    }


def _report(
    settings: TrainSettings,
    options: argparse.Namespace,
    preset: Preset,
    examples: Examples,
    tuner: Any,
    metrics: dict[str, float],
    begun: float,
) -> None:
    trained, kept = (
        sum(int(np.prod(one.shape)) for one in group) for group in (tuner.model.trainable_weights, tuner.model.non_trainable_weights)
    )
    Folder(settings.output).write_json(
        REPORT,
        {
            "workload": "finetune",
            "run_id": settings.run_id,
            "metrics": metrics,
            "model": {
                "kind": preset.kind.name,
                "fingerprint": preset.fingerprint,
                "lora": options.lora,
                "trained_parameters": trained,
                "parameters": trained + kept,
            },
            "data": {
                "examples": len(examples.inputs),
                "held_out": len(examples.test),
                "classes": len(examples.classes),
            },
            "steps": tuner.steps,
            "seconds": round(time.monotonic() - begun, 2),
            "devices": tuner.devices(),
            "resumed_from": tuner.resumed_from,
            "checkpoints_skipped": tuner.checkpoints.skipped,
            "loss": tuner.curve,
        },
    )
