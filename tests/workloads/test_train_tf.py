"""The TensorFlow way: the strategy is that of the devices, or none; and it learns what the JAX way does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.workloads.jobs import ROOT, Job, taken_away
from workloads import train_tf
from workloads.contract import RESTART_EXIT, ContractError, TrainSettings
from workloads.devices import DevicesError
from workloads.files import Folder
from workloads.recommender.data import write_example


class LostError(Exception):
    """TensorFlow's own."""


def fake(tpus: int = 0, gpus: int = 0, error: Exception | None = None) -> Any:
    """What of TensorFlow the choice asks; `made` is what the processor was cut into."""
    made: list[int] = []

    def resolver(where: str) -> str:
        assert where == "local"
        if error:
            raise error
        return "resolver"

    there = {"CPU": ["cpu"], "GPU": ["gpu"] * gpus, "TPU": ["tpu"] * tpus}
    return SimpleNamespace(
        made=made,
        errors=SimpleNamespace(OpError=LostError),
        tpu=SimpleNamespace(experimental=SimpleNamespace(initialize_tpu_system=lambda given: None)),
        config=SimpleNamespace(
            list_physical_devices=lambda kind: there[kind],
            list_logical_devices=lambda kind: there[kind],
            set_logical_device_configuration=lambda device, parts: made.append(len(parts)),
            LogicalDeviceConfiguration=object,
        ),
        distribute=SimpleNamespace(
            cluster_resolver=SimpleNamespace(TPUClusterResolver=resolver),
            get_strategy=lambda: "default",
            OneDeviceStrategy=lambda device: f"one {device}",
            MirroredStrategy=lambda devices=None: f"mirrored {devices or 'all'}",
            TPUStrategy=lambda given: f"tpu {given}",
        ),
    )


def chosen(tf: Any, accelerator_type: str, chips: int, hosts: int = 1, **environment: str) -> Any:
    return train_tf.strategy_for(tf, TrainSettings("r", "out", "ck", accelerator_type, chips, hosts), environment)


@pytest.mark.parametrize(
    ("tf", "accelerator_type", "chips", "strategy"),
    [
        (fake(tpus=8), "v5litepod-8", 8, "tpu resolver"),
        (fake(tpus=8), "v3-8", 4, "tpu resolver"),
        (fake(tpus=4), "v4-8", 4, "tpu resolver"),
        (fake(tpus=8), "v4-8", 4, "tpu resolver"),
        (fake(gpus=2), "nvidia-l4", 2, "mirrored all"),
        (fake(gpus=1), "nvidia-l4", 1, "one GPU:0"),
        (fake(), "cpu", 1, "default"),
        (fake(gpus=4, tpus=4), "cpu", 2, "mirrored ['CPU:0', 'CPU:1']"),
    ],
)
def test_the_strategy_is_that_of_what_is_declared(tf: Any, accelerator_type: str, chips: int, strategy: str) -> None:
    """And of devices that are there."""
    assert chosen(tf, accelerator_type, chips) == strategy


def test_a_permission_lets_the_processor_stand_for_chips() -> None:
    """In the number that they would be."""
    tf = fake()

    assert chosen(tf, "v3-8", 4, WL_SIMULATED_TPU="1").count("CPU:") == 8
    assert tf.made == [8]


@pytest.mark.parametrize(
    ("tf", "accelerator_type", "chips", "said"),
    [
        (fake(error=ValueError("no\nTPU")), "v5litepod-8", 8, "0 TPU devices, expected 8: no"),
        (fake(error=LostError("")), "v3-8", 4, "0 TPU devices, expected 8: "),
        (fake(tpus=4), "v5litepod-8", 8, "4 TPU devices, expected 8 (v5litepod-8, 8 chips)"),
        (fake(tpus=16), "v5litepod-8", 8, "16 TPU devices, expected 8 (v5litepod-8, 8 chips)"),
        (fake(), "nvidia-l4", 1, "0 GPU devices, expected 1 (nvidia-l4)"),
        (fake(gpus=8), "nvidia-l4", 4, "8 GPU devices, expected 4 (nvidia-l4)"),
    ],
)
def test_never_takes_the_processor_for_an_accelerator(tf: Any, accelerator_type: str, chips: int, said: str) -> None:
    """Nor fewer or more devices than declared, and nothing is made of the processor."""
    with pytest.raises(DevicesError) as refused:
        chosen(tf, accelerator_type, chips)
    assert str(refused.value) == said
    assert tf.made == []


