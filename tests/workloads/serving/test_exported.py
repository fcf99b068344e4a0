"""A model that training exported, answered without its own code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workloads import recommender_model
from workloads.serving.engine import ArtefactError, InstanceError, ParametersError
from workloads.serving.exported import SIZES, Exported, _Input, load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recommender_model.write(tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Exported:
    found = load(folder)
    found.warm()
    return found


def items(answers: list[Any]) -> list[list[str]]:
    return [answer["item"] for answer in answers]


def test_names_go_in_and_come_out(model: Exported) -> None:
    """Ann likes shoes and Bob kettles; their scores are the products of the vectors, told by hand."""
    ann, bob = model.predict([{"user": "ann"}, {"user": "bob", "history": ["cup"]}], {})

    assert ann["item"] == ["shoe", "sock", "kettle", "cup"]
    assert ann["score"] == pytest.approx([1.0, 0.9, 0.2, 0.18])
    assert bob["item"] == ["kettle", "cup", "spoon", "shoe"]
    assert bob["score"] == pytest.approx([1.09, 0.981, 0.872, 0.2])
    assert bob["purchase"] == pytest.approx([click * 0.1 for click in bob["click"]])
    assert model.version == "20261201T180000Z"


def test_somebody_new_is_served(model: Exported) -> None:
    """Names that training never saw count as nobody and nothing; a click on something known is worth what it says."""
    answers = model.predict([{"user": "zoe", "history": ["hat", "cup"]}, {}, {"user": "zoe", "history": ["cup"]}], {})

    assert answers[0] == answers[1]
    assert items(answers)[2][0] == "shoe"
    assert answers[2]["score"] == pytest.approx([0.1, 0.09, 0.09, 0.081])  # type: ignore[index]


def test_each_instance_alone_has_the_same_answer(model: Exported) -> None:
    """However many come together, more than are computed at once too: what is filled up is cut off again."""
    asked: list[object] = [
        {"user": name, "history": [item], "ad": ad} for name in ("", "ann", "bob") for item in recommender_model.ITEMS for ad in (0, 1)
    ]
    many = (asked * 4)[: 2 * SIZES[-1] + 3]
    together = model.predict(many, {})

    assert len(together) == 2 * SIZES[-1] + 3
    for instance, answer in zip(asked, together, strict=False):
        (alone,) = model.predict([instance], {})
        assert alone["item"] == answer["item"]  # type: ignore[index]
        assert alone["score"] == pytest.approx(answer["score"])  # type: ignore[index]


def test_the_first_few(model: Exported) -> None:
    """`k` cuts every list of an answer."""
    (whole,) = model.predict([{"user": "ann"}], {})
    (cut,) = model.predict([{"user": "ann"}], {"k": 2})

    assert cut == {name: values[:2] for name, values in whole.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize("parameters", [{"k": 0}, {"k": 5}, {"k": True}, {"k": "2"}, {"k": 2.0}, {"n": 1}, {"k": 10**400}, {"\ud800": 1}])
def test_fails_for_parameters_it_does_not_know(model: Exported, parameters: dict[str, object]) -> None:
    """It says what is wanted, in a sentence that can be sent."""
    with pytest.raises(ParametersError) as raised:
        model.predict([{"user": "ann"}], parameters)
    assert len(str(raised.value).encode()) < 200


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e39])
def test_a_number_that_no_float_holds_is_of_that_instance(value: float) -> None:
    """JSON has whole numbers of any length."""
    price = _Input("price", np.dtype(np.float32), None, None, None)
    with pytest.raises(InstanceError, match="price is too large"):
        price.numbers({"price": value})
    assert price.numbers({"price": 10**38}) == 10**38


@pytest.mark.parametrize(
    ("instance", "says"),
    [
        ("ann", "it is no object with ad, history, user"),
        (None, "it is no object"),
        ({"usr": "ann"}, '"usr": not known; ad, history, user are'),
        ({"user": 3}, "user is no text: 3"),
        ({"user": ["ann"]}, "user is no text"),
        ({"user": None}, "user is missing"),
        ({"history": "cup"}, "history is no list"),
        ({"history": ["cup", 3]}, "history is no text: 3"),
        ({"ad": "1"}, 'ad is no whole number: "1"'),
        ({"ad": 0.5}, "ad is no whole number: 0.5"),
        ({"ad": 2**31}, "ad is too large"),
        ({"ad": 10**400}, "ad is too large"),
        ({"\ud800": 1}, "not known"),
        ({"ad": float("inf")}, "ad is no whole number: Infinity"),
        ({"user": reduce(lambda inner, _: [inner], range(2000), [])}, "user is no text: something nested too deeply"),
    ],
)
def test_fails_for_one_instance_alone(model: Exported, instance: object, says: str) -> None:
    """A wrong one has a sentence in its place; those beside it are answered."""
    before, wrong, after = model.predict([{"user": "ann"}, instance, {"user": "ann"}], {})

    assert before == after
    assert isinstance(wrong, InstanceError)
    assert says in str(wrong)
    assert len(str(wrong).encode()) < 200


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        signature = json.loads((folder / "signature.json").read_text())
        change(signature)
        (folder / "signature.json").write_text(json.dumps(signature))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "signature.json").unlink(), "there is no signature.json"),
        (lambda folder: (folder / "signature.json").write_text("{"), "signature.json is no JSON"),
        (lambda folder: (folder / "signature.json").write_text("[]"), "it is of format null, and this program reads accelform-model/1"),
        (edited(lambda said: said.update(format="accelform-model/2")), 'it is of format "accelform-model/2"'),
        (edited(lambda said: said.pop("inputs")), "not what its signature says"),
        (edited(lambda said: said["inputs"][0].update(dtype="text")), "not what its signature says"),
        (lambda folder: (folder / "function.jaxexport").write_bytes(b"nothing"), "not what its signature says .exported by jax"),
        (lambda folder: (folder / "weights.safetensors").write_bytes(b"nothing"), "not what its signature says"),
        (lambda folder: (folder / "items.json").unlink(), "not what its signature says"),
        (edited(lambda said: said.update(run_id="run\n1")), "cannot be said in a header"),
    ],
)
def test_fails_for_what_is_no_such_model(folder: Path, tmp_path: Path, spoil: Callable[[Path], object], says: str) -> None:
    """Whatever is wrong with the files, it is told in a sentence."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    spoil(copy)

    with pytest.raises(ArtefactError, match=says):
        load(copy)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda example: example["predictions"][0]["score"].__setitem__(1, 0.95), r"instance 0: score\[1\] is 1 instead of 0.95|score"),
        (lambda example: example["predictions"][1].pop("click"), "instance 1: it says click, item, purchase, score instead of"),
        (lambda example: example["predictions"][1]["item"].pop(), "instance 1: 4 of item instead of 3"),
        (lambda example: example["predictions"][0]["item"].reverse(), "instance 0: 4 of 4 of item are others|of item are others"),
        (lambda example: example["instances"][0].update(ad="yes"), "it refuses instance 0 of its own example"),
        (lambda example: example.pop("predictions"), "its example is none of it: KeyError"),
        (lambda example: example["predictions"].pop(), "its example is none of it: ValueError"),
        (lambda example: example.update(instances=3), "its example is none of it: TypeError"),
        (lambda example: example["predictions"][0].update(score=["x", 1, 2, 3]), "its example is none of it: TypeError|score"),
    ],
)
def test_fails_for_another_answer_than_in_training(folder: Path, tmp_path: Path, change: Callable[[Any], object], says: str) -> None:
    """A model that does not answer its own example as it did in training is not served."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    edited(lambda said: change(said["example"]))(copy)

    with pytest.raises(ArtefactError, match=says):
        load(copy).warm()
