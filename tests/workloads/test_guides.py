"""What the guides name is there, and what they say to write is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.stack import StackSpec
from workloads.contract import DATA_PREFIX, ServeSettings, TrainSettings
from workloads.serving import app
from workloads.serving.metrics import Metrics

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = (GUIDES / "serve.md").read_text(encoding="utf-8")


def test_variables_of_the_guide_are_the_contracts() -> None:
    """Each is a field, and the defaults in the table are those of the code."""
    named = set(re.findall(r"\bWL_[A-Z_]+\b", GUIDE)) - {"WL_"}
    defaults = dict(re.findall(r"^\| `(WL_[A-Z_]+)` \|.*\| `?([^|`]*?)`? \|$", GUIDE, re.MULTILINE))
    settings = ServeSettings("/m")

    assert named == {f"WL_{name.upper()}" for name in ServeSettings.__slots__}
    for name in ("lameduck_seconds", "drain_seconds", "threads"):
        assert float(defaults[f"WL_{name.upper()}"]) == getattr(settings, name)
    assert defaults["WL_CLICKS"] == settings.clicks


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bwl_[a-z_]+\b", GUIDE))))
def test_figures_of_the_guide_are_counted(name: str) -> None:
    """Under that name."""
    metrics = Metrics("", "")
    metrics.answered(200, 0.1)
    metrics.predicted(1, 1)
    metrics.clicked(1, 1)

    assert f"# HELP {name} " in metrics.text().decode()


def test_routes_of_the_guide_are_answered() -> None:
    for route in (app.LIVE_ROUTE, app.READY_ROUTE, app.METRICS_ROUTE, app.CLICKS_ROUTE, app.VARIANT_HEADER, app.VERSION_HEADER):
        assert f"`{route}`" in GUIDE or f" {route}`" in GUIDE


def test_the_block_of_gpus_is_accepted(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """It is loaded as it stands: a machine that stands, and a job's, each with the GPUs that the text says."""
    [block] = re.findall(r"^```yaml\n(.*?)^```", (GUIDES / "gpu.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    spec = StackSpec.load(stack_file(base | YAML(typ="safe", pure=True).load(block)))
    lab, nightly = spec.gpu_vms["lab"].gpus, spec.jobs["nightly"].gpus

    assert lab.words() == "n1-standard-8 with 1 x nvidia-tesla-t4"
    assert nightly is not None
    assert nightly.words() == "g2-standard-8 with 1 x nvidia-l4"


def test_the_block_of_maxtext_is_accepted(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """It is loaded as it stands; the variables that its command reads, and those that the guide explains, are what a run is told."""
    text = (GUIDES / "maxtext.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    job = StackSpec.load(stack_file(base | YAML(typ="safe", pure=True).load(block))).jobs["sft"]
    told = {f"WL_{name.upper()}" for name in TrainSettings.__slots__} | {f"{DATA_PREFIX}{name.upper()}" for name in job.data}

    assert (job.command, job.program) == (["bash", "-c"], None)
    assert set(re.findall(r"\$(\w+)", job.args[0])) == {"WL_OUTPUT", "WL_DATA_CHECKPOINT", "WL_DATA_CHAT"}
    assert set(re.findall(r"\bWL_[A-Z_]+\b", text)) <= told
