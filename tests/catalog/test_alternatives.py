"""Machines of AWS and servers to buy."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest

from infra.catalog import alternatives
from infra.catalog.alternatives import rentals, servers


@pytest.mark.parametrize(
    ("name", "accelerator", "accelerators", "usd"),
    [
        ("inf2.xlarge", "Inferentia2", 1, "0.7582"),
        ("inf2.48xlarge", "Inferentia2", 12, "12.98127"),
        ("trn1.32xlarge", "Trainium", 16, "21.5"),
        ("p4d.24xlarge", "nvidia-tesla-a100", 8, "21.957642"),
        ("p5.48xlarge", "nvidia-h100-80gb", 8, "55.04"),
        ("g6.xlarge", "nvidia-l4", 1, "0.8048"),
    ],
)
def test_hand_checked_machines_of_aws(name: str, accelerator: str, accelerators: int, usd: str) -> None:
    """As the price list of us-east-1 had them in summer 2026: p4d not at 32.77, its price before June 2025."""
    (one,) = (one for one in rentals() if one.name == name)
    assert (one.accelerator, one.accelerators, one.usd) == (accelerator, accelerators, Decimal(usd))
    assert (one.region, one.way, one.hours, one.trust, one.as_of) == ("us-east-1", "on-demand", 1, "high", "2026-07-28")


def test_a_capacity_block_is_bought_whole() -> None:
    """The only price of Trainium2 is that of 24 hours at once, from one note."""
    (one,) = (one for one in rentals() if one.accelerator == "Trainium2")
    assert (one.name, one.way, one.hours, one.usd, one.trust) == ("trn2.48xlarge", "capacity-block", 24, Decimal("858.26"), "low")


def test_smaller_machines_come_first() -> None:
    """Of one accelerator, in the order of their number."""
    for one, other in pairwise(rentals()):
        assert one.accelerator != other.accelerator or one.accelerators <= other.accelerators


def test_three_figures_of_one_server_are_bounds() -> None:
    """310,000, 300,000 to 350,000 and 180,000 to 220,000 USD: all three are told, and the oldest dates them."""
    one = next(one for one in servers() if one.accelerator == "nvidia-h100-80gb")
    assert (one.usd_low, one.usd_high, one.power_kw) == (Decimal(180000), Decimal(350000), Decimal("10.2"))
    assert (one.accelerators, one.trust, one.as_of) == (8, "low", "2024-08")
    assert [told in one.notes for told in ("310000: ", "300000 to 350000: ", "180000 to 220000: ")] == [True] * 3
    assert one.source.count("https://") == 3


def test_a_server_is_trusted_as_its_weakest_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """And as old as its oldest."""
    same = {"kind": "server", "name": "s", "accelerator": "v4", "accelerators": "8", "power_kw": "", "source": "x", "notes": ""}
    said = [
        same | {"usd_low": "2", "usd_high": "2", "trust": "high", "as_of": "2026"},
        same | {"usd_low": "1", "usd_high": "3", "trust": "medium", "as_of": "2025"},
    ]
    monkeypatch.setattr(alternatives, "rows", lambda table: tuple(said))
    (one,) = servers.__wrapped__()
    assert (one.trust, one.as_of, one.usd_low, one.usd_high, one.power_kw) == ("medium", "2025", 1, 3, None)


def test_the_a100_server_is_at_its_launch_price() -> None:
    """199,000 and 200,000 USD in 2020, which its notes say."""
    one = next(one for one in servers() if one.accelerator == "nvidia-tesla-a100")
    assert (one.usd_low, one.usd_high, one.power_kw, one.as_of) == (Decimal(199000), Decimal(200000), Decimal("6.5"), "2020-05")
    assert "launch" in one.notes


def test_each_server_is_there_once() -> None:
    """However many sources tell of it."""
    assert len(servers()) == len({one.name for one in servers()}) == 2
