"""The style sheet: every text can be read, by day, by night and on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra.report.plots import COLOURS

SHEET = (Path(__file__).parents[2] / "infra" / "report" / "page.css").read_text(encoding="utf-8")
LIGHT, DARK, PRINT = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)) for block in SHEET.split(":root {")[1:])


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK, PRINT], ids=["light", "dark", "print"])
def test_texts_have_contrast(colours: dict[str, str]) -> None:
    """At least 4.5 to 1, which WCAG 2.2 calls AA."""
    for ink, ground in (
        ("ink", "card"),
        ("ink", "bad-ground"),
        ("soft", "ground"),
        ("soft", "card"),
        ("accent", "card"),
        ("accent", "ground"),
    ):
        assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for ink in ("good", "bad"):
        assert contrast(colours[ink], colours[f"{ink}-ground"]) >= 4.5, ink
        assert contrast(colours[ink], colours["card"]) >= 4.5, ink


@pytest.mark.parametrize("colour", COLOURS)
def test_plots_have_contrast_by_day_and_by_night(colour: str) -> None:
    """At least 3 to 1 for bars and dots: their colours stay the same."""
    assert contrast(colour, LIGHT["card"]) >= 3
    assert contrast(colour, DARK["card"]) >= 3
