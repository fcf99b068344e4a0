"""How large machines are: each one of the catalogue, and none that it does not know."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.catalog import fits_tpu, gpu_machines
from infra.catalog.machine_size import MachineSize, UnknownSize, size
from infra.catalog.tables import rows


def test_every_machine_of_the_catalogue_has_a_size():
    """Machines with GPUs and with TPUs, and all that have a price and could be a cluster's system pool."""
    plain = {row["machine_type"] for row in rows("cpu_prices") if row["machine_type"].split("-")[0] in ("e2", "n1", "n2", "n2d")}
    shared = {"f1-micro", "g1-small"}

    for machine_type in {*plain - shared, *gpu_machines.machines(), *fits_tpu.machines()}:
        assert size(machine_type).vcpus >= 1


@pytest.mark.parametrize(
    ("machine_type", "vcpus", "memory_gib"),
    [
        ("g2-standard-8", 8, "32"),
        ("n1-standard-4", 4, "15"),
        ("e2-medium", 2, "4"),
        ("e2-standard-4", 4, "16"),
        ("n2-highmem-8", 8, "64"),
        ("n2-highmem-128", 128, "864"),
        ("n2d-highcpu-16", 16, "16"),
        ("c3-highcpu-22", 22, "44"),
        ("ct6e-standard-8t", 360, "1440"),
        ("tpu7x-standard-4t", 224, "960"),
    ],
)
def test_sizes_are_those_of_google(machine_type, vcpus, memory_gib):
    """One of each family, as Google's lists have it."""
    assert size(machine_type) == MachineSize(vcpus, Decimal(memory_gib))


@pytest.mark.parametrize(
    "machine_type", ["", "g1-small", "m3-ultramem-32", "g2-standard-9", "E2-standard-4", "e2-standard-0", "n2-custom-4"]
)
def test_fails_where_no_table_tells(machine_type):
    """A size is never guessed."""
    with pytest.raises(UnknownSize, match="no table tells"):
        size(machine_type)
