"""
What one node of a GKE pool offers to pods: labels, taints, and what of the machine is left after the system's share.

Pods of the system (logging, metrics, DNS, device plugins) stand on each node too, and ask for some of this; no source tells how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from infra.catalog import gpu_machines
from infra.catalog.accelerator import accelerators
from infra.catalog.fits_tpu import machines as tpu_machines
from infra.catalog.gpu import gpus
from infra.catalog.machine_size import SHARED, MachineSize, size
from infra.catalog.places import region_of
from infra.catalog.tpu import TpuShape

GIB = 1 << 30
MIB = 1 << 20

GPU = "nvidia.com/gpu"
TPU = "google.com/tpu"
PODS = 110
"""Source: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr, read 2026-11: of Standard, by default."""

PLAN = "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes, read 2026-11"
"""Which share of cpu, memory and disk GKE keeps."""
CPU_SHARES = ((1, Decimal("0.06")), (1, Decimal("0.01")), (2, Decimal("0.005")), (None, Decimal("0.0025")))
"""Cores, and what part of them is kept; the last of all others. Source: PLAN."""
SHARED_CPU = Decimal("1.06")
"""Cores that are kept of a machine of E2 with shared cores, of which there are 2. Source: PLAN."""
MEMORY_SHARES = ((4, Decimal("0.25")), (4, Decimal("0.20")), (8, Decimal("0.10")), (112, Decimal("0.06")), (None, Decimal("0.02")))
"""GiB, and what part of them is kept. Source: PLAN. Nodes have been seen that keep this of 1000 MiB for each GiB: a little less."""
STREAMING_SHARES = ((4, Decimal("0.10")), (4, Decimal("0.08")), (8, Decimal("0.04")), (112, Decimal("0.024")), (None, Decimal("0.008")))
"""GiB, and what part of them is kept beside where images are streamed.
Sources: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/image-streaming ("Memory reservation"), as
hatemosphere/gke-node-allocatable-memory-calculator has it; read 2026-11."""
EVICTION_MEMORY = 100 * MIB
"""Below this much free memory pods are evicted. Source: PLAN."""
EVICTION_DISK = Decimal("0.10")
"""Source: PLAN."""
LOCAL_SSD_GIB = 375
LOCAL_SSD_KEPT = (50, 75, 100)
"""GiB kept of temporary storage on one, two, and more local SSDs. Source: PLAN."""
LOCAL_SSD_FILES = Decimal("0.0186")
"""The part that their file system takes, at most. Source: KERNEL: 7289472 KiB were measured of one, less of each where there are more."""
KERNEL = "kubernetes/autoscaler, cluster-autoscaler/cloudprovider/gce, by which GKE's autoscaler foresees a node; read 2026-11"
"""What the kernel keeps of memory before anything runs: 1/64, 80 MiB, and at most 248 MiB more, by measurement."""
COS_FILES = (Decimal(63) / 64, Decimal("4.184"))
"""Of a boot disk, the part that is left of its file system, less GiB of the operating system.
Source: the node on PLAN: 98831908 KiB of a disk of 100 GiB, of which 47060071478 bytes are for pods."""

OF_GOOGLE = "cloud.google.com/"
ARM = ("a4x",)
"""Families of the catalogue whose machines are not of x86. Source: https://docs.cloud.google.com/compute/docs/accelerator-optimized-machines,
read 2026-11."""
UNDECIDED = frozenset({"kubernetes.io/hostname"})
"""Labels whose value only a standing node tells."""
LABELS = "nodes of GKE as public guides print them (files 45078843643 and 44943638464), 2025-11"
"""What labels and taints a node has."""


class BadPool(ValueError):  # noqa: N818 - reads as the finding it is
    """A pool of which no node can be foreseen."""


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods away that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"
    """`NoSchedule`, `PreferNoSchedule` or `NoExecute`."""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of one node."""

    accelerator_type: str
    count: int
    partition: str = ""
    """Size of the parts that each is cut into, such as `1g.5gb`."""
    sharing: str = ""
    """`time-sharing` or `mps`; empty for one container on each GPU or part."""
    clients: int = 1
    driver: str = "default"
    """`default`, `latest`, or `none`."""

    @property
    def offered(self) -> int:
        """
        What a node counts as `nvidia.com/gpu`: GPUs, times the parts of each, times the containers on each part.

        Raises:
            BadPool: The GPU is not cut into such parts.
        """
        parts = 1
        if self.partition:
            sizes = gpus()[self.accelerator_type].partitions if self.accelerator_type in gpus() else {}
            if self.partition not in sizes:
                raise BadPool(f"no table tells how many parts of {self.partition} a {self.accelerator_type} has")
            parts = sizes[self.partition]
        return self.count * parts * (self.clients if self.sharing else 1)


