"""Files of events, as TensorBoard itself reads them."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workloads.events import curves, events
from tests.workloads.jobs import ROOT
from workloads.contract import TrainSettings
from workloads.events import VARIABLE, Events
from workloads.files import Folder


@pytest.fixture
def settings(tmp_path: Path) -> TrainSettings:
    return TrainSettings("r", str(tmp_path / "out"), "ck", "cpu", 1)


def test_a_run_of_two_tries_is_one_curve(settings: TrainSettings) -> None:
    """The second goes on from a step before the first one's end: no step is there twice. What is not known is left out."""
    first = Events(settings, environment={})
    for step in (10, 20, 30):
        first.add(step, {"loss": 100.0 - step})
    first.send()
    second = Events(replace(settings, attempt=2), environment={})
    second.goes_on(20)
    second.add(30, {"loss": 5.0})
    second.add(30, {"recall_at_50": 0.5, "click_auc": None})
    second.send()

    logs = Path(settings.output) / "logs"
    assert len(list(logs.iterdir())) == 2
    assert curves(logs) == {"loss": [(10, 90.0), (20, 80.0), (30, 5.0)], "recall_at_50": [(30, 0.5)]}
    assert next(events(sorted(logs.iterdir())[0])).file_version == "brain.Event:2"


def test_settings_are_of_the_table_that_compares_runs(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its plugin parses them. TensorFlow is not loaded for it: that takes seconds, and memory that a TPU's host has better uses for."""
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    from tensorboard.plugins.hparams import metadata

    told = Events(settings, environment={})
    told.settings({"batch": 512, "bfloat16": False, "pictures": "plain"})
    told.send()

    (file,) = (Path(settings.output) / "logs").iterdir()
    values = {value.tag: value for event in events(file) for value in event.summary.value}
    started = metadata.parse_session_start_info_plugin_data(values[metadata.SESSION_START_INFO_TAG].metadata.plugin_data.content)
    found = {name: getattr(value, value.WhichOneof("kind")) for name, value in started.hparams.items()}
    assert found == {"batch": 512, "bfloat16": False, "pictures": "plain"}
    assert metadata.parse_session_end_info_plugin_data(values[metadata.SESSION_END_INFO_TAG].metadata.plugin_data.content).end_time_secs


def test_vertex_ai_says_where(settings: TrainSettings, tmp_path: Path) -> None:
    """And hosts behind the first write nothing."""
    there = {VARIABLE: f"{tmp_path}/vertex/logs/"}
    Events(settings, environment=there, writes=False).send()
    assert not (tmp_path / "vertex").exists()

    Events(settings, environment=there).send()
    assert [name.startswith("events.out.tfevents.") for name in Folder(f"{tmp_path}/vertex/logs").names()] == [True]
    assert not Path(settings.output).exists()


@pytest.mark.parametrize("image", ["train", "tf"])
def test_images_that_train_have_the_format(image: str) -> None:
    """TensorBoard comes with TensorFlow there: nobody asks for it by name yet."""
    locked = (ROOT / "requirements" / f"image-{image}.lock").read_text(encoding="utf-8")

    assert re.search(r"^tensorboard==2\.", locked, re.MULTILINE)
