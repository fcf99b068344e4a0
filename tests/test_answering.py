"""What answers in prod stands, unless the file lets it be down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import stack_kinds
from infra.answering import Answering, problems
from infra.errors import SpecError

Write = Callable[..., Path]
IMAGE = "us-central1-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:" + "0" * 64
MODEL = "projects/tw-shop-ml/locations/us-east5/models/1@champion"


def asked(environment: str, down: list[str], **said: Any) -> dict[str, str]:
    """Path -> message of what is wrong with one service."""
    one = Answering("chat", "services.chat", said.get("least", 1), "min_replicas", said.get("goes", False), "node_pool")
    return {found.path: found.message for found in problems(environment, [one], down)}


@pytest.mark.parametrize("environment", ["dev", "staging"])
def test_elsewhere_anything_may_be_down(environment: str) -> None:
    assert asked(environment, [], least=0, goes=True) == {}
    assert list(asked(environment, ["chat"], least=0)) == ["may_be_down.0"]  # it does nothing there


def test_in_prod_it_stands_or_is_named() -> None:
    assert asked("prod", []) == {}
    assert list(asked("prod", [], least=0, goes=True)) == ["services.chat.min_replicas", "services.chat.node_pool"]
    assert asked("prod", ["chat"], least=0, goes=True) == {}
    assert asked("prod", ["chat"]) == {"may_be_down.0": "does nothing: in prod, chat may be as it is"}
    assert asked("prod", ["cat", "chat"], least=0) == {"may_be_down.0": "cat is nothing that answers here"}


def refused(path: Path) -> set[str]:
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(path)
    return {problem.path for problem in caught.value.problems}


def test_endpoints_of_a_region(base: dict[str, Any], stack_file: Write) -> None:
    """One without traffic, which is tried beside another, may be as it likes; one without a model answers nothing."""
    one = {"model": MODEL, "machine_type": "n1-standard-2"}
    idle = {"min_replicas": 0, "max_replicas": 1, "scale_to_zero": {"idle_minutes": 10}}
    said = base | {"accelform:environment": "prod", "accelform:endpoints": {"empty": {"callers": []}}}
    endpoints = said["accelform:endpoints"]
    endpoints["zero"] = {"callers": [], **one, **idle}
    endpoints["spot"] = {"callers": [], **one, "spot": True}
    endpoints["ends"] = {"callers": [], **one, "flex_start": {"max_run_minutes": 600}}
    endpoints["two"] = {
        "callers": [],
        "deployed_models": {"a": {**one, "traffic": 100}, "b": {**one, **idle, "spot": True, "traffic": 0}},
    }
    found = refused(stack_file(said))
    assert found == {"endpoints.zero.min_replicas", "endpoints.spot.spot", "endpoints.ends.flex_start"}
    assert stack_kinds.load(stack_file(said | {"accelform:may_be_down": ["zero", "spot", "ends"]}))
    assert stack_kinds.load(stack_file(said | {"accelform:environment": "staging"}))


def test_services_of_a_cluster(base: dict[str, Any], stack_file: Write) -> None:
    """A ladder with one way that stays is no Spot alone."""
    pool = {"cluster": "main", "machine_type": "g2-standard-8", "zones": ["us-central1-a"], "nodes": 1}
    region = base | {
        "accelform:environment": "prod",
        "accelform:region": "us-central1",
        "accelform:clusters": {"main": {"mode": "standard"}},
        "accelform:node_pools": {"stays": pool | {"provisioning": "on-demand"}, "goes": pool | {"provisioning": "spot"}},
    }
    stack_file(region, "there")
    own = {key: region[key] for key in ("gcp:project", "accelform:schema", "accelform:region", "accelform:environment", "accelform:owner")}
    service = {"namespace": "models", "image": IMAGE, "port": 80, "health_route": "/health", "cpu": 1, "memory_gib": 1}
    classes = {
        name: {"machine_type": "g2-standard-8", "zones": ["us-central1-a"], "provisioning": ways}
        for name, ways in {"mixed": ["spot", "on-demand"], "lent": ["spot", "flex-start"]}.items()
    }
    apps = own | {
        "accelform:kind": "apps",
        "accelform:region_stack": "there",
        "accelform:namespaces": {"models": {}},
        "accelform:compute_classes": classes,
        "accelform:services": {
            "plain": service,
            "zero": service | {"min_replicas": 0},
            "on-stays": service | {"node_pool": "stays"},
            "on-goes": service | {"node_pool": "goes"},
            "on-mixed": service | {"compute_class": "mixed"},
            "on-lent": service | {"compute_class": "lent"},
        },
    }
    assert refused(stack_file(apps)) == {"services.zero.min_replicas", "services.on-goes.node_pool", "services.on-lent.compute_class"}
    assert stack_kinds.load(stack_file(apps | {"accelform:may_be_down": ["zero", "on-goes", "on-lent"]}))
