"""Fine-tuning, as a container runs it: on models of a few thousand numbers, which learn what can be told at a glance."""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workloads.jobs import ROOT, Job, taken_away
from workloads.contract import RESTART_EXIT, InputError, TrainSettings
from workloads.files import Folder
from workloads.finetune import train

PRESETS = """
import sys
import keras, keras_hub
models, layers = keras_hub.models, keras_hub.layers
keras.utils.set_random_seed(0)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "tea", "cup"]
bert = models.BertBackbone(vocabulary_size=len(words), num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=16, max_sequence_length=8)
tokens = models.BertTextClassifierPreprocessor(models.BertTokenizer(words, lowercase=True), sequence_length=8)
models.BertTextClassifier(bert, 3, preprocessor=tokens).save_to_preset(sys.argv[1] + "/bert")
vit = models.ViTBackbone((8, 8, 3), patch_size=4, num_layers=1, num_heads=2, hidden_dim=16, mlp_dim=16)
squares = models.ViTImageClassifierPreprocessor(layers.ViTImageConverter(image_size=(8, 8), scale=1 / 127.5, offset=-1.0))
models.ViTImageClassifier(vit, 3, preprocessor=squares).save_to_preset(sys.argv[1] + "/vit")
"""
SAVED = """
import json, sys
import keras_hub
path, texts = sys.argv[1], json.loads(sys.argv[2])
print(json.dumps(keras_hub.models.TextClassifier.from_preset(path).predict(texts, verbose=0).argmax(axis=1).tolist()))
"""
TEXTS = [f"{word} tea {'cup ' * (number % 4)}{number}" for number in range(60) for word in ("good", "bad")]


