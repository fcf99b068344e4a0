"""Node pools: what is filled in, what is refused, how they change, and what becomes of them where machines are lacking."""

from __future__ import annotations

from typing import Any

import pytest
from gke_calls import CLUSTERS, L4, POOLS, Gke

from infra.sandbox.cloud import Answer, Cloud
from infra.sandbox.faults import Fault

COMPUTE = "compute.googleapis.com"
SLICE = {
    "config": {"machineType": "ct5lp-hightpu-4t", "spot": True},
    "placementPolicy": {"type": "COMPACT", "tpuTopology": "4x4"},
    "autoscaling": {"enabled": True, "maxNodeCount": 4},
}
POLICY = {"name": "wp", "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}}
PART = {"acceleratorType": "nvidia-rtx-pro-6000", "acceleratorCount": "1"}


def message(answer: Answer) -> str:
    return str(answer.body["error"]["message"])


def instances(cloud: Cloud) -> list[str]:
    """Names of the pool's machines."""
    return [name for name, _ in cloud.store.of_kind(COMPUTE, "instances") if "/gke-c-p-" in name]


def test_a_pool_is_filled_in(gke: Gke) -> None:
    found = gke.pool(initialNodeCount=1, config=L4 | {"spot": True})
    config = found["config"]
    assert (found["status"], found["version"], found["podIpv4CidrSize"]) == ("RUNNING", "1.35.6-gke.1250000", 24)
    assert (config["diskType"], config["diskSizeGb"], config["imageType"]) == ("pd-balanced", 100, "COS_CONTAINERD")
    assert config["bootDisk"] == {"diskType": "pd-balanced", "sizeGb": "100"}
    assert config["accelerators"][0]["gpuDriverInstallationConfig"] == {"gpuDriverVersion": "DEFAULT"}
    assert config["resourceLabels"] == {"goog-gke-node-pool-provisioning-model": "spot"}
    assert config["metadata"] == {"disable-legacy-endpoints": "true"}
    assert (found["management"], found["upgradeSettings"]) == (
        {"autoRepair": True, "autoUpgrade": True},
        {"maxSurge": 1, "strategy": "SURGE"},
    )


def test_gpus_are_tainted_where_another_pool_takes_the_rest(gke: Gke) -> None:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    assert gke.pool(config=L4)["config"]["taints"] == [taint]
    gke.ended(gke.ask("DELETE", f"{POOLS}/p"))
    gke.ended(gke.ask("DELETE", f"{POOLS}/default-pool"))
    assert "taints" not in gke.pool(config=L4)["config"]


def test_an_operation_on_a_pool_is_pending_first(gke: Gke, cloud: Cloud) -> None:
    begun = gke.make(initialNodeCount=1)
    assert (begun.body["status"], begun.body["operationType"]) == ("PENDING", "CREATE_NODE_POOL")
    assert begun.body["targetLink"].endswith("/clusters/c/nodePools/p")
    cloud.clock.advance(5)
    where = f"v1beta1/projects/{{project}}/locations/us-central1/operations/{begun.body['name']}"
    assert gke.ask("GET", where).body["status"] == "RUNNING"
    assert gke.ask("GET", f"{POOLS}/p").body["status"] == "RUNNING"  # the poll moved the clock


def test_nodes_are_machines_of_a_group_and_of_the_ledger(gke: Gke, ask: Any, cloud: Cloud) -> None:
    url = gke.pool(initialNodeCount=2, config=L4 | {"spot": True})["instanceGroupUrls"][0]
    found = ask("GET", COMPUTE, url.removeprefix("https://www.googleapis.com/")).body
    assert (found["targetSize"], found["currentActions"]["none"], found["status"]["isStable"]) == (2, 2, True)
    assert found["serviceAccount"].endswith("@container-engine-robot.iam.gserviceaccount.com")
    managers = ask("GET", COMPUTE, "compute/v1/projects/{project}/zones/us-central1-a/instanceGroupManagers").body["items"]
    assert url.rpartition("/")[2] in [one["name"] for one in managers]
    cloud.clock.advance(3600)
    mine = [one for one in cloud.machines.shown() if "/gke-c-p-" in one["name"]]
    assert [(one["machine_type"], one["provisioning"], one["state"]) for one in mine] == [("g2-standard-4", "spot", "RUNNING")] * 2
    assert all(float(one["usd_hour"]) > 0 for one in mine)
    assert mine[0]["labels"]["goog-k8s-node-pool-name"] == "p"


def test_a_pool_s_name_and_its_cluster_s_share_a_group_s(gke: Gke) -> None:
    """32 characters for both: recorded names."""
    begun = gke.ask("POST", CLUSTERS, {"cluster": {"name": "a" * 40, "initialNodeCount": 1, "locations": ["us-central1-a"]}})
    gke.ended(begun)
    url = gke.ask("GET", f"{CLUSTERS}/{'a' * 40}").body["instanceGroupUrls"][0]
    assert url.rpartition("/")[2].rpartition("-grp")[0][:-9] == f"gke-{'a' * 20}-default-pool"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"config": {"machineType": "g2-standard-4", "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "2"}]}}, "not 2 x nvidia-l4"),
        ({"config": {"accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]}}, "Cannot use default machine type (e2-medium)"),
        (
            {"config": {"machineType": "n2-standard-4", "accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": "1"}]}},
            "[nvidia-tesla-t4, n2-standard-4] features are not compatible",
        ),
        (
            {"config": {"machineType": "n1-standard-4", "accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": "3"}]}},
            "allowed: 1, 2, 4",
        ),
        ({"config": {"accelerators": [{"acceleratorType": "nvidia.com/gpu", "acceleratorCount": "1"}]}}, 'Accelerator type "nvidia.com/gpu" does not exist'),
        (
            {
                "config": {
                    "machineType": "a2-highgpu-1g",
                    "accelerators": [{"acceleratorType": "nvidia-tesla-a100", "acceleratorCount": "1", "gpuPartitionSize": "1g.10gb"}],
                }
            },
            'Invalid GPU partition size "1g.10gb" for accelerator type "nvidia-tesla-a100"; allowed: 1g.5gb,',
        ),
        (
            {
                "config": {
                    "machineType": "g2-standard-4",
                    "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1", "gpuPartitionSize": "1g.5gb"}],
                }
            },
            "allowed: none",
        ),
        (
            {"config": {"machineType": "g4-standard-12", "accelerators": [PART | {"acceleratorCount": "2"}]}},
            "it has 0.25 x nvidia-rtx-pro-6000, not 2 x nvidia-rtx-pro-6000",
        ),
        ({"config": {"machineType": "g4-standard-12", "accelerators": [PART | {"gpuPartitionSize": "1g.24gb"}]}}, "allowed: none"),
        (
            {
                "config": {
                    "machineType": "g4-standard-12",
                    "accelerators": [PART | {"gpuSharingConfig": {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": "2"}}],
                }
            },
            "GPU sharing is not supported on g4-standard-12",
        ),
        (
            {
                "config": {
                    "machineType": "g2-standard-4",
                    "accelerators": [
                        {"acceleratorType": "nvidia-l4", "acceleratorCount": "1", "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING"}}
                    ],
                }
            },
            "max_shared_clients_per_gpu of 2 or more",
        ),
        ({"config": {"machineType": "ct6e-standard-4t"}, "locations": ["us-central1-f"]}, '"ct6e-standard-4t" in zone "us-central1-f": GCE_NOT_FOUND'),
        ({"config": {"machineType": "ct9-mega-4t"}}, '"ct9-mega-4t" in zone "us-central1-a": GCE_NOT_FOUND'),
        ({"config": {"machineType": "f1-micro"}}, "due to insufficient memory"),
        ({"config": {"spot": True, "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}}}, "cannot consume reservations"),
        ({"config": {"flexStart": True}}, "Flex start node pools require autoscaling enabled."),
        ({"config": {"flexStart": True}, "autoscaling": {"enabled": True, "maxNodeCount": 1}, "initialNodeCount": 1}, "initial node count to be set to 0"),
        ({"config": {"flexStart": True, "spot": True}, "autoscaling": {"enabled": True, "maxNodeCount": 1}}, "cannot be Spot"),
        ({"queuedProvisioning": {"enabled": True}}, "Queued_provisioning requires reservation affinity to be set to none"),
        (
            {
                "queuedProvisioning": {"enabled": True},
                "config": {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
                "autoscaling": {"enabled": True, "minNodeCount": 1, "maxNodeCount": 1},
            },
            "a minimum and an initial node count of 0",
        ),
        ({"management": {"autoUpgrade": True}}, "Auto_upgrade and auto_repair cannot be false when release_channel REGULAR is set."),
        ({"upgradeSettings": {"strategy": "SURGE"}}, "max_surge or max_unavailable above 0"),
        ({"autoscaling": {"enabled": True, "minNodeCount": 5, "maxNodeCount": 2}}, "got 5 and 2"),
        ({"autoscaling": {"enabled": True, "maxNodeCount": 2, "totalMaxNodeCount": 2}}, "mutually exclusive"),
        ({"initialNodeCount": -1}, "Initial node count must be between 0 and 1000"),
        ({"locations": ["us-east1-b"]}, "Node locations us-east1-b are not zones of us-central1"),
        ({"config": {"serviceAccount": "no@shop-prod.iam.gserviceaccount.com"}}, 'Service account "no@shop-prod.iam.gserviceaccount.com" does not exist.'),
        ({"placementPolicy": {"policyName": "no"}}, "resourcePolicies/no' was not found"),
        ({"name": "Pool"}, 'Invalid node pool name "Pool"'),
    ],
)  # fmt: skip
def test_refuses_a_pool_that_cannot_be(standing: Gke, asked: dict[str, Any], said: str) -> None:
    answer = standing.make(**asked)
    assert (answer.status, said in message(answer)) == (400, True), answer.body
    assert standing.ask("GET", f"{CLUSTERS}/c").body["currentNodeCount"] == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"placementPolicy": {"tpuTopology": "3x3"}}, 'Invalid TPU topology "3x3" for machine type ct5lp-hightpu-4t; allowed: 2x2, 2x4, 4x4'),
        ({"config": {"machineType": "e2-medium"}}, "needs a TPU machine type"),
        ({"placementPolicy": {"tpuTopology": "2x2"}}, "a single-host pool has no placement policy"),
        ({"config": {"machineType": "ct5lp-hightpu-8t"}}, 'Invalid TPU topology "4x4" for machine type ct5lp-hightpu-8t; allowed: 2x4.'),
        ({"autoscaling": {"enabled": True, "totalMaxNodeCount": 4}}, 'Maximum node count 0 is not a valid size of TPU pod slice with topology "4x4"'),
        ({"autoscaling": {}, "initialNodeCount": 3}, 'Node count 3 is not a valid size of TPU pod slice with topology "4x4"; it has 4 nodes.'),
        ({"config": {"machineType": "ct6e-standard-4t"}, "locations": ["us-central1-b", "us-central1-c"]}, "is in one zone"),
    ],
)  # fmt: skip
def test_refuses_a_slice_that_cannot_be(standing: Gke, asked: dict[str, Any], said: str) -> None:
    answer = standing.make(**(SLICE | asked))
    assert (answer.status, said in message(answer)) == (400, True), answer.body


