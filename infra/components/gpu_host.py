"""What one machine with GPUs is made of: the same whether it stands alone or is made for a job's run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from infra.catalog.gpu_machines import boot_disk_type
from infra.catalog.wish import Provisioning
from infra.components.gpu_offer import Gpus
from infra.components.host import Host

IMAGE_PROJECT = "cos-cloud"
IMAGE = f"projects/{IMAGE_PROJECT}/global/images/family/cos-129-lts"
"""
Container-Optimized OS, which installs the driver of any of the catalogue's GPUs itself, each in the version that its release names for that
GPU: one image for all of them, while a Deep Learning VM has one driver, and its families end within months. Supported until 2028.

Sources: https://docs.cloud.google.com/container-optimized-os/docs/how-to/run-gpus and .../container-optimized-os/docs/release-notes, read
2026-11, for this milestone's GPU installer; of Deep Learning VM, https://docs.cloud.google.com/deep-learning-vm/docs/images, as people read
it in 2026: CUDA 12.4's families ended in April, 12.8's were deprecated in the same month.
"""

DRIVER = Path(__file__).with_name("gpu_driver.sh")
DRIVER_KEY = "accelform-gpu-driver"
"""Metadata under which a job's machine finds the script that installs the driver."""


@cache
def driver_script() -> str:
    return DRIVER.read_text(encoding="utf-8")


def host(
    gpus: Gpus,
    provisioning: Provisioning,
    max_run_minutes: int | Literal["unlimited"],
    reservation: str | None,
    boot_disk_gib: int,
    *,
    accelerator: str = "",
    stops: bool = False,
) -> Host:
    """
    A machine with GPUs.

    Args:
        accelerator: What the API calls the type of GPU that is attached: its link in a zone. (default: its name, which a template takes)
        stops: Whether it is stopped, and not deleted, when it is taken away or its run is over.
    """
    return Host(
        machine_type=gpus.machine_type,
        image=IMAGE,
        boot_disk_type=boot_disk_type(gpus.machine_type),
        boot_disk_gib=boot_disk_gib,
        provisioning=provisioning,
        max_run_minutes=max_run_minutes,
        reservation=reservation,
        secure_boot=True,
        accelerators=((accelerator or gpus.accelerator_type, gpus.count),) if gpus.attached else (),
        stops=stops,
        has_local_ssd=gpus.has_local_ssd,
    )
