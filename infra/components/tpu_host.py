"""What one TPU host of Compute Engine is made of: the same whether it stands alone, is one of a slice's, or is made for a job's run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pulumi

from infra import gcp
from infra.catalog.tpu import TpuShape
from infra.catalog.wish import Provisioning
from infra.components.network import Network
from infra.components.placement import Placement

PROVISIONING_MODEL = {
    "on-demand": "STANDARD",
    "spot": "SPOT",
    "flex-start": "FLEX_START",
    "reservation": "STANDARD",
}
"""Compute Engine's `scheduling.provisioningModel` (discovery document compute v1). A reservation is consumed by its affinity:
RESERVATION_BOUND is for those made in calendar mode only.
Source: https://docs.cloud.google.com/tpu/docs/consume-reservation, read 2026-11."""

BOOT_DISK_TYPE = {
    "v5e": "pd-balanced",
    "v5p": "pd-balanced",
    "v6e": "hyperdisk-balanced",
    "tpu7x": "hyperdisk-balanced",
}
"""
Boot disk type by generation.

Sources: https://cloud.google.com/tpu/docs/setup-persistent-disk, read 2026-11, which does not tell TPU7x's; a TPU7x slice of two hosts that
somebody made on Compute Engine (public file 53930486906), and a guide to GKE that says a TPU7x machine refuses Persistent Disk (public
file 63263232948).
"""

IMAGE_PROJECT = "ubuntu-os-accelerator-images"

METADATA = {"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"}
"""
What we write. What the hosts of a slice need to find each other, `tpu-env` and `worker-network-endpoints`, the service writes itself.

Source: what users read on slices of two hosts in 2026 (public files 69680341417 and 53930486906).
"""

SHIELDED = {
    "enable_secure_boot": False,  # the image's TPU driver is not signed
    "enable_vtpm": True,
    "enable_integrity_monitoring": True,
}


@dataclass(frozen=True, slots=True)
class Host:
    """One host, whoever declares it."""

    shape: TpuShape
    provisioning: Provisioning
    max_run_minutes: int | Literal["unlimited"]
    reservation: str | None
    boot_disk_gib: int


def arguments(
    host: Host,
    placement: Placement,
    network: Network,
    account: gcp.serviceaccount.Account,
    *,
    metadata: Mapping[str, str] = {},
    labels: Mapping[str, str] = {},
) -> dict[str, Any]:
    """
    Arguments of an instance and of a template alike: all but its name, its place and its disk.

    Args:
        metadata: What its program reads, beside what every host has.
        labels: Beside the stack's.
    """
    return {
        "project": placement.project,
        "machine_type": host.shape.machine_type,
        "network_interfaces": [{"subnetwork": network.subnetwork.id, "nic_type": "GVNIC"}],
        "service_account": {"email": account.email, "scopes": ["cloud-platform"]},
        "shielded_instance_config": SHIELDED,
        "metadata": {**METADATA, **metadata},
        "scheduling": scheduling(host),
        "reservation_affinity": reservation_affinity(host),
        "labels": {**placement.labels, **labels},
    }


def image(host: Host) -> str:
    return f"projects/{IMAGE_PROJECT}/global/images/family/{host.shape.image_family}"


def scheduling(host: Host) -> dict[str, object]:
    """How the capacity is got, and when it ends. A stopped TPU machine cannot be started again, only made anew: so it is deleted."""
    limited = host.max_run_minutes != "unlimited"
    found: dict[str, object] = {
        "provisioning_model": PROVISIONING_MODEL[host.provisioning],
        "preemptible": host.provisioning == "spot",
        "on_host_maintenance": "TERMINATE",
        "automatic_restart": host.provisioning in ("on-demand", "reservation") and not limited,
    }
    if host.provisioning in ("spot", "flex-start") or limited:
        found["instance_termination_action"] = "DELETE"
    if limited:
        found["max_run_duration"] = {"seconds": int(host.max_run_minutes) * 60}
    return found


def reservation_affinity(host: Host) -> dict[str, object]:
    """The one reservation that is consumed; without one, none, though one of the project might fit."""
    if not host.reservation:
        return {"type": "NO_RESERVATION"}
    key = "compute.googleapis.com/reservation-name"
    return {"type": "SPECIFIC_RESERVATION", "specific_reservation": {"key": key, "values": [host.reservation]}}


def template(
    name: str,
    physical: str,
    host: Host,
    *,
    placement: Placement,
    arguments: Mapping[str, Any],
    labels: Mapping[str, str] = {},
    opts: pulumi.ResourceOptions,
) -> gcp.compute.InstanceTemplate:
    """A template that hosts are made from, each with a boot disk that goes with it."""
    return gcp.compute.InstanceTemplate(
        name,
        name=physical,
        region=placement.region,
        disks=[
            {
                "boot": True,
                "auto_delete": True,
                "source_image": image(host),
                "disk_size_gb": host.boot_disk_gib,
                "disk_type": BOOT_DISK_TYPE[host.shape.generation],
                "labels": {**placement.labels, **labels},
            }
        ],
        **arguments,
        opts=opts,
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
