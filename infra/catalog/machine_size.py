"""How large a machine is: vCPUs and memory, whatever it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from infra.catalog import gpu_machines
from infra.catalog.gpu_machines import n1_size
from infra.catalog.tables import rows

GIB_PER_VCPU: Mapping[str, Mapping[str, Decimal]] = MappingProxyType(
    {
        "e2": {"standard": Decimal(4), "highmem": Decimal(8), "highcpu": Decimal(1)},
        "n2": {"standard": Decimal(4), "highmem": Decimal(8), "highcpu": Decimal(1)},
        "n2d": {"standard": Decimal(4), "highmem": Decimal(8), "highcpu": Decimal(1)},
        "c3": {"standard": Decimal(4), "highmem": Decimal(8), "highcpu": Decimal(2)},
    }
)
"""Source: Cyclenerd/google-cloud-pricing-cost-calculator:tools/machinetypes.csv@0026ae3a0930, where every machine of these families that
the catalogue has a price of fits, but for the one below."""
OTHERWISE: Mapping[str, Decimal] = MappingProxyType({"n2-highmem-128": Decimal(864)})
"""GiB. Source: the same."""
SHARED: Mapping[str, Decimal] = MappingProxyType({"e2-micro": Decimal(1), "e2-small": Decimal(2), "e2-medium": Decimal(4)})
"""GiB of machines that share their 2 vCPUs with others.
Source: https://docs.cloud.google.com/compute/docs/general-purpose-machines#e2_machine_types, read 2026-11."""
_FORM = re.compile(r"([a-z][a-z0-9]*)-([a-z]+)-([1-9][0-9]{0,2})", re.ASCII)


class UnknownSize(ValueError):  # noqa: N818 - reads as the finding it is
    """A machine whose vCPUs and memory no table tells."""


@dataclass(frozen=True, slots=True)
class MachineSize:
    """What one machine has."""

    vcpus: int
    memory_gib: Decimal

    @property
    def memory(self) -> int:
        """Bytes."""
        return int(self.memory_gib * (1 << 30))


def size(machine_type: str) -> MachineSize:
    """
    The size of a machine type such as `g2-standard-8`, `ct6e-standard-4t` or `e2-standard-4`.

    Raises:
        UnknownSize: No table tells.
    """
    if machine := gpu_machines.by_machine_type(machine_type):
        return MachineSize(machine.vcpus, Decimal(machine.memory_gib))
    if n1 := n1_size(machine_type):
        return MachineSize(*n1)
    if row := next((row for row in rows("tpu_hosts") if row["machine_type"] == machine_type), None):
        return MachineSize(int(row["vcpus"]), Decimal(row["memory_gib"]))
    if machine_type in SHARED:
        return MachineSize(2, SHARED[machine_type])
    match = _FORM.fullmatch(machine_type)
    per_vcpu = GIB_PER_VCPU.get(match[1], {}).get(match[2]) if match else None
    if match is None or per_vcpu is None:
        raise UnknownSize(f"no table tells the vCPUs and the memory of {machine_type}")
    vcpus = int(match[3])
    return MachineSize(vcpus, OTHERWISE.get(machine_type, vcpus * per_vcpu))
