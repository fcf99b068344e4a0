"""Every alert goes off where a declared load says so, and stays silent where it does not: in the sandbox, by the filters that are declared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from infra.components import alerts
from infra.components.monitoring import MonitoringSpec, condition_of
from infra.labels import STACK_LABEL
from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.faults import Fault
from infra.sandbox.schema import camel
from infra.sandbox.server import Server

START = 1_796_040_000.0
P = "projects/shop"
ZONE, REGION = f"{P}/zones/us-central1-a", f"{P}/locations/us-central1"
CLUSTER = f"{REGION}/clusters/shop-main"
ENDPOINT = f"{REGION}/endpoints/77"
OWN = {"labels": {STACK_LABEL: "shop"}}
NETWORK = {"networkInterfaces": [{"network": "global/networks/default"}]}
MACHINE = (
    OWN | NETWORK | {"disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"}}]}
)
SPOT = {"provisioningModel": "SPOT", "onHostMaintenance": "TERMINATE", "automaticRestart": False}
WAITED = {
    "provisioningModel": "FLEX_START",
    "onHostMaintenance": "TERMINATE",
    "automaticRestart": False,
    "instanceTerminationAction": "DELETE",
    "maxRunDuration": {"seconds": str(7 * 86400)},
}
L4: dict[str, Any] = {"machineType": "g2-standard-4", "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]}
SHARING = {"gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": "2"}}
HALVES = L4 | {"accelerators": [L4["accelerators"][0] | SHARING]}
WATCHED = alerts.Watched(
    "shop",
    "us-central1",
    tpu_machines=True,
    tpu_nodes=True,
    gpu_machines=True,
    gpus_reported=True,
    tpu_clusters=("shop-main",),
    gpu_clusters=("shop-main",),
    shared_clusters=("shop-main",),
    slice_pools=("shop-slice",),
    endpoints={"recommend": alerts.Endpoint("77", 80.0, 0.02, 4)},
)
ALERTS = {one.name: one for one in alerts.alerts(WATCHED, MonitoringSpec())}

TPU_VM, TPU_NODE, GPU_VM = (
    {"machine": f"{ZONE}/instances/tpu"},
    {"node": f"{P}/locations/us-central1-a/nodes/n"},
    {"machine": f"{ZONE}/instances/gpu"},
)
TPU_POOL, GPU_POOL = {"node_pool": f"{CLUSTER}/nodePools/shop-tpu"}, {"node_pool": f"{CLUSTER}/nodePools/shop-gpu"}
FAST = {"p50_ms": 20, "p95_ms": 40, "replicas": 2}


def duty(percent: float, *of: dict[str, str]) -> list[dict[str, Any]]:
    return [one | {"duty_cycle_percent": percent} for one in of]


def callers(**more: Any) -> list[dict[str, Any]]:
    return [{"endpoint": ENDPOINT, "requests_per_second": 5, "models": {"default": FAST | more}}]


def tpus(what: str, percent: float) -> list[dict[str, Any]]:
    return [one | {f"{what}_percent": percent} for one in (TPU_VM, TPU_NODE, TPU_POOL)]


@dataclass(frozen=True)
class Row:
    """Loads under which an alert goes off in all of its conditions, and others, under which it does not."""

    fires: list[dict[str, Any]]
    silent: list[dict[str, Any]]
    minutes: int
    """Until it goes off."""


SHARED = {"node_pool": f"{CLUSTER}/nodePools/shop-shared"}
EVERY = (TPU_VM, TPU_NODE, TPU_POOL, GPU_VM, GPU_POOL, SHARED)
ROWS: dict[str, Row] = {
    "tpu-duty-cycle": Row(tpus("duty_cycle", 69), tpus("duty_cycle", 71), 31),
    "tpu-tensorcore": Row(tpus("tensorcore", 9), tpus("tensorcore", 11), 31),
    "tpu-memory": Row(tpus("memory", 96), tpus("memory", 94), 31),
    "gpu-duty-cycle": Row(duty(69, GPU_VM, GPU_POOL, SHARED), duty(71, GPU_VM, GPU_POOL, SHARED), 31),
    "gpu-memory": Row(*([one | {"memory_percent": percent} for one in (GPU_POOL, SHARED)] for percent in (96, 94)), 31),
    "idle-accelerators": Row(duty(0, *EVERY), duty(2, *EVERY), 61),
    "endpoint-p95": Row(callers(p95_ms=120), callers(p95_ms=60), 6),
    "endpoint-errors": Row(callers(error_rate=0.1), callers(error_rate=0.01), 6),
    "replicas-at-maximum": Row(callers(replicas=4), callers(replicas=3), 31),
}
BY_FAULT = ("preemptions", "queue-wait")
"""What Google does, and no load."""


class World:
    """One of everything that is watched."""

    def __init__(self) -> None:
        self.cloud = Cloud(clock=Clock(start=START, real=lambda: 0.0))
        self.cloud.projects.make("shop")
        self.server = Server(self.cloud)
        for machine in (
            {"name": "tpu", "machineType": f"{ZONE}/machineTypes/ct5lp-hightpu-4t"},
            {"name": "spot", "machineType": f"{ZONE}/machineTypes/ct5lp-hightpu-1t", "scheduling": SPOT},
            {"name": "gpu", "machineType": f"{ZONE}/machineTypes/a3-highgpu-1g", "scheduling": WAITED},
        ):
            self.ask("POST", f"compute.googleapis.com/compute/v1/{ZONE}/instances", MACHINE | machine)
        node = {"acceleratorType": "v5litepod-4", "runtimeVersion": "x", "schedulingConfig": {"spot": True}}
        for name in ("n", "spot"):
            self.ask("POST", f"tpu.googleapis.com/v2/{P}/locations/us-central1-a/nodes", node, nodeId=name)
        gke = "container.googleapis.com/v1beta1"
        self.ask("POST", f"{gke}/{REGION}/clusters", {"cluster": {"name": "shop-main", "initialNodeCount": 1}})
        self.pass_by(3600)
        one = {"locations": ["us-central1-a"], "initialNodeCount": 1}
        tpu = {"machineType": "ct5lp-hightpu-4t", "spot": True}
        slice_ = {"config": tpu, "placementPolicy": {"type": "COMPACT", "tpuTopology": "4x4"}, "initialNodeCount": 4}
        for pool in (
            {"name": "shop-tpu", "config": tpu},
            {"name": "shop-gpu", "config": L4},
            {"name": "shop-shared", "config": HALVES},
            {"name": "shop-slice"} | slice_,
        ):
            self.ask("POST", f"{gke}/{CLUSTER}/nodePools", {"nodePool": one | pool})
        vertex = "aiplatform.googleapis.com/v1"
        self.ask("POST", f"{vertex}/{REGION}/endpoints", {"displayName": "x"}, endpointId="77")
        self.ask("POST", f"{vertex}/{REGION}/models:upload", {"model": {"displayName": "m"}, "modelId": "m"})
        self.pass_by(3600)
        machine = {"machineSpec": {"machineType": "n1-standard-2"}, "minReplicaCount": 1, "maxReplicaCount": 4}
        deployed = {"id": "1", "model": f"{REGION}/models/m@1", "dedicatedResources": machine}
        self.ask("POST", f"{vertex}/{ENDPOINT}:deployModel", {"deployedModel": deployed, "trafficSplit": {"0": 100}})
        self.pass_by(3600)

    def ask(self, http: str, path: str, body: Any = None, **query: str) -> Any:
        host, _, rest = path.partition("/")
        answer = self.cloud.handle(Request(http, host, rest, query, b"" if body is None else json.dumps(body).encode()))
        assert answer.status == 200, answer.body
        return answer.body

    def pass_by(self, seconds: float) -> None:
        self.server.clock("POST", {"seconds": seconds})

    def watch(self, alert: alerts.Alert) -> str:
        """Its policy, as the component declares it."""
        body = {
            "displayName": alert.key,
            "combiner": "OR",
            "conditions": [_camel(condition_of(one)) for one in alert.conditions],
            "documentation": {"content": alert.runbook, "mimeType": "text/markdown"},
            "alertStrategy": {"autoClose": "3600s"},
        }
        return str(self.ask("POST", f"monitoring.googleapis.com/v3/{P}/alertPolicies", body)["name"])

    def forget(self, policy: str) -> None:
        self.ask("DELETE", f"monitoring.googleapis.com/v3/{policy}")
        self.server.loads("DELETE", {})
        self.cloud.faults.clear()

    def load(self, loads: list[dict[str, Any]]) -> None:
        for one in loads:
            self.server.loads("POST", one)

    def open(self, policy: str) -> set[str]:
        """Conditions of which an incident is open."""
        found = self.server.alerts("GET", {})
        assert found["not_judged"] == []
        return {one["condition"] for one in found["incidents"] if one["policy"] == policy and one["state"] == "open"}


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {camel(key): _camel(one) for key, one in value.items()}
    return [_camel(one) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = World()
    yield found
    found.cloud.store.close()


def titles(name: str) -> set[str]:
    return {one.signal.title for one in ALERTS[name].conditions}


def test_every_alert_has_a_row() -> None:
    assert {*ROWS, *BY_FAULT} == set(get_args(alerts.AlertName)) == set(ALERTS)


@pytest.mark.parametrize("name", list(ROWS))
def test_goes_off_on_a_load_and_ends_with_it(world: World, name: str) -> None:
    """In each of its conditions, no sooner than its time is over; under the other load it is closed, and does not open."""
    row, policy = ROWS[name], world.watch(ALERTS[name])
    try:
        world.load(row.silent)
        world.pass_by(row.minutes * 60 + 300)
        assert world.open(policy) == set()
        world.load(row.fires)
        world.pass_by(row.minutes * 60 - 360)
        assert world.open(policy) == set()
        world.pass_by(600)
        assert world.open(policy) == titles(name)
        (incident, *_) = world.server.alerts("GET", {})["incidents"]
        assert incident["runbook"] == ALERTS[name].means
        world.load(row.silent)
        world.pass_by(600)
        assert world.open(policy) == set()
    finally:
        world.forget(policy)


def test_what_google_takes_away_is_an_incident_for_an_hour(world: World) -> None:
    """A machine, a node of the Cloud TPU API and a node of GKE. No data come after it, so that the policy's `autoClose` ends it."""
    policy = world.watch(ALERTS["preemptions"])
    try:
        world.pass_by(600)
        assert world.open(policy) == set()
        for path in ("instances/spot$", "nodes/spot$", "instances/gke-shop-main-shop-tpu"):
            world.cloud.faults.add(Fault(do="preempt", times=1, path=path))
        world.pass_by(60)
        world.pass_by(60)
        assert world.open(policy) == titles("preemptions")
        world.pass_by(3000)
        assert world.open(policy) == titles("preemptions")
        world.pass_by(900)
        assert world.open(policy) == set()
    finally:
        world.forget(policy)


def test_a_slice_that_is_not_whole_is_an_incident_until_it_is(world: World) -> None:
    """One host is taken away, and there is no capacity for the slice, which comes again as a whole."""
    policy = world.watch(ALERTS["queue-wait"])
    try:
        world.pass_by(3000)
        assert world.open(policy) == set()
        world.cloud.faults.add(Fault(do="stockout"))
        world.cloud.faults.add(Fault(do="preempt", times=1, path="instances/gke-shop-main-shop-slice"))
        world.pass_by(60)
        world.pass_by(1700)
        assert world.open(policy) == set()
        world.pass_by(600)
        assert world.open(policy) == titles("queue-wait")
        world.cloud.faults.clear()
        world.pass_by(1200)
        assert world.open(policy) == set()
    finally:
        world.forget(policy)
