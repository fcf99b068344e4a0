"""
Where pods sit: what a pod must say to get onto the nodes of one pool, and which accelerators one node has for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from infra.catalog.tpu import TpuShape
from infra.components import pool_nodes, pool_shape
from infra.components.node_pool import NodePoolSpec

POOL_LABEL = "cloud.google.com/gke-nodepool"
"""Label of every node, with its pool's name. Source: https://cloud.google.com/kubernetes-engine/docs/concepts/node-pools, read 2026-11."""
SPOT_SECONDS = 15
"""How long a pod has at most between SIGTERM and its end on a Spot node; elsewhere it may take as long as it says.
Source: https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms, read 2026-11."""
RESOURCES = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu"}


QUEUED = {"key": "cloud.google.com/gke-queued", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
"""What GKE taints nodes of queued provisioning with.
Source: GoogleCloudPlatform/cluster-toolkit, its examples of queued provisioning, whose pods tolerate it, read 2026-11."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One pool, as pods see it."""

    name: str
    """Key of the pool in the region's file; empty where no pool is named: any node without accelerators will do."""
    selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()
    resource: str = ""
    """Name of its accelerators among a container's resources; empty where it has none."""
    accelerators: int = 0
    """Accelerators of one node: chips, GPUs, parts of GPUs or shares of them."""
    hosts: int = 1
    """Nodes that are one slice, and only together of use."""
    spot: bool = False
    accelerator_type: str = ""
    """As the contract of the workloads calls it."""
    divided: bool = False
    """Whether its GPUs are shared or cut into parts: a container gets one of what a node has."""
    host_ipc: bool = False
    """Whether its pods must share the node's memory, as GPUs that are shared by MPS want it: no namespace but a privileged one lets them.
    Source: https://cloud.google.com/kubernetes-engine/docs/how-to/nvidia-mps-gpus, read 2026-11."""

    def pod(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A pod's spec, with what it needs to sit here; what it says itself of nodes stays."""
        made = dict(spec)
        if selector := {**self.selector, **spec.get("nodeSelector", {})}:
            made["nodeSelector"] = selector
        if tolerations := [*spec.get("tolerations", []), *self.tolerations]:
            made["tolerations"] = tolerations
        if self.host_ipc:
            made["hostIPC"] = True
        return made

    def amounts(self, accelerators: int | None = None) -> dict[str, str]:
        """Accelerators of one container, as requests and limits have them: all of a node where nothing is said."""
        return {self.resource: str(accelerators or self.accelerators)} if self.resource else {}


NOWHERE = Seat("")


def seat(name: str, pool: NodePoolSpec, region_stack: str) -> Seat:
    """The seat that the pool of that name in the region's file is."""
    host = pool.host
    kind = "tpu" if isinstance(host, TpuShape) else "gpu"
    taints: list[dict[str, Any]] = [
        {"key": pool_nodes.TAINTS[kind], "operator": "Exists", "effect": "NoSchedule"},
        *(
            {"key": one.key, "operator": "Equal", "value": one.value, "effect": pool_shape.EFFECTS[one.effect]}
            for one in pool.taints
            if one.effect != "prefer-no-schedule"
        ),
        *([QUEUED] if pool.provisioning == "queued-provisioning" else []),
    ]
    return Seat(
        name,
        {POOL_LABEL: pool.physical(region_stack, name)},
        tuple(taints),
        RESOURCES[kind],
        pool_nodes.accelerators(host, pool.partition, pool.sharing.clients if pool.sharing else 1),
        host.hosts if isinstance(host, TpuShape) else 1,
        pool.provisioning == "spot",
        host.accelerator_type,
        bool(pool.partition or pool.sharing),
        pool.sharing is not None and pool.sharing.strategy == "mps",
    )
