"""What a node offers: by GKE's formulas, held against nodes that others have printed."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.catalog import fits_tpu, gpu_machines
from infra.catalog.machine_size import UnknownSize
from infra.catalog.nodes import CPU_SHARES, GIB, MEMORY_SHARES, BadPool, Gpus, Node, Taint, kept, memory_left, node, of_api, storage_left

ZONE = "us-central1-a"
TPU_TAINT = Taint("google.com/tpu", "present")


def made(machine_type: str, **facts: object) -> Node:
    return node("pool a", machine_type=machine_type, pool="dev-a", **{"zone": ZONE} | facts)


@pytest.mark.parametrize(
    ("machine_type", "cpu", "gib"),
    [
        ("n1-standard-1", "0.94", "2.56"),
        ("n1-standard-4", "3.92", "12.07"),
        ("n1-standard-8", "7.91", "25.89"),
        ("n1-standard-16", "15.89", "53.57"),
        ("n1-standard-32", "31.85", "109.03"),
        ("n1-standard-64", "63.77", "224.45"),
    ],
)
def test_cpu_and_memory_are_those_of_standing_nodes(machine_type, cpu, gib):
    """
    Cores to the core's thousandth, memory within half a percent.

    Source: nodes of GKE as kubernetes' node topology of appscode lists them (public file 26383162550).
    """
    found = made(machine_type)

    assert found.cpu == Decimal(cpu)
    assert found.memory / GIB == pytest.approx(float(gib), rel=0.005)


def test_machines_with_shared_cores_keep_more():
    """Of 2 cores 1.06 are kept. Source: the page on planning node sizes."""
    assert made("e2-medium").cpu == Decimal("0.94")


def test_shares_are_the_published_ones():
    """By hand: 4 cores keep 60 + 10 + 10 m; 32 GiB keep 1 + 0.8 + 0.8 + 0.96 GiB; 200 GiB keep 1 + 0.8 + 0.8 + 6.72 + 1.44."""
    assert kept(4, CPU_SHARES) == Decimal("0.08")
    assert kept(32, MEMORY_SHARES) == Decimal("3.56")
    assert kept(200, MEMORY_SHARES) == Decimal("10.76")


def test_streaming_images_costs_memory():
    """By hand: of 32 GiB 0.4 + 0.32 + 0.32 + 0.384 more."""
    assert memory_left(32 * GIB) - memory_left(32 * GIB, image_streaming=True) == pytest.approx(1.424 * GIB, abs=1)


def test_storage_is_that_of_a_standing_node():
    """A boot disk of 100 GiB leaves 47060071478 bytes on the node of Google's own page."""
    assert storage_left(100, 0) == pytest.approx(47_060_071_478, rel=1e-5)


def test_storage_of_local_ssds():
    """By hand: two of 375 GiB, less a tenth, 75 GiB, and what their file system takes; the boot disk does not count."""
    assert storage_left(100, 2) == storage_left(500, 2) == int((Decimal(750) * (1 - Decimal("0.1186")) - 75) * GIB)
    assert storage_left(1, 0) == 0


def test_a_spot_node_with_an_l4():
    """Labels are those of a node that others have printed, but for how it is bought. Source: public file 45078843643."""
    found = made("g2-standard-4", disk_type="pd-balanced", gpus=Gpus("nvidia-l4", 1, driver="latest"), provisioning="spot")

    assert found.extended == {"nvidia.com/gpu": 1}
    assert (
        found.labels.items()
        >= {
            "cloud.google.com/gke-accelerator": "nvidia-l4",
            "cloud.google.com/gke-boot-disk": "pd-balanced",
            "cloud.google.com/gke-cpu-scaling-level": "4",
            "cloud.google.com/gke-gpu-driver-version": "latest",
            "cloud.google.com/gke-memory-gb-scaling-level": "16",
            "cloud.google.com/gke-nodepool": "dev-a",
            "cloud.google.com/gke-provisioning": "spot",
            "cloud.google.com/gke-spot": "true",
            "cloud.google.com/machine-family": "g2",
            "node.kubernetes.io/instance-type": "g2-standard-4",
            "topology.kubernetes.io/region": "us-central1",
            "topology.kubernetes.io/zone": ZONE,
        }.items()
    )
    assert "cloud.google.com/gke-accelerator-count" not in found.labels


def test_a_node_of_a_tpu():
    """Labels are those of a node that others have printed. Source: public file 45078843643."""
    found = made("ct6e-standard-1t", topology="1x1", taints=[TPU_TAINT])

    assert found.extended == {"google.com/tpu": 1}
    assert found.taints == (TPU_TAINT,)
    assert (
        found.labels.items()
        >= {
            "cloud.google.com/gke-accelerator-count": "1",
            "cloud.google.com/gke-memory-gb-scaling-level": "180",
            "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
            "cloud.google.com/gke-tpu-topology": "1x1",
            "cloud.google.com/machine-family": "ct6e",
        }.items()
    )


