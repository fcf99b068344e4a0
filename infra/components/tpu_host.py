"""What one TPU host of Compute Engine is made of: the same whether it stands alone or is one of a slice's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra import gcp
from infra.components.network import Network
from infra.components.placement import Placement

if TYPE_CHECKING:
    from infra.components.tpu_slice import TpuSliceSpec

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


def arguments(spec: TpuSliceSpec, placement: Placement, network: Network, account: gcp.serviceaccount.Account) -> dict[str, Any]:
    """Arguments of an instance and of a template alike: all but its name, its place and its disk."""
    return {
        "project": placement.project,
        "machine_type": spec.shape.machine_type,
        "network_interfaces": [{"subnetwork": network.subnetwork.id, "nic_type": "GVNIC"}],
        "service_account": {"email": account.email, "scopes": ["cloud-platform"]},
        "shielded_instance_config": SHIELDED,
        "metadata": METADATA,
        "scheduling": scheduling(spec),
        "reservation_affinity": reservation_affinity(spec),
        "labels": placement.labels,
    }


def image(spec: TpuSliceSpec) -> str:
    return f"projects/{IMAGE_PROJECT}/global/images/family/{spec.shape.image_family}"


def scheduling(spec: TpuSliceSpec) -> dict[str, object]:
    """How the capacity is got, and when it ends. A stopped TPU machine cannot be started again, only made anew: so it is deleted."""
    limited = spec.max_run_minutes != "unlimited"
    found: dict[str, object] = {
        "provisioning_model": PROVISIONING_MODEL[spec.provisioning],
        "preemptible": spec.provisioning == "spot",
        "on_host_maintenance": "TERMINATE",
        "automatic_restart": spec.provisioning in ("on-demand", "reservation") and not limited,
    }
    if spec.provisioning in ("spot", "flex-start") or limited:
        found["instance_termination_action"] = "DELETE"
    if limited:
        found["max_run_duration"] = {"seconds": int(spec.max_run_minutes) * 60}
    return found


def reservation_affinity(spec: TpuSliceSpec) -> dict[str, object]:
    """The one reservation that is consumed; without one, none, though one of the project might fit."""
    if not spec.reservation:
        return {"type": "NO_RESERVATION"}
    key = "compute.googleapis.com/reservation-name"
    return {"type": "SPECIFIC_RESERVATION", "specific_reservation": {"key": key, "values": [spec.reservation]}}