def test_the_machine_decides_how_many_nodes_a_topology_has(gke: Gke, cloud: Cloud) -> None:
    """2x4 is one machine with 8 chips, or two with 4."""
    placement = {"type": "COMPACT", "tpuTopology": "2x4"}
    gke.pool(config={"machineType": "ct5lp-hightpu-4t"}, placementPolicy=placement, initialNodeCount=2)
    assert len(instances(cloud)) == 2
    assert gke.make(name="q", config={"machineType": "ct5lp-hightpu-8t"}, placementPolicy=placement, initialNodeCount=1).status == 400


def test_gpus_that_are_built_in_need_not_be_said(gke: Gke, cloud: Cloud) -> None:
    """A machine with GPUs does not move: whether they are said or not."""
    gke.pool(config={"machineType": "g2-standard-4"}, initialNodeCount=1)
    (one,) = [one for one in cloud.machines.shown() if "/gke-c-p-" in one["name"]]
    assert one["machine_type"] == "g2-standard-4"


def test_a_part_of_a_gpu_counts_as_one(gke: Gke, cloud: Cloud) -> None:
    gke.pool(config={"machineType": "g4-standard-12", "accelerators": [PART]}, locations=["us-central1-b"], initialNodeCount=1)
    (one,) = [one for one in cloud.machines.shown() if "/gke-c-p-" in one["name"]]
    assert one["machine_type"] == "g4-standard-12"