@pytest.mark.parametrize(
    ("gpus", "offered"),
    [
        (Gpus("nvidia-tesla-a100", 2), 2),
        (Gpus("nvidia-tesla-a100", 1, "1g.5gb"), 7),
        (Gpus("nvidia-tesla-a100", 2, "3g.20gb"), 4),
        (Gpus("nvidia-l4", 1, sharing="time-sharing", clients=4), 4),
        (Gpus("nvidia-tesla-a100", 1, "1g.5gb", "time-sharing", 3), 21),
    ],
)
def test_parts_and_sharing_multiply(gpus, offered):
    """Parts of a GPU count as GPUs, and so does each container that may share one."""
    assert made("a2-highgpu-2g", gpus=gpus).extended == {"nvidia.com/gpu": offered}


def test_shared_and_cut_gpus_are_labelled():
    """Pods select them by their size and their way of sharing."""
    labels = made("a2-highgpu-1g", gpus=Gpus("nvidia-tesla-a100", 1, "1g.5gb", "mps", 2, "none")).labels

    assert labels["cloud.google.com/gke-gpu-partition-size"] == "1g.5gb"
    assert labels["cloud.google.com/gke-gpu-sharing-strategy"] == "mps"
    assert labels["cloud.google.com/gke-max-shared-clients-per-gpu"] == "2"
    assert "cloud.google.com/gke-gpu-driver-version" not in labels


def test_labels_of_a_pool_do_not_hide_those_of_gke():
    """What a user writes under a key that GKE writes too is GKE's."""
    assert made("e2-standard-4", labels={"cloud.google.com/gke-nodepool": "mine", "team": "a"}).labels.items() >= {
        ("cloud.google.com/gke-nodepool", "dev-a"),
        ("team", "a"),
    }


def test_queued_nodes_keep_other_pods_away():
    """GKE taints nodes of queued provisioning."""
    assert made("g2-standard-4", provisioning="queued-provisioning").taints == (Taint("cloud.google.com/gke-queued", "true"),)


def test_a_zone_that_gke_picks_is_undecided():
    """Without a zone the label is there, with a value that nobody knows."""
    found = made("e2-standard-4", zone="", region="us-central1")

    assert "topology.kubernetes.io/zone" not in found.labels
    assert "topology.kubernetes.io/zone" in found.undecided
    assert found.labels["topology.kubernetes.io/region"] == "us-central1"


def test_every_machine_with_accelerators_makes_a_node() -> None:
    """Each has its accelerators, and something left of everything else; those of Arm say so."""
    for machine_type in (*gpu_machines.machines(), *fits_tpu.machines()):
        found = made(machine_type)
        assert set(found.extended) == {"google.com/tpu" if machine_type in fits_tpu.machines() else "nvidia.com/gpu"}
        assert min(found.extended.values()) >= 1
        assert min(found.cpu, found.memory, found.ephemeral_storage) > 0
        assert found.labels["kubernetes.io/arch"] == ("arm64" if machine_type.startswith("a4x") else "amd64")


def test_fails_where_no_table_tells():
    """A machine of unknown size and a part that a GPU has not are refused."""
    with pytest.raises(UnknownSize, match="m9-standard-1"):
        made("m9-standard-1")
    with pytest.raises(BadPool, match=r"1g\.5gb"):
        made("g2-standard-4", gpus=Gpus("nvidia-l4", 1, "1g.5gb"))


def test_a_pool_of_the_api():
    """A pool as GKE's API has it gives the same node as its facts."""
    pool = {
        "name": "dev-a",
        "config": {
            "machineType": "g2-standard-8",
            "diskSizeGb": 200,
            "diskType": "pd-balanced",
            "labels": {"team": "a"},
            "spot": True,
            "gcfsConfig": {"enabled": True},
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}, {"key": "x", "effect": "NO_EXECUTE"}],
            "accelerators": [
                {
                    "acceleratorType": "nvidia-l4",
                    "acceleratorCount": "1",
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                    "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": "4"},
                }
            ],
        },
    }

    assert of_api(pool, ZONE, name="pool a") == made(
        "g2-standard-8",
        disk_gib=200,
        disk_type="pd-balanced",
        labels={"team": "a"},
        provisioning="spot",
        image_streaming=True,
        taints=[Taint("nvidia.com/gpu", "present"), Taint("x", "", "NoExecute")],
        gpus=Gpus("nvidia-l4", 1, sharing="time-sharing", clients=4, driver="latest"),
    )


def test_a_tpu_pool_of_the_api():
    """The topology is the placement policy's; a reservation is labelled; what queues is tainted."""
    config = {"machineType": "ct5p-hightpu-4t", "reservationAffinity": {"values": ["projects/p/reservations/r1"]}}
    found = of_api({"name": "v5p", "config": config, "placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x4"}}, ZONE)

    assert found.name == "pool v5p"
    assert found.labels["cloud.google.com/gke-tpu-topology"] == "2x2x4"
    assert found.labels["cloud.google.com/reservation-name"] == "r1"
    assert of_api({"config": {"machineType": "g2-standard-4"}, "queuedProvisioning": {"enabled": True}}, ZONE).taints
