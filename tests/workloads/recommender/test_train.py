"""The whole job, as a container runs it: it learns, and what it leaves can be served without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workloads.events import curves
from tests.workloads.jobs import Job
from workloads.arguments import batch_problems
from workloads.contract import InputError, TrainSettings
from workloads.files import FilesError, Folder
from workloads.recommender import train
from workloads.recommender.data import write_example
from workloads.recommender.train import batch_rows


@pytest.fixture(scope="module")
def model(trained: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artefact, fetched as a server does."""
    place = tmp_path_factory.mktemp("model")
    Folder(str(trained.output)).child("model").download(place)
    return place


def test_it_learns(trained: Job) -> None:
    """On eight devices: twice as good as what sells best, at finding and at ordering, and better than chance at clicks and purchases."""
    metrics = trained.report["metrics"]

    assert metrics["recall_at_50"] >= 2 * metrics["popularity_recall_at_50"]
    assert metrics["popularity_recall_at_50"] > metrics["random_recall_at_50"] == pytest.approx(50 / 600)
    assert metrics["recall_at_10"] >= 1.5 * metrics["popularity_recall_at_10"]
    assert 1.5 * metrics["popularity_ndcg_at_50"] <= metrics["ndcg_at_50"] < metrics["recall_at_50"]
    assert metrics["popularity_ndcg_at_50"] > metrics["random_ndcg_at_50"]
    assert metrics["click_auc"] > 0.6
    assert metrics["purchase_auc"] > 0.6


def test_it_reports_what_it_was(trained: Job) -> None:
    """Data, devices, what measured the pictures, and a curve that falls, which TensorBoard shows with all metrics."""
    report = trained.report

    assert report["data"]["rows"] == 40_000
    assert report["data"]["example"] is True
    assert report["devices"] == {"count": 8, "kind": "cpu", "platform": "cpu", "hosts": 1}
    assert report["picture_features"].startswith("plain: colours and edges, no vision model; 600 of 600")
    assert report["steps"] == 80
    assert [step for step, _ in report["loss"]] == list(range(10, 81, 10))
    told = curves(trained.output / "logs")
    assert told.pop("loss") == [(step, pytest.approx(loss)) for step, loss in report["loss"]]
    assert told == {name: [(80, pytest.approx(value))] for name, value in report["metrics"].items()}
    assert report["loss"][-1][1] < report["loss"][0][1]


def test_a_notice_costs_nothing_and_a_half_checkpoint_is_skipped(trained: Job) -> None:
    """The second try goes on from the last whole one, and learns again, number for number, what the first one had learned after it."""
    first, report = json.loads((trained.place / "first.json").read_text()), trained.report

    assert first["before"] == 24
    assert 40 <= first["half"] < 80
    assert report["resumed_from"] == [24]
    (skipped,) = report["checkpoints_skipped"]
    assert skipped.endswith(f"checkpoints/{first['half']} has no checksums.json: it is not whole, or not there")
    assert [step for step, _ in first["loss"]] == list(range(10, first["half"] + 1, 10))
    assert report["loss"][: len(first["loss"])] == first["loss"]


