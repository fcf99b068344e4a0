"""What the nodes of a stack's pools offer to pods, foreseen from the stack file: one node for each zone that a pool stands in."""

from __future__ import annotations

from infra import names
from infra.catalog import nodes
from infra.catalog.gpu_machines import Attached, GpuMachine
from infra.catalog.nodes import Gpus, Node, Taint
from infra.catalog.tpu import TpuShape
from infra.components import pool_nodes
from infra.components.cluster import ClusterSpec, SystemPoolSpec
from infra.components.node_pool import NodePoolSpec

EFFECTS = {"no-schedule": "NoSchedule", "prefer-no-schedule": "PreferNoSchedule", "no-execute": "NoExecute"}
"""Effects of taints as Kubernetes has them; the container API has its own words."""


def pool(name: str, spec: NodePoolSpec, *, stack: str, region: str, image_streaming: bool = True) -> tuple[Node, ...]:
    """
    The nodes of a pool with accelerators, as `node_pool.py` declares it.

    Args:
        name: Its key in the stack file.
        image_streaming: Of its cluster; it costs memory.
    """
    host = spec.host
    ssds = spec.local_ssds or pool_nodes.bundled_ssds(host) if not isinstance(host, TpuShape) else 0
    kind = "tpu" if isinstance(host, TpuShape) else "gpu"
    return tuple(
        nodes.node(
            f"pool {name}",
            machine_type=host.machine_type,
            pool=spec.physical(stack, name),
            zone=zone,
            disk_gib=spec.disk_gib,
            disk_type=pool_nodes.boot_disk(host),
            gpus=None if isinstance(host, TpuShape) else _gpus(spec, host),
            topology=host.topology if isinstance(host, TpuShape) else "",
            local_ssds=ssds,
            image_streaming=image_streaming,
            provisioning=spec.provisioning,
            reservation=spec.reservation or "",
            labels=spec.labels,
            taints=[
                Taint(pool_nodes.TAINTS[kind], "present"),
                *(Taint(one.key, one.value, EFFECTS[one.effect]) for one in spec.taints),
            ],
        )
        for zone in spec.zones_in(region)
    )


def system(cluster: str, spec: ClusterSpec, *, stack: str, region: str) -> tuple[Node, ...]:
    """The node of a cluster's pool without accelerators, in a zone that GKE picks; none where the cluster has no such pool of ours."""
    if spec.existing or not spec.own_nodes:
        return ()
    machine: SystemPoolSpec = spec.system_pool
    return (
        nodes.node(
            f"the system pool of cluster {cluster}",
            machine_type=machine.machine_type,
            pool=names.cluster(stack, cluster, "system"),
            region=region,
            disk_gib=machine.disk_gib,
            disk_type="pd-balanced",
            image_streaming=spec.image_streaming,
        ),
    )


def _gpus(spec: NodePoolSpec, host: GpuMachine | Attached) -> Gpus:
    return Gpus(
        host.accelerator_type,
        pool_nodes.gpus_of(host),
        spec.partition or "",
        spec.sharing.strategy if spec.sharing else "",
        spec.sharing.clients if spec.sharing else 1,
        spec.driver,
    )
