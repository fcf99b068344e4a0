"""What one TPU host of Compute Engine is made of, and what connects the hosts of a slice."""

from __future__ import annotations

from typing import Literal

import pulumi

from infra import gcp
from infra.catalog.tpu import BOOT_DISK_TYPE, TpuShape
from infra.catalog.wish import Provisioning
from infra.components.host import Host
from infra.components.network import Network
from infra.components.placement import Placement

IMAGE_PROJECT = "ubuntu-os-accelerator-images"


def host(
    shape: TpuShape,
    provisioning: Provisioning,
    max_run_minutes: int | Literal["unlimited"],
    reservation: str | None,
    boot_disk_gib: int,
) -> Host:
    """One host of a slice. A stopped TPU machine cannot be started again, only made anew: so it is deleted."""
    return Host(
        machine_type=shape.machine_type,
        image=f"projects/{IMAGE_PROJECT}/global/images/family/{shape.image_family}",
        boot_disk_type=BOOT_DISK_TYPE[shape.generation],
        boot_disk_gib=boot_disk_gib,
        provisioning=provisioning,
        max_run_minutes=max_run_minutes,
        reservation=reservation,
        secure_boot=False,  # the image's TPU driver is not signed
    )


def workload_policy(
    name: str, physical: str, shape: TpuShape, *, placement: Placement, opts: pulumi.ResourceOptions
) -> gcp.compute.ResourcePolicy:
    """How the hosts of one slice are connected."""
    return gcp.compute.ResourcePolicy(
        name,
        name=physical,
        project=placement.project,
        region=placement.region,
        workload_policy={"type": "HIGH_THROUGHPUT", "accelerator_topology": shape.topology},
        opts=opts,
    )


def between_hosts(
    name: str, physical: str, *, placement: Placement, network: Network, account: gcp.serviceaccount.Account, parent: pulumi.Resource
) -> list[pulumi.Resource]:
    """Lets the hosts of one account, and nobody else, reach each other. In a network of others that is theirs to do."""
    if network.own is None:
        return []
    return [
        gcp.compute.Firewall(
            f"{name}-hosts",
            name=physical,
            project=placement.project,
            network=network.own.id,
            direction="INGRESS",
            source_service_accounts=[account.email],
            target_service_accounts=[account.email],
            allows=[{"protocol": "tcp"}, {"protocol": "udp"}, {"protocol": "icmp"}],
            opts=pulumi.ResourceOptions(parent=parent, delete_before_replace=True),
        )
    ]