def python(code: str, *arguments: str) -> str:
    """What a process of its own says: Keras takes its backend once."""
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin", "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    ended = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def presets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bert` and `vit`."""
    place = tmp_path_factory.mktemp("presets")
    python(PRESETS, str(place))
    return place


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first word is the label."""
    place = tmp_path_factory.mktemp("texts")
    Folder(str(place)).write("a.jsonl", "".join(json.dumps({"text": one, "label": one.split()[0]}) + "\n" for one in TEXTS).encode())
    return place


class FineTuning(Job):
    """One run of it."""

    def __init__(self, place: Path, compiled: Path, preset: Path, examples: Path, **more: Any) -> None:
        super().__init__(place, compiled, workload="finetune", **more)
        self.folders = {"WL_DATA_MODEL": str(preset), "WL_DATA_EXAMPLES": str(examples)}

    def _environment(self, host: int, hosts: int, port: int) -> dict[str, str]:
        return super()._environment(host, hosts, port) | self.folders


@pytest.mark.soak
def test_bert_learns_with_lora_through_a_notice(tmp_path: Path, compiled: Path, presets: Path, texts: Path) -> None:
    """
    On two devices: taken away and begun again, it says the same as one that nobody disturbed, and learned far more than the commonest label.

    What is saved is a whole preset that KerasHub reads and that answers from text to label.
    """
    arguments = ("--lora", "2", "--steps", "300", "--batch", "16", "--learning-rate", "0.02")
    one, other = (FineTuning(tmp_path / name, compiled, presets / "bert", texts, chips=2, save_every=200) for name in ("one", "other"))
    assert (ended := other.run(*arguments)).returncode == 0, ended.stderr

    (process,) = one.start(*arguments)
    ended = taken_away(process, 10)
    assert ended.returncode == RESTART_EXIT, ended.stderr
    assert (ended := one.run(*arguments)).returncode == 0, ended.stderr

    report = one.report
    assert len(report["resumed_from"]) == 1
    assert report["resumed_from"][0] >= 10
    assert report["loss"] == other.report["loss"]
    assert report["metrics"] == other.report["metrics"]
    assert report["metrics"]["accuracy"] >= 0.9
    assert report["metrics"]["majority_accuracy"] <= 0.7
    assert report["metrics"]["cross_entropy"] < 0.3
    assert report["data"]["classes"] == 2
    # Queries and values: factors of 16 inputs x 2 heads x rank 2 and of rank 2 x 8 of a head, and a bias of 16. The head: 16 x 2 + 2.
    assert report["model"]["trained_parameters"] == 2 * (64 + 16 + 16) + 34
    assert report["model"]["parameters"] > 5 * report["model"]["trained_parameters"]
    model = one.output / "model"
    assert json.loads((model / "classes.json").read_text()) == ["bad", "good"]
    assert json.loads(python(SAVED, str(model), json.dumps(["good tea", "bad cup tea"]))) == [1, 0]


@pytest.mark.soak
def test_vit_learns_all_its_weights(tmp_path: Path, compiled: Path, presets: Path) -> None:
    """Of pictures that are reddish or bluish."""
    from PIL import Image

    random = np.random.default_rng(0)
    folder = Folder(str(tmp_path / "pictures"))
    lines = ["picture,label"]
    for number in range(80):
        array = random.integers(0, 100, (10, 12, 3), np.uint8)
        array[:, :, 2 * (number % 2)] += 120
        file = io.BytesIO()
        Image.fromarray(array).save(file, "PNG")
        folder.write(f"{number}.png", file.getvalue())
        lines.append(f"{number}.png,{('red', 'blue')[number % 2]}")
    folder.write("labels.csv", "\n".join(lines).encode())
    job = FineTuning(tmp_path / "job", compiled, presets / "vit", Path(folder.location), chips=2)

    ended = job.run("--steps", "60", "--batch", "16", "--learning-rate", "0.01")

    assert ended.returncode == 0, ended.stderr
    assert job.report["metrics"]["accuracy"] >= 0.9
    assert job.report["metrics"]["majority_accuracy"] <= 0.75
    assert job.report["model"]["kind"] == "ViT"
    assert job.report["model"]["trained_parameters"] == job.report["model"]["parameters"]
    assert Folder(str(job.output)).child("model").checksums().keys() >= {"config.json", "model.weights.h5", "image_converter.json"}


@pytest.mark.soak
def test_refuses_what_keras_cannot_read(tmp_path: Path, compiled: Path, presets: Path, texts: Path) -> None:
    """Weights that are none: a sentence."""
    bad = Folder(str(tmp_path / "bad"))
    good = Folder(str(presets / "bert"))
    for name in good.names():
        bad.write(name, good.read(name))
    bad.write("model.weights.h5", b"nothing")

    ended = FineTuning(tmp_path / "job", compiled, Path(bad.location), texts).run("--steps", "2")

    assert ended.returncode == 2, ended.stderr
    assert "cannot be read as a preset of BERT" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_says_all_that_is_wrong_with_its_arguments() -> None:
    """Before anything is read."""
    options = train.parser("finetune").parse_args(["--learning-rate", "nan", "--seed", "-1"])

    with pytest.raises(InputError) as refused:
        train.run(TrainSettings("r", "out", "ck", "cpu", 1), options)

    for said in ("--learning-rate nan: between", "--seed -1", "WL_DATA_MODEL and WL_DATA_EXAMPLES missing"):
        assert said in str(refused.value)


def test_a_length_is_of_texts(tmp_path: Path) -> None:
    """A picture has none: refused before Keras is imported."""
    folder = Folder(str(tmp_path / "vit"))
    folder.write("config.json", json.dumps({"module": "keras_hub.src.models.vit", "class_name": "ViTBackbone"}).encode())
    for name in ("model.weights.h5", "image_converter.json"):
        folder.write(name, b"{}")
    options = train.parser("finetune").parse_args(["--length", "64"])

    with pytest.raises(InputError, match="is ViT, which reads no text"):
        train.run(TrainSettings("r", "out", "ck", "cpu", 1, data={"model": folder.location, "examples": "nowhere"}), options)


@pytest.mark.parametrize("arguments", [["--lora", "0"], ["--batch", "x"], ["--steps", "-1"], ["--epochs", "1.5"]])
def test_fails_for_odd_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """In argparse's way."""
    with pytest.raises(SystemExit):
        train.parser("finetune").parse_args(arguments)
    assert f"argument {arguments[0]}" in capsys.readouterr().err


def test_metrics_by_hand() -> None:
    """Three of four are right; the label that is learned most comes once in four."""
    logits = np.log(np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5], [0.1, 0.9]]))

    found = train.measured(logits, np.array([0, 1, 1, 1]), np.array([0, 0, 0, 1, 1]), 2)

    assert found["accuracy"] == 0.75
    assert found["majority_accuracy"] == 0.25
    assert found["cross_entropy"] == pytest.approx(-np.log([0.8, 0.6, 0.5, 0.9]).mean())
    assert isinstance(argparse.Namespace(**found).accuracy, float)
