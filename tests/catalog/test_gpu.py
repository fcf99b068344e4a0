"""GPUs: figures, parts, and names that people get wrong."""

import re
from decimal import Decimal

import pytest

from infra.catalog import gpu
from infra.catalog.tables import rows, words


def test_figures_are_positive():
    """No figure is zero: what no source tells is None."""
    for one in gpu.gpus().values():
        figures = [one.bf16_tflops, one.int8_tops, one.memory_gb_s, one.power_watts]
        assert one.memory_gib > 0
        assert all(figure is None or figure > 0 for figure in figures), one


def test_capability_goes_with_the_generation():
    """GPUs of one generation have compute capabilities of their own; Turing and Ada Lovelace are told by the minor number."""
    begins = {
        "Pascal": "6.",
        "Volta": "7.0",
        "Turing": "7.5",
        "Ampere": "8.0",
        "Ada Lovelace": "8.9",
        "Hopper": "9.0",
        "Blackwell": "1",
    }

    for one in gpu.gpus().values():
        assert one.compute_capability.startswith(begins[one.generation]), one
    assert {one.generation for one in gpu.gpus().values()} == {*begins}


def test_bf16_came_with_ampere():
    """No older GPU has a bf16 figure: what vendors print of them is fp16."""
    for one in gpu.gpus().values():
        assert one.bf16_tflops is None or Decimal(one.compute_capability) >= 8, one


def test_name_tells_the_memory():
    """Where the name of a GPU carries its memory, that is it."""
    told = {name: int(size[1]) for name in gpu.gpus() if (size := re.search(r"-(\d+)gb$", name))}

    assert told == {name: gpu.gpu(name).memory_gib for name in told}
    assert len(told) == 4


@pytest.mark.parametrize(
    ("name", "memory_gib", "bf16", "bandwidth", "watts"),
    [
        ("nvidia-tesla-t4", 16, None, 320, 70),
        ("nvidia-l4", 24, None, 300, 72),
        ("nvidia-tesla-a100", 40, "312", 1600, 400),
        ("nvidia-a100-80gb", 80, "312", 1900, 400),
        ("nvidia-h100-80gb", 80, "989.5", 3350, 700),
        ("nvidia-b200", 180, "2250", 8000, 1000),
        ("nvidia-gb300", 279, None, None, None),
    ],
)
def test_hand_checked_gpus(name, memory_gib, bf16, bandwidth, watts):
    """Dense figures, never those with sparsity: H100 has 989.5 TFLOPS, not 1,979."""
    one = gpu.gpu(name)

    assert (one.memory_gib, one.memory_gb_s, one.power_watts) == (memory_gib, bandwidth, watts)
    assert one.bf16_tflops == (None if bf16 is None else Decimal(bf16))


def test_parts_fit_into_their_gpu():
    """Parts have at most the seven slices and the memory of the whole, but that the name of each rounds up."""
    for one in gpu.gpus().values():
        for size, instances in one.partitions.items():
            slices, memory = map(int, re.fullmatch(r"(\d)g\.(\d+)gb([+-][a-z.]+)?", size).groups()[:2])
            assert 1 <= instances * slices <= 7, (one.accelerator_type, size)
            assert instances * (memory - 1) < one.memory_gib, (one.accelerator_type, size)


def test_the_largest_part_is_the_whole():
    """One part has the memory of the GPU."""
    for one in gpu.gpus().values():
        if one.partitions:
            assert any(f".{one.memory_gib}gb" in size and instances == 1 for size, instances in one.partitions.items()), one


def test_only_some_gpus_can_be_cut():
    """Partitions came with Ampere; L4 has none. A hand-checked table: A100 40 GB."""
    assert gpu.gpu("nvidia-tesla-a100").partitions == {"1g.5gb": 7, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1}
    assert gpu.gpu("nvidia-l4").partitions == gpu.gpu("nvidia-tesla-t4").partitions == {}
    assert {row["accelerator_type"] for row in rows("gpu_partitions")} <= {*gpu.gpus()}


@pytest.mark.parametrize("row", rows("gpu_names"), ids=lambda row: row["wrong"])
def test_fails_with_the_right_name(row):
    """Each known wrong name is refused in any case of letters, and leads to GPUs that exist."""
    with pytest.raises(gpu.UnknownGpu, match="is not a GPU of Google Cloud; meant: ") as caught:
        gpu.gpu(row["wrong"].upper())

    assert caught.value.nearest == words(row["right"])
    assert {*caught.value.nearest} <= {*gpu.gpus()}
    assert row["wrong"] not in gpu.gpus()


@pytest.mark.parametrize(
    ("got", "right", "nearest"),
    [
        ("NVIDIA_L4", "nvidia-l4", ("nvidia-l4",)),
        ("nvidia-L4 ", "nvidia-l4", ("nvidia-l4",)),
        ("NVIDIA_TESLA_A100", "nvidia-tesla-a100", ("nvidia-tesla-a100",)),
        ("H100", "", ("nvidia-h100-80gb", "nvidia-h100-mega-80gb")),
        ("", "", ()),
    ],
)
def test_fails_with_what_is_meant(got, right, nearest):
    """The spelling of Vertex AI, a name of two GPUs, and nothing are told what they mean, and no more."""
    with pytest.raises(gpu.UnknownGpu) as caught:
        gpu.gpu(got)

    assert (caught.value.got, caught.value.right, caught.value.nearest) == (got, right, nearest)


def test_fails_with_what_looks_like_it():
    """A name that nothing explains is answered with those that look like it."""
    with pytest.raises(gpu.UnknownGpu) as caught:
        gpu.gpu("nvidia-l40")

    assert caught.value.nearest[0] == "nvidia-l4"
    assert caught.value.right == ""
