"""What an endpoint's part of a stack file may say, and what is refused: with place, allowed and fix, all at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from infra.catalog import deployed_model
from infra.components import deployed_models
from infra.errors import SpecError
from infra.provider import schema
from infra.stack import StackSpec

IMAGE = f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:{64 * '0'}"
MODEL = {"image": IMAGE, "port": 8080, "predict_route": "/predict", "health_route": "/health"}
ONE = {"model": "recommender@champion", "machine_type": "n1-standard-2"}

Refuse = Callable[[dict[str, Any]], list[str]]


@pytest.fixture
def refuse(base: dict[str, Any], stack_file: Callable[..., Path]) -> Refuse:
    """What is wrong with one endpoint: `path: message (allowed) (fix)`."""

    def refuse(endpoint: dict[str, Any]) -> list[str]:
        config = base | {"accelform:models": {"recommender": MODEL}, "accelform:endpoints": {"recommend": {"callers": [], **endpoint}}}
        try:
            StackSpec.load(stack_file(config))
        except SpecError as error:
            return [f"{one.path.removeprefix('endpoints.recommend.')}: {one.message} ({one.allowed}) ({one.fix})" for one in error.problems]
        return []

    return refuse


@pytest.mark.parametrize(
    "endpoint",
    [
        {},
        {"model": "recommender", "machine_type": "n1-standard-2"},
        {"model": "recommender@7", "machine_type": "n1-highmem-4", "min_replicas": 2},
        {"deployed_models": {"only": ONE}},
        {"deployed_models": {"a": ONE | {"traffic": 100}, "b": ONE | {"traffic": 0}}},
        {"model": "projects/p/locations/us-east5/models/m@champion", "machine_type": "n1-standard-2"},
    ],
)
def test_what_is_well(refuse: Refuse, endpoint: dict[str, Any]) -> None:
    assert refuse(endpoint) == []


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        ({"model": "recommender"}, "machine_type: is missing"),
        ({"model": "recomender", "machine_type": "n1-standard-2"}, "model: recomender is no key of models (recommender)"),
        ({"deployed_models": {"a": ONE | {"model": "other@x"}}}, "deployed_models.a.model: other is no key of models (recommender)"),
        ({"model": "Recommender", "machine_type": "n1-standard-2"}, 'model: "Recommender" names no model'),
        ({"model": 3, "machine_type": "n1-standard-2"}, "model: 3 names no model, as text"),
        (
            {"model": "projects/p/locations/us-west1/models/m@champion", "machine_type": "n1-standard-2"},
            'model: "projects/p/locations/us-west1/models/m@champion" stands in another region (a model in us-east5) (copy the model',
        ),
        ({"model": "recommender", "machine_type": "g2-standard-8"}, "accelerator_type: Vertex AI has no g2-standard-8 with no accelerator"),
        (
            {"model": "recommender", "machine_type": "a3-highgpu-8"},
            "machine_type: Vertex AI has no a3-highgpu-8 with accelerators (a3-highgpu",
        ),
        (
            {"model": "recommender", "machine_type": "g2-standard-8", "accelerator_type": "NVIDIA_L4", "accelerator_count": 2},
            "accelerator_count: Vertex AI has no g2-standard-8 with 2 of its accelerators (1)",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-4", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1},
            "machine_type: Vertex AI serves with no n1-standard-4 of these accelerators in us-east5",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-2", "min_replicas": 0},
            "min_replicas: 0 is too few (1 and more; 0 with scale_to_zero)",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-2", "min_replicas": 3, "max_replicas": 2},
            "max_replicas: 2 is less than min_replicas",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-2", "metrics": {"duty_cycle": 60}},
            "metrics.duty_cycle: the machine has no accelerator",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-2", "metrics": {"cpu_utilization": 101}},
            "metrics.cpu_utilization: 101 is no target",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-2", "spot": True, "reservation": "any"},
            "reservation: spot machines use no",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-2", "accelerator_count": 1},
            "accelerator_type: is missing: accelerator_count is 1",
        ),
        (
            {"model": "recommender", "machine_type": "n1-standard-2", "deployed_models": {"a": ONE}},
            "model: is said besides deployed_models",
        ),
        ({"machine_type": "n1-standard-2"}, "machine_type: does nothing: no model is served"),
        ({"machine_type": "n1-standard-2", "deployed_models": {"a": ONE}}, "machine_type: is of a deployed model"),
        ({"deployed_models": {"a": ONE, "b": ONE}}, "deployed_models.a.traffic: is missing"),
        ({"deployed_models": {"a": ONE | {"traffic": 90}, "b": ONE | {"traffic": 9}}}, "deployed_models: traffic makes 99 percent"),
        ({"deployed_models": {"a": ONE | {"traffic": 90}}}, "deployed_models: traffic makes 90 percent (100 together)"),
        ({"deployed_models": {"a": ONE | {"traffic": 90.5}}}, "deployed_models.a.traffic: "),
        ({"deployed_models": {"a": {"model": "recommender@champion"}}}, "deployed_models.a.machine_type: is missing"),
        ({"deployed_models": {"A": ONE}}, "deployed_models.A: "),
        ({"model": "recommender", "machine_type": "n1-standard-2", "update": "rolling"}, "update: "),
        ({"model": "recommender", "machine_type": "n1-standard-2", "foreign": "adopt"}, "foreign: "),
        ({"model": "recommender", "machine_type": ""}, "machine_type: "),
    ],
)
def test_what_is_refused(refuse: Refuse, endpoint: dict[str, Any], said: str) -> None:
    found = refuse(endpoint)
    assert any(one.startswith(said) for one in found), found


def test_all_at_once(refuse: Refuse) -> None:
    found = refuse({"deployed_models": {"a": ONE | {"max_replicas": 3, "min_replicas": 5, "accelerator_count": 1, "traffic": 50}}})
    assert [one.partition(":")[0] for one in found] == ["deployed_models.a.max_replicas", "deployed_models.a.accelerator_type"]


def test_words_are_those_of_the_catalogue_and_the_schema() -> None:
    """Each metric that the catalogue has is in the file in short, and each setting of the provider can be written."""
    assert set(deployed_models.METRICS.values()) == set(deployed_model.METRICS)
    assert tuple(deployed_models.METRICS) == get_args(deployed_models.Metric)
    everything = deployed_models.DeployedModelSpec.model_fields.keys()
    settings = schema.package()["types"]["accelform:vertex:DeployedModel"]["properties"]
    assert len(settings) == len(everything), (sorted(settings), sorted(everything))
