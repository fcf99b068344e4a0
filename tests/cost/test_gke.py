"""GKE: the fee, and as many nodes as its zones and bounds say."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, estimated, lines, month, of, usd

from infra.catalog.machine_prices import machine_hour
from infra.catalog.places import regions
from infra.catalog.prices import PriceUnknown
from infra.cost.line import LineItem
from infra.declared import UNKNOWN, Declared, Secret

REGION = "us-central1"
PRIVATE = {"privateClusterConfig": {"enablePrivateNodes": True}}


def cluster(**change: Any) -> Declared:
    inputs = {"name": "gke", "location": REGION, "removeDefaultNodePool": True, "initialNodeCount": 1} | PRIVATE | change
    return declared("gcp:container/cluster:Cluster", "gke", inputs)


def pool(of_cluster: Declared | None = None, name: str = "serve", **change: Any) -> Declared:
    inputs = {
        "cluster": "gke",
        "nodeLocations": ["us-central1-a", "us-central1-b"],
        "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 8},
        "nodeConfig": {"machineType": "g2-standard-8", "diskSizeGb": 200, "diskType": "pd-balanced"},
    } | change
    return declared("gcp:container/nodePool:NodePool", name, inputs, *([of_cluster] if of_cluster else []))


def config(**change: Any) -> dict[str, Any]:
    return {"machineType": "g2-standard-8", "diskSizeGb": 200, "diskType": "pd-balanced"} | change


def nodes(*resources: Declared, name: str = "serve", **usage: Any) -> dict[str, LineItem]:
    return of(name, *resources, usage=assuming({name: usage} if usage else None), region=REGION)


@pytest.mark.parametrize("mode", [{}, {"location": "us-central1-a"}, {"enableAutopilot": True}])
def test_every_cluster_has_its_fee(mode: dict[str, Any]) -> None:
    """Zonal, regional and Autopilot cost 0.10 an hour alike; whom the credit of an account pays is said, and it is not taken off."""
    line = of("gke", cluster(**mode), region=REGION)["cluster fee"]
    assert month(line) == usd(730 * Decimal("0.10"))
    assert ("not this one" in line.note) == (not mode)
    assert "credit" in line.note


def test_a_removed_default_pool_is_not_counted() -> None:
    """A node that will not exist costs nothing: the cluster has its fee and nothing else."""
    assert list(of("gke", cluster(), region=REGION)) == ["cluster fee"]
    assert list(of("gke", cluster(enableAutopilot=True, removeDefaultNodePool=None), region=REGION)) == [
        "cluster fee",
        "pods' vCPUs",
        "pods' memory",
        "pods' ephemeral storage",
    ]


def test_a_default_pool_that_stays_is_counted_in_each_zone() -> None:
    """Two nodes of the API's default machine in each of three zones; the type of their disks is one of two."""
    found = of("gke", cluster(removeDefaultNodePool=None, initialNodeCount=2), region=REGION)
    assert month(found["default pool: e2-medium on-demand"]) == usd(6 * 730 * Decimal("0.0335057"))
    disk = found["default pool: node disk"]
    assert disk.status == "bounded"
    assert month(disk) == usd(6 * 100 * Decimal("0.04"), 6 * 100 * Decimal("0.10"), 6 * 100 * Decimal("0.10"))


