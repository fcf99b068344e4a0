"""Quantities as Kubernetes writes them (`100m`, `1Gi`, `1e3`), as exact numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_UP, Decimal
from types import MappingProxyType

SUFFIXES: Mapping[str, Decimal] = MappingProxyType(
    {
        "": Decimal(1),
        "n": Decimal("1e-9"),
        "u": Decimal("1e-6"),
        "m": Decimal("1e-3"),
        "k": Decimal("1e3"),
        "M": Decimal("1e6"),
        "G": Decimal("1e9"),
        "T": Decimal("1e12"),
        "P": Decimal("1e15"),
        "E": Decimal("1e18"),
        "Ki": Decimal(1 << 10),
        "Mi": Decimal(1 << 20),
        "Gi": Decimal(1 << 30),
        "Ti": Decimal(1 << 40),
        "Pi": Decimal(1 << 50),
        "Ei": Decimal(1 << 60),
    }
)
"""Source: Kubernetes, k8s.io/apimachinery/pkg/api/resource, the grammar in its documentation, read 2026-11."""
LARGEST = Decimal((1 << 63) - 1)
"""Above it Kubernetes takes this instead, without a word: it is refused here. Source: the same."""
SMALLEST = Decimal("1e-9")
"""Finer parts are rounded up. Source: the same."""
ALLOWED = "a number with n, u, m, k, M, G, T, P, E or Ki, Mi, Gi, Ti, Pi, Ei after it, such as 500m or 16Gi"

_FORM = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([A-Za-z]*))", re.ASCII)
_BYTES = frozenset({"memory", "ephemeral-storage", "storage"})


class BadQuantity(ValueError):  # noqa: N818 - reads as the finding it is
    """What is no quantity, in words for a user: it reads on after the name of what has it."""

    def __init__(self, message: str, allowed: str = ALLOWED) -> None:
        self.allowed = allowed
        super().__init__(message)


def quantity(value: object) -> Decimal:
    """
    The exact number that a quantity is: cores of cpu, bytes of memory, pieces of anything else. YAML numbers are quantities too.

    Raises:
        BadQuantity: It is none, or larger than Kubernetes holds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadQuantity(f"is {_kind(value)}, not a quantity")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadQuantity(f"is {value}, not a number")
    if isinstance(value, int) and not -LARGEST <= value <= LARGEST:  # before it becomes text, which Python refuses of the largest
        raise BadQuantity("is larger than Kubernetes holds", f"at most {LARGEST}")
    text = str(value)
    match = _FORM.fullmatch(text)
    if match is None or len(text) > 64:
        raise BadQuantity(*_words(text))
    sign, digits, exponent, suffix = match.groups()
    if exponent and abs(int(exponent[1:])) > 30:
        raise BadQuantity(f"has the exponent {exponent[1:]}, beyond what Kubernetes holds", f"at most {LARGEST}")
    if (suffix or "") not in SUFFIXES:
        raise BadQuantity(*_words(text))
    found = Decimal(digits) * (Decimal(f"1{exponent}") if exponent else SUFFIXES[suffix or ""])
    if found > LARGEST:
        raise BadQuantity(f"{text} is larger than Kubernetes holds", f"at most {LARGEST}")
    found = found.quantize(SMALLEST, ROUND_UP)
    return -found if sign == "-" else found


def _kind(value: object) -> str:
    return {type(None): "empty", bool: "true or false", dict: "a map", list: "a list"}.get(type(value), "something else")


def _words(text: str) -> tuple[str, str]:
    """What is wrong with a text, and what would be right where that is plain to see."""
    short = text if len(text) <= 40 else f"{text[:37]}..."
    if not text.strip():
        return "is empty, not a quantity", ALLOWED
    bare = "".join(text.split())
    match = re.fullmatch(r"([+-]?[\d.]+)([A-Za-z]+)", bare, re.ASCII)
    if bare != text and match and match[2] in SUFFIXES:
        return f"{short!r} has a space in it", bare[:40]
    if match:
        ends = match[2].lower()
        near = [one for one in SUFFIXES if one and one.lower() in (ends, ends.removesuffix("b"))]
        if ends.endswith("b"):
            near += [f"{one}i" for one in near if f"{one}i" in SUFFIXES]
        right = " or ".join(match[1] + one for one in near)
        return f"{short!r} ends in {match[2][:20]}, which is no suffix of a quantity", right or ALLOWED
    return f"{short!r} is not a quantity", ALLOWED


def shown(resource: str, amount: Decimal | int, *, up: bool = False) -> str:
    """
    An amount for a user: bytes as Gi or Mi, all else as it is.

    Args:
        up: Of what is asked for, so that it looks like no less than it is. (default: rounded down, of what there is)
    """
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    exact = Decimal(amount)
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return _plain(exact.quantize(Decimal("0.001"), rounding))
    unit = "Gi" if abs(exact) >= SUFFIXES["Gi"] else "Mi"
    return _plain((exact / SUFFIXES[unit]).quantize(Decimal("0.01"), rounding)) + unit


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
