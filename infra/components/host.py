"""What one machine of Compute Engine is made of, whatever it has built in: alone, one of a slice's, or made for a job's run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pulumi

from infra import gcp
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

METADATA = {"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"}
"""
What we write. What the hosts of a slice need to find each other, `tpu-env` and `worker-network-endpoints`, the service writes itself.

Source: what users read on slices of two hosts in 2026 (public files 69680341417 and 53930486906).
"""


@dataclass(frozen=True, slots=True)
class Host:
    """One machine, whoever declares it."""

    machine_type: str
    image: str
    """`projects/P/global/images/family/F`."""
    boot_disk_type: str
    boot_disk_gib: int
    provisioning: Provisioning
    max_run_minutes: int | Literal["unlimited"]
    reservation: str | None
    secure_boot: bool
    """Whether the image's drivers are signed, so that nothing else boots."""
    accelerators: tuple[tuple[str, int], ...] = ()
    """Type and count of GPUs that are attached to it. What is built in is in its machine type."""
    stops: bool = False
    """Whether it is stopped, and not deleted, when it is taken away or its run is over."""
    has_local_ssd: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What its system reads, beside what every machine has."""


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
    attached = [{"type": kind, "count": count} for kind, count in host.accelerators]
    return {
        "project": placement.project,
        "machine_type": host.machine_type,
        "network_interfaces": [{"subnetwork": network.subnetwork.id, "nic_type": "GVNIC"}],
        "service_account": {"email": account.email, "scopes": ["cloud-platform"]},
        "shielded_instance_config": {
            "enable_secure_boot": host.secure_boot,
            "enable_vtpm": True,
            "enable_integrity_monitoring": True,
        },
        "metadata": {**METADATA, **host.metadata, **metadata},
        "scheduling": scheduling(host),
        "reservation_affinity": reservation_affinity(host),
        "labels": {**placement.labels, **labels},
    } | ({"guest_accelerators": attached} if attached else {})


def boot_disk(host: Host, placement: Placement) -> dict[str, Any]:
    """The disk of an instance, which goes with it."""
    params = {"image": host.image, "size": host.boot_disk_gib, "type": host.boot_disk_type, "labels": placement.labels}
    return {"auto_delete": True, "initialize_params": params}


def scheduling(host: Host) -> dict[str, object]:
    """How the capacity is got, and when it ends. No machine with accelerators moves to another host: it ends where its host is serviced."""
    limited = host.max_run_minutes != "unlimited"
    found: dict[str, object] = {
        "provisioning_model": PROVISIONING_MODEL[host.provisioning],
        "preemptible": host.provisioning == "spot",
        "on_host_maintenance": "TERMINATE",
        "automatic_restart": host.provisioning in ("on-demand", "reservation") and not limited,
    }
    if host.provisioning in ("spot", "flex-start") or limited:
        found["instance_termination_action"] = "STOP" if host.stops else "DELETE"
    if limited:
        found["max_run_duration"] = {"seconds": int(host.max_run_minutes) * 60}
        if host.stops and host.has_local_ssd:
            # Else it is refused: gcloud's help of --discard-local-ssds-at-termination-timestamp, "required" with a limit and STOP.
            found["on_instance_stop_action"] = {"discard_local_ssd": True}
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
                "source_image": host.image,
                "disk_size_gb": host.boot_disk_gib,
                "disk_type": host.boot_disk_type,
                "labels": {**placement.labels, **labels},
            }
        ],
        **arguments,
        opts=opts,
    )