@pytest.mark.parametrize(
    ("of_cluster", "own", "zones"),
    [
        ({"location": "us-central1-a"}, {}, 1),
        ({"location": "us-central1-a", "nodeLocations": ["us-central1-b", "us-central1-c"]}, {}, 3),
        ({"location": "us-central1-a", "nodeLocations": ["us-central1-a", "us-central1-b"]}, {}, 2),
        ({"location": "us-central1"}, {}, 3),
        ({"location": "us-central1", "nodeLocations": ["us-central1-b", "us-central1-c"]}, {}, 2),
        ({"location": "us-central1"}, {"nodeLocations": ["us-central1-a"]}, 1),
        ({"location": "US-CENTRAL1"}, {"nodeLocations": ["us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"]}, 4),
        ({"location": "us-central1"}, {"location": "us-central1", "nodeLocations": [UNKNOWN, UNKNOWN]}, 2),
    ],
)
def test_a_number_of_nodes_holds_for_each_zone(of_cluster: dict[str, Any], own: dict[str, Any], zones: int) -> None:
    """A fixed number, and the bounds of an autoscaler, count in every zone; bounds in total do not."""
    home = cluster(**of_cluster)
    own = {"nodeLocations": None} | own
    fixed = nodes(home, pool(home, autoscaling=None, nodeCount=2, **own))["g2-standard-8 on-demand"]
    assert month(fixed) == usd(zones * 2 * 730 * Decimal("0.8536243"))
    each = nodes(home, pool(home, autoscaling={"minNodeCount": 1, "maxNodeCount": 3}, **own))["g2-standard-8 on-demand"]
    one = zones * 730 * Decimal("0.8536243")
    assert month(each) == usd(one, one, 3 * one)
    total = nodes(home, pool(home, autoscaling={"totalMinNodeCount": 2, "totalMaxNodeCount": 5}, **own))["g2-standard-8 on-demand"]
    assert month(total) == usd(2 * 730 * Decimal("0.8536243"), 2 * 730 * Decimal("0.8536243"), 5 * 730 * Decimal("0.8536243"))


def test_a_pool_is_its_machines_their_disks_and_their_addresses() -> None:
    """Spot machines are bounded by the on-demand price; public nodes pay for an address each."""
    home = cluster(privateClusterConfig=None)
    found = nodes(home, pool(home, nodeConfig=config(spot=True, guestAccelerators=[{"type": "nvidia-l4", "count": 1}])))
    assert list(found) == ["g2-standard-8 spot", "node disk pd-balanced", "external addresses"]
    low = 730 * Decimal("0.479872")
    assert month(found["g2-standard-8 spot"]) == usd(low, low, 8 * 730 * Decimal("0.8536243"))
    assert month(found["node disk pd-balanced"]) == usd(200 * Decimal("0.1"), 200 * Decimal("0.1"), 8 * 200 * Decimal("0.1"))
    assert month(found["external addresses"]) == usd(730 * Decimal("0.0025"), 730 * Decimal("0.0025"), 8 * 730 * Decimal("0.0025"))
    private = nodes(home, pool(home, networkConfig={"enablePrivateNodes": True}))
    assert "external addresses" not in private


def test_expected_is_what_the_stack_file_says_else_the_minimum_and_said() -> None:
    """One number moves what is expected; a range moves all; and what nobody said is shown as a default."""
    home = cluster()
    one = 730 * Decimal("0.8536243")
    assert month(nodes(home, pool(home), nodes=2.5)["g2-standard-8 on-demand"]) == usd(one, one * Decimal("2.5"), 8 * one)
    asked = {"low": 2, "expected": 3, "high": 4}
    assert month(nodes(home, pool(home), nodes=asked)["g2-standard-8 on-demand"]) == usd(2 * one, 3 * one, 4 * one)
    result = estimated(home, pool(home), region=REGION)
    assert [(one.name, tuple(one.value), one.is_default) for one in result.assumptions if "resources" in one.name] == [
        ("resources.serve.nodes", (1, 1, 8), True)
    ]


@pytest.mark.parametrize("nodes_said", [9, 0, {"low": 0, "expected": 1, "high": 8}])
def test_fails_where_the_stack_file_says_nodes_outside_of_the_bounds(nodes_said: Any) -> None:
    """A pool of one to eight has neither none nor nine."""
    home = cluster()
    problems = estimated(home, pool(home), usage=assuming({"serve": {"nodes": nodes_said}}), region=REGION).problems
    assert [(one.path, one.allowed) for one in problems] == [("usage.resources.serve.nodes", "1 to 8, as declared")]