def test_a_zone_that_no_list_has_is_believed(gke: Gke) -> None:
    """No list of GPUs is complete: what is unknown is not impossible."""
    wanted = {"machineType": "a3-highgpu-8g", "accelerators": [{"acceleratorType": "nvidia-h100-80gb", "acceleratorCount": "8"}]}
    assert gke.pool(config=wanted, locations=["us-central1-f"], initialNodeCount=1)["status"] == "RUNNING"


def test_a_slice_has_all_of_its_nodes_or_none(gke: Gke, cloud: Cloud) -> None:
    """A node that is preempted takes the others with it, and the slice comes again as a whole."""
    gke.pool(**SLICE, initialNodeCount=4)
    before = instances(cloud)
    assert len(before) == 4
    cloud.faults.add(Fault(do="preempt", path=before[0], times=1))
    for _ in range(2):
        cloud.catch_up()
        cloud.clock.advance(60)
    cloud.catch_up()
    after = instances(cloud)
    assert (len(after), set(before) & set(after)) == (4, set())
    answer = gke.ask("POST", f"{POOLS}/p:setSize", {"nodeCount": 2})
    assert (answer.status, "is not a valid size" in message(answer)) == (400, True)


@pytest.fixture
def policy(gke: Gke, ask: Any) -> Gke:
    """With a workload policy for tpu7x."""
    ask("POST", COMPUTE, "compute/v1/projects/{project}/regions/us-central1/resourcePolicies", POLICY)
    return gke


