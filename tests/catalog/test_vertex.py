"""What Vertex AI runs, and how it refuses the rest."""

from typing import get_args

import pytest

from infra.catalog import accelerator, gpu_machines, places, tpu, vertex
from infra.catalog.tables import rows

USES = get_args(vertex.Use)


def test_cells_are_known_words():
    """Whether it runs somewhere is yes, no or allowlist, and at least one of both uses."""
    for row in rows("vertex_regions"):
        assert row["prediction"] in ("yes", "no", "allowlist"), row
        assert row["training"] in ("yes", "no"), row
        assert (row["prediction"], row["training"]) != ("no", "no"), row
        places.check_region(row["region"])


def test_every_accelerator_is_known():
    """Each accelerator is the enum of a GPU, or a TPU by its name in the tables."""
    known = {one.name if one.is_tpu else one.vertex_enum for one in accelerator.accelerators().values()}

    assert {one.accelerator for one in vertex.regions()} <= known
    assert {one.accelerator for choices in vertex.machines().values() for one in choices} <= known


def test_every_accelerator_of_a_machine_has_a_region():
    """No machine is known that no region runs."""
    for choices in vertex.machines().values():
        for one in choices:
            assert any(region.accelerator == one.accelerator for region in vertex.regions()), one


def test_agrees_with_the_page_of_machines():
    """Machines with GPUs built in have the GPU and the number that Compute Engine's page, a second source, gives them."""
    built_in = {name: choices for name, choices in vertex.machines().items() if choices[0].built_in and not choices[0].is_tpu}

    assert len(built_in) == 30
    for name, (choice,) in built_in.items():
        machine = gpu_machines.machine(name)
        assert accelerator.accelerator(machine.accelerator_type).vertex_enum == choice.accelerator
        assert (machine.gpus,) == choice.counts


def test_agrees_with_the_limits_of_n1():
    """Machines of N1 have no more GPUs than Compute Engine attaches, and are not larger than it allows for so many."""
    for name, choices in vertex.machines().items():
        if name.startswith("n1-"):
            vcpus, memory_gib = gpu_machines.n1_size(name)
            for choice in choices:
                gpu = next(one.name for one in accelerator.accelerators().values() if one.vertex_enum == choice.accelerator)
                for count in choice.counts:
                    gpu_machines.check_attachable(gpu, count, vcpus=vcpus, memory_gib=memory_gib, zone="us-central1-a")


def test_tpu_machines_are_single_hosts():
    """A TPU machine is one that Compute Engine has, of that generation and number of chips."""
    tpus = [choices[0] for choices in vertex.machines().values() if choices[0].is_tpu]

    assert len(tpus) == 7
    for one in tpus:
        shape = tpu.by_machine_type(one.machine_type)
        assert (shape.sold_as, (shape.chips,)) == (one.accelerator, one.counts)


@pytest.mark.parametrize(
    ("machine_type", "accelerator_type", "count", "region", "use"),
    [
        ("g2-standard-4", "NVIDIA_L4", 1, "us-central1", "prediction"),
        ("n1-standard-8", "NVIDIA_TESLA_T4", 2, "europe-west4", "training"),
        ("a3-highgpu-8g", "NVIDIA_H100_80GB", 8, "us-central1", "training"),
        ("a4-highgpu-8g", "NVIDIA_B200", 8, "us-east4", "training"),
        ("ct5lp-hightpu-4t", "", 0, "us-west4", "prediction"),
        ("ct6e-standard-8t", "", 0, "us-east5", "training"),
    ],
)
def test_runs_what_its_page_lists(machine_type, accelerator_type, count, region, use):
    """Machines, accelerators, numbers and regions of the pages are accepted."""
    found = vertex.check(machine_type, accelerator_type, count, region, use)

    assert found.region == region
    assert found.runs(use)


def test_a_replica_takes_a_part_of_a_machine_with_gpus_of_its_own():
    """One to all of its GPUs for prediction, as the API's reference says; GPUs on N1 and TPUs are as their tables say."""
    for choices in vertex.machines().values():
        for one in choices:
            able = {count for count in range(20) if one.takes(count, "prediction")}
            if one.built_in and not one.is_tpu:
                assert able == set(range(1, max(one.counts) + 1))
            else:
                assert able == set(one.counts)
            assert {count for count in range(20) if one.takes(count, "training")} == {one for one in one.counts if one < 20}


def test_allowlist_is_said():
    """v6e in `us-east1` predicts for projects only that were let in."""
    found = vertex.check("ct6e-standard-1t", "", 0, "us-east1")

    assert found.by_allowlist
    assert not vertex.check("ct6e-standard-1t", "", 0, "us-east5").by_allowlist


@pytest.mark.parametrize(
    ("answers", "reason", "nearest"),
    [
        (("g2-standard-5", "NVIDIA_L4", 1, "us-central1"), "machine", "g2-standard-8"),
        (("g2-standard-4", "NVIDIA_TESLA_T4", 1, "us-central1"), "accelerator", "NVIDIA_L4"),
        (("g2-standard-4", "nvidia-l4", 1, "us-central1"), "accelerator", "NVIDIA_L4"),
        (("n1-standard-4", "", 0, "us-central1"), "accelerator", "NVIDIA_TESLA_P100"),
        (("ct6e-standard-4t", "TPU_V6E", 4, "us-east5"), "accelerator", ""),
        (("g2-standard-24", "NVIDIA_L4", 3, "us-central1"), "count", "2"),
        (("g2-standard-24", "NVIDIA_L4", 0, "us-central1"), "count", "2"),
        (("g2-standard-24", "NVIDIA_L4", 1, "us-central1", "training"), "count", "2"),
        (("n1-standard-16", "NVIDIA_TESLA_V100", 1, "us-central1"), "count", "2"),
        (("n1-standard-4", "NVIDIA_TESLA_T4", 3, "us-central1"), "count", "2"),
        (("ct6e-standard-4t", "", 4, "us-east5"), "count", "0"),
        (("g2-standard-4", "NVIDIA_L4", 1, "us-west3"), "region", "northamerica-northeast2"),
        (("g2-standard-4", "NVIDIA_L4", 1, "moon-north1"), "region", "asia-east1"),
    ],
)
def test_fails_with_the_nearest(answers, reason, nearest):
    """The first wrong answer is named, with what would do instead."""
    with pytest.raises(vertex.NotOnVertex) as caught:
        vertex.check(*answers)

    assert caught.value.reason == reason
    assert caught.value.nearest[0] == nearest
    assert caught.value.got in map(str, answers)


def test_fails_where_it_only_predicts():
    """L4 in `us-west4` predicts, and does not train: what is suggested does."""
    assert vertex.check("g2-standard-4", "NVIDIA_L4", 1, "us-west4", "prediction").trust == "high"
    with pytest.raises(vertex.NotOnVertex, match="NVIDIA_L4, training: no such region: us-west4") as caught:
        vertex.check("g2-standard-4", "NVIDIA_L4", 1, "us-west4", "training")

    for region in caught.value.nearest:
        assert vertex.check("g2-standard-4", "NVIDIA_L4", 1, region, "training").training


@pytest.mark.parametrize("use", USES)
def test_suggested_regions_would_be_accepted(use):
    """Whoever follows a suggestion is not refused again."""
    for name, choices in vertex.machines().items():
        for one in choices:
            kind, count = ("", 0) if one.is_tpu else (one.accelerator, one.counts[0])
            with pytest.raises(vertex.NotOnVertex) as caught:
                vertex.check(name, kind, count, "moon-north1", use)
            assert all(vertex.check(name, kind, count, region, use).runs(use) for region in caught.value.nearest)
