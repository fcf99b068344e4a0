"""What the guide to serving names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workloads.contract import ServeSettings
from workloads.serving import app
from workloads.serving.metrics import Metrics

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "serve.md").read_text(encoding="utf-8")


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
