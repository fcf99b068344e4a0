"""What of an estate a stack file names, and why the rest is left."""

from __future__ import annotations

from typing import Any

import pytest

from infra.operate import taking
from infra.operate.estate import Thing

P = "projects/tw-shop-ml"
CLUSTER = f"{P}/locations/us-central1/clusters/Shop"
WORKLOADS = {"workloadIdentityConfig": {"workloadPool": "tw-shop-ml.svc.id.goog"}}


def thing(kind: str, name: str, place: str = "us-central1", labels: dict[str, str] | None = None, **body: Any) -> Thing:
    return Thing(kind, name, place, labels or {}, body)


def vm(name: str, machine: str = "g2-standard-8", zone: str = "us-central1-a", **body: Any) -> Thing:
    return thing("machine", f"{P}/zones/{zone}/instances/{name}", zone, machineType=f"x/{machine}", **body)


def pool(name: str, **config: Any) -> Thing:
    body = {key: config.pop(key) for key in ("autoscaling", "initialNodeCount", "placementPolicy") if key in config}
    return thing("node pool", f"{CLUSTER}/nodePools/{name}", config=config, locations=["us-central1-a"], **body)


def test_each_thing_is_named_under_its_noun() -> None:
    """By its full name; keys are made of its name, and are told apart."""
    found = taking.sort(
        [
            vm("Trainer_1"),
            vm("trainer-1"),
            vm("2fast", "ct6e-standard-4t"),
            thing("TPU node", f"{P}/locations/us-central1-a/nodes/old", "us-central1-a"),
            thing("bucket", "shop-data"),
            thing("repository", f"{P}/locations/us-central1/repositories/images", format="DOCKER"),
            thing("endpoint", f"{P}/locations/us-central1/endpoints/7", displayName="What's next? 推荐"),
            thing("model", f"{P}/locations/us-central1/models/9", displayName="推荐"),
            thing(
                "budget",
                "billingAccounts/0A1B2C-3D4E5F-6A7B8C/budgets/b",
                "global",
                amount={"specifiedAmount": {"units": "350", "nanos": 500_000_000, "currencyCode": "USD"}},
                displayName="all",
            ),
            thing("channel", f"{P}/notificationChannels/1", "global", type="email"),
        ],
        "us",
        "us-central1",
    )
    assert found.left == []
    assert taking.config(found.taken) == {
        "gpu_vms": {
            "trainer-1": {"existing": f"{P}/zones/us-central1-a/instances/Trainer_1"},
            "trainer-1-2": {"existing": f"{P}/zones/us-central1-a/instances/trainer-1"},
        },
        "tpu_slices": {
            "x-2fast": {"existing": f"{P}/zones/us-central1-a/instances/2fast"},
            "old": {"existing": f"{P}/locations/us-central1-a/nodes/old"},
        },
        "storage": {
            "data": {"existing": "shop-data", "location": "us-central1"},
            "images": {"existing": f"{P}/locations/us-central1/repositories/images"},
        },
        "endpoints": {"what-s-next": {"existing": f"{P}/locations/us-central1/endpoints/7", "callers": []}},
        "models": {"x": {"existing": f"{P}/locations/us-central1/models/9"}},
        "budgets": {"all": {"existing": "billingAccounts/0A1B2C-3D4E5F-6A7B8C/budgets/b", "amount": "350.5 USD"}},
        "notify": [f"existing:{P}/notificationChannels/1"],
    }