TPU7X = {"config": {"machineType": "tpu7x-standard-4t"}, "locations": ["us-central1-c"]}


def test_a_workload_policy_says_the_topology(policy: Gke) -> None:
    found = policy.pool(**TPU7X, placementPolicy={"policyName": "wp"}, autoscaling={"enabled": True, "maxNodeCount": 2})
    assert (found["status"], found["placementPolicy"]) == ("RUNNING", {"policyName": "wp", "tpuTopology": "2x2x2"})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x2"}, "initialNodeCount": 2}, "Use workload policy instead."),
        (
            {"placementPolicy": {"policyName": "wp"}, "initialNodeCount": 4},
            "in the gang mode of size '2'. Should be equal to the gang size.",
        ),
    ],
)
def test_some_slices_fail_only_when_they_are_made(policy: Gke, cloud: Cloud, asked: dict[str, Any], said: str) -> None:
    done = policy.ended(policy.make(**TPU7X, **asked))
    found = policy.ask("GET", f"{POOLS}/p").body
    assert (done["error"]["code"], found["status"], said in done["error"]["message"]) == (3, "ERROR", True)
    assert (found["statusMessage"], instances(cloud)) == (done["error"]["message"], [])


def test_a_stock_out_ends_in_error_after_a_while(gke: Gke, cloud: Cloud) -> None:
    cloud.faults.add(Fault(do="stockout", zone="us-central1-a"))
    begun = cloud.moment
    done = gke.ended(gke.make(initialNodeCount=1, config=L4))
    found = gke.ask("GET", f"{POOLS}/p").body
    assert (cloud.moment - begun, found["status"], found["conditions"][0]["code"]) == (2100, "ERROR", "GCE_STOCKOUT")
    assert "Not all instances running in IGM after 35m0s." in done["error"]["message"]
    assert "Expected 1, running 0, transitioning 1. Current errors: [GCE_STOCKOUT]: Instance 'gke-c-p-" in done["error"]["message"]
    assert done["nodepoolConditions"][0]["canonicalCode"] == "RESOURCE_EXHAUSTED"


