"""Slice shapes: arithmetic, machines, runtimes, and names that people get wrong."""

import math

import pytest

from infra.catalog import tpu
from infra.catalog.tables import rows

RUNTIMES = {
    "v2": "tpu-ubuntu2204-base",
    "v3": "tpu-ubuntu2204-base",
    "v4": "tpu-ubuntu2204-base",
    "v5e": "v2-alpha-tpuv5-lite",
    "v5p": "v2-alpha-tpuv5",
    "v6e": "v2-alpha-tpuv6e",
    "tpu7x": "",
}

EVERY = pytest.mark.parametrize("generation", RUNTIMES)


def of(generation: str) -> list[tpu.TpuShape]:
    return [one for one in tpu.shapes().values() if one.generation == generation]


def test_generations_are_known():
    """Each shape is of one of the generations below, and each of them has shapes."""
    assert {one.generation for one in tpu.shapes().values()} == {*RUNTIMES}


@EVERY
def test_chips_add_up(generation):
    """Chips are the product of the topology, and of hosts and chips a host."""
    for shape in of(generation):
        assert shape.hosts * shape.chips_per_host == shape.chips
        if shape.generation in ("v2", "v3"):
            assert shape.topology == ""
        else:
            assert math.prod(int(side) for side in shape.topology.split("x")) == shape.chips


@EVERY
def test_name_counts_cores(generation):
    """A chip has one TensorCore in v5e and v6e, else two, and the name ends in the number of TensorCores."""
    for shape in of(generation):
        assert shape.cores == shape.chips * (1 if shape.generation in ("v5e", "v6e") else 2)
        assert shape.accelerator_type.rpartition("-")[2] == str(shape.cores)


@EVERY
def test_runtime_is_the_generations_own(generation):
    """Each generation has one runtime, and none where the Cloud TPU API lacks it: another one boots and finds no TPU."""
    for shape in of(generation):
        assert shape.runtime_version == RUNTIMES[shape.generation]
        assert shape.cloud_tpu_api == bool(shape.runtime_version)


@EVERY
def test_compute_engine_has_v5e_and_newer(generation):
    """Machine type and image are known for v5e and newer only."""
    for shape in of(generation):
        assert shape.compute_engine == (shape.generation in ("v5e", "v5p", "v6e", "tpu7x"))


@EVERY
def test_machine_holds_the_chips_of_a_host(generation):
    """The machine type ends in the number of chips a host."""
    for shape in of(generation):
        if shape.machine_type:
            assert shape.machine_type.endswith(f"-{shape.chips_per_host}t")
        else:
            assert shape.generation == "v2"


def test_hand_checked_shapes():
    """A few shapes as Google's pages print them."""
    v6e = tpu.shape("v6e-8")
    assert (v6e.chips, v6e.hosts, v6e.topology, v6e.machine_type) == (8, 1, "2x4", "ct6e-standard-8t")
    assert v6e.image_family == "ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e"
    v5p = tpu.shape("v5p-128")
    assert (v5p.chips, v5p.hosts, v5p.topology, v5p.machine_type) == (64, 16, "4x4x4", "ct5p-hightpu-4t")
    v4 = tpu.shape("v4-8")
    assert (v4.chips, v4.single_host, v4.compute_engine) == (4, True, False)


def test_sold_as_tells_devices_from_pods():
    """v2 and v3 are sold as single devices and as pod slices; the others by generation."""
    sold_as = {name: tpu.shape(name).sold_as for name in ("v2-8", "v2-32", "v3-8", "v3-2048", "v4-4096", "v5litepod-1", "tpu7x-8")}

    assert sold_as == {
        "v2-8": "tpu-v2-8",
        "v2-32": "tpu-v2-pod",
        "v3-8": "tpu-v3-8",
        "v3-2048": "tpu-v3-pod",
        "v4-4096": "tpu-v4",
        "v5litepod-1": "tpu-v5e",
        "tpu7x-8": "tpu7x",
    }


def test_machine_types_lead_to_single_hosts():
    """Every Compute Engine machine type leads to the shape that is one of it."""
    assert {name: one.accelerator_type for name, one in tpu.single_hosts().items()} == {
        "ct5lp-hightpu-1t": "v5litepod-1",
        "ct5lp-hightpu-4t": "v5litepod-4",
        "ct5lp-hightpu-8t": "v5litepod-8",
        "ct5p-hightpu-4t": "v5p-8",
        "ct6e-standard-1t": "v6e-1",
        "ct6e-standard-4t": "v6e-4",
        "ct6e-standard-8t": "v6e-8",
        "tpu7x-standard-1t": "tpu7x-2",
        "tpu7x-standard-4t": "tpu7x-8",
    }
    assert tpu.by_machine_type("ct6e-standard-8t") is tpu.shape("v6e-8")
    assert tpu.by_machine_type("n2-standard-8") is None


@pytest.mark.parametrize("row", rows("names"), ids=lambda row: row["wrong"])
def test_fails_with_the_right_name(row):
    """Each known wrong name is refused, and leads to shapes that exist: to one by name where the table gives one."""
    with pytest.raises(tpu.UnknownAcceleratorType, match="is not a TPU accelerator type; meant: ") as caught:
        tpu.shape(row["wrong"])

    error = caught.value
    assert error.got == row["wrong"]
    assert {*error.nearest} <= {*tpu.shapes()}
    rights = row["right"].split(";")
    if len(rights) == 1 and rights[0] in tpu.shapes():
        assert error.nearest == (error.right,) == (rights[0],)
    else:
        assert error.right == ""
        assert {*rights} <= {*tpu.shapes(), *(one.generation for one in tpu.shapes().values())}


@pytest.mark.parametrize(
    ("got", "right", "nearest"),
    [
        ("v6-8", "v6e-8", ("v6e-8",)),
        ("v6e-2", "", ("v6e-1", "v6e-4")),
        ("v5e", "", ("v5litepod-1", "v5litepod-4", "v5litepod-8")),
        ("V6E-8 ", "v6e-8", ("v6e-8",)),
        ("ct6e-standard-8t", "v6e-8", ("v6e-8",)),
        ("v5e-32", "v5litepod-32", ("v5litepod-32",)),
        ("v7x-8", "tpu7x-8", ("tpu7x-8",)),
        ("ironwood", "", ("tpu7x-2", "tpu7x-8")),
    ],
)
def test_fails_with_what_is_meant(got, right, nearest):
    """A wrong name, a machine type, a generation and another spelling are told what they mean, and no more."""
    with pytest.raises(tpu.UnknownAcceleratorType) as caught:
        tpu.shape(got)

    assert (caught.value.right, caught.value.nearest) == (right, nearest)


def test_fails_without_a_type():
    """There is no default accelerator type."""
    with pytest.raises(tpu.UnknownAcceleratorType) as caught:
        tpu.shape("")

    assert (caught.value.right, caught.value.nearest) == ("", ())


def test_fails_with_what_looks_like_it():
    """A name that nothing explains is answered with those that look like it."""
    with pytest.raises(tpu.UnknownAcceleratorType) as caught:
        tpu.shape("tpu-v6e-16")

    assert caught.value.nearest[0] == "v6e-16"
    assert caught.value.right == ""
