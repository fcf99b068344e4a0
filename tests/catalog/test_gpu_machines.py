"""Machines with GPUs, and what goes with N1."""

from decimal import Decimal

import pytest

from infra.catalog import gpu, gpu_machines
from infra.catalog.tables import rows

WAYS = {"on-demand", "spot", "flex-start", "reservation"}


def test_every_machine_has_a_gpu_that_exists():
    """Machines and attachments are of known GPUs, and each GPU is on one of them."""
    built_in = {one.accelerator_type for one in gpu_machines.machines().values()}
    attached = {one.accelerator_type for one in gpu_machines.attachments()}

    assert built_in | attached == {*gpu.gpus()}
    assert built_in.isdisjoint(attached)


def test_memory_of_the_gpus_adds_up():
    """The memory of all GPUs is their number times that of one."""
    for one in gpu_machines.machines().values():
        assert one.gpus * gpu.gpu(one.accelerator_type).memory_gib == one.gpu_memory_gib, one


def test_name_tells_the_gpus_or_the_vcpus():
    """`-8g` ends the name of a machine with eight GPUs, `standard-8` that of one with eight vCPUs."""
    for name, one in gpu_machines.machines().items():
        last = name.removesuffix("-metal").rpartition("-")[2]
        assert last == (f"{one.gpus}g" if last.endswith("g") else str(one.vcpus))


def test_ways_of_selling_are_known_words():
    """What is sold, and what is not, is said in the words of a stack."""
    for one in gpu_machines.machines().values():
        assert one.sold_only | one.not_sold <= WAYS
        assert not one.sold_only & one.not_sold


def test_a_bundle_has_a_size():
    """Whoever gets local SSD in the price is told how much."""
    assert {row["local_ssd"] for row in rows("gpu_machines")} == {"bundled", "optional"}
    assert all(one.local_ssd_gib for one in gpu_machines.machines().values() if one.local_ssd_bundled)


def test_local_ssds_have_the_size_that_another_page_prints():
    """Disks of 375 GiB make the bundle, or the most that can be added; those of A4X are larger."""
    for name, one in gpu_machines.machines().items():
        counts = gpu_machines.local_ssds(name, one.accelerator_type)
        assert len(counts) == 1 or not one.local_ssd_bundled
        assert counts or one.local_ssd_gib == 0, name
        if counts and one.local_ssd_gib:
            assert counts[-1] * (3000 if one.series.startswith("a4x") else 375) == one.local_ssd_gib, name


def test_fewer_local_ssds_beside_t4():
    """N1 takes 24 of them, but not beside T4; no other machine than those with GPUs is told of."""
    assert gpu_machines.local_ssds("n1-highmem-8", "nvidia-tesla-t4") == (1, 2, 3, 4, 5, 6, 7, 8, 16)
    assert gpu_machines.local_ssds("n1-highmem-8", "nvidia-tesla-v100") == (1, 2, 3, 4, 5, 6, 7, 8, 16, 24)
    assert gpu_machines.local_ssds("a2-highgpu-2g", "nvidia-tesla-a100") == (2, 4, 8)
    assert gpu_machines.local_ssds("n2-standard-8", "") == ()


@pytest.mark.parametrize(
    ("name", "accelerator_type", "gpus", "vcpus", "memory_gib", "ssd"),
    [
        ("a2-highgpu-8g", "nvidia-tesla-a100", "8", 96, 680, None),
        ("a2-ultragpu-1g", "nvidia-a100-80gb", "1", 12, 170, 375),
        ("a3-highgpu-8g", "nvidia-h100-80gb", "8", 208, 1872, 6000),
        ("a3-megagpu-8g", "nvidia-h100-mega-80gb", "8", 208, 1872, 6000),
        ("a4x-highgpu-4g", "nvidia-gb200", "4", 140, 884, 12000),
        ("g2-standard-32", "nvidia-l4", "1", 32, 128, 375),
        ("g2-standard-24", "nvidia-l4", "2", 24, 96, 750),
        ("g4-standard-6", "nvidia-rtx-pro-6000", "0.125", 6, 22, 0),
    ],
)
def test_hand_checked_machines(name, accelerator_type, gpus, vcpus, memory_gib, ssd):
    """A few machines as Google's page prints them."""
    one = gpu_machines.machine(name)

    assert (one.accelerator_type, one.gpus, one.vcpus, one.memory_gib) == (accelerator_type, Decimal(gpus), vcpus, memory_gib)
    assert one.local_ssd_gib == ssd


def test_fails_with_the_nearest_machine():
    """A machine that does not exist is refused with those that look like it; one without a GPU is no GPU machine."""
    with pytest.raises(gpu_machines.UnknownGpuMachine, match="a3-highgpu-16g is not a machine type with GPUs") as caught:
        gpu_machines.machine("a3-highgpu-16g")

    assert caught.value.nearest[0] == "a3-highgpu-1g"
    assert gpu_machines.by_machine_type("n2-standard-8") is None
    assert gpu_machines.by_machine_type("g2-standard-4") is gpu_machines.machine("g2-standard-4")


