"""What Vertex AI adds: known where a source says it, bounded elsewhere, and an error for families without one."""

from decimal import Decimal

import pytest

from infra.catalog import machine_prices, places
from infra.catalog.prices import PriceUnknown
from infra.catalog.tables import rows
from infra.catalog.vertex_prices import vertex_hour

USES = ("training", "prediction")


def test_ratios_are_above_one_and_in_order():
    """On demand Vertex AI costs more than Compute Engine, a fee is a part of it, and bounds hold their figure."""
    for row in rows("vertex_markup"):
        low, ratio, high = (Decimal(row[column] or row["ratio"]) for column in ("ratio_low", "ratio", "ratio_high"))
        assert low <= ratio <= high, row
        assert (0 < low < high < 1 or 0 < low == high < 1) if row["use"] == "fee" else 1 < low <= high < 2, row
        assert row["region"] in (*places.regions(), "all")
        assert row["use"] in ("", "fee", *USES)


@pytest.mark.parametrize(
    ("machine_type", "region", "use", "provisioning", "usd"),
    [
        ("n1-standard-4", "us-central1", "training", "on-demand", "0.2184989"),
        ("n1-standard-4", "us-central1", "prediction", "on-demand", "0.2185"),
        ("n1-standard-4", "asia-southeast1", "prediction", "on-demand", "0.2700052"),
        ("a3-highgpu-8g", "us-central1", "training", "on-demand", "101.007352"),
        ("a3-highgpu-1g", "us-central1", "prediction", "on-demand", "12.625919"),
        ("a3-highgpu-8g", "us-central1", "training", "flex-start", "51.4949999"),
        ("a3-highgpu-1g", "us-central1", "prediction", "flex-start", "6.436875"),
        ("g2-standard-24", "europe-west4", "prediction", "on-demand", "2.5338"),
    ],
)
def test_hand_checked_hours(machine_type, region, use, provisioning, usd):
    """What bills and price pages print comes out of the multiple, to 0.01 percent."""
    found = vertex_hour(machine_type, region, use, provisioning)

    assert abs(found.usd / Decimal(usd) - 1) < Decimal("0.0001")
    assert (found.item, found.unit, found.region) == (machine_type, "instance_hour", region)
    assert found.usd_low <= found.usd <= found.usd_high


@pytest.mark.parametrize(
    ("machine_type", "region", "low", "usd", "high"),
    [
        ("n1-standard-4", "europe-west4", "1.15", "1.15", "1.3"),
        ("g2-standard-4", "us-central1", "1.15", "1.204865", "1.206"),
        ("a3-highgpu-8g", "europe-west4", "1.141455", "1.15", "1.15"),
        ("a2-highgpu-1g", "us-central1", "1.15", "1.15", "1.206"),
    ],
)
def test_elsewhere_it_is_bounded(machine_type, region, low, usd, high):
    """No source says that a multiple holds in every region: bounds, of low trust, that say so."""
    found = vertex_hour(machine_type, region, "prediction")
    base = machine_prices.machine_hour(machine_type, region, "on-demand").usd

    assert (found.usd_low, found.usd, found.usd_high) == (base * Decimal(low), base * Decimal(usd), base * Decimal(high))
    assert (found.bounded, found.trust) == (True, "low")
    assert "no source for this region" in found.notes


def test_spot_is_its_price_and_a_fee():
    """The fee is a share of the on-demand price, the rest is Compute Engine's."""
    spot, whole = (machine_prices.machine_hour("a3-highgpu-8g", "us-central1", way).usd for way in ("spot", "on-demand"))
    found = vertex_hour("a3-highgpu-8g", "us-central1", "prediction", "spot")

    assert found.usd == spot + Decimal("0.148887") * whole
    assert (found.trust, found.as_of) == ("medium", "2025-08")
    assert ";" in found.source


def test_a_reservation_is_on_demand_and_a_fee():
    """A reservation is billed at the on-demand rate, so with the fee it costs nearly what on demand does."""
    reserved, on_demand = (vertex_hour("a3-highgpu-8g", "us-central1", "training", way).usd for way in ("reservation", "on-demand"))

    assert abs(reserved / on_demand - 1) < Decimal("0.01")


@pytest.mark.parametrize(
    ("machine_type", "region", "provisioning"),
    [
        ("e2-standard-4", "us-central1", "on-demand"),
        ("ct5lp-hightpu-4t", "us-central1", "on-demand"),
        ("a2-ultragpu-1g", "us-central1", "on-demand"),
        ("a3-megagpu-8g", "us-east4", "on-demand"),
        ("g2-standard-4", "us-central1", "spot"),
        ("n1-standard-4", "us-central1", "spot"),
        ("g2-standard-4", "us-west3", "on-demand"),
        ("n1-standard-3", "us-central1", "on-demand"),
        ("n1-standard-4", "nowhere1", "on-demand"),
        ("", "us-central1", "on-demand"),
    ],
)
def test_fails_where_nothing_is_known(machine_type, region, provisioning):
    """Neither another family's multiple nor a fee that no source states is taken."""
    with pytest.raises(PriceUnknown) as caught:
        vertex_hour(machine_type, region, "prediction", provisioning)

    assert caught.value.region == region


def test_fails_for_gpus_that_are_attached():
    """What T4, P4, V100 and P100 cost on Vertex AI no source says."""
    with pytest.raises(PriceUnknown, match="n1-standard-4 with GPUs attached on Vertex AI, prediction, on-demand in us-central1"):
        vertex_hour("n1-standard-4", "us-central1", "prediction", attached=True)
