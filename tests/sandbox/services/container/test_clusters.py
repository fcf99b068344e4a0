"""Clusters: what is filled in, what is refused, how they change and end."""

from __future__ import annotations

from typing import Any

import pytest
from gke_calls import CLUSTERS, POOLS, Gke

from infra.sandbox.cloud import Cloud
from infra.sandbox.faults import Fault

COMPUTE = "compute.googleapis.com"
PRIVATE = {"enablePrivateNodes": True, "masterIpv4CidrBlock": "172.16.0.0/28"}


def test_a_cluster_has_an_endpoint_a_certificate_and_a_name(gke: Gke) -> None:
    found = gke.ask("GET", f"{CLUSTERS}/c").body
    dns = found["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    assert (found["status"], found["currentNodeCount"], found["locations"]) == (
        "RUNNING",
        3,
        ["us-central1-a", "us-central1-b", "us-central1-c"],
    )
    assert found["endpoint"] == found["privateClusterConfig"]["publicEndpoint"]
    assert dns["endpoint"].startswith(f"gke-{found['id'][:36]}-")
    assert dns["allowExternalTraffic"] is False
    assert found["masterAuth"]["clusterCaCertificate"]


def test_an_operation_is_of_gke_s_own_form(bare: Gke, cloud: Cloud) -> None:
    begun = bare.ask("POST", CLUSTERS, {"cluster": {"name": "c", "initialNodeCount": 1}}).body
    assert bare.ask("GET", f"{CLUSTERS}/c").body["status"] == "PROVISIONING"
    done = bare.ended(bare.ask("GET", f"v1beta1/projects/{{project}}/locations/us-central1/operations/{begun['name']}"))
    number = cloud.projects.number("shop-prod")
    assert (begun["status"], begun["operationType"], begun["zone"]) == ("RUNNING", "CREATE_CLUSTER", "us-central1")
    assert begun["targetLink"] == f"https://container.googleapis.com/v1beta1/projects/{number}/locations/us-central1/clusters/c"
    assert done["progress"]["metrics"][0] == {"name": "CLUSTER_CONFIGURING", "intValue": "9"}
    listed = bare.ask("GET", "v1beta1/projects/{project}/locations/us-central1/operations").body["operations"]
    assert [one["name"] for one in listed] == [begun["name"]]


@pytest.mark.parametrize(
    ("path", "version"),
    [("v1/projects/{project}/locations/us-central1-a", "v1"), ("v1beta1/projects/{project}/zones/us-central1-a", "v1beta1")],
    ids=["v1", "zones"],
)
def test_both_versions_and_the_old_paths_reach_the_same(bare: Gke, path: str, version: str) -> None:
    bare.ended(bare.ask("POST", f"{path}/clusters", {"cluster": {"name": "z", "initialNodeCount": 2}}))
    found = bare.ask("GET", f"{path}/clusters/z").body
    assert found["selfLink"] == f"https://container.googleapis.com/{version}/projects/shop-prod/zones/us-central1-a/clusters/z"
    assert (found["currentNodeCount"], found["zone"]) == (2, "us-central1-a")


def test_every_place_is_listed_by_a_dash(gke: Gke) -> None:
    assert [one["name"] for one in gke.ask("GET", "v1beta1/projects/{project}/locations/-/clusters").body["clusters"]] == ["c"]


def test_autopilot_keeps_its_pools_to_itself(bare: Gke) -> None:
    """The provider sends scopes of machines with it all the same."""
    found = bare.cluster(autopilot={"enabled": True}, initialNodeCount=0, nodeConfig={"oauthScopes": ["x"]})
    assert found["autoscaling"]["enableNodeAutoprovisioning"] is True
    assert found["workloadIdentityConfig"] == {"workloadPool": "shop-prod.svc.id.goog"}
    assert found["defaultMaxPodsConstraint"] == {"maxPodsPerNode": "32"}
    for answer in (bare.ask("GET", POOLS), bare.make(), bare.ask("GET", f"{POOLS}/default-pool"), bare.ask("DELETE", f"{POOLS}/p")):
        assert (answer.status, answer.body["error"]["message"]) == (400, "Autopilot node pools cannot be accessed or modified.")