@dataclass(frozen=True, slots=True)
class Node:
    """What one node offers. Of a pool that has no node now, what one would offer."""

    name: str
    """What it is a node of, in words for a user: `pool l4`."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    cpu: Decimal
    """Cores."""
    memory: int
    """Bytes."""
    ephemeral_storage: int
    """Bytes."""
    extended: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """`nvidia.com/gpu`, `google.com/tpu`."""
    pods: int = PODS
    undecided: frozenset[str] = UNDECIDED
    """Labels that it has, with a value that nobody can foresee."""

    def amount(self, resource: str) -> Decimal:
        """How much it has of a resource, as requests name it; 0 of what it does not know."""
        known: dict[str, Decimal | int] = {
            "cpu": self.cpu,
            "memory": self.memory,
            "ephemeral-storage": self.ephemeral_storage,
            "pods": self.pods,
        }
        return Decimal(known.get(resource, self.extended.get(resource, 0)))


def node(
    name: str,
    *,
    machine_type: str,
    pool: str,
    zone: str = "",
    region: str = "",
    disk_gib: int = 100,
    disk_type: str = "",
    gpus: Gpus | None = None,
    topology: str = "",
    local_ssds: int = 0,
    image_streaming: bool = False,
    provisioning: str = "on-demand",
    reservation: str = "",
    labels: Mapping[str, str] = MappingProxyType({}),
    taints: Iterable[Taint] = (),
) -> Node:
    """
    The node that a pool makes.

    Args:
        name: What users call the pool, such as `pool l4`.
        pool: The pool's own name in GKE, which its nodes have as a label.
        zone: Empty where GKE picks it: then only the region is known.
        gpus: Of an N1 machine, of one that is shared or cut into parts; else a machine's own are known.
        topology: Of a TPU slice; empty for that of one host.
        local_ssds: Those that temporary files are kept on.
        provisioning: `on-demand`, `spot`, `flex-start`, `queued-provisioning` or `reservation`.
        taints: All that the pool has; only that of queued provisioning is put to them, since GKE always writes it.

    Raises:
        UnknownSize: No table tells how large the machine is.
        BadPool: No table tells what its GPUs are.
    """
    machine = size(machine_type)
    shape = _tpu(machine_type, topology)
    if gpus is None and (own := gpu_machines.by_machine_type(machine_type)):
        gpus = Gpus(own.accelerator_type, own.counted)
    extended: dict[str, int] = {}
    if gpus:
        extended[GPU] = gpus.offered
    if shape:
        extended[TPU] = shape.chips_per_host
    all_taints = list(dict.fromkeys(taints))
    queued = Taint(f"{OF_GOOGLE}gke-queued", "true")
    if provisioning == "queued-provisioning" and queued not in all_taints:
        all_taints.append(queued)
    known = {
        **labels,
        **_of_machine(machine_type, machine, disk_type),
        **_of_place(zone, region or region_of(zone)),
        **(_of_gpus(gpus) if gpus else {}),
        **(_of_tpus(shape, topology) if shape else {}),
        **_of_way(provisioning, reservation),
        f"{OF_GOOGLE}gke-nodepool": pool,
    }
    if local_ssds:
        known[f"{OF_GOOGLE}gke-ephemeral-storage-local-ssd"] = "true"
    if image_streaming:
        known |= {f"{OF_GOOGLE}gke-image-streaming": "true", f"{OF_GOOGLE}gke-gcfs": "true"}
    places = frozenset() if zone else frozenset(_of_place("?", "")) - frozenset(_of_place("", "?"))
    return Node(
        name=name,
        labels=MappingProxyType(dict(sorted(known.items()))),
        taints=tuple(all_taints),
        cpu=machine.vcpus - (SHARED_CPU if machine_type in SHARED else kept(machine.vcpus, CPU_SHARES)),
        memory=memory_left(machine.memory, image_streaming=image_streaming),
        ephemeral_storage=storage_left(disk_gib, local_ssds),
        extended=MappingProxyType(extended),
        undecided=UNDECIDED | places,
    )


_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_DRIVERS = {"LATEST": "latest", "INSTALLATION_DISABLED": "none"}


def of_api(pool: Mapping[str, Any], zone: str, *, name: str = "", topology: str = "") -> Node:
    """
    The node that a pool makes in one zone, the pool as GKE's API has it: `NodePool` of container v1.

    Args:
        name: What users call it. (default: `pool` and its name)
        topology: Of a TPU slice that is placed by a policy of its own, which the pool does not tell.

    Raises:
        UnknownSize: No table tells how large the machine is.
        BadPool: No table tells what its GPUs are.
    """
    config: Mapping[str, Any] = pool.get("config") or {}
    found: Gpus | None = None
    for one in config.get("accelerators") or []:
        if not str(one.get("acceleratorType", "")).startswith("nvidia-"):
            continue
        shared = one.get("gpuSharingConfig") or {}
        driver = (one.get("gpuDriverInstallationConfig") or {}).get("gpuDriverVersion", "DEFAULT")
        found = Gpus(
            str(one["acceleratorType"]),
            int(one.get("acceleratorCount") or 1),
            str(one.get("gpuPartitionSize") or ""),
            str(shared.get("gpuSharingStrategy") or "").lower().replace("_", "-"),
            int(shared.get("maxSharedClientsPerGpu") or 1),
            _DRIVERS.get(driver, "default"),
        )
    queued = bool((pool.get("queuedProvisioning") or {}).get("enabled"))
    reserved = (config.get("reservationAffinity") or {}).get("values") or []
    ways = {"queued-provisioning": queued, "flex-start": config.get("flexStart"), "spot": config.get("spot"), "reservation": reserved}
    return node(
        name or f"pool {pool.get('name', '')}",
        machine_type=str(config.get("machineType", "")),
        pool=str(pool.get("name", "")),
        zone=zone,
        disk_gib=int(config.get("diskSizeGb") or 100),
        disk_type=str(config.get("diskType") or ""),
        gpus=found,
        topology=topology or str((pool.get("placementPolicy") or {}).get("tpuTopology") or ""),
        local_ssds=int((config.get("ephemeralStorageLocalSsdConfig") or {}).get("localSsdCount") or 0),
        image_streaming=bool((config.get("gcfsConfig") or {}).get("enabled")),
        provisioning=next((way for way, is_so in ways.items() if is_so), "on-demand"),
        reservation=str(reserved[0]) if reserved else "",
        labels=config.get("labels") or {},
        taints=[
            Taint(str(one.get("key", "")), str(one.get("value") or ""), _EFFECTS.get(one.get("effect"), str(one.get("effect"))))
            for one in config.get("taints") or []
        ],
    )


def _tpu(machine_type: str, topology: str) -> TpuShape | None:
    """The slice of a TPU machine: the one of that topology, else the smallest."""
    several = tpu_machines().get(machine_type, ())
    return next((one for one in several if one.topology == topology), None) or (several[0] if several else None)


def _of_machine(machine_type: str, machine: MachineSize, disk_type: str) -> dict[str, str]:
    """Source: LABELS. Memory is counted in thousands of MiB there."""
    family = machine_type.partition("-")[0]
    arch = "arm64" if family in ARM else "amd64"
    found = {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/instance-type": machine_type,
        "beta.kubernetes.io/os": "linux",
        f"{OF_GOOGLE}gke-container-runtime": "containerd",
        f"{OF_GOOGLE}gke-cpu-scaling-level": str(machine.vcpus),
        f"{OF_GOOGLE}gke-max-pods-per-node": str(PODS),
        f"{OF_GOOGLE}gke-memory-gb-scaling-level": str(machine.memory // MIB // 1000),
        f"{OF_GOOGLE}gke-os-distribution": "cos",
        f"{OF_GOOGLE}machine-family": family,
        "iam.gke.io/gke-metadata-server-enabled": "true",
        "kubernetes.io/arch": arch,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine_type,
    }
    return found | ({f"{OF_GOOGLE}gke-boot-disk": disk_type} if disk_type else {})


def _of_place(zone: str, region: str) -> dict[str, str]:
    """Source: LABELS."""
    found: dict[str, str] = {}
    if zone:
        found |= dict.fromkeys(("failure-domain.beta.kubernetes.io/zone", "topology.gke.io/zone", "topology.kubernetes.io/zone"), zone)
    if region:
        found |= dict.fromkeys(("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"), region)
    return found


def _of_gpus(some: Gpus) -> dict[str, str]:
    """Sources: LABELS; https://docs.cloud.google.com/kubernetes-engine/docs/how-to/timesharing-gpus and .../gpus-multi, read 2026-11."""
    found = {f"{OF_GOOGLE}gke-accelerator": some.accelerator_type, f"{OF_GOOGLE}gke-gpu": "true"}
    if some.driver != "none":
        found[f"{OF_GOOGLE}gke-gpu-driver-version"] = some.driver
    if some.partition:
        found[f"{OF_GOOGLE}gke-gpu-partition-size"] = some.partition
    if some.sharing:
        found[f"{OF_GOOGLE}gke-gpu-sharing-strategy"] = some.sharing
        found[f"{OF_GOOGLE}gke-max-shared-clients-per-gpu"] = str(some.clients)
    return found