def test_a_fixed_pool_has_no_use_for_an_assumption() -> None:
    """A number that nothing moves is not assumed."""
    home = cluster()
    usage = assuming({"serve": {"nodes": 1}})
    problems = estimated(home, pool(home, autoscaling=None, nodeCount=1), usage=usage, region=REGION).problems
    assert [one.message for one in problems] == ["does nothing for serve"]


@pytest.mark.parametrize(
    ("inputs", "what", "each"),
    [
        # 4 chips of v5e a node, whatever the slice's size
        (config(machineType="ct5lp-hightpu-4t"), "v5litepod-4 on-demand", 4 * Decimal("1.2")),
        (config(machineType="ct6e-standard-4t"), "v6e-4 on-demand", 4 * Decimal("2.7")),
        (config(machineType="a3-highgpu-8g", flexStart=True), "a3-highgpu-8g flex-start", Decimal("38.3200383")),
        (config(machineType="e2-standard-4"), "e2-standard-4 on-demand", Decimal("0.1340228")),
        (config(reservationAffinity={"consumeReservationType": "SPECIFIC_RESERVATION"}), "g2-standard-8 reservation", Decimal("0.8536243")),
        (config(machineType="n1-standard-4"), "n1-standard-4 on-demand", 4 * Decimal("0.031611") + 15 * Decimal("0.004237")),
    ],
)
def test_a_node_costs_what_its_machine_does(inputs: dict[str, Any], what: str, each: Decimal) -> None:
    """TPUs by chip, GPUs and CPUs by machine, in each way of buying."""
    home = cluster()
    found = nodes(home, pool(home, autoscaling=None, nodeCount=3, nodeLocations=["us-central1-a"], nodeConfig=inputs))
    assert month(found[what]) == usd(3 * 730 * each)


@pytest.mark.parametrize(
    ("machine_type", "topology", "count", "what"),
    [
        ("ct5lp-hightpu-4t", "4x4", 4, "v5litepod-16 on-demand"),
        ("ct5lp-hightpu-4t", "2x4", 2, "v5litepod-8 on-demand"),
        ("ct5lp-hightpu-4t", "3x3", 1, "v5litepod-4 on-demand"),
        ("e2-standard-4", "4x4", 1, "e2-standard-4 on-demand"),
    ],
)
def test_a_slice_is_called_by_its_own_name(machine_type: str, topology: str, count: int, what: str) -> None:
    """As its topology tells it, also where its hosts are smaller ones; the price is of as many hosts. What no table has has its host's."""
    home = cluster()
    shape = {"placementPolicy": {"type": "COMPACT", "tpuTopology": topology}}
    one = {"autoscaling": None, "nodeCount": count, "nodeLocations": ["us-central1-a"], "nodeConfig": config(machineType=machine_type)}
    line = nodes(home, pool(home, **one, **shape))[what]

    assert f"one slice of {topology}" in line.note
    assert month(line) == usd(count * 730 * (4 * Decimal("1.2") if machine_type.startswith("ct5lp") else Decimal("0.1340228")))


def test_gpus_of_n1_and_local_ssd_are_lines_of_their_own() -> None:
    """Two T4 and one local SSD of 375 GiB on each of three nodes; a3 brings its SSDs in its price."""
    home = cluster()
    inputs = config(machineType="n1-standard-4", guestAccelerators=[{"type": "nvidia-tesla-t4", "count": 2}], localSsdCount=1)
    found = nodes(home, pool(home, autoscaling=None, nodeCount=3, nodeLocations=["us-central1-a"], nodeConfig=inputs))
    assert month(found["2 x nvidia-tesla-t4 on-demand"]) == usd(3 * 2 * 730 * Decimal("0.35"))
    assert month(found["local SSD"]) == usd(3 * 375 * Decimal("0.08"))
    bundled = config(machineType="a3-highgpu-8g", ephemeralStorageLocalSsdConfig={"localSsdCount": 16})
    assert "local SSD" not in nodes(home, pool(home, nodeConfig=bundled))


