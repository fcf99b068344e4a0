"""Devices seen are devices declared, or the program does not begin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workloads import devices
from workloads.contract import DEVICES_EXIT, ContractError, TrainSettings

ROOT = Path(__file__).parent.parent.parent


def settings(accelerator_type: str = "v5litepod-8", chips: int = 8, hosts: int = 1, **more: object) -> TrainSettings:
    return TrainSettings("r", "out", "checkpoints", accelerator_type, chips, hosts, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accelerator_type", "chips", "count"),
    [("v2-8", 4, 8), ("v3-32", 16, 32), ("v4-8", 4, 4), ("v5litepod-8", 8, 8), ("v5p-8", 4, 4), ("v6e-1", 1, 1), ("tpu7x-8", 4, 8)],
)
def test_devices_of_chips(accelerator_type: str, chips: int, count: int) -> None:
    """Two cores of v2 and v3, and two chiplets of TPU7x, are two devices; all others are one a chip."""
    assert devices.expected(accelerator_type, chips) == count


@pytest.mark.parametrize(
    ("platforms", "said"),
    [
        (["cpu"], "0 TPU devices, expected 8 (v5litepod-8, 8 chips on 1 host); there are 1 cpu"),
        (["cpu"] * 8, "0 TPU devices, expected 8 (v5litepod-8, 8 chips on 1 host); there are 8 cpu"),
        (["tpu"] * 4, "4 TPU devices, expected 8 (v5litepod-8, 8 chips on 1 host)"),
        (["tpu"] * 16, "16 TPU devices, expected 8 (v5litepod-8, 8 chips on 1 host)"),
        (["tpu"] * 8 + ["cpu"], "8 TPU devices, expected 8 (v5litepod-8, 8 chips on 1 host); there are 1 cpu"),
        (["cuda"] * 8, "0 TPU devices, expected 8 (v5litepod-8, 8 chips on 1 host); there are 8 cuda"),
    ],
)
def test_refuses_other_devices(platforms: list[str], said: str) -> None:
    """Fewer, more, and others are refused, with what was seen."""
    with pytest.raises(devices.DevicesError) as refused:
        devices.compare(settings(), platforms, processes=1, simulated=False)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("platforms", "said"),
    [
        (["cpu"], "0 GPU devices, expected 2 (nvidia-l4, 2 GPUs on 1 host); there are 1 cpu; is it the image's JAX that has no CUDA?"),
        (["gpu"], "1 GPU devices, expected 2 (nvidia-l4, 2 GPUs on 1 host)"),
        (["gpu"] * 3, "3 GPU devices, expected 2 (nvidia-l4, 2 GPUs on 1 host)"),
        (["tpu"] * 2, "0 GPU devices, expected 2 (nvidia-l4, 2 GPUs on 1 host); there are 2 tpu; is it the image's JAX that has no CUDA?"),
    ],
)
def test_counts_gpus(platforms: list[str], said: str) -> None:
    """Each GPU is one device, by either name of its platform; anything else is refused, with what was seen."""
    devices.compare(settings("nvidia-l4", 2), ["gpu", "gpu"], processes=1, simulated=False)
    devices.compare(settings("nvidia-l4", 2), ["cuda", "cuda"], processes=1, simulated=False)
    with pytest.raises(devices.DevicesError) as refused:
        devices.compare(settings("nvidia-l4", 2), platforms, processes=1, simulated=False)
    assert str(refused.value) == said


def test_takes_what_is_declared() -> None:
    """The right number is fine: of TPU, or of the processor where that is said."""
    devices.compare(settings(), ["tpu"] * 8, processes=1, simulated=False)
    devices.compare(settings("v3-8", 4), ["cpu"] * 8, processes=1, simulated=True)
    devices.compare(settings("cpu", 2), ["cpu"] * 2, processes=1, simulated=False)


def test_permission_to_simulate_counts_nevertheless() -> None:
    """With the permission, the number must still be right, and a real TPU is none of the processor's devices."""
    with pytest.raises(devices.DevicesError, match="4 CPU devices, expected 8"):
        devices.compare(settings(), ["cpu"] * 4, processes=1, simulated=True)


def test_refuses_another_number_of_processes() -> None:
    """Each host has one process."""
    with pytest.raises(devices.DevicesError, match="1 processes, expected 2"):
        devices.compare(settings(hosts=2), ["tpu"] * 8, processes=1, simulated=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (settings(chips=0), "WL_CHIPS=0: at least 1"),
        (settings(hosts=0), "WL_HOSTS=0: at least 1"),
        (settings(hosts=3), "WL_CHIPS=8 is no multiple of WL_HOSTS=3"),
        (settings(process_id=1), "WL_PROCESS_ID=1: less than WL_HOSTS=1, as the first is 0"),
        (settings(hosts=2, coordinator="here"), "WL_COORDINATOR='here' is no HOST:PORT"),
        (settings("cpu", hosts=2), "WL_COORDINATOR is missing"),
    ],
)
def test_refuses_what_does_not_go_together(given: TrainSettings, said: str) -> None:
    """Before JAX is asked for anything."""
    with pytest.raises(ContractError) as refused:
        devices.start(given, {})
    assert str(refused.value).startswith(said)


def entry(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the entry as a container does."""
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "workloads.entry", *arguments]
    return subprocess.run(command, env=base | environment, capture_output=True, text=True, timeout=120, check=False)


WHOLE = {"WL_RUN_ID": "r", "WL_OUTPUT": "out", "WL_CHECKPOINTS": "checkpoints", "WL_ACCELERATOR_TYPE": "v5litepod-8", "WL_CHIPS": "8"}


def test_entry_never_takes_the_processor_for_a_tpu() -> None:
    """A machine without its TPU ends with 78 and says the numbers."""
    ended = entry("train_recommender", "--example", "--small", **WHOLE, JAX_PLATFORMS="cpu")

    assert ended.returncode == DEVICES_EXIT
    assert "0 TPU devices, expected 8" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_entry_tells_all_of_a_wrong_environment() -> None:
    """Each problem, and no traceback."""
    ended = entry("train_recommender", WL_OUTPUT="out", WL_CHIPS="many", WL_WHO="me", WL_ACCELERATOR_TYPE="cpu")

    assert ended.returncode == 2
    for said in (
        "WL_RUN_ID is missing",
        "WL_CHECKPOINTS is missing",
        "WL_CHIPS='many' is no whole number",
        "WL_WHO is none of the contract's",
    ):
        assert said in ended.stderr
    assert "Traceback" not in ended.stderr