def _of_tpus(shape: TpuShape, topology: str) -> dict[str, str]:
    """Source: LABELS."""
    found = {f"{OF_GOOGLE}gke-accelerator-count": str(shape.chips_per_host)}
    if label := accelerators()[shape.sold_as].gke_label:
        found[f"{OF_GOOGLE}gke-tpu-accelerator"] = label
    if where := topology or shape.topology:
        found[f"{OF_GOOGLE}gke-tpu-topology"] = where
    return found


def _of_way(provisioning: str, reservation: str) -> dict[str, str]:
    """
    Sources: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/spot-vms; of flex-start and what is queued,
    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/dws and AI-Hypercomputer/xpk, whose pods select by them; of reservations
    the same. All read 2026-11. What `gke-provisioning` says of flex-start no source tells.
    """
    if provisioning == "spot":
        return {f"{OF_GOOGLE}gke-spot": "true", f"{OF_GOOGLE}gke-provisioning": "spot"}
    if provisioning == "flex-start":
        return {f"{OF_GOOGLE}gke-flex-start": "true"}
    if provisioning == "queued-provisioning":
        return {f"{OF_GOOGLE}gke-flex-start": "true", f"{OF_GOOGLE}gke-queued": "true"}
    found = {f"{OF_GOOGLE}gke-provisioning": "standard"}
    if reservation:
        found[f"{OF_GOOGLE}reservation-name"] = reservation.rpartition("/")[2]
    return found


