"""
The recommender as a server answers it: instances, and what a shop reports of what it showed.

An instance is what `signature.json` of the model says, all of it optional: `{"user": "u1", "history": ["p3", "p7"], "ad": 0}`, `history`
being what the person clicked, the last one first. The answer is names of products, the best first, with a score, and how likely a click
and a purchase are: `{"item": ["p9", ...], "score": [...], "click": [...], "purchase": [...]}`. The parameter `k` asks for the first few.

A report is one product that was shown to somebody, when it is known what became of it; a line of the log has all its fields:

    item       name of the product; needed
    clicked    0 or 1; needed. What was shown and not clicked is worth as much to training as what was.
    user       name of the person; "" where nobody is known
    time       seconds since 1970; when the report came, if it is left out
    ad         whether the place was paid for, 0 or 1; 0 if it is left out
    purchased  0 or 1; 0 if it is left out. What was purchased was clicked.
    variant, version   which model's server got the report: written by the server

They are the columns of the click log that training reads (`workloads.recommender.data`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from workloads.serving.engine import InstanceError
from workloads.serving.exported import load

__all__ = ["click", "load"]

LONGEST_NAME = 200
_TEXTS, _FLAGS = ("user", "item"), ("ad", "clicked", "purchased")


def click(report: object, now: float) -> Mapping[str, object]:
    """
    Fields of a report.

    Raises:
        InstanceError: It is none.
    """
    if not isinstance(report, dict):
        raise InstanceError("it is no object with item and clicked")
    if unknown := [name for name in report if name not in (*_TEXTS, *_FLAGS, "time")]:
        raise InstanceError(f"{ascii(unknown[0])[:60]} is not known; user, item, time, ad, clicked, purchased are")
    texts = {name: report.get(name, "") for name in _TEXTS}
    for name, text in texts.items():
        if not isinstance(text, str) or len(text) > LONGEST_NAME or not text.isprintable():
            raise InstanceError(f"{name} is no text of at most {LONGEST_NAME} printable characters")
    if not texts["item"]:
        raise InstanceError("item is missing")
    flags = {name: report.get(name, None if name == "clicked" else 0) for name in _FLAGS}
    for name, flag in flags.items():
        if flag not in (0, 1):
            raise InstanceError(f"{name} is missing" if flag is None else f"{name} is neither 0 nor 1")
    if flags["purchased"] and not flags["clicked"]:
        raise InstanceError("purchased and not clicked")
    time = report.get("time", round(now, 3))
    if isinstance(time, bool) or not isinstance(time, int | float) or not (abs(time) < 1e12 and math.isfinite(time)):
        raise InstanceError("time is no number of seconds since 1970")
    return {**texts, "time": time, **{name: int(flag == 1) for name, flag in flags.items()}}
