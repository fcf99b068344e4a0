"""What is meant by a word: the name in the stack file, with its kind where there are several, or the name in the cloud."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from infra import stack_kinds
from infra.cli import explain
from infra.cli.needs import needs
from infra.errors import SpecError
from infra.gitops.evacuated_file import Move, region_file
from infra.operate import status
from infra.operate.things import Thing, find, of
from infra.stack import StackSpec

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


OTHERS = "projects/tw-shop-ml/zones/us-east5-a"
EXISTING: dict[str, Any] = {
    "accelform:tpu_slices": {
        "one": {"existing": f"{OTHERS}/instances/trainer"},
        "several": {"existing": f"{OTHERS}/instanceGroupManagers/trainers"},
        "node": {"existing": "projects/tw-shop-ml/locations/us-east5-a/nodes/trainer"},
    },
    "accelform:gpu_vms": {"box": {"existing": f"{OTHERS}/instances/box"}},
    "accelform:endpoints": {"rec": {"existing": "projects/tw-shop-ml/locations/us-east5/endpoints/123456789", "callers": []}},
}


def test_what_others_own_is_looked_at_by_its_own_name(stack_file: Callable[..., Path], base: dict[str, Any]) -> None:
    """Its full name says what it is; how it was described, nobody here knows."""
    spec = stack_kinds.load(stack_file(base | EXISTING, "shop"))
    found = {one.path: (one.form, one.resource) for one in of(spec, "shop")}
    assert found["tpu_slices.one"] == ("instance", f"{OTHERS}/instances/trainer")
    assert found["tpu_slices.several"] == ("group", f"{OTHERS}/instanceGroupManagers/trainers")
    assert found["tpu_slices.node"] == ("node", "projects/tw-shop-ml/locations/us-east5-a/nodes/trainer")
    assert found["gpu_vms.box"] == ("instance", f"{OTHERS}/instances/box")
    assert found["endpoints.rec"] == ("endpoint", "projects/tw-shop-ml/locations/us-east5/endpoints/123456789")


@pytest.mark.parametrize("network", [{}, {"existing": "projects/host/regions/us-east5/subnetworks/ml"}])
def test_nobody_asks_what_others_things_are_made_of(
    network: dict[str, Any], stack_file: Callable[..., Path], base: dict[str, Any], a_slice: dict[str, Any]
) -> None:
    """Beside one of the stack's own, so that all that is asked of slices is asked: status, doctor, evacuate, explain."""
    slices = EXISTING["accelform:tpu_slices"] | {"own": a_slice}
    path = stack_file(base | EXISTING | {"accelform:tpu_slices": slices, "accelform:network": network}, "shop")
    spec = stack_kinds.load(path)
    assert isinstance(spec, StackSpec)
    looks = status._looks(cast(Any, None), spec, "shop", 0.0)
    assert {f"tpu_slices.{name}" for name in slices} <= looks.keys()
    assert "queue" not in looks  # it is of the Cloud TPU API, and no slice of the stack's own is
    assert (needs(spec, "shop").shared is not None) == bool(network)
    move = Move(spec.project, "shop", "there", spec.region, "us-central1")
    written = region_file(path.read_text(encoding="utf-8"), spec, move, [], {})
    assert {one.path for one in (*written.changes, *written.undecided) if one.path.startswith(("tpu_", "gpu_"))} == {"tpu_slices.own.zone"}
    rows = explain._stack(["shop"], path.parent)[2]
    assert {"tpu_slices.one.existing", "gpu_vms.box.existing"} <= {row[1] for row in rows}
