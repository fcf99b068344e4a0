"""Node pools: every accelerator of the catalogue, what is refused of them, and that they cost their nodes at most."""

from __future__ import annotations

import cProfile
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pulumi
import pytest

from infra import gcp
from infra.catalog import gpu_machines, gpu_zones, tpu, zones
from infra.catalog.fits_tpu import TWO_HOSTS, chips_of, two_hosts
from infra.catalog.places import region_of
from infra.check import Checked, check, stack_files
from infra.collect import collect
from infra.components.node_pool import NodePoolSpec
from infra.declared import Declared
from infra.errors import SpecError
from infra.program import declare
from infra.stack import StackSpec

Write = Callable[..., Path]
Said = Callable[..., dict[str, Any]]
STANDARD = {"main": {"mode": "standard"}}
T4 = {
    "cluster": "main",
    "accelerator_type": "nvidia-tesla-t4",
    "machine_type": "n1-standard-8",
    "count": 1,
    "provisioning": "spot",
    "autoscale": {"max": 4},
}
PART = {"machine_type": "g4-standard-6", "provisioning": "spot", "autoscale": {"max": 1}}
L4 = {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 4}}


@pytest.fixture
def said(base: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """Configuration of a stack with one cluster and these node pools."""

    def write(
        region: str = "us-central1", clusters: dict[str, Any] = STANDARD, more: dict[str, Any] | None = None, **pools: Any
    ) -> dict[str, Any]:
        keys = {"region": region, "clusters": clusters, "node_pools": {name: {"cluster": "main"} | pool for name, pool in pools.items()}}
        return base | {f"accelform:{key}": value for key, value in (keys | (more or {})).items()}

    return write


def read(config: dict[str, Any]) -> StackSpec:
    """As the engine hands it over: without a file, whose reading takes most of a test's time."""
    return StackSpec.from_engine({key: one if isinstance(one, str) else json.dumps(one) for key, one in config.items()}, "the engine")


def declared(config: dict[str, Any]) -> dict[tuple[str, str], Declared]:
    spec = read(config)
    made = collect(lambda: declare(spec, "try"), "try")
    return {(one.type.rpartition(":")[2], one.name): one for one in made if not one.is_component}


def pools(config: dict[str, Any]) -> dict[str, Declared]:
    return {name: one for (kind, name), one in declared(config).items() if kind == "NodePool"}


def refused(config: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        read(config)
    return {one.path.removeprefix("node_pools.one."): f"{one.message} | {one.allowed} | {one.fix}" for one in caught.value.problems}


def a_zone(shape: tpu.TpuShape) -> str:
    """Where a slice is: most of them in one region, so that one program declares them."""
    able = [row.zone for row in zones.offers(shape) if row.trust != "low"]
    return next((zone for zone in able if zone.startswith("us-central1")), able[0])


def alone(**keys: Any) -> NodePoolSpec:
    """A pool, checked without a region."""
    return NodePoolSpec.model_validate({"cluster": "main"} | keys)


SINGLE = sorted((one for one in tpu.shapes().values() if one.single_host and one.machine_type), key=lambda one: one.accelerator_type)
SEVERAL = [one for one in tpu.shapes().values() if not one.single_host and one.machine_type and one.topology and "limit" not in one.notes]


def test_no_slice_of_one_host_has_a_placement(said: Said) -> None:
    """Whatever its chips: AI-Hypercomputer/xpk pull requests 595 and 822. Its limits count all zones together."""
    by_region: dict[str, dict[str, Any]] = {}
    for shape in SINGLE:
        zone = a_zone(shape)
        pool = {"accelerator_type": shape.accelerator_type, "zones": [zone], "provisioning": "on-demand", "autoscale": {"max": 3}}
        by_region.setdefault(region_of(zone), {})[f"p-{shape.accelerator_type}"] = pool
    found = {name: one for region, some in by_region.items() for name, one in pools(said(region, **some)).items()}
    assert len(SINGLE) > 9
    for shape in SINGLE:
        one = found[f"p-{shape.accelerator_type}"]
        assert one.get("placementPolicy") is None
        assert one.get("nodeConfig.machineType") == shape.machine_type
        assert one.get("autoscaling") == {"totalMinNodeCount": 0, "totalMaxNodeCount": 3, "locationPolicy": "ANY"}


def test_nodes_of_every_slice_are_its_hosts() -> None:
    """Machines times their chips are the topology: of every shape of several hosts, and nobody types a number."""
    assert len(SEVERAL) > 190
    for shape in SEVERAL:
        spec = alone(accelerator_type=shape.accelerator_type, zones=[a_zone(shape)], provisioning="on-demand", autoscale={})
        nodes = spec.bounds()[1]
        assert (nodes * shape.chips_per_host, chips_of(shape.topology)) == (shape.chips, shape.chips), shape.accelerator_type


def test_a_gang_is_counted_by_chips_and_not_by_cores(said: Said) -> None:
    """tpu7x-128 counts cores: 64 chips, 4x4x4, 16 nodes (AI-Hypercomputer/xpk issue 751 asked for 16 where 8 was right)."""
    pool = {"accelerator_type": "tpu7x-128", "zones": ["us-central1-c"], "provisioning": "on-demand"}
    found = declared(said(one=pool))
    assert found["NodePool", "one"].get("nodeCount") == 16
    assert found["ResourcePolicy", "one"].get("workloadPolicy.acceleratorTopology") == "4x4x4"


@pytest.mark.parametrize(("machine_type", "topology"), TWO_HOSTS)
def test_two_machines_with_four_chips_are_a_slice_too(machine_type: str, topology: str) -> None:
    """2x4 is one machine or two: the machine type decides."""
    whole = two_hosts(machine_type, topology)
    spec = alone(machine_type=machine_type, topology=topology, zones=[a_zone(whole)], provisioning="spot", autoscale={})
    assert spec.host == whole
    assert spec.bounds() == (0, 2)


BUILT_IN = [one for one in gpu_machines.machines().values() if not one.series.startswith("a4x")]


def test_every_machine_with_gpus_is_a_pool(said: Said) -> None:
    """Its GPUs, their number (1 for a part of one), its driver, zones, disks and the local SSDs that come with it are the catalogue's."""
    by_region: dict[str, dict[str, Any]] = {}
    known = []
    for machine in BUILT_IN:
        offered = [row for row in gpu_zones.offers(machine) if row.trust != "low"]
        if not offered:
            continue
        region = "us-central1" if any(row.region == "us-central1" for row in offered) else offered[0].region
        way = next(one for one in ("spot", "on-demand", "flex-start") if not gpu_zones.never_sold(machine, one))
        pool = {"machine_type": machine.machine_type, "provisioning": way, "autoscale": {"max": 2}}
        by_region.setdefault(region, {})[machine.machine_type] = pool
        known.append((machine, {row.zone for row in offered if row.region == region}))
    found = {name: one for region, some in by_region.items() for name, one in pools(said(region, **some)).items()}
    assert len(known) > 20
    for machine, there in known:
        one = found[machine.machine_type]
        assert set(one.get("nodeLocations")) == there
        driver = {"gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}
        gpus = {"type": machine.accelerator_type, "count": max(1, int(machine.gpus))} | driver
        assert one.get("nodeConfig.guestAccelerators") == [gpus]
        assert one.get("nodeConfig.diskType") == (
            "hyperdisk-balanced" if machine.series in ("a3-ultragpu", "a4-highgpu", "g4-standard") else "pd-balanced"
        )
        bundled = machine.local_ssd_gib // 375 if machine.local_ssd_bundled and machine.local_ssd_gib else None
        assert one.get("nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount") == bundled


def test_gpus_on_n1_stand_where_they_are_offered(said: Said) -> None:
    """Of a regional cluster not every zone has the GPU: terraform-google-kubernetes-engine issue 263."""
    gpus = ["nvidia-tesla-t4", "nvidia-tesla-v100", "nvidia-tesla-p100"]
    n1 = {"machine_type": "n1-standard-8", "count": 1, "provisioning": "spot", "autoscale": {"max": 2}}
    found = pools(said("us-east1", **{one: n1 | {"accelerator_type": one} for one in gpus}))
    for gpu in gpus:
        attached = gpu_machines.Attached("n1-standard-8", gpu, 1, "")
        there = sorted(row.zone for row in gpu_zones.offers(attached) if row.region == "us-east1" and row.trust != "low")
        assert found[gpu].get("nodeLocations") == there != []


REFUSALS: list[tuple[str, str, dict[str, Any], str, str]] = [
    # keras-team/kinetic pull request 173
    ("spot-and-a-reservation", "us-east5", {"accelerator_type": "v6e-8", "reservation": "r1", "provisioning": "spot", "autoscale": {"max": 1}}, "reservation", "spot capacity cannot consume a reservation"),
    ("reservation-unnamed", "us-east5", {"accelerator_type": "v6e-8", "provisioning": "reservation", "nodes": 1}, "reservation", "is missing"),
    # vllm-project/ci-infra pull request 545
    ("total-of-a-slice", "us-central1", {"accelerator_type": "tpu7x-16", "topology": "2x2x2", "provisioning": "on-demand", "zones": ["us-central1-c"], "autoscale": {"total_max": 2}}, "autoscale.total_max", "of a slice of several hosts it is its hosts"),
    # vllm-project/ci-infra pull request 331
    ("two-nodes-of-one-host", "us-east5", {"machine_type": "ct5p-hightpu-4t", "topology": "2x2x1", "provisioning": "spot", "nodes": 2}, "nodes", "it is 1 host"),
    ("a-wrong-number-of-hosts", "us-east5", {"accelerator_type": "v6e-32", "provisioning": "spot", "zones": ["us-east5-a"], "nodes": 4}, "nodes", "8 hosts"),
    # GoogleCloudPlatform/cluster-toolkit pull requests 3096, 3817 and 5737
    ("no-multiple-of-hosts", "us-east5", {"accelerator_type": "v6e-32", "provisioning": "spot", "zones": ["us-east5-a"], "autoscale": {"max": 12}}, "autoscale.max", "a pool is one slice of 8"),
    ("queued-with-a-minimum", "us-central1", {"machine_type": "a3-highgpu-8g", "provisioning": "queued-provisioning", "autoscale": {"min": 1, "max": 2}}, "autoscale.min", "begin with none | 0"),
    ("queued-and-fixed", "us-central1", {"machine_type": "a3-highgpu-8g", "provisioning": "queued-provisioning", "nodes": 3}, "autoscale", "is missing"),
    ("queued-tpu", "us-east5", {"accelerator_type": "v6e-4", "provisioning": "queued-provisioning", "autoscale": {"max": 2}}, "provisioning", "is for GPUs"),
    ("flex-start-and-compact", "us-central1", {"machine_type": "g2-standard-4", "provisioning": "flex-start", "compact": True, "zones": ["us-central1-a"], "autoscale": {"max": 2}}, "compact", "only on a3-ultragpu and a4-highgpu"),
    ("flex-start-of-several-hosts", "us-east5", {"accelerator_type": "v6e-16", "provisioning": "flex-start", "zones": ["us-east5-a"], "autoscale": {}}, "provisioning", "slices of one host only"),
    # GoogleCloudPlatform/ai-on-gke pull request 7
    ("zone-elsewhere", "us-central1", {"accelerator_type": "v4-8", "zones": ["us-central2-b"], "provisioning": "on-demand", "nodes": 1}, "zones", "not in the stack's region"),
    # GoogleCloudPlatform/kubernetes-engine-samples issue 1738
    ("gpu-not-in-the-region", "us-west4", {"accelerator_type": "nvidia-tesla-p4", "machine_type": "n1-standard-8", "count": 1, "provisioning": "spot", "autoscale": {"max": 1}}, "zones", "us-central1"),
    ("slice-over-zones", "us-east5", {"accelerator_type": "v6e-16", "provisioning": "spot", "autoscale": {}}, "zones", "one of us-east5-a, us-east5-b"),
    ("reservation-over-zones", "us-east5", {"accelerator_type": "v6e-8", "provisioning": "reservation", "reservation": "r", "nodes": 2}, "zones", "a reservation is of one zone"),
    # crossplane-contrib/provider-upjet-gcp issue 340
    ("fixed-and-scaled", "us-central1", {"machine_type": "g2-standard-8", "provisioning": "spot", "nodes": 1, "autoscale": {"max": 4}}, "nodes", "two would decide"),
    ("neither-fixed-nor-scaled", "us-central1", {"machine_type": "g2-standard-8", "provisioning": "spot"}, "autoscale", "is missing, and so is nodes"),
    ("uneven", "us-central1", {"machine_type": "g2-standard-8", "provisioning": "spot", "nodes": 4}, "nodes", "a multiple of 3"),
    ("no-maximum", "us-central1", {"machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"min": 1}}, "autoscale.max", "is missing"),
    ("upside-down", "us-central1", {"machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"min": 3, "max": 1}}, "autoscale.max", "below min"),
    # hashicorp/terraform-provider-google issue 17164
    ("upgrades-nothing", "us-central1", L4 | {"upgrade": {"max_surge": 0, "max_unavailable": 0}}, "upgrade.max_unavailable", "one above 0"),
    ("upgrades-too-many", "us-central1", L4 | {"upgrade": {"max_surge": 15, "max_unavailable": 15}}, "upgrade.max_unavailable", "20 together"),
    ("limit-of-spot", "us-central1", L4 | {"max_run_minutes": 60}, "max_run_minutes", "have no limit"),
    ("partition-of-an-l4", "us-central1", L4 | {"partition": "1g.5gb"}, "partition", "is not cut"),
    ("partition-of-another-size", "us-central1", {"machine_type": "a2-highgpu-1g", "partition": "9g.5gb", "provisioning": "spot", "nodes": 4}, "partition", "1g.5gb"),
    ("driver-of-a-tpu", "us-east5", {"accelerator_type": "v6e-8", "provisioning": "spot", "driver": "latest", "autoscale": {"max": 1}}, "driver", "is a TPU"),
    ("h200-on-demand", "us-central1", {"machine_type": "a3-ultragpu-8g", "provisioning": "on-demand", "autoscale": {"max": 1}}, "provisioning", "spot, flex-start, reservation"),
    ("cut-part-of-a-gpu", "us-central1", PART | {"partition": "1g.24gb"}, "partition", "has a part of a GPU"),
    ("shared-part-of-a-gpu", "us-central1", PART | {"sharing": {"strategy": "mps", "clients": 2}}, "sharing", "has a part of a GPU"),
    ("more-networks", "us-central1", {"machine_type": "a4x-highgpu-4g", "provisioning": "reservation", "reservation": "r", "nodes": 1}, "machine_type", "needs networks of its own"),
    ("gpus-without-a-machine", "us-east1", {"accelerator_type": "nvidia-tesla-t4", "provisioning": "spot", "autoscale": {"max": 1}}, "machine_type", "n1-standard-4"),
    ("too-large-for-one", "us-central1", {"accelerator_type": "nvidia-tesla-v100", "machine_type": "n1-standard-96", "count": 1, "provisioning": "spot", "autoscale": {"max": 1}}, "machine_type", "at most 12 vCPUs"),
    ("nickname", "us-central1", {"accelerator_type": "l4", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 1}}, "accelerator_type", "nvidia-l4"),
    ("resource-of-kubernetes", "us-central1", {"accelerator_type": "nvidia.com/gpu", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 1}}, "accelerator_type", "no accelerator"),
    ("no-accelerator", "us-central1", {"machine_type": "e2-standard-4", "provisioning": "spot", "autoscale": {"max": 1}}, "machine_type", "no machine type with accelerators"),
    ("too-many-ssds", "us-central1", L4 | {"local_ssds": 9}, "local_ssds", "1"),
    ("too-few-ssds", "us-central1", L4 | {"machine_type": "g2-standard-48", "local_ssds": 3}, "local_ssds", "4"),
    ("ssds-of-t4", "us-central1", T4 | {"local_ssds": 24}, "local_ssds", "1, 2, 3, 4, 5, 6, 7, 8, 16"),
    ("no-cluster", "us-central1", L4 | {"cluster": "mian"}, "cluster", "no key of clusters | main"),
    ("label-of-no-domain", "us-central1", L4 | {"labels": {"a..b/c": "d"}}, "labels.a..b/c", "is not the key of a label"),
    ("odd-label", "us-central1", L4 | {"labels": {"a b": "c"}}, "labels.a b", "is not the key of a label"),
]  # fmt: skip


@pytest.mark.parametrize(("region", "pool", "key", "words"), [one[1:] for one in REFUSALS], ids=[one[0] for one in REFUSALS])
def test_fails_where_it_cannot_be(region: str, pool: dict[str, Any], key: str, words: str, said: Said) -> None:
    """Each kind of wrong pool is refused at its key, with what would do."""
    found = refused(said(region, one=pool))
    assert words in found.get(key, ""), found


def test_fails_in_autopilot(said: Said) -> None:
    """Autopilot makes its nodes itself."""
    assert "makes its nodes itself" in refused(said(clusters={"main": {"mode": "autopilot"}}, one=L4))["cluster"]


def test_fails_where_a_cache_of_images_is_not_read(said: Said) -> None:
    """Only nodes that stream images read it."""
    cached = L4 | {"image_cache": "projects/shop/global/images/models-1"}
    clusters = {"main": {"mode": "standard", "image_streaming": False}}
    assert "do not stream images" in refused(said(clusters=clusters, one=cached))["image_cache"]


def test_a_run_waits_longer_than_google_looks_for_capacity(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """Google's words on a stock-out come after 35 minutes, and the provider's own limit is 30: every pool says a longer one."""
    waits: dict[str, str | None] = {}
    made = gcp.container.NodePool.__init__

    def watched(self: Any, resource: str, *args: Any, opts: pulumi.ResourceOptions, **keys: Any) -> None:
        waits[resource] = opts.custom_timeouts.create if opts.custom_timeouts else None
        made(self, resource, *args, opts=opts, **keys)

    monkeypatch.setattr(gcp.container.NodePool, "__init__", watched)
    declared(said(one=L4))
    assert waits == {"main-system": "60m", "one": "60m"}


@pytest.mark.parametrize("reservation", ["nightly", "projects/host/reservations/nightly"])
def test_a_reservation_is_consumed_by_name(said: Said, reservation: str) -> None:
    """
    Without its name paid capacity stays unused (keras-team/kinetic pull request 173); one that another project shares is named with that
    project (AI-Hypercomputer/xpk pull request 823). Every other pool says that it consumes none.
    """
    own = {"accelerator_type": "v6e-8", "provisioning": "reservation", "reservation": reservation, "zones": ["us-east5-a"], "nodes": 1}
    found = pools(said("us-east5", one=own, two={"accelerator_type": "v6e-8", "provisioning": "spot", "autoscale": {"max": 1}}))
    affinity = {"key": "compute.googleapis.com/reservation-name", "values": [reservation]}
    assert found["one"].get("nodeConfig.reservationAffinity") == affinity | {"consumeReservationType": "SPECIFIC_RESERVATION"}
    assert found["two"].get("nodeConfig.reservationAffinity") == {"consumeReservationType": "NO_RESERVATION"}


@pytest.mark.parametrize(
    ("accelerator_type", "zone", "hosts", "placement"),
    [
        ("v5litepod-16", "us-central1-a", 4, {"type": "COMPACT", "tpuTopology": "4x4"}),
        ("v6e-16", "us-central1-b", 4, {"type": "COMPACT", "tpuTopology": "4x4"}),
        ("tpu7x-16", "us-central1-c", 2, {"type": "", "policyName": "try-one"}),
    ],
)
def test_a_slice_of_several_hosts_comes_whole_in_one_zone(
    said: Said, accelerator_type: str, zone: str, hosts: int, placement: dict[str, str]
) -> None:
    """
    Its limit is by zone and all of its hosts, and no total: vllm-project/ci-infra pull request 545. TPU7x names a policy, whose kind is
    left empty as the service keeps it: pull request 547.
    """
    pool = {"accelerator_type": accelerator_type, "zones": [zone], "provisioning": "on-demand", "autoscale": {}}
    one = pools(said(one=pool))["one"]
    assert one.get("autoscaling") == {"minNodeCount": 0, "maxNodeCount": hosts, "locationPolicy": "ANY"}
    assert one.get("nodeLocations") == [zone]
    found = {key: one.get(f"placementPolicy.{key}") for key in placement}
    assert found == placement


def test_pools_of_one_shape_stand_beside_each_other(said: Said) -> None:
    """Their names are the file's, and no shape: keras-team/kinetic issue 45."""
    pool = {"accelerator_type": "v5litepod-4", "zones": ["us-central1-a"], "provisioning": "spot", "autoscale": {"max": 1}}
    assert {one.get("name") for one in pools(said(a=pool, b=pool)).values()} == {"try-main-system", "try-a", "try-b"}


def test_another_minimum_and_other_labels_change_a_pool_in_place(said: Said) -> None:
    """
    The number that a pool begins with would replace it, and is not held once it is made (hashicorp/terraform-provider-google issue 6354).
    Labels are sent as a whole, so that none is lost (NVIDIA/aicr pull request 1998).
    """
    before = pools(said(one=L4 | {"labels": {"team": "ml"}}))["one"]
    after = pools(said(one=L4 | {"labels": {"team": "ml", "tier": "gold"}, "autoscale": {"min": 3, "max": 4}}))["one"]
    old, new = dict(before.leaves()), dict(after.leaves())
    changed = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    assert changed == {"initialNodeCount", "autoscaling.totalMinNodeCount", "nodeConfig.labels.tier"}
    assert after.get("nodeConfig.labels") == {"team": "ml", "tier": "gold"}


def test_nobody_makes_pools_by_itself(said: Said) -> None:
    """
    Nodes that GKE makes of its own accord had no driver (GoogleCloudPlatform/container-engine-accelerators issue 407), and limits of names
    that do not exist (hashicorp/terraform-provider-google issue 11589): there is no key for it, and Autopilot is named.
    """
    limits = {"mode": "standard", "autoprovisioning": {"nvidia.com/gpu": 4}}
    assert "autopilot" in refused(said(clusters={"main": limits}))["clusters.main.autoprovisioning"]


def test_fails_where_names_meet(said: Said) -> None:
    """Whoever has the name of another part could not be told from it in a bill."""
    found = refused(said(**{"main-system": L4, "main": L4}))
    assert {key for key in found if key.startswith("node_pools.")} == {"node_pools.main-system", "node_pools.main"}


def test_fails_where_the_range_for_pods_is_too_small(said: Said) -> None:
    """1,024 nodes have addresses for their pods; the system pool counts."""
    several = {f"p{number}": L4 | {"autoscale": {"max": 600}} for number in range(2)}
    assert "1203 nodes" in refused(said(**several))["clusters.main"]


def test_what_nobody_lists_can_be_confirmed_by_name(said: Said) -> None:
    """A zone that no source has is taken on somebody's word."""
    pool = {"machine_type": "g2-standard-8", "zones": ["us-east5-a"], "provisioning": "spot", "autoscale": {"max": 1}}
    assert "g2-standard-8" in refused(said("us-east5", one=pool))["zones"]
    sure = {"confirmed": [{"what": "g2-standard-8", "zone": "us-east5-a", "because": "seen in the console on 2026-11-29"}]}
    assert declared(said("us-east5", more=sure, one=pool))["NodePool", "one"].get("nodeLocations") == ["us-east5-a"]


def test_a_pool_waits_for_the_system_pool(said: Said) -> None:
    """GKE taints GPU nodes only where a pool without GPUs was there before: terraform-google-kubernetes-engine issue 703."""
    found = declared(said(one=L4))
    needed = {found["NodePool", "main-system"].urn, found["RouterNat", "network"].urn, found["IAMMember", "gke-main-nodes"].urn}
    assert needed <= set(found["NodePool", "one"].dependencies)
    assert found["NodePool", "main-system"].get("nodeConfig.guestAccelerators") is None


def test_another_pool_touches_nothing(said: Said) -> None:
    """With a pool more, the cluster and the pools before are word for word what they were: keras-team/kinetic pull request 312."""
    before = declared(said(one=L4 | {"labels": {"team": "ml"}}))
    after = declared(said(one=L4 | {"labels": {"team": "ml"}}, two={"accelerator_type": "v5litepod-4", "zones": ["us-central1-a"], "provisioning": "spot", "nodes": 1}))  # fmt: skip
    assert {key: one.inputs for key, one in after.items() if key in before} == {key: one.inputs for key, one in before.items()}
    assert {key[1] for key in after.keys() - before.keys() if key[0] == "NodePool"} == {"two"}


def test_a_cluster_alone_has_no_accelerators(said: Said) -> None:
    """No pool of GPUs comes by itself: kubeflow/kubeflow issue 1389. Pools are never inside of the cluster."""
    found = declared(said("europe-west4"))
    assert [name for kind, name in found if kind == "NodePool"] == ["main-system"]
    assert found["Cluster", "main"].get("nodePools") is None


def test_data_of_staging_and_prod_keeps_its_capacity(said: Said) -> None:
    """There a pool is not made anew, nor taken away, unless the file names it."""
    found = pools(said(more={"environment": "prod", "allow_replace": ["one"]}, one=L4, two=L4))
    assert (found["one"].protect, found["two"].protect) == (False, True)


@pytest.fixture
def looked_at(stack_file: Write) -> Callable[[dict[str, Any]], Checked]:
    """What `accelform check` says of a configuration."""

    def look(config: dict[str, Any]) -> Checked:
        path = stack_file(config)
        return check(stack_files([str(path)], path.parent)[0])

    return look


def test_every_rule_holds_of_what_is_declared(said: Said, looked_at: Callable[..., Checked]) -> None:
    """Clusters of both modes and pools of every kind break no rule."""
    clusters = STANDARD | {"auto": {"mode": "autopilot"}}
    several = {
        "gpu": L4,
        "slice": {"accelerator_type": "v5litepod-16", "zones": ["us-central1-a"], "provisioning": "spot", "autoscale": {}},
        "iron": {"accelerator_type": "tpu7x-16", "zones": ["us-central1-c"], "provisioning": "on-demand", "because": "one reason"},
        "queued": {"machine_type": "a3-highgpu-8g", "provisioning": "queued-provisioning", "autoscale": {"max": 2}},
    }
    assert looked_at(said(clusters=clusters, **several)).findings == []


def test_what_may_be_meant_otherwise_is_said(said: Said, looked_at: Callable[..., Checked]) -> None:
    """A minimum, more clients than GKE is said to allow, a part of a GPU, a name left in `allow_replace`. MPS goes with parts of GPUs."""
    one = L4 | {"autoscale": {"min": 1, "max": 2}, "sharing": {"strategy": "time-sharing", "clients": 64}}
    cut = {
        "machine_type": "a2-highgpu-1g",
        "partition": "1g.5gb",
        "provisioning": "spot",
        "autoscale": {"max": 4},
        "sharing": {"strategy": "mps", "clients": 2},
    }
    found = looked_at(said(cut=cut, one=one, part=PART | {"count": 1}, more={"allow_replace": ["one"]})).warnings
    assert [warning.check for warning in found] == [
        "node_pools.cut.autoscale.min",
        "node_pools.one.autoscale.min",
        "node_pools.one.sharing.clients",
        "node_pools.part.machine_type",
        "allow_replace",
    ]


def test_pools_cost_their_nodes_at_most(said: Said, looked_at: Callable[..., Checked]) -> None:
    """
    Written out, in us-central1: a spot pool of 0 to 8 g2-standard-8 at 0.8536243 on demand at most, with 100 GiB at 0.10; a v5e slice of
    16 chips at 1.20 on demand at most, on 4 nodes; the cluster at 0.10; the system pool of 1 to 3 e2-standard-4 at 0.13402280.
    """
    several = {
        "one": L4 | {"autoscale": {"max": 8}},
        "slice": {"accelerator_type": "v5litepod-16", "zones": ["us-central1-a"], "provisioning": "spot", "autoscale": {}},
    }
    lines = {(line.resource, line.what): line for line in looked_at(said(**several)).estimate.lines}

    def month(*key: str) -> tuple[Decimal, Decimal]:
        found = lines[key].usd_month  # type: ignore[index]
        assert found is not None
        return (found[0], found[2])

    assert month("one", "g2-standard-8 spot") == (0, 8 * 730 * Decimal("0.8536243"))
    assert month("one", "node disk pd-balanced") == (0, 8 * 100 * Decimal("0.1"))
    assert month("slice", "v5litepod-16 spot") == (0, 16 * 730 * Decimal("1.2"))
    assert month("slice", "node disk pd-balanced") == (0, 4 * 100 * Decimal("0.1"))
    assert month("main", "cluster fee") == (73, 73)
    assert month("main-system", "e2-standard-4 on-demand") == (730 * Decimal("0.1340228"), 3 * 730 * Decimal("0.1340228"))
    assert month("main-system", "node disk pd-balanced") == (5, 15)
    assert "one slice of 4x4" in lines["slice", "v5litepod-16 spot"].note


def test_a_check_grows_as_pools_do(said: Said, looked_at: Callable[..., Checked]) -> None:
    """Pools four and five take what pools two and three take, by what Python calls."""

    def calls(count: int) -> int:
        config = said(**{f"p{number}": L4 for number in range(count)})
        profile = cProfile.Profile()
        assert profile.runcall(looked_at, config).findings == []
        return sum(one.callcount for one in profile.getstats())

    looked_at(said(one=L4))  # what is read once
    one, three, five = calls(1), calls(3), calls(5)
    assert five - three <= 1.15 * (three - one)
