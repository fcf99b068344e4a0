"""Prices: every digit of the source, bounds where sources disagree, and an error where none is known."""

from decimal import Decimal
from typing import get_args

import pytest

from infra.catalog import places, prices, zones
from infra.catalog.tables import rows
from infra.catalog.tpu import shape, shapes

WAYS = ("on-demand", "spot", "flex-start")
ITEMS = get_args(prices.Item)


def test_no_price_is_zero():
    """Every row has a figure above zero, alone or between two bounds."""
    for row in rows("prices"):
        figures = [Decimal(row[column]) for column in ("usd_low", "usd", "usd_high") if row[column]]
        assert all(figure > 0 for figure in figures), row
        assert row["usd"], row
        assert len(figures) in (1, 3), row
        assert figures == sorted(figures), row


def test_every_row_can_be_asked_for():
    """Each row is a chip-hour of something that is sold, or one of the items; and each item has a row and one unit."""
    chips = {one.sold_as for one in shapes().values()}
    units = {(row["item"], row["unit"]) for row in rows("prices")}

    assert {item for item, _ in units} == chips | {*ITEMS}
    assert len(units) == len(chips) + len(ITEMS)
    for row in rows("prices"):
        assert row["provisioning"] in (WAYS if row["item"] in chips else ("",)), row


@pytest.mark.parametrize(
    ("accelerator_type", "region", "provisioning", "usd"),
    [
        ("v6e-8", "us-east5", "on-demand", "2.7"),
        ("v6e-8", "us-east5", "spot", "1.27575"),
        ("v6e-8", "us-east5", "flex-start", "1.35"),
        ("v5litepod-4", "asia-east1", "on-demand", "1.38948"),
        ("v5litepod-4", "asia-east1", "spot", "0.476522"),
        ("v5p-8", "europe-west1", "on-demand", "4.459455"),
        ("v4-8", "us-central2", "spot", "0.9215"),
        ("v3-8", "europe-west4", "on-demand", "2.2"),
        ("v3-32", "europe-west4", "on-demand", "2.0"),
        ("tpu7x-8", "us-central1", "on-demand", "12.0"),
    ],
)
def test_hand_checked_chip_hours(accelerator_type, region, provisioning, usd):
    """Chip-hours keep every digit that the source prints."""
    found = prices.tpu_chip_hour(shape(accelerator_type), region, provisioning)

    assert str(found.usd) == usd
    assert (found.unit, found.region, found.bounded) == ("chip_hour", region, False)
    assert found.usd_low == found.usd_high == found.usd


@pytest.mark.parametrize(
    ("item", "region", "usd", "unit"),
    [
        ("storage-standard", "southamerica-east1", "0.035", "gib_month"),
        ("storage-class-a", "asia-east1", "0.005", "thousand_operations"),
        ("storage-class-b", "us-central1", "0.0004", "thousand_operations"),
        ("registry-storage", "southamerica-west1", "0.1", "gib_month"),
        ("pd-balanced", "africa-south1", "0.109788", "gib_month"),
        ("nat-gateway", "asia-east1", "0.0014", "vm_hour"),
        ("nat-gateway-cap", "asia-east1", "0.0448", "gateway_hour"),
        ("nat-data", "us-east5", "0.045", "gib"),
        ("nat-address", "us-east5", "0.005", "ip_hour"),
        ("logging", "us-east5", "0.5", "gib"),
        ("internet-egress", "asia-northeast1", "0.085", "gib"),
    ],
)
def test_hand_checked_prices(item, region, usd, unit):
    """What is billed besides chips, each once."""
    found = prices.price(item, region)

    assert (str(found.usd), found.unit) == (usd, unit)
    assert found.region in (region, "all")


def test_tiers_are_said():
    """A price says which part of the usage it covers, so that a free amount is not billed in silence."""
    assert prices.price("logging", "us-east5").tier == "after 50 GiB free per project"
    assert prices.price("internet-egress", "us-east5").tier == "first TiB of the month, worldwide except Australia and China"
    assert prices.price("nat-data", "us-east5").tier == ""


def test_disagreement_is_bounds():
    """Where hand tables disagree the price has bounds, and its source says so."""
    found = prices.price("hyperdisk-balanced", "us-central1")

    assert found.bounded
    assert (found.usd, found.usd_low, found.usd_high) == (Decimal("0.08"), Decimal("0.06"), Decimal("0.12"))
    assert (found.trust, "hand tables" in found.source) == ("low", True)


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_is_priced_in_every_region_or_unknown(item):
    """No region gets a price of nothing, or another region's."""
    for region in places.regions():
        if region == "us-central2" and item in ("storage-standard", "pd-balanced", "internet-egress"):
            with pytest.raises(prices.PriceUnknown, match=f"no price of {item} in {region} is known"):
                prices.price(item, region)
        else:
            found = prices.price(item, region)
            assert 0 < found.usd_low <= found.usd <= found.usd_high
            assert found.region in (region, "all")


def test_most_offers_have_an_on_demand_price():
    """Every offer of a good source has an on-demand price in its region, but for two that the source lists without one."""
    unpriced = set()
    for one in shapes().values():
        for offer in zones.offers(one):
            if offer.trust != "low":
                try:
                    prices.tpu_chip_hour(one, offer.region, "on-demand")
                except prices.PriceUnknown:
                    unpriced.add((one.sold_as, offer.region))

    assert unpriced == {("tpu-v6e", "asia-east1"), ("tpu-v6e", "southamerica-east1")}


@pytest.mark.parametrize(
    ("accelerator_type", "region", "provisioning"),
    [
        ("v6e-8", "asia-east1", "on-demand"),
        ("v6e-8", "southamerica-west1", "spot"),
        ("tpu7x-8", "us-central1", "spot"),
        ("v5p-8", "us-east5", "flex-start"),
        ("v6e-8", "nowhere1", "on-demand"),
    ],
)
def test_fails_where_no_chip_hour_is_known(accelerator_type, region, provisioning):
    """A chip-hour that no source gives is an error that names item, way and region."""
    with pytest.raises(prices.PriceUnknown, match=rf"no price of .* chip-hour, {provisioning} in {region} is known"):
        prices.tpu_chip_hour(shape(accelerator_type), region, provisioning)


def test_reservations_cost_the_on_demand_rate():
    """A reservation is billed at the on-demand rate, and the price says that no discount is in it."""
    found = prices.tpu_chip_hour(shape("v6e-8"), "us-east5", "reservation")

    assert found.usd == prices.tpu_chip_hour(shape("v6e-8"), "us-east5", "on-demand").usd
    assert "no discount applied" in found.notes


def test_fails_where_no_such_region():
    """A rate for every region is not a rate for a region that does not exist."""
    with pytest.raises(prices.PriceUnknown, match="no price of logging in us-east9 is known"):
        prices.price("logging", "us-east9")


def test_registry_is_priced_by_region():
    """A registry in `southamerica-west1` is priced there, and `southamerica` is no place."""
    assert prices.price("registry-storage", places.region_of("southamerica-west1-a")).usd == Decimal("0.1")
    with pytest.raises(prices.PriceUnknown):
        prices.price("registry-storage", "southamerica")
