"""
A page around a body: what it may do, how it looks, and the scripts that draw its plots.

It asks nobody for anything: its policy lets run only the scripts that are in it, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from infra.report.markup import Html, h, script

HERE = Path(__file__).parent
GENERATOR = "accelform report"
"""Whose page it is: only such a page is overwritten."""


def document(title: str, body: Html, *, with_plots: bool) -> str:
    """The whole text of a page. No time of day is in it: the same body gives the same page."""
    from plotly.offline import get_plotlyjs

    scripts = [*([get_plotlyjs()] if with_plots else []), _read("page.js")]
    style = _read("page.css")
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = [
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=policy),
        h("meta", name="generator", content=GENERATOR),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="referrer", content="no-referrer"),
        h("meta", name="color-scheme", content="light dark"),
        h("link", rel="icon", href="data:,"),
        h("title", f"{title}: Accelform report"),
        h("style", Html(style)),
    ]
    whole = h("html", h("head", *head), h("body", body, *map(script, scripts)), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def plot(name: str, spoken: str) -> Html:
    """The place of a plot, with what it shows in words."""
    return h("div", id=name, class_="plot", role="img", aria_label=spoken)
