"""Declared use of accelerators: series of what stands, while it stands, under Google's names, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.server import Server
from infra.sandbox.store import Store

START = 1_796_040_000.0
P = "projects/shop"
ZONE = "zones/us-central1-a"
CLUSTER = f"{P}/locations/us-central1/clusters/c"
GKE = "container.googleapis.com/v1beta1"
TPU = {"machineType": "ct5lp-hightpu-4t", "spot": True}
L4 = {"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}
A100 = {"acceleratorType": "nvidia-tesla-a100", "acceleratorCount": "1", "gpuPartitionSize": "1g.5gb"}
SHARED = L4 | {"gpuSharingConfig": {"maxSharedClientsPerGpu": "4", "gpuSharingStrategy": "TIME_SHARING"}}
POOLS: dict[str, dict[str, Any]] = {
    "none": {"config": TPU, "initialNodeCount": 0, "autoscaling": {"enabled": True, "totalMaxNodeCount": 2}},
    "tpu": {"config": TPU, "initialNodeCount": 2},
    "gpu": {"config": {"machineType": "g2-standard-4", "accelerators": [L4]}, "initialNodeCount": 1},
    "shared": {"config": {"machineType": "g2-standard-4", "accelerators": [SHARED]}, "initialNodeCount": 1},
    "cut": {"config": {"machineType": "a2-highgpu-1g", "accelerators": [A100]}, "initialNodeCount": 1},
}
GIB = 2**30
BASE = {
    "labels": {"accelform-stack": "shop-a.b"},
    "networkInterfaces": [{"network": "global/networks/default"}],
    "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"}}],
    "scheduling": {"onHostMaintenance": "TERMINATE"},
}
"""Of a machine: all but its name and its type."""


class Shop:
    """Machines with accelerators and without, a node of the Cloud TPU API, and a cluster's pools."""

    def __init__(self, store: Store | None = None) -> None:
        self.cloud = Cloud(store, Clock(start=START, real=lambda: 0.0))
        self.server = Server(self.cloud)

    def make(self) -> Shop:
        self.cloud.projects.make("shop")
        for name, machine in (("tpu", "ct5lp-hightpu-4t"), ("l4", "g2-standard-4"), ("plain", "e2-standard-2")):
            body = BASE | {"name": name, "machineType": f"{P}/{ZONE}/machineTypes/{machine}"}
            self.ask("POST", f"compute.googleapis.com/compute/v1/{P}/{ZONE}/instances", body)
        node = {"acceleratorType": "v5litepod-16", "runtimeVersion": "x"}
        self.ask("POST", f"tpu.googleapis.com/v2/{P}/locations/us-central1-a/nodes", node, nodeId="n")
        self.ask("POST", f"{GKE}/{P}/locations/us-central1/clusters", {"cluster": {"name": "c", "initialNodeCount": 1}})
        self.pass_by(3600)
        for name, pool in POOLS.items():
            self.ask("POST", f"{GKE}/{CLUSTER}/nodePools", {"nodePool": {"name": name, "locations": ["us-central1-a"]} | pool})
        self.pass_by(3600)
        return self

    def ask(self, http: str, path: str, body: Any = None, **query: str) -> Any:
        host, _, rest = path.partition("/")
        answer = self.cloud.handle(Request(http, host, rest, query, b"" if body is None else json.dumps(body).encode()))
        assert answer.status == 200, answer.body
        return answer.body

    def pass_by(self, seconds: float) -> None:
        self.server.clock("POST", {"seconds": seconds})

    def load(self, **sent: Any) -> Any:
        return self.server.loads("POST", sent)

    def series(self, text: str, seconds: float = 600) -> list[dict[str, Any]]:
        """As clients of Cloud Monitoring read them."""
        now = self.cloud.clock.now()
        moments = {
            f"interval.{key}": dt.datetime.fromtimestamp(at, dt.UTC).isoformat()
            for key, at in (("startTime", now - seconds), ("endTime", now))
        }
        path = f"monitoring.googleapis.com/v3/{P}/timeSeries"
        return list(self.ask("GET", path, filter=text, **moments).get("timeSeries", []))


@pytest.fixture
def shop() -> Iterator[Shop]:
    found = Shop().make()
    yield found
    found.cloud.store.close()


@pytest.fixture(scope="module")
def standing() -> Iterator[Shop]:
    """The same, for whoever changes nothing but loads."""
    found = Shop().make()
    yield found
    found.cloud.store.close()


def pool(name: str) -> str:
    return f"{CLUSTER}/nodePools/{name}"


