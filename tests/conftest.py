"""Shared fixtures. No test sleeps, needs order, or touches a network beyond loopback."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import HealthCheck, settings
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent

# Looking for garbage among all that the tests import takes a sixth of their time, where it is done as often as Python does it by itself.
gc.set_threshold(50_000, 10, 10)

# typer makes all commands of a command line anew each time it is called: once a process for a user, hundreds of times here.
typer.main.get_command = cache(typer.main.get_command)

# A busy machine is no fault of the code: speed has tests of its own, by CPU time.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
settings.register_profile("soak", settings.get_profile("house"), max_examples=500)
settings.load_profile("house")

BASE: dict[str, Any] = {
    "gcp:project": "tw-shop-ml",
    "accelform:schema": 1,
    "accelform:region": "us-east5",
    "accelform:environment": "dev",
    "accelform:owner": "ml-team",
    "accelform:budgets": {"monthly": {"amount": "350000 USD"}},
}
"""The least that a stack file says, with a budget that nothing of the tests goes over."""

SLICE: dict[str, Any] = {
    "accelerator_type": "v6e-1",
    "zone": "us-east5-a",
    "provisioning": "spot",
    "max_run_minutes": "unlimited",
    "because": "it is tried on by day and by night",
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests over the real engine take up to a minute each: they come first, so that no worker sits over the last one alone."""
    items.sort(key=lambda item: item.path.parent != ROOT / "tests" / "engine")


@pytest.fixture
def base() -> dict[str, Any]:
    """Configuration of the least stack: keys may be added or taken away."""
    return copy.deepcopy(BASE)


@pytest.fixture
def a_slice() -> dict[str, Any]:
    """A TPU machine that passes."""
    return dict(SLICE)


@pytest.fixture
def stack_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a stack file and answers its path."""

    def write(config: dict[str, Any], stack: str = "try", **top: Any) -> Path:
        path = tmp_path / f"Pulumi.{stack}.yaml"
        with path.open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump({"config": config, **top}, file)
        return path

    return write
