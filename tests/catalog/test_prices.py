"""Prices: every digit of the source, bounds where sources disagree, and an error where none is known."""

from decimal import Decimal
from typing import get_args

import pytest

from infra.catalog import places, prices, zones
from infra.catalog.tables import rows
from infra.catalog.tpu import Provisioning, shape, shapes

WAYS = get_args(Provisioning)
ITEMS = get_args(prices.Item)


def test_no_price_is_zero():
    """Every figure is above zero, and a row has one price or two bounds (case C02)."""
    for row in rows("prices"):
        figures = [Decimal(row[column]) for column in ("usd", "usd_low", "usd_high") if row[column]]
        assert all(figure > 0 for figure in figures), row
        assert len(figures) == (1 if row["usd"] else 2), row
        assert figures == sorted(figures), row


def test_every_row_can_be_asked_for():
    """Each row is a chip-hour of something that is sold, or one of the items; and each item has a row and one unit."""
    chips = {f"{one.sold_as}-chip-hour" for one in shapes().values()}
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
        ("storage-standard-gib-month", "southamerica-east1", "0.035", "gib_month"),
        ("storage-class-a-thousand", "asia-east1", "0.005", "thousand_operations"),
        ("storage-class-b-thousand", "us-central1", "0.0004", "thousand_operations"),
        ("artifact-registry-gib-month", "southamerica-west1", "0.1", "gib_month"),
        ("disk-pd-balanced-gib-month", "africa-south1", "0.109788", "gib_month"),
        ("nat-gateway-vm-hour", "asia-east1", "0.0014", "vm_hour"),
        ("nat-gateway-hour", "asia-east1", "0.0448", "gateway_hour"),
        ("nat-data-gib", "us-east5", "0.045", "gib"),
        ("nat-address-hour", "us-east5", "0.005", "ip_hour"),
        ("logging-gib", "us-east5", "0.5", "gib"),
        ("monitoring-metric-mib", "us-east5", "0.258", "mib"),
        ("internet-egress-gib", "asia-northeast1", "0.085", "gib"),
    ],
)
def test_hand_checked_prices(item, region, usd, unit):
    """What is billed besides chips, each once."""
    found = prices.price(item, region)

    assert (str(found.usd), found.unit) == (usd, unit)
    assert found.region in (region, "all")


def test_tiers_are_said():
    """A price says which part of the usage it covers, so that a free amount is not billed in silence."""
    assert prices.price("logging-gib", "us-east5").tier == "after 50 GiB free per project"
    assert prices.price("internet-egress-gib", "us-east5").tier == "up to 1 TiB per month"
    assert prices.price("nat-data-gib", "us-east5").tier == ""


def test_disagreement_is_bounds():
    """Where hand tables disagree no price is chosen; the bounds and their sources are given."""
    found = prices.price("disk-hyperdisk-balanced-gib-month", "us-central1")

    assert found.bounded
    assert (found.usd, found.usd_low, found.usd_high) == (None, Decimal("0.06"), Decimal("0.12"))
    assert "hand tables print" in found.notes


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("region", places.regions())
def test_every_item_and_region_is_above_zero_or_unknown(item, region):
    """No region gets a price of nothing, or another region's (case C02)."""
    try:
        found = prices.price(item, region)
    except prices.PriceUnknown as unknown:
        assert (unknown.item, unknown.region) == (item, region)
        assert region == "us-central2" or item == "disk-hyperdisk-balanced-gib-month"
    else:
        assert 0 < found.usd_low <= found.usd_high
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
    with pytest.raises(prices.PriceUnknown, match=rf"no price is known for .*\({provisioning}\) in {region}"):
        prices.tpu_chip_hour(shape(accelerator_type), region, provisioning)


def test_fails_for_reservations():
    """What reserved capacity costs is in no source, so it is not taken to be the on-demand price."""
    with pytest.raises(prices.PriceUnknown, match="no source says what reserved TPU capacity costs"):
        prices.tpu_chip_hour(shape("v6e-8"), "us-east5", "reservation")


def test_fails_where_no_such_region():
    """A rate for every region is not a rate for a region that does not exist."""
    with pytest.raises(prices.PriceUnknown, match="no price is known for logging-gib in us-east9"):
        prices.price("logging-gib", "us-east9")


def test_registry_is_priced_by_region():
    """A registry in `southamerica-west1` is priced there, and `southamerica` is no place (case S01)."""
    assert prices.price("artifact-registry-gib-month", places.region_of("southamerica-west1-a")).usd == Decimal("0.1")
    with pytest.raises(prices.PriceUnknown):
        prices.price("artifact-registry-gib-month", "southamerica")