def test_a_part_of_a_gpu_is_in_the_price_of_its_machine() -> None:
    """GKE counts it as one GPU, which is none beside that of the machine."""
    home = cluster()
    part = config(machineType="g4-standard-12", guestAccelerators=[{"type": "nvidia-rtx-pro-6000", "count": 1}])
    found = nodes(home, pool(home, nodeConfig=part))
    assert not [what for what in found if "nvidia-rtx-pro-6000" in what]
    assert found["g4-standard-12 on-demand"].status == "priced"


def test_pools_that_a_cluster_declares_itself_are_counted_by_name() -> None:
    """Two pools inside the cluster: each with its title, and with a name of its own for what is assumed of it."""
    inside = [
        {"name": "a", "nodeCount": 1, "nodeConfig": config()},
        {"name": "b", "autoscaling": {"minNodeCount": 0, "maxNodeCount": 2}, "nodeConfig": config()},
    ]
    home = cluster(location="us-central1-a", removeDefaultNodePool=None, nodePools=inside)
    found = of("gke", home, usage=assuming({"gke/b": {"nodes": 1}}), region=REGION)
    one = 730 * Decimal("0.8536243")
    assert month(found["pool a: g2-standard-8 on-demand"]) == usd(one)
    assert month(found["pool b: g2-standard-8 on-demand"]) == usd(Decimal(0), one, 2 * one)
    assert not any("default pool" in what for what in found)


def test_autopilot_bills_what_pods_request() -> None:
    """Average requests by the hour; what the stack file does not say is unknown, and says how to say it."""
    home = cluster(enableAutopilot=True)
    usage = assuming({"gke": {"pod_vcpus": {"low": 1, "expected": 2, "high": 4}, "pod_memory_gib": 8, "pod_storage_gib": 10}})
    found = of("gke", home, usage=usage, region=REGION)
    assert month(found["pods' vCPUs"]) == usd(730 * Decimal("0.0445"), 730 * 2 * Decimal("0.0445"), 730 * 4 * Decimal("0.0445"))
    assert month(found["pods' memory"]) == usd(730 * 8 * Decimal("0.0049225"))
    assert month(found["pods' ephemeral storage"]) == usd(730 * 10 * Decimal("0.0000548"))
    bare = of("gke", home, region=REGION)
    assert "usage.resources.gke.pod_vcpus" in bare["pods' vCPUs"].note
    assert bare["pods' vCPUs"].usd_month is None


@pytest.mark.parametrize("region", regions())
def test_no_machine_is_free_in_any_region(region: str) -> None:
    """A pool of one node has a price above nothing in every region, or none at all."""
    home = cluster(location=region)
    node = pool(home, autoscaling=None, nodeCount=1, nodeLocations=[f"{region}-a"], nodeConfig=config())
    line = next(one for one in estimated(home, node, region=region).lines if one.resource == "serve" and "disk" not in one.what)
    try:
        price = machine_hour("g2-standard-8", region, "on-demand").usd
    except PriceUnknown:
        assert line.status == "unknown"
    else:
        assert price > 0
        assert month(line) == usd(730 * price)


def test_a_gpu_that_no_table_prices_is_said_and_leaves_the_total_open() -> None:
    """A machine with some new GPU is not skipped."""
    home = cluster()
    for inputs in (
        config(machineType="g9-standard-8"),
        config(machineType="n1-standard-4", guestAccelerators=[{"type": "nvidia-x9", "count": 1}]),
        config(machineType="e2-standard-4", guestAccelerators=[{"type": "nvidia-l4", "count": 1}]),
        config(guestAccelerators=[{"type": "nvidia-l4", "count": 2}]),
        config(machineType="n1-custom-4-5120"),
    ):
        result = estimated(home, pool(home, nodeConfig=inputs), region=REGION)
        assert len(result.unknown) == 1
        assert not result.complete