def test_pools_are_described_as_they_are() -> None:
    """Of GPUs the machine, of TPUs the slice; counted over all zones."""
    found = taking.sort(
        [
            thing("cluster", CLUSTER, **WORKLOADS),
            pool(
                "l4",
                machineType="g2-standard-8",
                accelerators=[{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}],
                spot=True,
                initialNodeCount=2,
            ),
            pool(
                "t4",
                machineType="n1-standard-8",
                accelerators=[{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": "2"}],
                autoscaling={"enabled": True, "maxNodeCount": 3},
                taints=[
                    {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
                    {"key": "team", "value": "ml", "effect": "NO_EXECUTE"},
                ],
            ),
            pool("v6e", machineType="ct6e-standard-4t", placementPolicy={"tpuTopology": "4x4"}),
            pool("plain", machineType="e2-standard-4"),
        ],
        "us",
        "us-central1",
    )
    said = taking.config(found.taken)
    every = {"cluster": "shop", "zones": ["us-central1-a"]}
    assert said["clusters"] == {"shop": {"existing": CLUSTER}}
    assert said["node_pools"] == {
        "l4": {"existing": f"{CLUSTER}/nodePools/l4", "machine_type": "g2-standard-8", "provisioning": "spot", "nodes": 2, **every},
        "t4": {
            "existing": f"{CLUSTER}/nodePools/t4",
            "machine_type": "n1-standard-8",
            "accelerator_type": "nvidia-tesla-t4",
            "count": 2,
            "provisioning": "on-demand",
            "autoscale": {"min": 0, "max": 3},
            "taints": [{"key": "team", "value": "ml", "effect": "no-execute"}],
            **every,
        },
        "v6e": {"existing": f"{CLUSTER}/nodePools/v6e", "accelerator_type": "v6e-16", "provisioning": "on-demand", **every},
    }
    assert [(one.short, why) for one, why in found.left] == [("plain", "has no key in a stack file: its nodes have no accelerator")]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (vm("a", zone="us-east5-a"), "stands in us-east5-a, and the file is of us-central1"),
        (vm("a", "e2-standard-4"), "e2-standard-4 has no accelerator"),
        (vm("gke-shop-1"), "is a part of a cluster's nodes"),
        (thing("disk", f"{P}/zones/us-central1-a/disks/d", "us-central1-a", users=["vm"]), "is a disk of a machine"),
        (thing("machine", f"{P}/zones/us-central1-a/instances/a", "us-central1-a", {"accelform-run": "r"}), "is of a job's run"),
        (vm("a", metadata={"items": [{"key": "created-by", "value": "x"}]}), "is one of a managed group"),
        (vm("a", status="STOPPING"), "is being deleted"),
        (thing("machine", f"{P}/zones/us-central1-a/instances/a", "us-central1-a", {"accelform-stack": "other"}), "is of stack other"),
        (thing("bucket", "shop-data", "us"), "stands in us, and"),
        (thing("bucket", "shop-stuff"), "may be the data or the models bucket"),
        (thing("bucket", "data-models"), "may be the data or the models bucket"),
        (thing("repository", f"{P}/locations/us-central1/repositories/r", format="PYTHON"), "holds no container images"),
        (thing("cluster", CLUSTER, autopilot={"enabled": True}), "is Autopilot"),
        (thing("cluster", CLUSTER), "has no workload identity"),
        (thing("machine group", f"{P}/zones/us-central1-a/instanceGroupManagers/g", "us-central1-a"), "is no TPU slice"),
        (thing("budget", "b", "global", amount={"lastPeriodAmount": {}}), "has no amount of its own"),
        (
            thing("budget", "b", "global", amount={"specifiedAmount": {"units": "1"}}, budgetFilter={"services": ["x"]}),
            "a part of the project",
        ),
        (thing("channel", f"{P}/notificationChannels/1", "global", type="slack"), "is no channel for mail"),
        (thing("secret", f"{P}/secrets/s", "global"), "stands in no region"),
        (thing("subnet", f"{P}/regions/us-central1/subnetworks/s"), "once a machine of the file's own stands in it"),
        (thing("disk", f"{P}/zones/us-central1-a/disks/d", "us-central1-a"), "has no key in a stack file"),
    ],
)
def test_what_is_left_has_a_reason(one: Thing, why: str) -> None:
    """Each in one sentence, and nothing of it is in the file."""
    found = taking.sort([one], "us", "us-central1")
    assert found.taken == []
    assert why in found.left[0][1]


def test_of_several_none_is_taken() -> None:
    """Where a key holds one, nobody here knows which is meant; and a budget takes five channels."""
    several = [thing("bucket", "shop-data"), thing("bucket", "data-of-others")]
    channels = [thing("channel", f"{P}/notificationChannels/{number}", "global", type="email") for number in range(6)]
    found = taking.sort([*several, *channels], "us", "us-central1")
    assert len(taking.config(found.taken)["notify"]) == 5
    assert "storage" not in taking.config(found.taken)
    assert (
        sorted(why for _, why in found.left)
        == ["a budget takes 5 channels"] + ["is one of 2 that could be storage.data: write the one that is"] * 2
    )
