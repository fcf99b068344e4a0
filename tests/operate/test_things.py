"""What is meant by a word: the name in the stack file, with its kind where there are several, or the name in the cloud."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import stack_kinds
from infra.errors import SpecError
from infra.operate.things import Thing, find, of

ENDPOINT = Thing("endpoints", "recommend", "endpoint", "projects/p/locations/r/endpoints/123456789", "shop")
MODEL = Thing("models", "recommend", "model", "projects/p/locations/r/models/shop-recommend", "shop")
SLICE = Thing("tpu_slices", "eval", "instance", "projects/p/zones/z/instances/shop-tpu-eval", "shop")
OTHER = Thing("tpu_slices", "eval", "instance", "projects/p/zones/z/instances/lab-tpu-eval", "lab")


@pytest.mark.parametrize("word", ["eval", "tpu_slices.eval", "shop-tpu-eval", "shop/tpu_slices.eval"])
def test_a_thing_has_three_names(word: str) -> None:
    assert find(word, [ENDPOINT, MODEL, SLICE], "logs") == SLICE


def test_of_several_each_is_said_with_its_kind() -> None:
    with pytest.raises(SpecError) as refused:
        find("recommend", [ENDPOINT, MODEL, SLICE], "logs")
    (problem,) = refused.value.problems
    assert problem.allowed == "endpoints.recommend, models.recommend"
    assert find("models.recommend", [ENDPOINT, MODEL], "logs") == MODEL


def test_of_several_stacks_each_is_said_with_its_stack() -> None:
    with pytest.raises(SpecError, match=r"shop/tpu_slices.eval, lab/tpu_slices.eval"):
        find("eval", [SLICE, OTHER], "logs")
    assert find("lab/tpu_slices.eval", [SLICE, OTHER], "logs") == OTHER


@pytest.mark.parametrize("word", ["recomend", "endpoint.recommend"])
def test_a_word_that_is_nearly_one_is_told_which(word: str) -> None:
    with pytest.raises(SpecError, match=r"is nothing that these stacks have\n  allowed: .*recommend"):
        find(word, [ENDPOINT, MODEL, SLICE], "logs")


@pytest.mark.parametrize("word", ["", " ", "x" * 5000, "東京", "a.b.c", "../..", "\x00", "-"])
def test_odd_words_are_sentences(word: str) -> None:
    with pytest.raises(SpecError):
        find(word, [ENDPOINT], "logs")


def test_a_file_without_things_says_so() -> None:
    with pytest.raises(SpecError, match="have none that could be looked at"):
        find("x", [], "logs")


def test_each_way_of_a_slice_is_what_it_is_in_the_cloud(
    stack_file: Callable[..., Path], base: dict[str, Any], a_slice: dict[str, Any]
) -> None:
    base["accelform:tpu_slices"] = {"eval": a_slice, "node": a_slice | {"way": "tpu-api"}}
    spec = stack_kinds.load(stack_file(base, "shop"))
    found = {one.path: (one.form, one.resource) for one in of(spec, "shop")}
    assert found["tpu_slices.eval"] == ("instance", "projects/tw-shop-ml/zones/us-east5-a/instances/shop-tpu-eval")
    assert found["tpu_slices.node"] == ("node", "projects/tw-shop-ml/locations/us-east5-a/nodes/shop-tpu-node")
    assert found["budgets.monthly"] == ("budget", "projects/tw-shop-ml/budgets/shop monthly")


@pytest.mark.parametrize(
    ("example", "wanted"),
    [
        ("gke", {"clusters", "node_pools", "budgets"}),
        ("foundation", {"state", "budgets"}),
        ("gke-apps", {"services"}),
        ("jobs", {"jobs", "runners", "budgets"}),
    ],
)
def test_every_kind_of_file_has_things(example: str, wanted: set[str]) -> None:
    path = Path(__file__).parents[2] / "docs" / "examples" / f"Pulumi.{example}.yaml"
    things = of(stack_kinds.load(path), example)
    assert wanted <= {one.kind for one in things}
    assert all(one.resource.startswith("projects/") for one in things)
    assert len({one.path for one in things}) == len(things)