TPUS = {
    "duty_cycle": ("DOUBLE", "%", 40.0),
    "tensorcore_utilization": ("DOUBLE", "%", 20.0),
    "memory_used": ("INT64", "By", 8 * GIB),
    "memory_total": ("INT64", "By", 16 * GIB),
}
SAID = {"duty_cycle_percent": 40, "tensorcore_percent": 20, "memory_percent": 50}
ROWS = [
    ({"machine": f"{P}/{ZONE}/instances/tpu"}, "compute.googleapis.com/instance/tpu/accelerator", "gce_instance", 4, {"project_id", "zone", "instance_id"}, TPUS),
    ({"node": f"{P}/locations/us-central1-a/nodes/n"}, "tpu.googleapis.com/accelerator", "tpu.googleapis.com/GceTpuWorker", 16, {"resource_container", "location", "worker_id"}, TPUS),
    (
        {"node_pool": pool("tpu")},
        "kubernetes.io/node/accelerator",
        "k8s_node",
        8,
        {"project_id", "location", "cluster_name", "node_name"},
        {name: (type_, {"%": "percent", "By": "bytes"}[unit], value) for name, (type_, unit, value) in TPUS.items()},
    ),
    (
        {"node_pool": pool("gpu")},
        "kubernetes.io/container/accelerator",
        "k8s_container",
        1,
        {"project_id", "location", "cluster_name", "namespace_name", "pod_name", "container_name"},
        {"duty_cycle": ("INT64", "%", 40), "memory_used": ("INT64", "By", 12 * GIB), "memory_total": ("INT64", "By", 24 * GIB)},
    ),
    (
        {"node_pool": pool("shared")},
        "kubernetes.io/node/accelerator",
        "k8s_node",
        1,
        {"project_id", "location", "cluster_name", "node_name"},
        {"duty_cycle": ("DOUBLE", "percent", 40.0), "memory_used": ("INT64", "bytes", 12 * GIB), "memory_total": ("INT64", "bytes", 24 * GIB)},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("of", "prefix", "resource", "count", "labels", "metrics"), ROWS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_series_have_googles_names_types_units_and_labels(
    standing: Shop, of: dict[str, str], prefix: str, resource: str, count: int, labels: set[str], metrics: dict[str, tuple[str, str, float]]
) -> None:
    """One of each accelerator that stands, of each measure that is said and of no other, each minute."""
    gpu = "tensorcore_utilization" not in metrics
    standing.load(**of, **{key: value for key, value in SAID.items() if not (gpu and key == "tensorcore_percent")})
    standing.pass_by(300)
    assert standing.series(f'metric.type="{prefix}/memory_bandwidth_utilization"') == []
    for name, (type_, unit, value) in metrics.items():
        found = standing.series(f'metric.type="{prefix}/{name}" AND resource.type="{resource}"')
        assert len(found) == count
        assert len({json.dumps([one["metric"], one["resource"]], sort_keys=True) for one in found}) == count
        for one in found:
            assert (one["metricKind"], one["valueType"], one["unit"]) == ("GAUGE", type_, unit)
            assert set(one["resource"]["labels"]) == labels
            assert len(one["points"]) == 6  # the first when the load began
            assert float(next(iter(one["points"][0]["value"].values()))) == value
    standing.server.loads("DELETE", {})
    assert standing.series(f'metric.type="{prefix}/duty_cycle"') == []


def test_a_machine_is_found_by_its_labels_in_quotes(standing: Shop) -> None:
    """As the alerts have it: a stack's name has characters that a filter would read otherwise."""
    standing.load(machine=f"{P}/{ZONE}/instances/tpu", duty_cycle_percent=40)
    standing.pass_by(120)
    text = 'metric.type="compute.googleapis.com/instance/tpu/accelerator/duty_cycle" AND metadata.user_labels."accelform-stack"="{}"'
    assert len(standing.series(text.format("shop-a.b"))) == 4
    assert standing.series(text.format("shop-a")) == []
    standing.server.loads("DELETE", {})


def test_a_pool_without_nodes_has_no_series_until_it_has_some(shop: Shop) -> None:
    """The same load says how many nodes pods want, and how busy they are. Nodes that are gone have no more points."""
    text = 'metric.type="kubernetes.io/node/accelerator/duty_cycle"'
    shop.load(node_pool=pool("none"), duty_cycle_percent=40)
    shop.pass_by(600)
    assert shop.series(text) == []
    shop.load(node_pool=pool("none"), nodes=1, duty_cycle_percent=80)
    shop.pass_by(600)
    found = shop.series(text)
    assert len(found) == 4
    assert {point["value"]["doubleValue"] for one in found for point in one["points"]} == {80.0}
    shop.load(node_pool=pool("none"), nodes=0)
    shop.pass_by(1200)
    shop.pass_by(1200)
    assert shop.series(text) == []
    assert len(shop.series(text, 3600)) == 4


def test_a_load_of_a_group_is_of_its_machines_and_of_no_other(shop: Shop) -> None:
    """One whose name begins like the group's, and which is none of its machines, is not meant."""
    compute = f"compute.googleapis.com/compute/v1/{P}"
    properties = BASE | {"machineType": "ct5lp-hightpu-4t"}
    self_link = f"{P}/global/instanceTemplates/t"
    shop.ask("POST", f"{compute}/global/instanceTemplates", {"name": "t", "properties": properties})
    shop.pass_by(60)
    manager = {"name": "tp", "baseInstanceName": "tp", "instanceTemplate": self_link, "targetSize": 2}
    shop.ask("POST", f"{compute}/{ZONE}/instanceGroupManagers", manager)
    shop.pass_by(600)
    shop.load(group=f"{P}/{ZONE}/instanceGroupManagers/tp", duty_cycle_percent=40)
    shop.pass_by(120)
    found = shop.series('metric.type="compute.googleapis.com/instance/tpu/accelerator/duty_cycle"')
    assert len({one["resource"]["labels"]["instance_id"] for one in found}) == 2
    assert len(found) == 8


def test_loads_and_what_was_taken_away_outlive_the_sandbox(tmp_path: Path) -> None:
    store = Store(tmp_path / "cloud.sqlite")
    shop = Shop(store).make()
    shop.load(machine=f"{P}/{ZONE}/instances/tpu", duty_cycle_percent=40)
    shop.pass_by(300)
    text = 'metric.type="compute.googleapis.com/instance/tpu/accelerator/duty_cycle"'
    before = shop.series(text)
    now = shop.cloud.clock.now()
    store.close()
    again = Shop(Store(tmp_path / "cloud.sqlite"))
    again.cloud.clock.advance(now - again.cloud.clock.now())
    assert again.series(text) == before != []
    assert again.server.loads("GET", {})["accelerators"] == [{"machine": f"{P}/{ZONE}/instances/tpu", "duty_cycle_percent": 40.0}]
    again.cloud.store.close()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "one of endpoint, autoscaler, node_pool, machine, group, node; got nothing"),
        ({"pool": 1}, "one of endpoint, autoscaler, node_pool, machine, group, node; got pool"),
        ([1], r"one of endpoint, .*; got \[1\]"),
        ({"endpoint": "e", "machine": "m"}, "a load has endpoint, requests_per_second, models"),
        ({"node_pool": pool("tpu")}, "at least one of .* nodes alone"),
        ({"node_pool": pool("tpu"), "duty_cycle_percent": 101}, "not a number from 0 to 100"),
        ({"node_pool": pool("tpu"), "duty_cycle_percent": float("nan")}, "not a number from 0 to 100"),
        ({"node_pool": pool("tpu"), "duty_cycle_percent": "40"}, "not a number from 0 to 100"),
        ({"node_pool": pool("tpu"), "duty_cycle_percent": True}, "not a number from 0 to 100"),
        ({"node_pool": pool("tpu"), "duty_percent": 40, "duty_cycle_percent": 1}, "got duty_percent"),
        ({"node_pool": pool("tpu"), "machine": "x", "duty_cycle_percent": 1}, "one of node_pool, machine, group, node"),
        ({"node_pool": pool("nine"), "duty_cycle_percent": 1}, "there is no node pool"),
        ({"node_pool": "", "duty_cycle_percent": 1}, "there is no node pool"),
        ({"node_pool": 7, "duty_cycle_percent": 1}, "there is no node pool"),
        ({"node_pool": pool("cut"), "duty_cycle_percent": 1}, "are cut into parts"),
        ({"node_pool": pool("gpu"), "tensorcore_percent": 1}, "no metric of a GPU"),
        ({"node_pool": pool("default-pool"), "duty_cycle_percent": 1}, "has no accelerator"),
        ({"machine": f"{P}/{ZONE}/instances/l4", "duty_cycle_percent": 1}, "to an agent alone"),
        ({"machine": f"{P}/{ZONE}/instances/plain", "duty_cycle_percent": 1}, "has no accelerator"),
        ({"machine": f"{P}/locations/us-central1-a/nodes/n", "duty_cycle_percent": 1}, "there is no machine"),
        ({"node": "🦊" * 500, "duty_cycle_percent": 1}, "there is no node"),
    ],
)
def test_what_is_refused_and_leaves_nothing(standing: Shop, sent: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        standing.server.loads("POST", sent)
    assert "accelerators" not in standing.server.loads("GET", {})


def test_a_refused_half_undoes_the_other(shop: Shop) -> None:
    """Nodes and use in one load: both count, or none."""
    with pytest.raises(ValueError, match="from 0 to 100"):
        shop.load(node_pool=pool("none"), nodes=2, duty_cycle_percent=-1)
    assert shop.server.loads("GET", {}) == {"loads": []}
