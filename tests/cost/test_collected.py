"""A program as Pulumi sees it: what is only known after apply is followed by what depends on what."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pulumi
from costing import assuming, month, usd

from infra.collect import collect
from infra.cost.estimate import estimate

REGION = "us-central1"


def make(kind: str, name: str, inputs: dict[str, Any]) -> pulumi.CustomResource:
    """By the type's token: the project's own import of the provider has not every package."""
    return pulumi.CustomResource(f"gcp:{kind}", name, inputs)


def program() -> None:
    cluster = make("container/cluster:Cluster", "gke", {"location": REGION, "removeDefaultNodePool": True})
    pool = {
        "cluster": cluster.id,
        "autoscaling": {"minNodeCount": 0, "maxNodeCount": 2},
        "nodeConfig": {"machineType": "g2-standard-8", "diskSizeGb": 100, "diskType": "pd-balanced"},
        "networkConfig": {"enablePrivateNodes": True},
    }
    make("container/nodePool:NodePool", "serve", pool)
    disks = [{"boot": True, "diskType": "pd-balanced", "diskSizeGb": 10}]
    template = make("compute/instanceTemplate:InstanceTemplate", "made-from", {"machineType": "e2-medium", "disks": disks})
    machines = {"region": REGION, "versions": [{"instanceTemplate": template.id}]}
    group = make("compute/regionInstanceGroupManager:RegionInstanceGroupManager", "group", machines)
    scaler = {"target": group.id, "autoscalingPolicy": {"minReplicas": 1, "maxReplicas": 3}}
    make("compute/regionAutoscaler:RegionAutoscaler", "scaler", scaler)


def test_references_that_are_not_known_yet_are_followed() -> None:
    """A pool finds its cluster's zones, a group its template and its autoscaler."""
    result = estimate(collect(program, "try"), assuming({"serve": {"nodes": 1}}), region=REGION)
    assert result.problems == []
    assert result.complete
    lines = {(line.resource, line.what): line for line in result.lines}
    node, machine = 730 * Decimal("0.8536243"), 730 * Decimal("0.0335057")
    assert month(lines["serve", "g2-standard-8 on-demand"]) == usd(Decimal(0), node, 6 * node)
    assert month(lines["group", "e2-medium on-demand"]) == usd(machine, machine, 3 * machine)
    assert month(lines["gke", "cluster fee"]) == usd(Decimal(73))
