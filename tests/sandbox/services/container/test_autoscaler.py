"""The autoscaler: nodes for the pods that are said to be there."""

from __future__ import annotations

from typing import Any

import pytest
from gke_calls import L4, POOLS, Gke

from infra.sandbox.cloud import Cloud
from infra.sandbox.faults import Fault
from infra.sandbox.server import Server
from infra.sandbox.services.container import groups
from infra.sandbox.services.container.parts import HOST

NAME = "projects/shop-prod/locations/us-central1/clusters/c/nodePools/p"
ZONES = ["us-central1-a", "us-central1-b"]


class Load:
    """Says how many nodes are wanted, and sees how many there are."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self.loads = Server(cloud).loads

    def want(self, nodes: int) -> dict[str, int]:
        self.loads("POST", {"node_pool": NAME, "nodes": nodes})
        return self.sizes()

    def after(self, seconds: float) -> dict[str, int]:
        self._cloud.clock.advance(seconds)
        self._cloud.catch_up()
        return self.sizes()

    def sizes(self) -> dict[str, int]:
        body = self._cloud.store.get(HOST, NAME)
        assert body is not None
        return {zone[-1]: size for zone, size in groups.sizes_of(self._cloud, body).items()}


@pytest.fixture
def load(cloud: Cloud) -> Load:
    return Load(cloud)


def scaled(gke: Gke, **limits: Any) -> None:
    gke.pool(config=L4, locations=ZONES, autoscaling={"enabled": True} | limits)


def test_nodes_come_at_once_and_go_after_ten_minutes(gke: Gke, load: Load) -> None:
    scaled(gke, minNodeCount=1, maxNodeCount=3)
    assert load.sizes() == {"a": 0, "b": 0}  # the minimum adds none
    assert load.want(4) == {"a": 2, "b": 2}
    assert load.want(99) == {"a": 3, "b": 3}
    assert load.want(0) == {"a": 3, "b": 3}
    assert load.after(599) == {"a": 3, "b": 3}
    assert load.after(2) == {"a": 1, "b": 1}


def test_any_fills_one_zone_after_the_other(gke: Gke, load: Load) -> None:
    scaled(gke, totalMaxNodeCount=4, locationPolicy="ANY")
    assert load.want(3) == {"a": 3, "b": 0}
    assert load.want(9) == {"a": 4, "b": 0}


@pytest.mark.parametrize("policy", ["ANY", "BALANCED"])
def test_another_zone_takes_over_from_one_without_capacity(gke: Gke, load: Load, cloud: Cloud, policy: str) -> None:
    scaled(gke, totalMaxNodeCount=4, locationPolicy=policy)
    cloud.faults.add(Fault(do="stockout", zone="us-central1-a"))
    assert load.want(2) == {"a": 0, "b": 2}
    cloud.faults.add(Fault(do="stockout"))
    assert load.want(3) == {"a": 0, "b": 2}
    cloud.faults.clear()
    assert load.after(299) == {"a": 0, "b": 2}
    assert load.after(2) == {"a": 1, "b": 2}


def test_what_is_wanted_again_stays(gke: Gke, load: Load) -> None:
    scaled(gke, totalMaxNodeCount=4)
    load.want(2)
    load.want(0)
    load.after(300)
    assert load.want(2) == {"a": 1, "b": 1}
    assert load.after(900) == {"a": 1, "b": 1}


def test_a_slice_comes_and_goes_as_a_whole(gke: Gke, load: Load) -> None:
    gke.pool(
        config={"machineType": "ct5lp-hightpu-4t"},
        placementPolicy={"type": "COMPACT", "tpuTopology": "4x4"},
        autoscaling={"enabled": True, "maxNodeCount": 4},
    )
    assert load.want(1) == {"a": 4}
    load.want(0)
    assert load.after(601) == {"a": 0}


def test_loads_are_shown_and_taken_back(gke: Gke, load: Load, cloud: Cloud) -> None:
    scaled(gke, maxNodeCount=3)
    load.want(2)
    assert load.loads("GET", {})["node_pools"] == [{"node_pool": NAME, "nodes": 2}]
    assert load.loads("DELETE", {}) == {"loads": []}
    assert load.after(3600) == {"a": 1, "b": 1}
    load.want(2)
    gke.ended(gke.ask("DELETE", f"{POOLS}/p"))
    cloud.catch_up()
    assert load.loads("GET", {}) == {"loads": []}


@pytest.mark.parametrize(
    "sent",
    [
        {"node_pool": NAME},
        {"node_pool": NAME, "nodes": -1},
        {"node_pool": NAME, "nodes": True},
        {"node_pool": NAME, "nodes": 1.5},
        {"node_pool": NAME, "nodes": 10**6},
        {"node_pool": "projects/shop-prod/locations/us-central1/clusters/c", "nodes": 1},
        {"node_pool": f"{NAME}x", "nodes": 1},
        {"node_pool": NAME.replace("/p", "/default-pool"), "nodes": 1},
    ],
)
def test_refuses_a_load_that_is_none(gke: Gke, load: Load, sent: dict[str, Any]) -> None:
    scaled(gke, maxNodeCount=3)
    with pytest.raises(ValueError, match="node"):
        load.loads("POST", sent)
