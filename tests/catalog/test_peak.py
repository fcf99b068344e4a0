"""Peaks of accelerators, ours and those of others."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest

from infra.catalog.alternatives import rentals, servers
from infra.catalog.gpu import gpus
from infra.catalog.peak import peaks
from infra.catalog.tpu import chips


def test_every_accelerator_that_can_be_compared_is_there() -> None:
    """TPU generations, GPUs, and whatever the alternatives have."""
    named = {*chips(), *gpus(), *(one.accelerator for one in rentals()), *(one.accelerator for one in servers())}
    assert named == {*peaks()}


def test_figures_are_positive() -> None:
    """No figure is zero: what no source tells is None."""
    for one in peaks().values():
        assert all(figure is None or figure > 0 for figure in (one.bf16_tflops, one.int8_tops, one.memory_gb_s, one.power_watts)), one


@pytest.mark.parametrize(
    ("name", "bf16", "int8", "bandwidth", "watts"),
    [
        ("v2", None, None, None, None),
        ("v3", "123", None, 900, 262),
        ("v4", "275", "275", 1200, 192),
        ("v5e", "197", "390.6", 819, None),
        ("v5p", "459", "918", 2765, None),
        ("v6e", "918", "1836", 1638, None),
        ("tpu7x", "2307", None, 7370, None),
        ("nvidia-h100-80gb", "989.5", None, 3350, 700),
        ("Inferentia2", "190", "380", 820, None),
        ("Trainium", "190", "380", 820, None),
        ("Trainium2", "667", None, 2900, None),
        ("A10G", None, None, 600, None),
    ],
)
def test_hand_checked_figures(name: str, bf16: str | None, int8: str | None, bandwidth: int | None, watts: int | None) -> None:
    """As the makers print them, dense: Google its TPUs, AWS its chips, NVIDIA its GPUs."""
    one = peaks()[name]
    assert (one.bf16_tflops, one.int8_tops) == (bf16 and Decimal(bf16), int8 and Decimal(int8))
    assert (one.memory_gb_s, one.power_watts) == (bandwidth, watts)


def test_newer_tpus_of_a_line_do_more() -> None:
    """A figure with sparsity, or of FP8, would break the row: v3, v4, v5p, tpu7x, and v5e before v6e."""
    for line in (("v3", "v4", "v5p", "tpu7x"), ("v5e", "v6e")):
        for older, newer in pairwise(peaks()[name].bf16_tflops or 0 for name in line):
            assert 1 < newer / older < 6


def test_int8_is_at_most_twice_bf16() -> None:
    """Dense int8 goes up to twice as fast as dense bf16."""
    for one in peaks().values():
        if one.bf16_tflops and one.int8_tops:
            assert 1 <= one.int8_tops / one.bf16_tflops <= 2, one