def test_series_are_what_zones_are_listed_by():
    """All of N1 is one series; every other name gives its first two parts."""
    series = {name: gpu_machines.series_of(name) for name in ("n1-highmem-8", "a3-highgpu-1g", "a4x-maxgpu-4g-metal", "g2-standard-4")}

    assert series == {
        "n1-highmem-8": "n1",
        "a3-highgpu-1g": "a3-highgpu",
        "a4x-maxgpu-4g-metal": "a4x-maxgpu",
        "g2-standard-4": "g2-standard",
    }


def test_every_attachment_holds_somewhere():
    """Each GPU and number has one rule for all zones that no other rule names, and the machine has 6.5 GiB a vCPU at most."""
    for one in gpu_machines.attachments():
        general = [
            other
            for other in gpu_machines.attachments()
            if (other.accelerator_type, other.gpus, other.zones) == (one.accelerator_type, one.gpus, frozenset())
        ]
        assert len(general) == 1
        assert one.memory_gib <= one.vcpus * gpu_machines.N1_GIB_PER_VCPU["highmem"]


@pytest.mark.parametrize(
    ("accelerator_type", "gpus", "zone", "vcpus"),
    [
        ("nvidia-tesla-t4", 1, "us-central1-a", 48),
        ("nvidia-tesla-t4", 4, "us-central1-a", 96),
        ("nvidia-tesla-v100", 8, "us-west1-a", 96),
        ("nvidia-tesla-p4", 1, "us-west2-b", 24),
        ("nvidia-tesla-p100", 4, "us-east1-c", 64),
        ("nvidia-tesla-p100", 4, "us-west1-a", 96),
    ],
)
def test_attaches_up_to_the_largest_machine(accelerator_type, gpus, zone, vcpus):
    """The largest machine is taken, one vCPU more is not."""
    rule = gpu_machines.check_attachable(accelerator_type, gpus, vcpus=vcpus, memory_gib=Decimal(100), zone=zone)

    assert (rule.gpus, rule.vcpus, rule.series) == (gpus, vcpus, "n1")
    with pytest.raises(gpu_machines.NotAttachable) as caught:
        gpu_machines.check_attachable(accelerator_type, gpus, vcpus=vcpus + 1, memory_gib=Decimal(100), zone=zone)
    assert caught.value.reason == "too-large"
    assert caught.value.allowed == (f"{vcpus} vCPUs", f"{rule.memory_gib} GiB")


@pytest.mark.parametrize(
    ("accelerator_type", "gpus", "reason", "allowed"),
    [
        ("nvidia-tesla-t4", 3, "count", ("1", "2", "4")),
        ("nvidia-tesla-v100", 16, "count", ("1", "2", "4", "8")),
        ("nvidia-tesla-p100", 8, "count", ("1", "2", "4")),
        ("nvidia-a100-80gb", 1, "built-in", ("a2-ultragpu-1g", "a2-ultragpu-2g", "a2-ultragpu-4g", "a2-ultragpu-8g")),
    ],
)
def test_fails_to_attach(accelerator_type, gpus, reason, allowed):
    """A number that no machine takes, and a GPU with machines of its own, are refused with what would do."""
    with pytest.raises(gpu_machines.NotAttachable) as caught:
        gpu_machines.check_attachable(accelerator_type, gpus, vcpus=8, memory_gib=Decimal(30), zone="us-central1-a")

    assert (caught.value.reason, caught.value.allowed) == (reason, allowed)


def test_fails_with_too_much_memory():
    """Memory is bounded as vCPUs are."""
    with pytest.raises(gpu_machines.NotAttachable, match="too-large; allowed: 12 vCPUs, 78 GiB"):
        gpu_machines.check_attachable("nvidia-tesla-v100", 1, vcpus=12, memory_gib=Decimal("78.5"), zone="us-central1-a")


def test_fails_to_attach_what_does_not_exist():
    """A wrong name is told the right one."""
    with pytest.raises(gpu.UnknownGpu, match="meant: nvidia-tesla-t4"):
        gpu_machines.check_attachable("nvidia-t4", 1, vcpus=4, memory_gib=Decimal(15), zone="us-central1-a")


@pytest.mark.parametrize(
    ("machine_type", "size"),
    [
        ("n1-standard-4", (4, Decimal(15))),
        ("n1-standard-1", (1, Decimal("3.75"))),
        ("n1-highmem-96", (96, Decimal(624))),
        ("n1-highcpu-2", (2, Decimal("1.8"))),
        ("n1-highmem-1", None),
        ("n1-standard-3", None),
        ("n1-custom-4-8192", None),
        ("n2-standard-4", None),
        ("n1", None),
    ],
)
def test_size_of_n1(machine_type, size):
    """Predefined machines of N1 have so many GiB a vCPU; other names have no size."""
    assert gpu_machines.n1_size(machine_type) == size
