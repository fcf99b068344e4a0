"""`accelform rollout` and its kin refuse in words, before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

SERVED = {
    "callers": [],
    "model": "projects/p/locations/us-east5/models/m@champion",
    "machine_type": "n1-standard-2",
    "rollout": {"traffic_percent": [10, 100], "hold_minutes": 60, "guards": {"p95_ms": 80}},
}
STACK = {
    "gcp:project": "tw-shop-ml",
    "accelform:schema": 1,
    "accelform:region": "us-east5",
    "accelform:environment": "dev",
    "accelform:owner": "ml-team",
    "accelform:budgets": {"monthly": {"amount": "350 USD"}},
    "accelform:models": {
        "recommender": {
            "image": f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:{'0' * 64}",
            "port": 8080,
            "predict_route": "/predict",
            "health_route": "/health",
        }
    },
    "accelform:endpoints": {
        "moving": {"callers": [], "model": "recommender@candidate", "machine_type": "n1-standard-2"},
        "bare": {"callers": []},
        "recommend": SERVED,
        "inside": SERVED | {"private_service_connect": {"projects": ["tw-shop-web"]}},
        "pinned": {"callers": [], "model": "projects/p/locations/us-east5/models/m@2", "machine_type": "n1-standard-2"},
        "split": {
            "callers": [],
            "deployed_models": {
                name: {"model": "projects/p/locations/us-east5/models/m@champion", "machine_type": "n1-standard-2", "traffic": 50}
                for name in ("a", "b")
            },
        },
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Stack files with one stack."""
    with (tmp_path / "Pulumi.try.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump({"config": STACK}, file)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bare",), "--steps: is missing"),
        (("bare",), "--hold: is missing"),
        (("bare",), "nothing guards the rollout"),
        (("bare", "--steps", "10,100", "--hold", "60m"), "nothing guards the rollout"),
        (("recommend", "--steps", "10,50"), "'10,50' is no way up to all of the traffic"),
        (("recommend", "--steps", "0,100"), "is no way up"),
        (("recommend", "--steps", "50,10,100"), "is no way up"),
        (("recommend", "--steps", "10,,100"), "is no way up"),
        (("recommend", "--steps", "ten"), "is no way up"),
        (("recommend", "--steps", "10,101"), "is no way up"),
        (("recommend", "--hold", "60"), "'60' is no time"),
        (("recommend", "--hold", "-5m"), "is no time"),
        (("recommend", "--hold", "999999h"), "is no time"),
        (("recommend", "--to", ""), "--to: '' is no version"),
        (("recommend", "--to", "../x"), "--to: '../x' is no version"),
        (("recommend", "--to", "champion?x=1"), "is no version"),
        (("recommend", "--hold", "5s"), "shorter than a reading takes"),
        (("recommend", "--hold", "0m"), "shorter than a reading takes"),
        (("recommend", "--guard", "requests>=0", "--guard", "p95_ms<80"), "1 or more"),
        (("bare",), "nothing has all of the traffic in the stack file"),
        (("split",), "nothing has all of the traffic in the stack file"),
        (
            ("pinned",),
            "endpoints.pinned.model: projects/p/locations/us-east5/models/m@2 is one version: the next update would undo the rollout",
        ),
        (("recommend", "--keep-warm", "soon"), "'soon' is no time"),
        (("recommend", "--guard", "p95<80"), "p95 is not known"),
        (("moving",), "endpoints.moving.model: recommender@candidate is the version that was uploaded last"),
        (("moving",), "fix: write recommender@champion: an alias that a rollout moves"),
        (("recomend",), "there is no such endpoint in the stack file"),
        (("recomend",), "allowed: recommend"),
        (("recommend", "--probe", "/nowhere/x.json"), "the sandbox runs no model that could answer"),
        (("inside", "--probe", "/nowhere/x.json", "--cloud"), "the endpoint answers only in the networks of its callers' projects"),
    ],
)
def test_what_is_wrong_is_said(accelform: Callable[..., Any], folder: str, arguments: tuple[str, ...], said: str) -> None:
    """Where, what, and what may stand there."""
    ran = accelform("rollout", "try", *arguments, "--yes", "--stacks", folder)
    assert ran.code == 2, ran.err
    assert said in ran.err


@pytest.mark.parametrize("command", [("rollout", "--yes"), ("rollback",), ("compare-versions",)])
def test_a_stack_that_is_not_up_is_told(accelform: Callable[..., Any], folder: str, command: tuple[str, ...]) -> None:
    """The sandbox is asked unless `--cloud` says otherwise."""
    ran = accelform(command[0], "try", "recommend", *command[1:], "--stacks", folder)
    assert ran.code == 5
    assert "stack try is not up on this machine" in ran.err
    assert "--cloud" in ran.err


def test_holds_of_a_stack_that_is_not_up(accelform: Callable[..., Any], folder: str) -> None:
    """The same, for machines."""
    ran = accelform("holds", "try", "--stacks", folder, "--json")
    assert ran.code == 5
    assert "is not up on this machine" in ran.data["problems"][0]["message"]


def test_up_releases_endpoints_only(accelform: Callable[..., Any]) -> None:
    """Its help says what it takes."""
    assert "--release ENDPOINT" in " ".join(accelform("up", "--help").out.split())