def test_a_stock_out_in_one_zone_of_two_leaves_a_part(gke: Gke, cloud: Cloud) -> None:
    cloud.faults.add(Fault(do="stockout", zone="us-central1-b"))
    found = gke.pool(initialNodeCount=1, locations=["us-central1-a", "us-central1-b"])
    assert (found["status"], len(instances(cloud))) == ("RUNNING_WITH_ERROR", 1)
    gke.ended(gke.ask("DELETE", f"{POOLS}/p"))
    assert instances(cloud) == []


def test_capacity_that_comes_in_time_saves_a_pool(gke: Gke, cloud: Cloud) -> None:
    cloud.faults.add(Fault(do="stockout", zone="us-central1-a", times=3))
    assert gke.pool(initialNodeCount=1)["status"] == "RUNNING"
    assert len(instances(cloud)) == 1


def test_too_little_quota_is_told_at_once(gke: Gke, cloud: Cloud) -> None:
    cloud.faults.add(Fault(do="quota", provisioning="spot"))
    answer = gke.make(initialNodeCount=2, config=L4 | {"spot": True})
    assert (answer.status, answer.body["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert "resource \"PREEMPTIBLE_NVIDIA_L4_GPUS\": request requires '2.0' and is short '2.0'" in message(answer)
    assert gke.ask("GET", f"{POOLS}/p").status == 404


def test_a_create_that_fails_otherwise_leaves_an_error(gke: Gke, cloud: Cloud) -> None:
    cloud.faults.add(Fault(do="fail", method="POST", path="nodePools/p$", status="INTERNAL", message="broken"))
    assert (gke.pool()["status"], gke.ask("GET", f"{POOLS}/p").body["statusMessage"]) == ("ERROR", "broken")


@pytest.mark.parametrize(
    ("sent", "path", "value", "rebuilt"),
    [
        ({"labels": {"labels": {"a": "b"}}}, "config.labels", {"a": "b"}, False),
        ({"taints": {"taints": [{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}]}}, "config.taints", [{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}], False),
        ({"tags": {"tags": ["t"]}}, "config.tags", ["t"], False),
        ({"upgradeSettings": {"maxUnavailable": 1}}, "upgradeSettings.maxUnavailable", 1, False),
        ({"workloadMetadataConfig": {"mode": "GKE_METADATA"}}, "config.workloadMetadataConfig.mode", "GKE_METADATA", True),
        ({"machineType": "e2-standard-4", "diskSizeGb": 50}, "config.bootDisk.sizeGb", "50", True),
        ({"nodeVersion": "1.35.1-gke.1"}, "version", "1.35.1-gke.1", True),
        ({"nodeVersion": "-"}, "version", "1.35.6-gke.1250000", False),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)  # fmt: skip
def test_a_pool_changes(gke: Gke, cloud: Cloud, sent: dict[str, Any], path: str, value: Any, *, rebuilt: bool) -> None:
    """Some of it as the nodes run; for the rest they are made anew."""
    urls = gke.pool(initialNodeCount=1)["instanceGroupUrls"]
    before = instances(cloud)
    begun = gke.ask("PUT", f"{POOLS}/p", {"nodePoolId": "p"} | sent)
    assert (begun.body["operationType"], gke.ask("GET", f"{POOLS}/p").body["status"]) == ("UPGRADE_NODES", "RECONCILING")
    done = gke.ended(begun)
    found = whole = gke.ask("GET", f"{POOLS}/p").body
    for word in path.split("."):
        found = found[word]
    assert (found, whole["status"], whole["instanceGroupUrls"]) == (value, "RUNNING", urls)
    assert done["progress"]["metrics"][0] == {"name": "NODES_TOTAL", "intValue": "1"}
    assert (instances(cloud) != before) is rebuilt
    assert len(instances(cloud)) == 1


def test_a_pool_moves_to_other_zones(gke: Gke, cloud: Cloud) -> None:
    gke.pool(initialNodeCount=2)
    gke.ended(gke.ask("PUT", f"{POOLS}/p", {"locations": ["us-central1-b", "us-central1-c"]}))
    assert sorted(name.split("/")[3] for name in instances(cloud)) == ["us-central1-b", "us-central1-b", "us-central1-c", "us-central1-c"]


def test_a_size_is_set_in_every_zone(gke: Gke, cloud: Cloud) -> None:
    gke.pool(locations=["us-central1-a", "us-central1-b"])
    begun = gke.ask("POST", f"{POOLS}/p:setSize", {"nodeCount": 2})
    assert (begun.body["operationType"], gke.ended(begun)["status"]) == ("SET_NODE_POOL_SIZE", "DONE")
    assert (len(instances(cloud)), gke.ask("GET", f"{CLUSTERS}/c").body["currentNodeCount"]) == (4, 7)
    cloud.faults.add(Fault(do="stockout"))
    assert gke.ended(gke.ask("POST", f"{POOLS}/p:setSize", {"nodeCount": 3}))["error"]["code"] == 8
    assert gke.ask("GET", f"{POOLS}/p").body["status"] == "RUNNING_WITH_ERROR"
    assert gke.ask("POST", f"{POOLS}/p:setSize", {"nodeCount": 2000}).status == 400


def test_limits_and_care_are_set_by_verbs_of_their_own(gke: Gke) -> None:
    gke.pool()
    gke.ended(gke.ask("POST", f"{POOLS}/p:setAutoscaling", {"autoscaling": {"enabled": True, "maxNodeCount": 3}}))
    assert gke.ask("GET", f"{POOLS}/p").body["autoscaling"] == {"enabled": True, "maxNodeCount": 3}
    update = {"desiredNodePoolId": "p", "desiredNodePoolAutoscaling": {"enabled": False}}
    gke.ended(gke.ask("PUT", f"{CLUSTERS}/c", {"update": update}))
    assert "autoscaling" not in gke.ask("GET", f"{POOLS}/p").body
    begun = gke.ask("POST", f"{POOLS}/p:setManagement", {"management": {"autoRepair": True, "autoUpgrade": True}})
    assert begun.body["operationType"] == "SET_NODE_POOL_MANAGEMENT"
    gke.ended(begun)
    assert gke.ask("POST", f"{POOLS}/p:setManagement", {"management": {"autoRepair": True}}).status == 400


def test_two_pools_may_change_at_once_and_one_may_not(gke: Gke) -> None:
    assert gke.make(initialNodeCount=1).status == 200
    assert gke.make(name="q", initialNodeCount=1).status == 200
    refused = gke.ask("DELETE", f"{POOLS}/p")
    assert (refused.status, "incompatible operation" in message(refused)) == (400, True)
    gke.ended(gke.ask("DELETE", f"{POOLS}/p"))
    answer = gke.ask("GET", f"{POOLS}/p")
    assert (answer.status, message(answer)) == (404, 'Not found: node pool "p" not found.')


def test_a_machine_that_is_taken_away_comes_again(gke: Gke, cloud: Cloud) -> None:
    gke.pool(initialNodeCount=1, config={"spot": True})
    before = instances(cloud)
    cloud.faults.add(Fault(do="preempt", path=before[0], times=1))
    cloud.catch_up()
    cloud.clock.advance(60)
    cloud.catch_up()
    after = instances(cloud)
    assert (len(after), after != before) == (1, True)


def test_a_machine_runs_no_longer_than_it_may(gke: Gke, cloud: Cloud) -> None:
    gke.pool(initialNodeCount=1, config={"maxRunDuration": "3600s"})
    began = [one for one in cloud.machines.shown() if "/gke-c-p-" in one["name"]]
    cloud.clock.advance(3700)
    cloud.catch_up()
    first = next(one for one in cloud.machines.shown() if one["name"] == began[0]["name"])
    assert (first["billed_seconds"], first["ended"] is not None) == (3600, True)
