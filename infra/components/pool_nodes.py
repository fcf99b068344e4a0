"""What the nodes of a pool are made of, from the catalogue: the machine, its accelerators, its disks, and what pods must know of it."""

from __future__ import annotations

from typing import Any, Literal

from infra.catalog.gpu_machines import N1, Attached, GpuMachine
from infra.catalog.tpu import TpuShape
from infra.components.tpu_host import BOOT_DISK_TYPE

Driver = Literal["default", "latest", "none"]
Strategy = Literal["time-sharing", "mps"]
Effect = Literal["no-schedule", "prefer-no-schedule", "no-execute"]
Host = TpuShape | GpuMachine | Attached

Way = Literal["on-demand", "spot", "flex-start", "queued-provisioning", "reservation"]
QUEUED = ("flex-start", "queued-provisioning")
"""Ways that wait for capacity. Their nodes end by themselves, are not repaired, and are upgraded by being made anew.
Source: https://cloud.google.com/kubernetes-engine/docs/concepts/dws, read 2026-11."""

DRIVERS = {"default": "DEFAULT", "latest": "LATEST", "none": "INSTALLATION_DISABLED"}
"""Source: discovery document container v1, `GPUDriverInstallationConfig`. `SPECIFIC` is newer than the provider."""
STRATEGIES = {"time-sharing": "TIME_SHARING", "mps": "MPS"}
EFFECTS = {"no-schedule": "NO_SCHEDULE", "prefer-no-schedule": "PREFER_NO_SCHEDULE", "no-execute": "NO_EXECUTE"}
TAINTS = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu"}
"""Keys of the taints that keep other pods away. GKE writes them too, that of GPUs only where a pool without GPUs was there before.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus (not read for this, to be checked);
terraform-google-kubernetes-engine issue 703."""
HYPERDISK_ONLY = ("a3-ultragpu", "a4-highgpu", "a4x-highgpu", "a4x-maxgpu", "g4-standard")
"""Series that take no Persistent Disk.
Source: https://cloud.google.com/compute/docs/disks/hyperdisks (not read for this, to be checked)."""
SSD_GIB = 375
N1_SSD = (*range(1, 9), 16, 24)
"""How many local SSDs a machine of N1 may have.
Source: https://cloud.google.com/compute/docs/disks/local-ssd (not read for this, to be checked)."""


def boot_disk(host: Host) -> str:
    """Type of a node's boot disk; v3 and v4 are older than Hyperdisk."""
    if isinstance(host, TpuShape):
        return BOOT_DISK_TYPE.get(host.generation, "pd-balanced")
    return "hyperdisk-balanced" if host.series in HYPERDISK_ONLY else "pd-balanced"


def gpus_of(host: GpuMachine | Attached) -> int:
    """GPUs of one node."""
    return int(host.gpus)


def local_ssds(host: Host) -> tuple[int, ...]:
    """How many local SSDs a node may have; those that come with a machine are all of them, always."""
    if isinstance(host, TpuShape):
        return ()
    if host.series == N1:
        return N1_SSD
    assert isinstance(host, GpuMachine)
    if host.local_ssd_gib is None:
        return ()
    most = host.local_ssd_gib // SSD_GIB
    return (most,) if host.local_ssd_bundled else tuple(range(1, most + 1))


def bundled_ssds(host: Host) -> int:
    """Local SSDs that come with a node and are in its price."""
    return local_ssds(host)[0] if isinstance(host, GpuMachine) and host.local_ssd_bundled else 0


def guest_accelerators(host: GpuMachine | Attached, driver: Driver, partition: str | None, sharing: tuple[Strategy, int] | None) -> Any:
    """The GPUs of a node. The driver is always written: where it is not, a newer GKE fills it in, and the provider makes the pool anew."""
    one: dict[str, Any] = {
        "type": host.accelerator_type,
        "count": gpus_of(host),
        "gpu_driver_installation_config": {"gpu_driver_version": DRIVERS[driver]},
    }
    if partition:
        one["gpu_partition_size"] = partition
    if sharing:
        one["gpu_sharing_config"] = {"gpu_sharing_strategy": STRATEGIES[sharing[0]], "max_shared_clients_per_gpu": sharing[1]}
    return [one]
