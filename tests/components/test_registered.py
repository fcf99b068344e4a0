"""Models that jobs register: what is refused beside the rest of the file, what the runner is told, and what waits for a first version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.components import registered
from infra.components.model import SERVERS
from infra.errors import SpecError
from infra.job_plan import RegisterPlan
from infra.stack import StackSpec
from workloads.serve import WORKLOADS

DIGEST = f"@sha256:{64 * '0'}"
IMAGES = {name: f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/{name}{DIGEST}" for name in ("runner", "train", "serve")}
JOB = {
    "workload": "train_recommender",
    "accelerator_type": "v6e-4",
    "zones": ["us-east5-a"],
    "provisioning": ["spot"],
    "max_run_minutes": 180,
    "data": {"clicks": "clicks/", "pictures": "pictures/"},
}
MODEL = {"workload": "serve_recommender", "accept_if": "recall_at_50 >= 0.98 * champion"}
ROLLOUT = {"traffic_percent": [10, 100], "hold_minutes": 30, "keep_warm_minutes": 15, "guards": {"p95_ms": 80, "error_rate": 0.01}}
SERVED = {"callers": [], "model": "recommender@champion", "machine_type": "n1-standard-2", "min_replicas": 2, "rollout": ROLLOUT}
WHERE = "projects/tw-shop-ml/locations/us-east5"

Load = Callable[..., StackSpec]


@pytest.fixture
def load(base: dict[str, Any], stack_file: Callable[..., Path]) -> Load:
    """A stack whose job trains what its endpoint serves, with other parts where they are given."""

    def load(**parts: Any) -> StackSpec:
        every: dict[str, Any] = {
            "images": IMAGES,
            "jobs": {"train": JOB | {"registers": "recommender"}},
            "models": {"recommender": MODEL},
            "endpoints": {"recommend": SERVED},
        }
        return StackSpec.load(stack_file(base | {f"accelform:{key}": value for key, value in (every | parts).items()}))

    return load


@pytest.fixture
def plan(load: Load) -> Callable[..., RegisterPlan]:
    def plan(**parts: Any) -> RegisterPlan:
        spec = load(**parts)
        model = spec.models["recommender"]
        return registered.plan("recommender", model, registered.image_of(model, spec.images), spec.endpoints, spec.placement("try"))

    return plan


@pytest.mark.parametrize(
    ("parts", "path", "said"),
    [
        ({"jobs": {"train": JOB}}, "models.recommender.accept_if", "does nothing: no job registers this model"),
        ({"models": {"recommender": MODEL | {"artifact": "none"}}}, "models.recommender.artifact", "is said, and job train registers each"),
        ({"models": {"recommender": MODEL | {"aliases": []}}}, "models.recommender.aliases", "gives one alias to each new version"),
        (
            {"models": {"recommender": MODEL | {"first_aliases": ["a1", "b1"]}}},
            "models.recommender.first_aliases",
            "gives one alias to the one",
        ),
        (
            {"images": {name: IMAGES[name] for name in ("runner", "train")}},
            "models.recommender.workload",
            "runs in the image serve, and images",
        ),
    ],
)
def test_what_is_refused(load: Load, parts: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(**parts)
    assert [(one.path, said in one.message) for one in refused.value.problems] == [(path, True)]
    assert refused.value.problems[0].fix or refused.value.problems[0].allowed


def test_the_runner_is_told_all_that_it_needs(plan: Callable[..., RegisterPlan]) -> None:
    found = plan()
    assert found.model == f"{WHERE}/models/try-recommender"
    assert (found.alias, found.accepted_alias, found.accept_if, found.keep_versions) == ("candidate", "champion", MODEL["accept_if"], None)
    assert found.container == {
        "imageUri": IMAGES["serve"],
        "ports": [{"containerPort": 8080}],
        "predictRoute": "/predict",
        "healthRoute": "/health",
        "command": ["python", "-m", "workloads.serve", "serve_recommender"],
    }
    assert found.labels["accelform-stack"] == "try"
    (rollout,) = found.rollouts
    assert (rollout.name, rollout.deployed_name, rollout.alias) == ("recommend", "champion", "champion")
    assert rollout.endpoint.startswith(f"{WHERE}/endpoints/")
    assert rollout.deployed == {"machineType": "n1-standard-2", "minReplicas": 2}
    assert rollout.rollout == ROLLOUT | {"guards": {"p95_ms": 80.0, "error_rate": 0.01, "requests": 100}}
    assert registered.rollout_minutes(found) == 2 * 30 * 2 + 15


@pytest.mark.parametrize(
    ("endpoint", "count"),
    [
        ({"callers": []}, 0),
        ({"callers": [], "model": "recommender", "machine_type": "n1-standard-2"}, 1),
        ({"callers": [], "model": "recommender@candidate", "machine_type": "n1-standard-2"}, 0),
        ({"callers": [], "model": "recommender@3", "machine_type": "n1-standard-2"}, 0),
        ({"callers": [], "model": f"{WHERE}/models/try-recommender@champion", "machine_type": "n1-standard-2"}, 0),
        ({"callers": [], "deployed_models": {"one": {"model": "recommender", "machine_type": "n1-standard-2"}}}, 1),
        (
            {
                "callers": [],
                "deployed_models": {
                    "one": {"model": "recommender", "machine_type": "n1-standard-2", "traffic": 50},
                    "two": {"model": "recommender@candidate", "machine_type": "n1-standard-2", "traffic": 50},
                },
            },
            0,
        ),
    ],
)
def test_only_who_serves_all_of_the_accepted_alias_gets_a_rollout(
    plan: Callable[..., RegisterPlan], endpoint: dict[str, Any], count: int
) -> None:
    found = plan(endpoints={"recommend": endpoint})
    assert [one.rollout for one in found.rollouts] == [None] * count
    assert registered.rollout_minutes(found) == 0


def test_what_a_job_brings_is_awaited(load: Load) -> None:
    """Only of models of this file that a job registers."""
    other = {"model": f"{WHERE}/models/m@champion", "machine_type": "n1-standard-2", "traffic": 0}
    mine = {"model": "recommender", "machine_type": "n1-standard-2", "traffic": 100}
    spec = load(endpoints={"recommend": {"callers": [], "deployed_models": {"mine": mine, "other": other}}})
    assert registered.awaited(spec.endpoints["recommend"], spec.registered) == {"mine": "job train"}
    assert registered.awaited(spec.endpoints["recommend"], {}) == {}


def test_the_workloads_that_serve_are_those_that_there_are() -> None:
    assert SERVERS.keys() == WORKLOADS.keys()
