"""One accelerator, four spellings."""

import pytest

from infra.catalog import accelerator, gpu, tpu


def test_every_accelerator_is_here_once():
    """Each GPU and each TPU as it is sold has a row, and nothing else has."""
    names = {name: one.is_tpu for name, one in accelerator.accelerators().items()}

    assert {name for name, is_tpu in names.items() if not is_tpu} == {*gpu.gpus()}
    assert {name for name, is_tpu in names.items() if is_tpu} == {one.sold_as for one in tpu.shapes().values()}


def test_a_gpu_has_one_name_on_gke_and_compute_engine():
    """The node label is Compute Engine's name; Vertex AI's is the same in capitals, where it has the GPU."""
    for one in accelerator.accelerators().values():
        if not one.is_tpu:
            assert one.name == one.gke_label == one.compute_engine
            assert one.vertex_enum in ("", one.name.upper().replace("-", "_"))
            assert one.tpu_api == ""


def test_a_slice_begins_with_its_generation():
    """The Cloud TPU API's accelerator types begin as the row says, where that API makes them."""
    for shape in tpu.shapes().values():
        one = accelerator.accelerators()[shape.sold_as]
        assert bool(one.tpu_api) == shape.cloud_tpu_api
        assert shape.accelerator_type.rpartition("-")[0] == (one.tpu_api or "tpu7x")


@pytest.mark.parametrize(
    ("name", "gke_label", "compute_engine", "vertex_enum", "tpu_api"),
    [
        ("nvidia-l4", "nvidia-l4", "nvidia-l4", "NVIDIA_L4", ""),
        ("nvidia-tesla-a100", "nvidia-tesla-a100", "nvidia-tesla-a100", "NVIDIA_TESLA_A100", ""),
        ("v5litepod-8", "tpu-v5-lite-podslice", "", "TPU_V5_LITEPOD", "v5litepod"),
        ("tpu-v5e", "tpu-v5-lite-podslice", "", "TPU_V5_LITEPOD", "v5litepod"),
        ("v3-8", "tpu-v3-device", "", "TPU_V3", "v3"),
        ("v3-32", "tpu-v3-slice", "", "TPU_V3", "v3"),
        ("v6e-8", "tpu-v6e-slice", "", "", "v6e"),
        ("tpu7x-8", "tpu7x", "", "", ""),
    ],
)
def test_hand_checked_spellings(name, gke_label, compute_engine, vertex_enum, tpu_api):
    """A slice leads to its generation; v5e is `tpu-v5-lite-podslice` on GKE, not `tpu-v5e-slice`."""
    one = accelerator.accelerator(name)

    assert (one.gke_label, one.compute_engine, one.vertex_enum, one.tpu_api) == (gke_label, compute_engine, vertex_enum, tpu_api)


@pytest.mark.parametrize(
    ("got", "right", "nearest"),
    [
        ("NVIDIA_L4", "nvidia-l4", ("nvidia-l4",)),
        ("tpu-v5-lite-podslice", "tpu-v5e", ("tpu-v5e",)),
        ("v6e", "tpu-v6e", ("tpu-v6e",)),
        ("TPU_V3", "", ("tpu-v3-8", "tpu-v3-pod")),
        ("", "", ()),
    ],
)
def test_fails_with_the_name_that_is_meant(got, right, nearest):
    """What another API says is told its name here."""
    with pytest.raises(accelerator.UnknownAccelerator, match="is not an accelerator") as caught:
        accelerator.accelerator(got)

    assert (caught.value.got, caught.value.right, caught.value.nearest) == (got, right, nearest)


def test_fails_with_what_looks_like_it():
    """A name that nothing explains is answered with those that look like it."""
    with pytest.raises(accelerator.UnknownAccelerator) as caught:
        accelerator.accelerator("nvidia-l40")

    assert caught.value.nearest[0] == "nvidia-l4"