def call(model: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    """Answers as a server gets them: with jax and safetensors alone."""
    import safetensors.numpy
    from jax import export

    signature = json.loads((model / "signature.json").read_text(encoding="utf-8"))
    exported = export.deserialize(bytearray((model / signature["files"]["function"]).read_bytes()))
    assert exported.platforms == ("cpu", "cuda", "tpu")
    weights = safetensors.numpy.load_file(model / signature["files"]["weights"])
    return {name: np.asarray(array) for name, array in exported.call(weights, inputs).items()}


def test_the_artefact_answers_as_its_example_says(model: Path) -> None:
    """The signature's own example, for any number of instances, and alike whatever stands beside them."""
    signature = json.loads((model / "signature.json").read_text(encoding="utf-8"))
    items = json.loads((model / "items.json").read_text(encoding="utf-8"))
    users = json.loads((model / "users.json").read_text(encoding="utf-8"))
    example = signature["example"]
    for copies in (1, 3):
        instances = example["instances"] * copies
        history = np.zeros((len(instances), 8), np.int32)
        for place, instance in enumerate(instances):
            history[place, : len(instance["history"])] = [items.index(name) for name in instance["history"]]
        user = np.array([users.index(instance["user"]) for instance in instances], np.int32)
        answer = call(model, {"user": user, "history": history, "ad": np.array([instance["ad"] for instance in instances], np.int32)})
        assert [output["name"] for output in signature["outputs"]] == ["item", "score", "click", "purchase"]
        for place, prediction in enumerate(example["predictions"] * copies):
            assert [items[row] for row in answer["item"][place]] == prediction["item"]
            for name in ("score", "click", "purchase"):
                np.testing.assert_allclose(answer[name][place], prediction[name], atol=1e-3)
        assert (answer["item"] > 0).all()
        assert (answer["purchase"] <= answer["click"]).all()
        assert (np.diff(answer["score"], axis=1) <= 0).all()


def test_a_damaged_artefact_is_refused(trained: Job, tmp_path: Path) -> None:
    """One bit of the weights."""
    model = Folder(str(trained.output)).child("model")
    weights = model.read("weights.safetensors")
    other = Folder(str(tmp_path / "other"))
    for name in model.names():
        other.write(name, model.read(name))
    other.write("weights.safetensors", weights[:-1] + bytes([weights[-1] ^ 1]))

    with pytest.raises(FilesError, match=r"weights\.safetensors is not what its checksum says"):
        other.download(tmp_path / "fetched")


def test_says_all_that_is_wrong_with_its_arguments() -> None:
    """Before anything is read."""
    options = train.parser("train_recommender").parse_args(["--learning-rate", "7", "--seed", "-1"])

    with pytest.raises(InputError) as refused:
        train.run(TrainSettings("r", "out", "ck", "cpu", 1), options)

    for said in ("--learning-rate 7.0", "--seed -1", "WL_DATA_CLICKS and WL_DATA_PICTURES missing"):
        assert said in str(refused.value)
    assert list(batch_problems(30, 4)) == ["--batch 30: no multiple of 4, the parts that a batch is cut into"]


@pytest.mark.soak
def test_shared_tables_and_bfloat16_learn_the_same(tmp_path: Path, compiled: Path) -> None:
    """
    Two devices that share the tables compute what each would alone; bfloat16 does nearly.

    `.venv/bin/python -m pytest -n 0 -m soak tests/workloads/recommender/test_train.py`
    """
    write_example(Folder(str(tmp_path)), users=60, items=60, rows=2000, pictures=False)
    ways = {"plain": (), "shared": ("--model-parallel", "2"), "short": ("--bfloat16",)}
    curves = {}
    for way, more in ways.items():
        job = Job(tmp_path / way, compiled, chips=4, data=tmp_path)
        ended = job.run("--small", "--steps", "20", "--batch", "32", "--dimension", "8", *more)
        assert ended.returncode == 0, ended.stderr
        curves[way] = [loss for _, loss in job.report["loss"]]

    np.testing.assert_allclose(curves["shared"], curves["plain"], rtol=1e-5)
    np.testing.assert_allclose(curves["short"], curves["plain"], rtol=0.02)
    assert curves["short"] != curves["plain"]


@pytest.mark.parametrize(
    ("clicks", "parts", "rows"), [(0, 4, 256), (7000, 4, 256), (8192, 4, 512), (100_000, 4, 4096), (10**9, 4, 8192), (7000, 24, 264)]
)
def test_a_short_log_is_learned_in_small_steps(clicks: int, parts: int, rows: int) -> None:
    """A log of a night has few clicks: in batches of 8192 a model would take a step or two. Every device has its part."""
    assert batch_rows(clicks, parts) == rows