@pytest.mark.parametrize(
    ("asked", "version", "channel"),
    [
        ({}, "1.35.6-gke.1250000", "REGULAR"),
        ({"initialClusterVersion": "1.34"}, "1.34.9-gke.1131000", "STABLE"),
        ({"releaseChannel": {"channel": "STABLE"}}, "1.34.9-gke.1131000", "STABLE"),
        ({"releaseChannel": {"channel": "UNSPECIFIED"}, "initialClusterVersion": "latest"}, "1.35.6-gke.1250000", None),
        ({"initialClusterVersion": "1.33.4-gke.1000"}, "1.33.4-gke.1000", "STABLE"),
    ],
)
def test_version_and_channel_follow_from_each_other(bare: Gke, asked: dict[str, Any], version: str, channel: str | None) -> None:
    found = bare.cluster(**asked)
    assert (found["currentMasterVersion"], found["releaseChannel"].get("channel")) == (version, channel)


def test_a_location_says_the_versions_that_are_known(bare: Gke) -> None:
    found = bare.ask("GET", "v1beta1/projects/{project}/locations/us-central1/serverConfig").body
    assert found["defaultClusterVersion"] in found["validMasterVersions"]
    assert {one["channel"] for one in found["channels"]} == {"REGULAR", "STABLE"}