def test_refuses_several_hosts() -> None:
    """With who takes them."""
    with pytest.raises(ContractError, match="train_tf is of one host; train_recommender is of several"):
        chosen(fake(), "v5litepod-16", 16, hosts=2)


def test_a_checkpoint_is_its_numbers(tmp_path: Path) -> None:
    """They come back bit by bit."""
    state = {"0": np.arange(6, dtype=np.float32).reshape(2, 3), "1": np.array([1e-30], np.float32)}
    train_tf._write(tmp_path / "state", state)

    found = train_tf._read(tmp_path / "state", state)

    assert {name: value.tobytes() for name, value in found.items()} == {name: value.tobytes() for name, value in state.items()}


def test_it_begins_without_what_its_image_lacks() -> None:
    """No JAX, no Orbax, no Grain: all that it imports before TensorFlow is there."""
    absent = ("jax", "orbax", "grain", "safetensors", "keras_rs", "keras_hub")
    locked = set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements" / "image-tf.lock").read_text(), re.MULTILINE))
    assert not locked & {"jax", "orbax-checkpoint", "grain", "safetensors", "keras-rs", "keras-hub"}

    code = f"""
import sys
sys.modules.update(dict.fromkeys({absent}))
import workloads.recommender.pictures
from workloads import entry
sys.modules["tensorflow"] = None
try:
    sys.exit(entry.main(["train_tf"]))
except ModuleNotFoundError as error:
    print(error.name)
"""
    told = TrainSettings("r", "out", "ck", "v5litepod-8", 8).environment()
    ended = subprocess.run([sys.executable, "-c", code], env=told | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)

    assert ended.stdout.strip() == "tensorflow", ended.stderr


@pytest.mark.soak
def test_learns_what_the_jax_way_learns(tmp_path: Path, compiled: Path) -> None:
    """From the same log: the same recall, nearly, on one device and on two; and a notice in the middle changes no loss."""
    write_example(Folder(str(tmp_path)), users=300, items=200, rows=8000, pictures=False)
    arguments = ("--small", "--steps", "60", "--batch", "128", "--dimension", "16")
    ways = {"jax": ("train_recommender", 1), "one": ("train_tf", 1), "two": ("train_tf", 2), "stopped": ("train_tf", 1)}
    jobs = {name: Job(tmp_path / name, compiled, workload=workload, chips=chips, data=tmp_path) for name, (workload, chips) in ways.items()}
    (process,) = jobs["stopped"].start(*arguments)
    ended = taken_away(process, 10)
    assert ended.returncode == RESTART_EXIT, ended.stderr
    for job in jobs.values():
        assert (ended := job.run(*arguments)).returncode == 0, ended.stderr

    found = {name: job.report["metrics"]["recall_at_50"] for name, job in jobs.items()}
    assert found["one"] == pytest.approx(found["jax"], abs=0.05)
    assert found["two"] == pytest.approx(found["one"], abs=0.02)
    assert found["jax"] > 1.2 * jobs["jax"].report["metrics"]["popularity_recall_at_50"]
    assert jobs["stopped"].report["resumed_from"][0] >= 10
    assert jobs["stopped"].report["loss"] == jobs["one"].report["loss"]
    assert jobs["two"].report["devices"] == {"count": 2, "strategy": "MirroredStrategy", "hosts": 1}
    np.testing.assert_allclose(np.array(jobs["two"].report["loss"]), np.array(jobs["one"].report["loss"]), rtol=1e-2)
