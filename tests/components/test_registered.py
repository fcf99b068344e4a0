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
NIGHTLY = JOB | {"registers": "recommender", "schedule": "0 2 * * *", "timezone": "Asia/Taipei"}
BEGINNING = SERVED | {"rollout": ROLLOUT | {"begin": "09:00"}}
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
        return registered.plan(
            "recommender",
            model,
            registered.image_of(model, spec.images),
            spec.endpoints,
            spec.placement("try"),
            spec.jobs["train"].timezone,
        )

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
        (
            {"endpoints": {"recommend": SERVED, "shelf": SERVED}},
            "endpoints.shelf.rollout",
            "recommend has one of recommender too: the alias would move",
        ),
        (
            {"endpoints": {"recommend": BEGINNING}},
            "endpoints.recommend.rollout.begin",
            "is in the time zone of job train, which has none",
        ),
        (
            {"endpoints": {"recommend": BEGINNING | {"model": "recommender@candidate"}}},
            "endpoints.recommend.rollout.begin",
            "does nothing: no job registers",
        ),
        (
            {"jobs": {"train": NIGHTLY}, "endpoints": {"recommend": SERVED | {"rollout": ROLLOUT | {"begin": 540}}}},
            "endpoints.recommend.rollout.begin",
            "is no time of day",
        ),
        (
            {"jobs": {"train": NIGHTLY}, "endpoints": {"recommend": SERVED | {"rollout": ROLLOUT | {"begin": "24:00"}}}},
            "endpoints.recommend.rollout.begin",
            "is no time of day",
        ),
        ({"jobs": {"train": NIGHTLY | {"args": ["a", "b\0c"]}}}, "jobs.train.args.1", "has a zero byte"),
        ({"jobs": {"train": NIGHTLY | {"env": {"A": "\0"}}}}, "jobs.train.env.A", "has a zero byte"),
        ({"jobs": {"train": NIGHTLY | {"env": {"A": 70_000 * "é"}}}}, "jobs.train.env.A", "is 140,000 bytes"),
        ({"models": {"recommender": MODEL | {"args": ["\0"]}}}, "models.recommender.args.0", "has a zero byte"),
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


def test_a_rollout_that_begins_at_a_time_of_day(plan: Callable[..., RegisterPlan]) -> None:
    """The runner knows the hour and whose it is, and has a day more for it."""
    found = plan(jobs={"train": NIGHTLY}, endpoints={"recommend": BEGINNING})
    assert (found.timezone, (found.rollouts[0].rollout or {})["begin"]) == ("Asia/Taipei", "09:00")
    assert registered.rollout_minutes(found) == 25 * 60 + 2 * 30 * 2 + 15


@pytest.mark.parametrize(
    ("job", "endpoint", "warned"),
    [
        (NIGHTLY, SERVED, True),
        (NIGHTLY, BEGINNING, False),
        (JOB | {"registers": "recommender"}, SERVED, False),
        (NIGHTLY, {"callers": [], "model": "recommender", "machine_type": "n1-standard-2"}, False),
    ],
)
def test_a_rollout_at_night_is_warned_of(load: Load, job: dict[str, Any], endpoint: dict[str, Any], warned: bool) -> None:
    """A job that a clock starts, and a rollout with guards that begins whenever the run ends."""
    spec = load(jobs={"train": job}, endpoints={"recommend": endpoint})
    found = list(registered.warnings(spec.endpoints, spec.models, spec.jobs))
    assert [(one.check, one.level, "100 requests a step" in one.message) for one in found] == (
        [("endpoints.recommend.rollout", "warning", True)] if warned else []
    )


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
