"""Accelerators of a stack, and what they cost elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from infra.catalog.things import Hour
from infra.declared import UNKNOWN, Declared, Secret
from infra.report import plots
from infra.report.rates import Rates, Region, rates

HOUR = Hour(Decimal("1.5"), Decimal("1.5"), Decimal("1.5"), "high", "a table", "2026-07")


def machine(name: str, **inputs: Any) -> Declared:
    return Declared("gcp:compute/instance:Instance", name, inputs)


def test_each_accelerator_stands_once_with_who_uses_it() -> None:
    """By machine type, by attached GPU or by TPU type; a machine without any is left out."""
    found = rates(
        [
            machine("one", machineType="ct6e-standard-1t"),
            Declared("gcp:tpu/v2Vm:V2Vm", "two", {"acceleratorType": "v6e-1"}),
            Declared("accelform:tpu:QueuedResource", "three", {"multislice": {"node": {"acceleratorType": "v6e-1"}, "nodeCount": 2}}),
            Declared("gcp:compute/instanceTemplate:InstanceTemplate", "hosts", {"machineType": "ct6e-standard-4t"}),
            machine("plain", machineType="n2-standard-4"),
            machine("late", machineType=UNKNOWN),
            machine("hidden", machineType=Secret("g2-standard-4")),
            machine(
                "card",
                machineType="n1-standard-4",
                guestAccelerators=[{"type": "projects/p/zones/z/acceleratorTypes/nvidia-tesla-t4", "count": 1}],
            ),
            machine("eight", machineType="zones/us-east5-a/machineTypes/a3-highgpu-8g"),
        ],
        "us-east5",
    )
    assert [(one.name, one.used_by) for one in found] == [
        ("v6e-1", ("one", "two", "three")),
        ("v6e-4", ("hosts",)),
        ("nvidia-tesla-t4", ("card",)),
        ("a3-highgpu-8g", ("eight",)),
    ]


def test_regions_are_cheapest_first_and_the_own_one_is_marked() -> None:
    """Prices are those of the catalogue."""
    (one,) = rates([machine("one", machineType="ct6e-standard-1t")], "us-east5")
    (own,) = [region for region in one.regions if region.own]
    assert (own.name, own.hours["spot"].usd, own.hours["on-demand"].usd) == ("us-east5", Decimal("1.27575"), Decimal("2.7"))
    cheapest = [min(hour.usd for hour in region.hours.values()) for region in one.regions if region.hours]
    assert cheapest == sorted(cheapest)
    assert not any(region.hours for region in one.regions[len(cheapest) :])
    assert "asia-east1" in one.unknown("on-demand")
    assert not {region.name for region in one.regions} & set(one.left_out)


def test_a_bounded_price_is_drawn_with_its_bounds() -> None:
    """And one that is not has none."""
    bounded = replace(HOUR, usd_low=Decimal("1.25"), usd_high=Decimal("2"))
    figure = plots.hours(
        Rates(
            "v6e-1",
            ("one",),
            (Region("us-east5", True, {"spot": bounded}, frozenset()), Region("us-east1", False, {"spot": HOUR}, frozenset())),
            (),
        )
    )
    assert figure is not None
    (spot,) = figure["data"]
    assert (spot["x"], spot["error_x"]["array"], spot["error_x"]["arrayminus"]) == ([1.5, 1.5], [0.5, None], [0.25, None])
    assert "1.5000 USD an hour, 1.2500 to 2.0000" in spot["hovertext"][0]
    assert figure["layout"]["yaxis"]["ticktext"] == ["<b>us-east5</b>", "us-east1"]
    assert len(figure["layout"]["shapes"]) == 1


def test_nothing_is_drawn_where_no_price_is_known() -> None:
    """Not even an empty plot."""
    assert plots.hours(Rates("v6e-1", ("one",), (Region("us-east5", True, {}, frozenset()),), ())) is None


def test_a_way_looks_the_same_in_every_plot() -> None:
    """Colour and shape go with the way, not with its place among those that have a price."""
    both = Region("us-east5", True, {"on-demand": HOUR, "reservation": HOUR}, frozenset())
    one, all_ways = (plots.hours(Rates("x", (), (region,), ())) for region in (replace(both, hours={"reservation": HOUR}), both))
    assert one is not None
    assert all_ways is not None
    assert json.dumps(one["data"][0]["marker"]) == json.dumps(all_ways["data"][1]["marker"])
    assert all_ways["data"][0]["marker"] != all_ways["data"][1]["marker"]


@pytest.mark.parametrize(
    ("usd", "shown"), [("1.27575", "1.2758"), ("0", "0.0000"), ("0.00001", "0.00001"), ("1234.5", "1,234.5000"), ("0.00005", "0.0001")]
)
def test_an_amount_an_hour_is_never_shown_as_nothing(usd: str, shown: str) -> None:
    """To the hundredth of a cent, halves up; less is said in full."""
    assert plots.amount(Decimal(usd)) == shown
