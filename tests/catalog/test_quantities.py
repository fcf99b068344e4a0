"""Quantities: what Kubernetes reads, exactly; and everything else, in words."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalog.quantities import LARGEST, SUFFIXES, BadQuantity, quantity, shown

READ = {
    "100m": "0.1",
    "1.5": "1.5",
    "1Gi": "1073741824",
    ".5": "0.5",
    "5.": "5",
    "1e3": "1000",
    "1E3": "1000",
    "1E": "1000000000000000000",
    "12e-1": "1.2",
    "+2k": "2000",
    "-1": "-1",
    "0.5n": "0.000000001",
    "0": "0",
    "9223372036854775807": str(LARGEST),
}


@pytest.mark.parametrize(("text", "number"), READ.items())
def test_reads_what_kubernetes_reads(text, number):
    """Suffixes of two and of ten, exponents, signs, and parts below the smallest, which count as the smallest."""
    assert quantity(text) == Decimal(number)


def test_yaml_numbers_are_quantities():
    """`cpu: 2` and `cpu: 0.5` need no quotes."""
    assert (quantity(2), quantity(0.5)) == (Decimal(2), Decimal("0.5"))


REFUSED = {
    "": ("empty", "500m"),
    "  ": ("empty", "500m"),
    "1 Gi": ("space", "1Gi"),
    "1GB": ("ends in GB", "1G or 1Gi"),
    "1gi": ("ends in gi", "1Gi"),
    "4K": ("ends in K", "4k"),
    "500mb": ("ends in mb", "500m or 500M or 500Mi"),
    "64GiB": ("ends in GiB", "64Gi"),
    "four": ("not a quantity", "500m"),
    "1,5": ("not a quantity", "500m"),
    "--1": ("not a quantity", "500m"),
    "1e": ("ends in e", "1E"),
    "٣": ("not a quantity", "500m"),
    "1" * 70: ("not a quantity", "500m"),
    "1e999999999": ("exponent", "9223372036854775807"),
    "9223372036854775808": ("larger", "9223372036854775807"),
    10**5000: ("larger", "9223372036854775807"),
    float("nan"): ("nan", "500m"),
    float("inf"): ("inf", "500m"),
    True: ("true or false", "500m"),
    None: ("empty", "500m"),
}


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: str(type(value).__name__))
def test_fails_with_what_would_be_right(value):
    """What is no quantity is refused with the reason, and the right spelling where one is near."""
    said, allowed = REFUSED[value]

    with pytest.raises(BadQuantity, match=said) as caught:
        quantity(value)

    assert allowed in caught.value.allowed


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(sorted(SUFFIXES)))
def test_a_suffix_multiplies(number, suffix):
    """A whole number with a suffix is that many of it, or it is more than Kubernetes holds."""
    if number * SUFFIXES[suffix] > LARGEST:
        with pytest.raises(BadQuantity, match="larger"):
            quantity(f"{number}{suffix}")
    else:
        assert quantity(f"{number}{suffix}") == number * SUFFIXES[suffix]


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", Decimal("7.91"), "7.91"),
        ("cpu", Decimal("0.0001"), "0"),
        ("memory", 28 * 2**30, "28Gi"),
        ("memory", 28 * 2**30 - 1, "27.99Gi"),
        ("memory", 100 * 2**20, "100Mi"),
        ("nvidia.com/gpu", 7, "7"),
    ],
)
def test_shows_no_more_than_there_is(resource, amount, text):
    """Bytes are shown as Gi or Mi, rounded down."""
    assert shown(resource, amount) == text


def test_shows_no_less_than_is_asked_for():
    """What is asked for is rounded up: 1 byte above 28Gi is not 28Gi."""
    assert (shown("memory", 28 * 2**30 + 1, up=True), shown("cpu", Decimal("3.9201"), up=True)) == ("28.01Gi", "3.921")