def test_ranges_that_are_named_are_those_of_the_subnetwork(bare: Gke, ask: Any) -> None:
    where = "compute/v1/projects/{project}"
    ask("POST", COMPUTE, f"{where}/global/networks", {"name": "net", "autoCreateSubnetworks": False})
    ranges = [{"rangeName": "pods", "ipCidrRange": "10.4.0.0/16"}]
    network = "projects/shop-prod/global/networks/net"
    subnet = {"name": "sub", "network": network, "ipCidrRange": "10.0.0.0/20", "secondaryIpRanges": ranges}
    ask("POST", COMPUTE, f"{where}/regions/us-central1/subnetworks", subnet)
    more = {"network": network, "subnetwork": "sub", "privateClusterConfig": PRIVATE}
    policy = {"useIpAliases": True, "clusterSecondaryRangeName": "pods"}
    found = bare.cluster(**more, ipAllocationPolicy=policy)
    assert (found["network"], found["networkConfig"]["network"], found["clusterIpv4Cidr"]) == ("net", network, "10.4.0.0/16")
    assert (found["privateClusterConfig"]["privateEndpoint"], found["networkConfig"]["defaultEnablePrivateNodes"]) == ("172.16.0.2", True)
    assert found["nodePools"][0]["networkConfig"]["enablePrivateNodes"] is True
    wrong = bare.ask(
        "POST",
        CLUSTERS,
        {"cluster": {"name": "d", "initialNodeCount": 1} | more | {"ipAllocationPolicy": policy | {"clusterSecondaryRangeName": "no"}}},
    )
    assert (wrong.status, 'Pod secondary range "no" not found' in wrong.body["error"]["message"]) == (400, True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"initialNodeCount": 0}, "Cluster.initial_node_count must be greater than zero."),
        ({"network": "no"}, 'Project "shop-prod" has no network named "no".'),
        ({"subnetwork": "no"}, 'Subnetwork "no" was not found in region "us-central1".'),
        ({"initialClusterVersion": "1.12"}, 'No valid versions with the prefix "1.12" found.'),
        ({"name": "Ü ü"}, 'Invalid cluster name "Ü ü"'),
        ({"name": "x" * 41}, "Invalid cluster name"),
        ({"locations": ["us-east1-b"]}, "Node locations us-east1-b are not zones of us-central1"),
        ({"nodePools": [{"name": "a"}]}, "Cluster.node_pools cannot be used with Cluster.initial_node_count"),
        ({"ipAllocationPolicy": {"clusterIpv4CidrBlock": "10.0.0.1/8"}}, 'Invalid CIDR block "10.0.0.1/8".'),
        ({"privateClusterConfig": {"masterIpv4CidrBlock": "x"}}, 'Invalid CIDR block "x".'),
        ({"nodeConfig": {"machineType": "ct4p-hightpu-4t"}}, 'Invalid machine type "ct4p-hightpu-4t" in zone'),
    ],
)
def test_refuses_a_cluster_that_cannot_be(standing: Gke, asked: dict[str, Any], said: str) -> None:
    answer = standing.ask("POST", CLUSTERS, {"cluster": {"name": "d", "initialNodeCount": 1} | asked})
    assert (answer.status, answer.body["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert said in answer.body["error"]["message"]
    assert standing.ask("GET", f"{CLUSTERS}/d").status == 404


@pytest.mark.parametrize("location", ["us-central9", "nowhere", "us-central1-z"])
def test_refuses_a_place_that_there_is_not(standing: Gke, location: str) -> None:
    where = f"v1beta1/projects/{{project}}/locations/{location}/clusters"
    for answer in (standing.ask("POST", where, {"cluster": {"name": "c", "initialNodeCount": 1}}), standing.ask("GET", f"{where}/c")):
        assert (answer.status, answer.body["error"]["message"]) == (400, f'Location "{location}" does not exist.')


def test_a_name_is_taken_once(gke: Gke) -> None:
    answer = gke.ask("POST", CLUSTERS, {"cluster": {"name": "c", "initialNodeCount": 1}})
    assert (answer.status, answer.body["error"]["status"]) == (409, "ALREADY_EXISTS")


@pytest.mark.parametrize(
    ("update", "path", "value"),
    [
        ({"desiredWorkloadIdentityConfig": {"workloadPool": "p"}}, "workloadIdentityConfig.workloadPool", "p"),
        ({"desiredGatewayApiConfig": {"channel": "CHANNEL_STANDARD"}}, "networkConfig.gatewayApiConfig.channel", "CHANNEL_STANDARD"),
        ({"desiredReleaseChannel": {"channel": "STABLE"}}, "releaseChannel.channel", "STABLE"),
        ({"desiredIntraNodeVisibilityConfig": {"enabled": True}}, "networkConfig.enableIntraNodeVisibility", True),
        ({"desiredNodePoolAutoConfigNetworkTags": {"tags": ["a"]}}, "nodePoolAutoConfig.networkTags.tags", ["a"]),
        ({"desiredDefaultEnablePrivateNodes": True}, "privateClusterConfig.enablePrivateNodes", True),
        ({"desiredAddonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": True}}}, "addonsConfig.dnsCacheConfig.enabled", True),
        ({"desiredMasterVersion": "1.36.1-gke.5"}, "currentMasterVersion", "1.36.1-gke.5"),
        ({"desiredLocations": ["us-central1-f"]}, "locations", ["us-central1-f"]),
        ({"desiredImageType": "UBUNTU_CONTAINERD", "desiredNodePoolId": "default-pool"}, "nodeConfig.imageType", "UBUNTU_CONTAINERD"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_is_desired_comes_true(gke: Gke, update: dict[str, Any], path: str, value: Any) -> None:
    begun = gke.ask("PUT", f"{CLUSTERS}/c", {"update": update})
    assert gke.ask("GET", f"{CLUSTERS}/c").body["status"] == "RECONCILING"
    gke.ended(begun)
    found = gke.ask("GET", f"{CLUSTERS}/c").body
    assert found["status"] == "RUNNING"
    for word in path.split("."):
        found = found[word]
    assert found == value


def test_whoever_may_reach_the_control_plane_is_said_twice(gke: Gke) -> None:
    allowed = {"enabled": True, "cidrBlocks": [{"cidrBlock": "203.0.113.0/24"}]}
    update = {"desiredControlPlaneEndpointsConfig": {"ipEndpointsConfig": {"authorizedNetworksConfig": allowed}}}
    gke.ended(gke.ask("PUT", f"{CLUSTERS}/c", {"update": update}))
    found = gke.ask("GET", f"{CLUSTERS}/c").body
    assert found["masterAuthorizedNetworksConfig"] == allowed
    assert found["controlPlaneEndpointsConfig"]["ipEndpointsConfig"]["authorizedNetworksConfig"] == allowed
    assert found["endpoint"]


@pytest.mark.parametrize(
    ("update", "status", "said"),
    [
        ({}, 400, "Must specify a field to update."),
        ({"desiredMasterVersion": "1.30.1-gke.1"}, 400, "Master cannot be upgraded"),
        ({"desiredMasterVersion": "1.37.1-gke.1"}, 400, "one minor version at a time"),
        ({"desiredNodeVersion": "1.36.1-gke.1"}, 400, "must not be newer"),
        ({"desiredEmulatedVersion": "1.34"}, 501, "The sandbox does not change desiredEmulatedVersion"),
        ({"desiredNodePoolId": "no", "desiredNodePoolAutoscaling": {"enabled": False}}, 404, 'node pool "no" not found'),
        ({"desiredLocations": ["asia-east1-a"]}, 400, "are not zones of us-central1"),
        ({"etag": "old", "desiredStackType": "IPV4"}, 409, "concurrent"),
    ],
)
def test_refuses_a_change_that_cannot_be(standing: Gke, update: dict[str, Any], status: int, said: str) -> None:
    answer = standing.ask("PUT", f"{CLUSTERS}/c", {"update": update})
    assert (answer.status, said in answer.body["error"]["message"]) == (status, True), answer.body


def test_labels_need_the_fingerprint_of_those_before(gke: Gke) -> None:
    before = gke.ask("GET", f"{CLUSTERS}/c").body["labelFingerprint"]
    sent = {"resourceLabels": {"team": "ml"}, "labelFingerprint": before}
    gke.ended(gke.ask("POST", f"{CLUSTERS}/c:setResourceLabels", sent))
    assert gke.ask("GET", f"{CLUSTERS}/c").body["resourceLabels"] == {"team": "ml"}
    assert gke.ask("POST", f"{CLUSTERS}/c:setResourceLabels", sent).status == 412


def test_a_daily_window_gets_its_length(gke: Gke) -> None:
    policy = {"window": {"dailyMaintenanceWindow": {"startTime": "03:00"}}}
    gke.ended(gke.ask("POST", f"{CLUSTERS}/c:setMaintenancePolicy", {"maintenancePolicy": policy}))
    window = gke.ask("GET", f"{CLUSTERS}/c").body["maintenancePolicy"]["window"]["dailyMaintenanceWindow"]
    assert window == {"startTime": "03:00", "duration": "PT4H0M0S"}


def test_a_cluster_goes_with_its_nodes(gke: Gke, cloud: Cloud) -> None:
    assert sum("/instances/" in one["name"] for one in cloud.resources()) == 3
    begun = gke.ask("DELETE", f"{CLUSTERS}/c")
    assert gke.ask("GET", f"{CLUSTERS}/c").body["status"] == "STOPPING"
    gke.ended(begun)
    assert gke.ask("GET", f"{CLUSTERS}/c").status == 404
    assert [one for one in cloud.resources() if not one["own"]] == []


def test_what_meets_a_running_operation_is_refused_until_it_ends(bare: Gke) -> None:
    begun = bare.ask("POST", CLUSTERS, {"cluster": {"name": "c", "initialNodeCount": 1}}).body["name"]
    answer = bare.make()
    assert (answer.status, answer.body["error"]["status"]) == (400, "FAILED_PRECONDITION")
    assert answer.body["error"]["message"] == f"Cluster is running incompatible operation {begun}."
    assert answer.body["error"]["errors"][0]["reason"] == "failedPrecondition"
    assert bare.make().status == 200  # who was refused waited


def test_a_cluster_without_its_first_nodes_is_in_error(bare: Gke, cloud: Cloud) -> None:
    cloud.faults.add(Fault(do="stockout", zone="us-central1-b"))
    found = bare.cluster()
    assert (found["status"], "does not have enough resources" in found["statusMessage"]) == ("ERROR", True)
    assert found["conditions"][0]["code"] == "GCE_STOCKOUT"
    bare.ended(bare.ask("DELETE", f"{CLUSTERS}/c"))
    assert [one for one in cloud.resources() if not one["own"]] == []


def test_a_delete_that_fails_leaves_the_cluster(gke: Gke, cloud: Cloud) -> None:
    cloud.faults.add(Fault(do="fail", method="DELETE", path="clusters/c$", status="INTERNAL", message="broken", times=1))
    done = gke.ended(gke.ask("DELETE", f"{CLUSTERS}/c"))
    assert (done["error"], done["statusMessage"]) == ({"code": 13, "message": "broken"}, "broken")
    found = gke.ask("GET", f"{CLUSTERS}/c").body
    assert (found["status"], found["currentNodeCount"]) == ("RUNNING", 3)
