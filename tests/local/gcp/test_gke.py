"""Clusters and node pools of GKE, against the sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from echo import AbortedError, Driver
from region import NETWORK, SUBNETWORK, P, Region

from infra.provider.values import Decoded
from infra.sandbox.cloud import Request
from infra.sandbox.faults import Fault

CLUSTER, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
RANGES = [{"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"}, {"rangeName": "services", "ipCidrRange": "10.8.0.0/20"}]
SUBNET = {"name": "subnet", "region": "us-east5", "network": NETWORK, "ipCidrRange": "10.0.0.0/20", "secondaryIpRanges": RANGES}
ONE: dict[str, Any] = {
    "name": "c",
    "location": "us-east5",
    "nodeLocations": ["us-east5-a"],
    "network": NETWORK,
    "subnetwork": SUBNETWORK,
    "removeDefaultNodePool": True,
    "initialNodeCount": 1,
    "deletionProtection": False,
    "releaseChannel": {"channel": "REGULAR"},
    "networkingMode": "VPC_NATIVE",
    "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
    "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": False, "masterIpv4CidrBlock": "172.16.0.0/28"},
    "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "203.0.113.0/24", "displayName": "office"}]},
    "workloadIdentityConfig": {"workloadPool": f"{P}.svc.id.goog"},
    "datapathProvider": "ADVANCED_DATAPATH",
    "addonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": True}, "rayOperatorConfigs": [{"enabled": True}]},
    "costManagementConfig": {"enabled": True},
    "resourceLabels": {"owner": "ml"},
}
SPOT: dict[str, Any] = {
    "name": "p",
    "cluster": "c",
    "location": "us-east5",
    "nodeLocations": ["us-east5-a"],
    "initialNodeCount": 1,
    "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 8, "locationPolicy": "ANY"},
    "nodeConfig": {
        "machineType": "ct6e-standard-1t",
        "spot": True,
        "diskSizeGb": 200,
        "labels": {"pool": "serve"},
        "taints": [{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}],
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
    },
    "management": {"autoRepair": True, "autoUpgrade": True},
    "upgradeSettings": {"maxSurge": 0, "maxUnavailable": 1},
}


class Thing(NamedTuple):
    """What stands: its id, its checked inputs and its state."""

    id: str
    inputs: dict[str, Any]
    state: dict[str, Any]


def make(driver: Driver, token: str, declared: dict[str, Any]) -> Thing:
    inputs = driver.checked(token, declared)
    made = driver.create(token, inputs)
    return Thing(made.id, inputs, Decoded(made.properties).values)


def config(**more: Any) -> dict[str, Any]:
    """The pool's machines, otherwise."""
    return {"nodeConfig": SPOT["nodeConfig"] | more}


@pytest.fixture(scope="module")
def standing() -> Region:
    """A sandbox with a network and one cluster without pools."""
    region = Region()
    driver = region.driver()
    make(driver, "gcp:compute/network:Network", {"name": "net", "autoCreateSubnetworks": False})
    make(driver, "gcp:compute/subnetwork:Subnetwork", SUBNET)
    make(driver, CLUSTER, ONE)
    return region


@pytest.fixture
def driver(standing: Region) -> Driver:
    return standing.driver()


@pytest.fixture
def cluster(driver: Driver) -> Thing:
    """The cluster as it is."""
    found = driver.read(CLUSTER, f"projects/{P}/locations/us-east5/clusters/c", {}, {})
    inputs = driver.checked(CLUSTER, ONE)
    return Thing(found.id, inputs, Decoded(found.properties).values | {"deletionProtection": False, "removeDefaultNodePool": True})


@pytest.fixture
def clean(standing: Region, driver: Driver) -> Iterator[None]:
    """Takes the pool away at the end, whatever became of it: nothing of it is left."""
    yield
    driver.delete(POOL, f"projects/{P}/locations/us-east5/clusters/c/nodePools/p", {})
    assert not [one["name"] for one in standing.cloud.resources() if "/nodePools/" in one["name"] or "/instances/" in one["name"]]


def test_a_cluster_reads_as_it_was_written(driver: Driver, cluster: Thing) -> None:
    read = driver.read(CLUSTER, cluster.id, cluster.state, cluster.inputs)
    assert Decoded(read.inputs).values == cluster.inputs
    state = Decoded(read.properties).values
    assert (state["nodePools"], state["network"], state["effectiveLabels"]) == ([], f"projects/{P}/global/networks/net", {"owner": "ml"})
    assert state["endpoint"] == state["privateClusterConfig"]["publicEndpoint"]
    assert state["masterAuth"]["clusterCaCertificate"]
    assert not driver.diff(CLUSTER, cluster.inputs, cluster.inputs, state).diffs