def kept(amount: int | Decimal, shares: tuple[tuple[int | None, Decimal], ...]) -> Decimal:
    """What is kept of an amount, by parts of it that are kept more and less of."""
    rest, found = Decimal(amount), Decimal(0)
    for width, share in shares:
        here = rest if width is None else min(rest, Decimal(width))
        found += here * share
        rest -= here
    return found


def memory_left(memory: int, *, image_streaming: bool = False) -> int:
    """Bytes for pods, of a machine with so many. Source: PLAN, and KERNEL."""
    physical = Decimal(memory)
    kernel = physical / 64 + 80 * MIB + min(physical * Decimal("0.00175"), Decimal(248 * MIB))
    system = kept(physical / GIB, MEMORY_SHARES) * GIB
    streams = kept(physical / GIB, STREAMING_SHARES) * GIB if image_streaming else Decimal(0)
    return max(0, int(physical - kernel - system - streams - EVICTION_MEMORY))


def storage_left(disk_gib: int, local_ssds: int) -> int:
    """
    Bytes of temporary storage for pods: on the boot disk, or on local SSDs where there are any. Source: PLAN, COS_FILES, LOCAL_SSD_FILES.
    """
    if local_ssds:
        total = Decimal(local_ssds * LOCAL_SSD_GIB)
        left = total * (1 - EVICTION_DISK - LOCAL_SSD_FILES) - LOCAL_SSD_KEPT[min(local_ssds, len(LOCAL_SSD_KEPT)) - 1]
    else:
        part, system = COS_FILES
        total = disk_gib * part - system
        left = total * (1 - EVICTION_DISK) - min(Decimal(disk_gib) / 2, 6 + Decimal("0.35") * disk_gib, Decimal(100))
    return max(0, int(left * GIB))
