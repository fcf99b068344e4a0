"""Nodes of a stack's pools: what they offer is what the pool declares, whatever the accelerator."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from infra.catalog.nodes import of_api
from infra.catalog.pods import PodNeed, judge, reasons
from infra.collect import collect
from infra.components import pool_shape
from infra.components.cluster import ClusterSpec
from infra.components.node_pool import NodePoolSpec
from infra.declared import Declared
from infra.program import declare
from infra.stack import StackSpec

REGION = "us-central1"
SPOT: dict[str, Any] = {"cluster": "main", "provisioning": "spot", "autoscale": {"max": 4}}
PODS: dict[str, dict[str, Any]] = {
    "gpu": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]},
    "tpu": {"containers": [{"resources": {"limits": {"google.com/tpu": 4}}}]},
    "plain": {"containers": [{"resources": {"requests": {"cpu": 1}}}]},
}
POOLS: dict[str, dict[str, Any]] = {
    "l4": SPOT
    | {"machine_type": "g2-standard-8", "labels": {"team": "a"}, "taints": [{"key": "team", "value": "a", "effect": "no-execute"}]},
    "parts": SPOT | {"machine_type": "a2-highgpu-1g", "partition": "1g.5gb", "driver": "latest"},
    "shared": SPOT
    | {
        "accelerator_type": "nvidia-tesla-t4",
        "machine_type": "n1-standard-8",
        "count": 2,
        "sharing": {"strategy": "time-sharing", "clients": 4},
    },
    "v5e": SPOT | {"accelerator_type": "v5litepod-16", "autoscale": {}, "zones": ["us-central1-a"]},
    "v6e": SPOT | {"accelerator_type": "v6e-8", "autoscale": {"max": 1}},
    "queued": {
        "cluster": "main",
        "machine_type": "a3-highgpu-8g",
        "provisioning": "queued-provisioning",
        "autoscale": {"max": 1},
    },
    "reserved": {
        "cluster": "main",
        "machine_type": "g2-standard-8",
        "provisioning": "reservation",
        "reservation": "r1",
        "nodes": 1,
        "zones": ["us-central1-a"],
    },
    "ssd": SPOT | {"machine_type": "a3-highgpu-8g", "autoscale": {"max": 1}},
}


def nodes(name: str) -> tuple[Any, ...]:
    return pool_shape.pool(name, NodePoolSpec.model_validate(POOLS[name]), stack="dev", region=REGION)


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("l4", {"nvidia.com/gpu": 1}),
        ("parts", {"nvidia.com/gpu": 7}),
        ("shared", {"nvidia.com/gpu": 8}),
        ("v5e", {"google.com/tpu": 4}),
        ("v6e", {"google.com/tpu": 8}),
        ("ssd", {"nvidia.com/gpu": 8}),
    ],
)
def test_a_node_offers_its_accelerators(name: str, offered: dict[str, int]) -> None:
    """Chips of a host, GPUs of a machine, times their parts and those who share them; one node for each zone, all alike."""
    found = nodes(name)

    assert found
    assert [dict(one.extended) for one in found] == [offered] * len(found)
    assert {one.labels["topology.kubernetes.io/zone"] for one in found} == set(NodePoolSpec.model_validate(POOLS[name]).zones_in(REGION))


def test_what_comes_with_a_machine_counts() -> None:
    """Local SSDs of a machine are its temporary storage: 16 of 375 GiB, less what is kept, not the boot disk."""
    assert nodes("ssd")[0].ephemeral_storage > 4_500 * 2**30
    assert nodes("l4")[0].ephemeral_storage < 50 * 2**30


def test_pods_find_their_pool() -> None:
    """Each pod fits its own pools, and is told why not the others."""
    every = [one for name in POOLS for one in nodes(name)[:1]] + list(
        pool_shape.system("main", ClusterSpec.model_validate({"mode": "standard"}), stack="dev", region=REGION)
    )
    found = {kind: [one.name for one in judge(PodNeed.of(spec), every).holds] for kind, spec in PODS.items()}

    assert found == {
        "gpu": ["pool parts", "pool shared", "pool reserved", "pool ssd"],
        "tpu": ["pool v5e", "pool v6e"],
        "plain": ["the system pool of cluster main"],
    }
    assert reasons(PodNeed.of(PODS["gpu"]), every[0]) == ("does not tolerate the taint team=a:NoExecute of pool l4",)


@pytest.mark.parametrize("cluster", [{"mode": "autopilot"}, {"existing": "projects/tw-shop-ml/locations/us-central1/clusters/shop"}])
def test_no_system_pool_but_of_our_own(cluster: dict[str, Any]) -> None:
    """Autopilot makes nodes as pods ask, and what others own nobody here knows."""
    assert pool_shape.system("main", ClusterSpec.model_validate(cluster), stack="dev", region=REGION) == ()


def in_the_api(pool: Declared) -> dict[str, Any]:
    """A declared pool as GKE's API has it: its GPUs have other keys there."""
    config = dict(pool.get("nodeConfig"))
    gpus = [
        {("acceleratorType" if key == "type" else "acceleratorCount" if key == "count" else key): one for key, one in some.items()}
        for some in config.get("guestAccelerators") or []
    ]
    keys = {key: pool.get(key) or {} for key in ("placementPolicy", "queuedProvisioning")}
    return {"name": pool.get("name"), "config": config | {"accelerators": gpus}} | keys


def test_the_pool_that_is_declared_makes_the_same_node(base: dict[str, Any]) -> None:
    """What is foreseen from the file is what follows from the pool that the program declares, in the words of GKE's API."""
    keys = {"region": REGION, "clusters": {"main": {"mode": "standard"}}, "node_pools": POOLS}
    config = base | {f"accelform:{key}": value for key, value in keys.items()}
    spec = StackSpec.from_engine({key: one if isinstance(one, str) else json.dumps(one) for key, one in config.items()}, "the engine")
    made = {
        one.name: one for one in collect(lambda: declare(spec, "dev"), "dev") if one.type.endswith(":NodePool") and not one.is_component
    }

    for name in POOLS:
        for node in nodes(name):
            assert of_api(in_the_api(made[name]), node.labels["topology.kubernetes.io/zone"], name=node.name) == node
    (system,) = pool_shape.system("main", spec.clusters["main"], stack="dev", region=REGION)
    zone = "topology.kubernetes.io/zone"
    declared = of_api(in_the_api(made["main-system"]), f"{REGION}-a", name=system.name)
    assert system.labels.items() <= declared.labels.items()
    assert {one for one in declared.labels if one not in system.labels} == system.undecided - {"kubernetes.io/hostname"}
    assert zone in system.undecided
    assert replace(system, labels={}, undecided=frozenset()) == replace(declared, labels={}, undecided=frozenset())