def test_a_cluster_is_imported(driver: Driver, cluster: Thing) -> None:
    """What the program writes of it changes nothing but what is the provider's own."""
    imported = driver.read(CLUSTER, cluster.id)
    diff = driver.diff(CLUSTER, Decoded(imported.inputs).values, cluster.inputs, Decoded(imported.properties).values)
    assert (sorted(diff.diffs), list(diff.replaces)) == (["deletionProtection", "removeDefaultNodePool"], [])


@pytest.mark.parametrize(
    "change",
    [
        {"resourceLabels": {"owner": "web"}},
        {"releaseChannel": {"channel": "STABLE"}},
        {"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "203.0.114.0/24"}]}},
        {"privateClusterConfig": ONE["privateClusterConfig"] | {"masterGlobalAccessConfig": {"enabled": True}}},
        {"maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "03:00"}}},
        {
            "maintenancePolicy": {
                "recurringWindow": {
                    "startTime": "2026-12-01T00:00:00Z",
                    "endTime": "2026-12-01T06:00:00Z",
                    "recurrence": "FREQ=WEEKLY;BYDAY=SA",
                },
                "maintenanceExclusions": [
                    {
                        "exclusionName": "sale",
                        "startTime": "2026-12-20T00:00:00Z",
                        "endTime": "2026-12-27T00:00:00Z",
                        "exclusionOptions": {"scope": "NO_UPGRADES"},
                    }
                ],
            }
        },
        {"costManagementConfig": {"enabled": False}},
        {"enableIntranodeVisibility": True},
        {"enableShieldedNodes": False},
        {"enableLegacyAbac": True},
        {"gatewayApiConfig": {"channel": "CHANNEL_STANDARD"}},
        {"verticalPodAutoscaling": {"enabled": True}},
        {"nodeLocations": ["us-east5-a", "us-east5-b"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_cluster_changes_in_place_and_back(driver: Driver, cluster: Thing, change: dict[str, Any]) -> None:
    new = driver.checked(CLUSTER, ONE | change)
    assert list(driver.diff(CLUSTER, cluster.inputs, new, cluster.state).replaces) == []
    state = Decoded(driver.update(CLUSTER, cluster.id, cluster.state, cluster.inputs, new).properties).values
    read = driver.read(CLUSTER, cluster.id, state, new)
    assert Decoded(read.inputs).values == new
    back = driver.update(CLUSTER, cluster.id, state, new, cluster.inputs)
    assert Decoded(driver.read(CLUSTER, cluster.id, Decoded(back.properties).values, cluster.inputs).inputs).values == cluster.inputs


@pytest.mark.parametrize(
    "change",
    [{"network": "other"}, {"location": "us-east1"}, {"initialNodeCount": 2}, {"name": "d"}, {"datapathProvider": "LEGACY_DATAPATH"}],
    ids=lambda change: next(iter(change)),
)
def test_some_of_a_cluster_replaces_it(driver: Driver, cluster: Thing, change: dict[str, Any]) -> None:
    diff = driver.diff(CLUSTER, cluster.inputs, driver.checked(CLUSTER, ONE | change), cluster.state)
    assert list(diff.replaces) == list(change)


def test_autopilot_has_no_shielded_nodes_of_its_own(driver: Driver) -> None:
    """The provider fills that in beside it only where it is not said."""
    assert "enableShieldedNodes" not in driver.checked(CLUSTER, {"name": "a", "location": "us-east5", "enableAutopilot": True})
    assert driver.checked(CLUSTER, {"name": "a", "location": "us-east5"})["enableShieldedNodes"] is True


def test_autopilot_reads_as_it_was_written(driver: Driver) -> None:
    auto = {"name": "auto", "location": "us-east5", "enableAutopilot": True, "network": NETWORK, "subnetwork": SUBNETWORK}
    made = make(driver, CLUSTER, auto | {"deletionProtection": False, "ipAllocationPolicy": {}})
    assert Decoded(driver.read(CLUSTER, made.id, made.state, made.inputs).inputs).values == made.inputs
    driver.delete(CLUSTER, made.id, made.state)


def test_what_is_protected_stays(driver: Driver, cluster: Thing) -> None:
    with pytest.raises(AbortedError, match="deletion_protection is set to true"):
        driver.delete(CLUSTER, cluster.id, cluster.state | {"deletionProtection": True})


@pytest.mark.parametrize(("token", "declared"), [(CLUSTER, ONE | {"fleet": {"project": P}}), (POOL, SPOT | {"namePrefix": "x"})])
def test_refuses_what_only_the_official_provider_does(driver: Driver, token: str, declared: dict[str, Any]) -> None:
    assert "the official one does" in driver.check(token, declared).failures[0].reason


def test_what_is_there_is_not_made_again(driver: Driver) -> None:
    with pytest.raises(AbortedError, match="already exists"):
        make(driver, CLUSTER, ONE)


@pytest.mark.parametrize(
    "change",
    [
        config(labels={"pool": "train"}),
        config(labels={}),
        config(taints=[]),
        config(tags=["a"]),
        config(diskSizeGb=100),
        config(imageType="UBUNTU_CONTAINERD"),
        config(workloadMetadataConfig={"mode": "GCE_METADATA"}),
        config(resourceLabels={"team": "ml"}),
        {"autoscaling": {"minNodeCount": 0, "maxNodeCount": 3}},
        {"nodeLocations": ["us-east5-b"]},
        {"upgradeSettings": {"maxSurge": 1, "maxUnavailable": 0}},
        {"version": "1.35.1-gke.1"},
    ],
    ids=lambda change: ".".join([next(iter(change)), *next(iter(change.values()))][:2]),
)
@pytest.mark.usefixtures("clean")
def test_a_pool_changes_in_place(driver: Driver, change: dict[str, Any]) -> None:
    pool = make(driver, POOL, SPOT)
    assert Decoded(driver.read(POOL, pool.id, pool.state, pool.inputs).inputs).values == pool.inputs
    new = driver.checked(POOL, SPOT | change)
    diff = driver.diff(POOL, pool.inputs, new, pool.state)
    assert (list(diff.diffs), list(diff.replaces)) == ([next(iter(change))], [])
    state = Decoded(driver.update(POOL, pool.id, pool.state, pool.inputs, new).properties).values
    assert Decoded(driver.read(POOL, pool.id, state, new).inputs).values == new
    assert state["nodeCount"] == 1


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (config(spot=False), "nodeConfig.spot"),
        (config(guestAccelerators=[{"type": "nvidia-l4", "count": 1}]), "nodeConfig.guestAccelerators"),
        (config(oauthScopes=["https://www.googleapis.com/auth/cloud-platform"]), "nodeConfig.oauthScopes"),
        ({"initialNodeCount": 2}, "initialNodeCount"),
        ({"placementPolicy": {"type": "COMPACT"}}, "placementPolicy"),
        ({"queuedProvisioning": {"enabled": True}}, "queuedProvisioning"),
        ({"cluster": "d"}, "cluster"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_some_of_a_pool_replaces_it(driver: Driver, change: dict[str, Any], path: str) -> None:
    diff = driver.diff(POOL, driver.checked(POOL, SPOT), driver.checked(POOL, SPOT | change))
    assert list(diff.replaces) == [path.partition(".")[0]]
    assert any(found.startswith(path) for found in diff.detailedDiff)


@pytest.mark.usefixtures("clean")
def test_a_pool_names_its_cluster_in_full_and_is_imported(driver: Driver) -> None:
    full = {"cluster": f"projects/{P}/locations/us-east5/clusters/c"}
    pool = make(driver, POOL, {key: value for key, value in SPOT.items() if key != "location"} | full)
    assert pool.id == f"projects/{P}/locations/us-east5/clusters/c/nodePools/p"
    assert Decoded(driver.read(POOL, pool.id, pool.state, pool.inputs).inputs).values == pool.inputs
    imported = driver.read(POOL, pool.id)
    found, state = Decoded(imported.inputs).values, Decoded(imported.properties).values
    assert not driver.diff(POOL, found, driver.checked(POOL, SPOT), state).diffs
    assert state["instanceGroupUrls"][0].rpartition("/")[2] == state["managedInstanceGroupUrls"][0].rpartition("/")[2]


@pytest.mark.usefixtures("clean")
def test_a_pool_without_capacity_is_kept_as_it_is(standing: Region, driver: Driver) -> None:
    """It exists, and costs what it has: the state knows it, so that a destroy takes it away."""
    standing.cloud.faults.add(Fault(do="stockout", zone="us-east5-b"))
    wide = SPOT | {"nodeLocations": ["us-east5-a", "us-east5-b"]}
    with pytest.raises(AbortedError, match="does not have enough resources") as failed:
        make(driver, POOL, wide)
    standing.cloud.faults.clear()
    assert failed.value.detail.id.endswith("/nodePools/p")
    assert Decoded(failed.value.detail.properties).values["nodeCount"] == 1


@pytest.mark.parametrize("state", ["RUNNING", "PROVISIONING", "RECONCILING", "STOPPING", "ERROR", "RUNNING_WITH_ERROR"])
def test_a_pool_goes_whatever_its_state(standing: Region, driver: Driver, state: str) -> None:
    """One that is being made, changed or taken away is waited for; one that failed, wholly or in part, is taken away with what it has."""
    cloud, path = standing.cloud, f"v1beta1/projects/{P}/locations/us-east5/clusters/c/nodePools"
    wide = {"ERROR": ["us-east5-b"], "RUNNING_WITH_ERROR": ["us-east5-a", "us-east5-b"]}.get(state, ["us-east5-a"])
    pool = {"name": "p", "locations": wide, "initialNodeCount": 1, "config": {"machineType": "ct6e-standard-1t"}}

    def ask(http: str, where: str, body: dict[str, Any]) -> Any:
        answer = cloud.handle(Request(http, "container.googleapis.com", where, content=json.dumps(body).encode()))
        assert answer.status == 200, answer.body
        return answer.body

    if len(wide) > 1 or state == "ERROR":
        cloud.faults.add(Fault(do="stockout", zone="us-east5-b"))
    ask("POST", path, {"nodePool": pool})
    if state != "PROVISIONING":
        cloud.clock.advance(3600)
        cloud.catch_up()
    if state == "RECONCILING":
        ask("POST", f"{path}/p:setSize", {"nodeCount": 2})
    if state == "STOPPING":
        ask("DELETE", f"{path}/p", {})
    name = f"projects/{P}/locations/us-east5/clusters/c/nodePools/p"
    found = cloud.store.get("container.googleapis.com", name)
    assert found is not None
    assert found["status"] == state
    driver.delete(POOL, name, {})
    cloud.faults.clear()
    assert not [one["name"] for one in cloud.resources() if "/nodePools/" in one["name"] or "/instances/" in one["name"]]


def test_more_clients_of_a_gpu_or_another_driver_replace_its_pool(driver: Driver) -> None:
    """
    Google's API could change them in place, the provider cannot: hashicorp/terraform-provider-google issue 23248,
    GoogleCloudPlatform/magic-modules pull request 18493.
    """

    def pool(driver_version: str, clients: int) -> dict[str, Any]:
        gpu = {
            "type": "nvidia-l4",
            "count": 1,
            "gpuDriverInstallationConfig": {"gpuDriverVersion": driver_version},
            "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": clients},
        }
        return driver.checked(POOL, SPOT | config(machineType="g2-standard-4", guestAccelerators=[gpu]))

    for new, last in (
        (pool("INSTALLATION_DISABLED", 4), "gpuSharingConfig.maxSharedClientsPerGpu"),
        (pool("LATEST", 2), "gpuDriverInstallationConfig.gpuDriverVersion"),
    ):
        diff = driver.diff(POOL, pool("INSTALLATION_DISABLED", 2), new)
        assert list(diff.replaces) == ["nodeConfig"]
        assert f"nodeConfig.guestAccelerators[0].{last}" in diff.detailedDiff


def test_calls_grow_as_pools_do(standing: Region, driver: Driver) -> None:
    """Four pools one after the other ask four times what one asks, whatever stands already."""

    def calls(count: int) -> int:
        standing.cloud.calls.clear()
        for number in range(count):
            made = make(driver, POOL, SPOT | {"name": f"p{number}"})
            driver.read(POOL, made.id, made.state, made.inputs)
        asked = len(standing.cloud.calls)
        for number in range(count):
            driver.delete(POOL, f"projects/{P}/locations/us-east5/clusters/c/nodePools/p{number}", {})
        return asked

    assert calls(4) <= 4 * calls(1)


@pytest.mark.usefixtures("clean")
def test_a_busy_cluster_is_waited_for(standing: Region, driver: Driver, cluster: Thing) -> None:
    """Google refuses what meets a running operation, and the provider asks again."""
    update = json.dumps({"update": {"desiredCostManagementConfig": {"enabled": True}}}).encode()
    standing.cloud.handle(Request("PUT", "container.googleapis.com", f"v1beta1/{cluster.id}", content=update))
    standing.cloud.calls.clear()
    make(driver, POOL, SPOT)
    posts = [call["status"] for call in standing.cloud.calls if call["method"] == "POST"]
    assert posts == [400, 200]
