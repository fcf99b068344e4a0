"""Steps of training, measured."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]


def test_a_step_is_measured_with_its_input_and_without() -> None:
    """Of a step that is known: 2 x 64 x 64 x 64 operations and more, three arrays of 16 KiB at least; its state goes from step to step."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import jax

    from workloads.recommender.tuning import _measured

    class Trainer:
        _state = np.ones((64, 64), np.float32)
        _step = staticmethod(jax.jit(lambda state, batch: (state @ batch, (state @ batch).sum()), donate_argnums=0))
        _placed = staticmethod(jax.device_put)

    figures = _measured(Trainer(), itertools.repeat(np.eye(64, dtype=np.float32)), 256)

    assert figures.batch == 256
    assert min(figures.loop, figures.step, figures.input) > 0
    assert figures.flops is not None
    assert figures.flops >= 2 * 64**3
    assert figures.memory is not None
    assert figures.memory >= 2 * 64 * 64 * 4


@pytest.mark.soak
def test_the_recommender_is_tuned_on_this_machine(tmp_path: Path) -> None:
    """As a process: a table, and the same in a file."""
    told = {
        "WL_RUN_ID": "t",
        "WL_OUTPUT": str(tmp_path / "out"),
        "WL_CHECKPOINTS": str(tmp_path / "ck"),
        "WL_ACCELERATOR_TYPE": "cpu",
        "WL_CHIPS": "1",
    }
    command = [sys.executable, "-m", "workloads.tune", "train_recommender", "--example", "--small", "--first", "64", "--most", "256"]
    ended = subprocess.run(
        [*command, "--usd-per-hour", "0.38"], env=os.environ | told | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    found = json.loads((tmp_path / "out" / "tune.json").read_text())

    assert ended.returncode == 0, ended.stderr
    assert "chips busy: " in ended.stdout
    assert found["batch"] in (64, 128, 256)
    assert float(found["epoch"]["usd"]) > 0


def test_a_first_batch_that_does_not_fit_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be a traceback, and say nothing of what to do."""
    from workloads.contract import InputError, TrainSettings
    from workloads.recommender import train, tuning
    from workloads.tuning import DoesNotFitError

    def measure(*_: object) -> Callable[[int], Any]:
        def fails(batch: int) -> Any:
            raise DoesNotFitError("RESOURCE_EXHAUSTED")

        return fails

    monkeypatch.setattr(train, "read_data", lambda *_: SimpleNamespace(train=range(1000)))
    monkeypatch.setattr(tuning, "_measure", measure)
    settings = TrainSettings("t", "o", "c", "cpu", 1)
    with pytest.raises(InputError, match="--first 512: not even that batch fits"):
        tuning.run(settings, tuning.parser("tune").parse_args(["--first", "512"]))


@pytest.mark.parametrize(
    "arguments", [["--usd-per-hour", "nan"], ["--usd-per-hour", "-1"], ["--first", "0"], ["--most", "1e3"], ["--usd-per-hour", "٣"]]
)
def test_fails_for_odd_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """In argparse's way: what is wrong, and code 2."""
    from workloads.recommender.tuning import parser

    with pytest.raises(SystemExit) as ended:
        parser("tune").parse_args(arguments)
    assert ended.value.code == 2
    assert f"argument {arguments[0]}" in capsys.readouterr().err
