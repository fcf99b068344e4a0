"""What the nodes of a pool are made of, from the catalogue: the machine, its accelerators, its disks, and what pods must know of it."""

from __future__ import annotations

from typing import Any, Literal

from infra.catalog import gpu_machines
from infra.catalog.gpu_machines import Attached, GpuMachine, boot_disk_type
from infra.catalog.nodes import Gpus
from infra.catalog.tpu import BOOT_DISK_TYPE, TpuShape

Driver = Literal["default", "latest", "none"]
Strategy = Literal["time-sharing", "mps"]
Effect = Literal["no-schedule", "prefer-no-schedule", "no-execute"]
Host = TpuShape | GpuMachine | Attached

Way = Literal["on-demand", "spot", "flex-start", "queued-provisioning", "reservation"]
QUEUED = ("flex-start", "queued-provisioning")
"""Ways that wait for capacity. Their nodes end by themselves, are not repaired, and are upgraded by being made anew.
Sources: https://cloud.google.com/kubernetes-engine/docs/concepts/dws; that `queued-provisioning` is a kind of flex-start, and says both:
https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest. Both read 2026-11."""

DRIVERS = {"default": "DEFAULT", "latest": "LATEST", "none": "INSTALLATION_DISABLED"}
"""Source: discovery document container v1, `GPUDriverInstallationConfig`. `SPECIFIC` is newer than the provider."""
STRATEGIES = {"time-sharing": "TIME_SHARING", "mps": "MPS"}
EFFECTS = {"no-schedule": "NO_SCHEDULE", "prefer-no-schedule": "PREFER_NO_SCHEDULE", "no-execute": "NO_EXECUTE"}
TAINTS = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu"}
"""Keys of the taints that keep other pods away. GKE writes them too, that of GPUs only where a pool without GPUs was there before.
Sources: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus (a pool of GPUs that was there first is never tainted later);
terraform-google-kubernetes-engine issue 703; of TPUs: skypilot-org/skypilot, its pods on GKE. All read 2026-11."""


def boot_disk(host: Host) -> str:
    """Type of a node's boot disk; v3 and v4 are older than Hyperdisk."""
    if isinstance(host, TpuShape):
        return BOOT_DISK_TYPE.get(host.generation, "pd-balanced")
    return boot_disk_type(host.machine_type)


def gpus_of(host: GpuMachine | Attached) -> int:
    """GPUs of one node."""
    return host.counted if isinstance(host, GpuMachine) else host.gpus


def accelerators(host: Host, partition: str | None, clients: int) -> int:
    """Accelerators that pods see on one node: chips; GPUs, or the parts that they are cut into; each as often as it is shared."""
    if isinstance(host, TpuShape):
        return host.chips_per_host
    return Gpus(host.accelerator_type, gpus_of(host), partition or "", "time-sharing" if clients > 1 else "", clients).offered


def local_ssds(host: Host) -> tuple[int, ...]:
    """How many local SSDs a node may have; those that come with a machine are all of them, always."""
    return () if isinstance(host, TpuShape) else gpu_machines.local_ssds(host.machine_type, host.accelerator_type)


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
