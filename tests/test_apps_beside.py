"""Two stacks in one cluster: what only one of them may hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import apps_beside
from infra.apps import AppsSpec

Write = Callable[..., Path]
OWN = {"gcp:project", "accelform:schema", "accelform:region", "accelform:environment", "accelform:owner"}
POOL = {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 4}}
TRAINS = {
    "accelform:namespaces": {"training": {}},
    "accelform:priorities": {"low": {"value": 1}},
    "accelform:queues": {"l4s": {"namespace": "training", "quotas": [{"node_pool": "l4", "accelerators": 2}]}},
}
MINE = {
    "accelform:namespaces": {"mine": {}},
    "accelform:existing_controllers": ["kueue"],
}


@pytest.fixture
def load(base: dict[str, Any], stack_file: Write) -> Callable[..., AppsSpec]:
    """Reads an apps file beside a region's file with two clusters."""
    region = base | {"accelform:region": "us-central1"}
    clusters = {"main": {"mode": "standard"}, "other": {"mode": "standard"}}
    stack_file(region | {"accelform:clusters": clusters, "accelform:node_pools": {"l4": POOL}}, "there")
    own = {key: one for key, one in region.items() if key in OWN} | {"accelform:kind": "apps", "accelform:region_stack": "there"}

    def read(config: dict[str, Any], cluster: str = "main") -> AppsSpec:
        return AppsSpec.load(stack_file(own | {"accelform:cluster": cluster} | config))

    return read


def test_names_of_the_whole_cluster_controllers_and_pools_are_of_one_stack(load: Callable[..., AppsSpec]) -> None:
    first = load(TRAINS)
    found = {one.path: one.message for one in apps_beside.problems("second", first, {"first": first, "second": first})}
    assert found == {
        "namespaces.training": "is in stack first too, in the same cluster",
        "priorities.low": "is in stack first too, in the same cluster",
        "queues.l4s": "is in stack first too, in the same cluster",
        "existing_controllers": "kueue is installed by stack first too, in the same cluster",
        "queues": "l4 has a quota in stack first too: neither knows how much the other gives",
    }


def test_what_is_apart_and_what_is_in_another_cluster_is_allowed(load: Callable[..., AppsSpec]) -> None:
    first = load(TRAINS)
    assert list(apps_beside.problems("second", load(MINE), {"first": first})) == []
    elsewhere = load({"accelform:namespaces": {"training": {}}}, "other")
    assert list(apps_beside.problems("second", elsewhere, {"first": first})) == []
