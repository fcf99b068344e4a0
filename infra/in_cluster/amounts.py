"""
Amounts of cores, memory and accelerators as the API itself writes them: 1000 is `1k`, 1024Gi is `1Ti`.

Written otherwise, they come back changed from whatever reads and writes an object on its way (a webhook of a controller does), and a
refresh would show that. Source: `Quantity` of k8s.io/apimachinery, "canonical form", read 2026-11.
"""

from __future__ import annotations


def amount(number: float, unit: str = "") -> str:
    """A quantity of cores or things, or with `Gi` of memory: to a thousandth, or to a MiB, and never 0."""
    if unit == "Gi":
        return _shortest(round(number * 1024), 1024, ("Mi", "Gi", "Ti", "Pi"))
    return _shortest(round(number * 1000), 1000, ("m", "", "k", "M"))


def _shortest(number: int, step: int, units: tuple[str, ...]) -> str:
    number, at = max(1, number), 0
    while number % step == 0 and at < len(units) - 1:
        number, at = number // step, at + 1
    return f"{number}{units[at]}"