@pytest.mark.parametrize(
    "change",
    [
        {"autoscaling": UNKNOWN},
        {"autoscaling": {"totalMinNodeCount": UNKNOWN, "totalMaxNodeCount": 2}},
        {"autoscaling": {"minNodeCount": 3, "maxNodeCount": 2}},
        {"autoscaling": {"minNodeCount": -1, "maxNodeCount": 2}},
        {"autoscaling": {"minNodeCount": "1", "maxNodeCount": "2"}},
        {"autoscaling": None},
        {"autoscaling": None, "nodeCount": UNKNOWN},
        {"autoscaling": None, "nodeCount": Secret(1)},
        {"autoscaling": None, "nodeCount": 1, "nodeLocations": UNKNOWN},
        {"nodeConfig": UNKNOWN},
        {"nodeConfig": config(machineType=UNKNOWN)},
        {"nodeConfig": config(machineType=Secret("e2-medium"))},
        {"nodeConfig": config(spot=UNKNOWN)},
        {"nodeConfig": config(guestAccelerators=UNKNOWN)},
        {"nodeConfig": config(guestAccelerators=[UNKNOWN])},
        {"nodeConfig": config(diskSizeGb=UNKNOWN)},
        {"nodeConfig": config(diskType="pd-novel")},
        {"nodeConfig": config(localSsdCount=UNKNOWN)},
        {"nodeConfig": config(secondaryBootDisks=[{"diskImage": "x"}])},
        {"nodeConfig": config(nodeGroup="x")},
        {"nodeConfig": {"machineType": "a4-highgpu-8g", "diskSizeGb": 100}},
        {"location": UNKNOWN},
    ],
    ids=str,
)
def test_what_is_not_known_of_a_pool_is_unknown(change: dict[str, Any]) -> None:
    """A miss says why, and is never nothing."""
    home = cluster()
    result = estimated(home, pool(home, **change), region=REGION)
    assert not result.complete
    assert all(line.note and line.usd_month is None for line in result.unknown)


def test_a_pool_of_a_cluster_that_is_not_declared_says_what_it_lacks() -> None:
    """Zones by number only count in total or by node locations; whether nodes are private is not known either."""
    found = nodes(pool(autoscaling=None, nodeCount=1, nodeLocations=None, location=REGION))
    assert "nodeLocations" in found["NodePool"].note
    assert nodes(pool(location=REGION))["external addresses"].status == "unknown"


@pytest.mark.parametrize(
    "change",
    [
        {"location": UNKNOWN},
        {"enableAutopilot": UNKNOWN},
        {"removeDefaultNodePool": UNKNOWN},
        {"clusterAutoscaling": {"enabled": True}},
        {"clusterAutoscaling": {"enabled": UNKNOWN}},
        {"nodePools": UNKNOWN},
        {"nodePools": [UNKNOWN]},
        {"enterpriseConfig": {"desiredTier": "ENTERPRISE"}},
    ],
    ids=str,
)
def test_what_is_not_known_of_a_cluster_is_unknown(change: dict[str, Any]) -> None:
    """Nodes that nothing bounds have no price; neither has a cluster that may be either kind."""
    assert not estimated(cluster(**change), region=REGION).complete


def test_nat_counts_nodes() -> None:
    """A gateway serves one to eight nodes of the pool."""
    home = cluster()
    gateway = declared("gcp:compute/routerNat:RouterNat", "network", {"region": REGION})
    found = lines(gateway, home, pool(home), region=REGION)
    assert month(found["NAT of 1 to 8 machines"]) == usd(730 * Decimal("0.0014"), 730 * Decimal("0.0014"), 8 * 730 * Decimal("0.0014"))
    assert lines(gateway, cluster(enableAutopilot=True), region=REGION)["NAT"].status == "unknown"
