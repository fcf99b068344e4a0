"""
Whether the chips that a machine was bought for are there, before a program begins.

A library that finds no TPU takes the processor without a word, and the job runs on, a hundred times slower. So a program asks here first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from workloads.contract import SIMULATED, ContractError, TrainSettings

CORES_AS_DEVICES = ("v2-", "v3-")
"""Accelerator types whose two cores of a chip are a device each. From v4 on, a chip of two cores is one device (megacore), and v5e and
v6e have one core. TPU7x shows its two chiplets as two devices.
Source: https://docs.cloud.google.com/tpu/docs/system-architecture-tpu-vm and .../tpu7x (read on 2026-11-30)."""
CHIPLETS_AS_DEVICES = ("tpu7x",)
GPU = "nvidia-"
"""How the accelerator types of Compute Engine's GPUs begin. Each is one device."""
GPU_PLATFORMS = ("gpu", "cuda")
"""What JAX calls the platform of one, by its version."""


class DevicesError(Exception):
    """The devices seen are not those declared. To begin again on the same machine would not help."""


class HostLostError(Exception):
    """Another host does not answer any more. What was saved is saved, and to begin again on a whole machine helps."""


def expected(accelerator_type: str, chips: int) -> int:
    """Devices that JAX shows of so many chips."""
    return chips * 2 if accelerator_type.startswith(CORES_AS_DEVICES + CHIPLETS_AS_DEVICES) else chips


def start(settings: TrainSettings, environment: Mapping[str, str] | None = None) -> None:
    """
    Connects the hosts where there are several, and compares the devices seen with those declared.

    Call it before anything else asks JAX for a device.

    Raises:
        ContractError: Hosts, chips and process do not go together.
        DevicesError: Other devices than declared, or other processes.
    """
    given = os.environ if environment is None else environment
    simulated = given.get(SIMULATED) == "1"
    on_processor = settings.accelerator_type == "cpu" or simulated
    check(settings)
    wanted = expected(settings.accelerator_type, settings.chips)
    if on_processor:
        _prepare_processor(wanted // settings.hosts, given)
    import jax

    if on_processor:
        jax.config.update("jax_platforms", "cpu")
    if settings.hosts > 1:
        _connect(settings, jax, on_processor)
    try:
        found = jax.devices()
    except RuntimeError as error:
        raise DevicesError(f"0 {_kind(settings, simulated)} devices, expected {wanted}: {str(error).splitlines()[0]}") from None
    compare(settings, [device.platform for device in found], processes=jax.process_count(), simulated=simulated)


def compare(settings: TrainSettings, platforms: list[str], *, processes: int, simulated: bool) -> None:
    """
    Compares what JAX shows, of all processes together, with what is declared.

    Raises:
        DevicesError: They differ.
    """
    wanted = expected(settings.accelerator_type, settings.chips)
    kind = _kind(settings, simulated)
    names = {"CPU": ("cpu",), "GPU": GPU_PLATFORMS, "TPU": ("tpu",)}[kind]
    count = sum(platform in names for platform in platforms)
    if count != wanted or len(platforms) != wanted:
        others = ", ".join(f"{platforms.count(other)} {other}" for other in sorted(set(platforms) - set(names)))
        chips = "GPUs" if settings.accelerator_type.startswith(GPU) else "chips"
        hosts = f"{settings.hosts} {'host' if settings.hosts == 1 else 'hosts'}"
        raise DevicesError(
            f"{count} {kind} devices, expected {wanted} ({settings.accelerator_type}, {settings.chips} {chips} on {hosts})"
            + (f"; there are {others}" if others else "")
            + ("; is it the image's JAX that has no CUDA?" if kind == "GPU" and not count else "")
        )
    if processes != settings.hosts:
        raise DevicesError(f"{processes} processes, expected {settings.hosts}: one for each host")


def is_first(settings: TrainSettings) -> bool:
    """Whether this is the host that speaks and writes for all."""
    if settings.hosts == 1:
        return True
    import jax

    return int(jax.process_index()) == 0


def meet(settings: TrainSettings, when: str) -> None:
    """
    Waits for all hosts.

    Raises:
        HostLostError: One does not come.
    """
    if settings.hosts > 1:
        from jax.experimental import multihost_utils

        with together(settings, when):
            multihost_utils.sync_global_devices(when)


@contextmanager
def together(settings: TrainSettings, when: str) -> Iterator[None]:
    """
    Something that all hosts do at once.

    Raises:
        HostLostError: One is lost.
    """
    import jax

    try:
        yield
    # A failed collective is a ValueError where hosts are connected by gloo.
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if settings.hosts == 1 or "RESOURCE_EXHAUSTED" in str(error):
            raise
        raise HostLostError(f"another host does not answer {when}: {str(error).splitlines()[0]}") from None


def _kind(settings: TrainSettings, simulated: bool) -> Literal["CPU", "GPU", "TPU"]:
    """What the devices are to be."""
    if settings.accelerator_type == "cpu" or simulated:
        return "CPU"
    return "GPU" if settings.accelerator_type.startswith(GPU) else "TPU"


def check(settings: TrainSettings) -> None:
    """
    Whether hosts, chips and process go together.

    Raises:
        ContractError: They do not.
    """
    if problems := _problems(settings):
        raise ContractError("\n".join(problems))


def _problems(settings: TrainSettings) -> list[str]:
    found = [f"WL_{name.upper()}=0: at least 1" for name in ("chips", "hosts") if getattr(settings, name) < 1]
    if found:
        return found
    if settings.chips % settings.hosts:
        found.append(f"WL_CHIPS={settings.chips} is no multiple of WL_HOSTS={settings.hosts}")
    if settings.process_id >= settings.hosts:
        found.append(f"WL_PROCESS_ID={settings.process_id}: less than WL_HOSTS={settings.hosts}, as the first is 0")
    if settings.coordinator and not settings.coordinator.rpartition(":")[2].isdigit():
        found.append(f"WL_COORDINATOR={settings.coordinator!r} is no HOST:PORT")
    if settings.hosts > 1 and settings.accelerator_type == "cpu" and not settings.coordinator:
        found.append("WL_COORDINATOR is missing: nothing else tells processes of several hosts without a TPU where they meet")
    return found


def _prepare_processor(count: int, environment: Mapping[str, str]) -> None:
    """Devices of the processor are chosen before JAX is imported, or never."""
    flags = environment.get("XLA_FLAGS", "")
    if "xla_force_host_platform_device_count" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={count}".strip()


def _connect(settings: TrainSettings, jax: Any, on_processor: bool) -> None:
    if on_processor:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        if settings.coordinator:
            jax.distributed.initialize(settings.coordinator, settings.hosts, settings.process_id, initialization_timeout=120)
        else:
            jax.distributed.initialize(initialization_timeout=300)
    except (RuntimeError, ValueError) as error:
        raise DevicesError(f"the {settings.hosts} hosts did not find each other: {str(error).splitlines()[0]}") from None
