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
        ("storage-standard", "asia-southeast1", "0.02", "gib_month"),
        ("storage-standard", "us", "0.026", "gib_month"),
        ("storage-standard", "eur4", "0.044", "gib_month"),
        ("storage-nearline", "us-central1", "0.01", "gib_month"),
        ("storage-coldline", "us-central1", "0.004", "gib_month"),
        ("storage-archive", "us-central1", "0.0012", "gib_month"),
        ("storage-archive", "asia1", "0.0056", "gib_month"),
        ("storage-coldline-retrieval", "eu", "0.02", "gib"),
        ("storage-class-a", "asia-east1", "0.005", "thousand_operations"),
        ("storage-class-b", "us-central1", "0.0004", "thousand_operations"),
        ("registry-storage", "southamerica-west1", "0.1", "gib_month"),
        ("pd-balanced", "africa-south1", "0.109788", "gib_month"),
        ("pd-balanced", "us-central1", "0.1", "gib_month"),
        ("pd-balanced", "europe-west3", "0.12", "gib_month"),
        ("pd-standard", "us-central1", "0.04", "gib_month"),
        ("pd-ssd", "us-central1", "0.17", "gib_month"),
        ("pd-ssd", "asia-south1", "0.204", "gib_month"),
        ("pd-ssd", "africa-south1", "0.1866395", "gib_month"),
        ("pd-ssd-regional", "us-central1", "0.34", "gib_month"),
        ("local-ssd", "us-central1", "0.08", "gib_month"),
        ("snapshot", "asia-south1", "0.052", "gib_month"),
        ("snapshot", "asia", "0.083", "gib_month"),
        ("hyperdisk-ml", "us-east5", "0.084", "gib_month"),
        ("nat-gateway", "asia-east1", "0.0014", "vm_hour"),
        ("nat-gateway-cap", "asia-east1", "0.0448", "gateway_hour"),
        ("nat-data", "us-east5", "0.045", "gib"),
        ("nat-address", "us-east5", "0.005", "ip_hour"),
        ("external-address", "us-east5", "0.005", "ip_hour"),
        ("external-address-spot", "us-east5", "0.0025", "ip_hour"),
        ("logging", "us-east5", "0.5", "gib"),
        ("monitoring-metrics", "us-east5", "0.258", "mib"),
        ("internet-egress", "asia-northeast1", "0.085", "gib"),
        ("internet-egress", "asia-east1", "0.12", "gib"),
        ("gke-cluster", "asia-east1", "0.1", "cluster_hour"),
        ("gke-credit", "asia-east1", "74.4", "billing_account_month"),
        ("autopilot-vcpu", "asia-east1", "0.0515", "vcpu_hour"),
        ("autopilot-memory", "asia-southeast1", "0.0060729", "gib_hour"),
        ("lb-rule-set", "asia-south1", "0.03", "rule_set_hour"),
        ("lb-rule-set-global", "us-east5", "0.025", "rule_set_hour"),
        ("lb-data-out", "asia-east1", "0.008", "gib"),
        ("run-cpu", "us-central1", "0.000024", "vcpu_second"),
        ("run-cpu", "us-east5", "0.000024", "vcpu_second"),
        ("run-memory", "asia-east1", "0.0000025", "gib_second"),
        ("run-cpu-instance", "asia-southeast1", "0.0000216", "vcpu_second"),
        ("run-requests", "asia-east1", "0.4", "million_requests"),
        ("secret-version", "us-east5", "0.06", "version_month"),
        ("secret-operations", "us-east5", "0.03", "ten_thousand_operations"),
        ("pubsub-messages", "us-east5", "40", "tib"),
        ("kms-key-version", "us-east5", "0.06", "version_month"),
        ("scheduler-job", "us-east5", "0.1", "job_month"),
        ("build-minute", "us-east5", "0.006", "minute"),
        ("dns-zone", "us-east5", "0.2", "zone_month"),
        ("filestore-basic-hdd", "us-central1", "0.2", "gib_month"),
        ("bigquery-query", "asia-southeast1", "8.4375", "tib"),
        ("bigquery-query", "us", "6.25", "tib"),
        ("armor-policy", "us-east5", "5", "policy_month"),
        ("vertex-pipeline-run", "us-east5", "0.03", "run"),
    ],
)
def test_hand_checked_prices(item, region, usd, unit):
    """What is billed besides chips; most have a second source that agrees."""
    found = prices.price(item, region)

    assert (str(found.usd), found.unit) == (usd, unit)
    assert found.region in (region, "all")


def test_cloud_run_of_tier_two():
    """One vCPU with 2 GiB by the instance is 0.09504 an hour: two sources, two years apart."""
    cpu, memory = (prices.price(item, "asia-southeast1").usd for item in ("run-cpu-instance", "run-memory-instance"))

    assert 3600 * (cpu + 2 * memory) == Decimal("0.09504")


def test_the_cap_of_a_gateway_is_32_machines():
    """More than 32 machines behind a gateway cost what 32 do."""
    assert 32 * prices.price("nat-gateway", "us-east5").usd == prices.price("nat-gateway-cap", "us-east5").usd


def test_tiers_are_said():
    """A price says which part of the usage it covers, so that a free amount is not billed in silence."""
    assert prices.price("logging", "us-east5").tier == "after 50 GiB free per project"
    assert prices.price("internet-egress", "us-east5").tier == "first TiB of the month, worldwide except Australia and China"
    assert prices.price("nat-data", "us-east5").tier == ""


@pytest.mark.parametrize(
    ("item", "free"),
    [
        ("logging", "50"),
        ("registry-storage", "0.5"),
        ("monitoring-metrics", "150"),
        ("run-cpu", "180000"),
        ("run-memory", "360000"),
        ("run-requests", "2"),
        ("secret-version", "6"),
        ("secret-operations", "1"),
        ("pubsub-messages", "0.009765625"),
        ("scheduler-job", "3"),
        ("build-minute", "2500"),
        ("trace-spans", "2.5"),
        ("storage-class-a", "0"),
        ("gke-cluster", "0"),
    ],
)
def test_what_is_free_is_in_units_of_the_price(item, free):
    """10 GiB are 10/1024 TiB; what is free in three regions alone is not taken off elsewhere."""
    assert prices.price(item, "us-east5").free == Decimal(free)


def test_a_free_amount_is_written_in_one_form():
    """A tier that speaks of something free is read as an amount, or says where alone it holds."""
    for row in rows("prices"):
        if "free" in row["tier"]:
            assert prices._price(row).free > 0 or row["item"] in ("storage-class-a", "storage-class-b"), row


def test_disagreement_is_bounds():
    """Where hand tables disagree the price has bounds, and its source says so."""
    found = prices.price("hyperdisk-balanced", "us-central1")

    assert found.bounded
    assert (found.usd, found.usd_low, found.usd_high) == (Decimal("0.08"), Decimal("0.06"), Decimal("0.12"))
    assert (found.trust, "hand tables" in found.source) == ("low", True)


@pytest.mark.parametrize(
    ("item", "region", "low", "high"),
    [
        ("snapshot", "us-east5", "0.026", "0.052"),
        ("lb-rule-set", "us-central1", "0.01", "0.025"),
        ("storage-class-a", "us", "0.005", "0.01"),
        ("internet-egress", "asia-northeast1", "0.085", "0.12"),
        ("internet-egress", "asia-northeast3", "0.15", "0.19"),
    ],
)
def test_a_doubted_figure_has_bounds(item, region, low, high):
    """A figure that another contradicts, or its neighbours do, is bounded and says why."""
    found = prices.price(item, region)

    assert (found.usd_low, found.usd_high) == (Decimal(low), Decimal(high))
    assert found.trust != "high"
    assert found.notes


EVERYWHERE = {
    *("storage-standard", "storage-nearline", "storage-coldline", "storage-archive", "external-address", "internet-egress", "snapshot"),
    *("pd-standard", "pd-balanced", "pd-ssd", "pd-standard-regional", "pd-balanced-regional", "pd-ssd-regional", "pd-extreme"),
    *("hyperdisk-extreme", "local-ssd", "local-ssd-spot"),
}
"""Items with a price in every region but the one that is known by its TPU zone only."""


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_is_priced_in_a_region_or_unknown(item):
    """No region gets a price of nothing, or another region's."""
    own = {row["region"] for row in rows("prices") if row["item"] == item}
    for region in places.regions():
        if region in own or "all" in own:
            found = prices.price(item, region)
            assert 0 < found.usd_low <= found.usd <= found.usd_high
            assert found.region in (region, "all")
        else:
            with pytest.raises(prices.PriceUnknown, match=f"no price of {item} in {region} is known"):
                prices.price(item, region)
    if item in EVERYWHERE:
        assert {*places.regions()} - own == {"us-central2"}


def test_tiers_of_cloud_run_are_whole():
    """Each region of the two lists has the four prices of its tier, and a region on neither list has none."""
    regions = {item: {row["region"] for row in rows("prices") if row["item"] == item} for item in ("run-cpu", "run-memory-instance")}

    assert regions["run-cpu"] == regions["run-memory-instance"]
    assert len(regions["run-cpu"]) == 16 + 17
    for item in ("run-cpu", "run-memory", "run-cpu-instance", "run-memory-instance"):
        assert len({prices.price(item, region).usd for region in regions["run-cpu"]}) == 2
        with pytest.raises(prices.PriceUnknown):
            prices.price(item, "us-west4")


def test_every_price_is_dated():
    """A source without a date has that of reading, and says so."""
    for row in rows("prices"):
        assert row["as_of"] != "undated", row


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


@pytest.mark.parametrize("region", ["us-east9", "", "all", "US", "US-EAST5", " us-east5", "us-east5-a"])
def test_fails_where_no_such_region(region):
    """A rate for every region is not a rate for a region that does not exist."""
    with pytest.raises(prices.PriceUnknown, match=f"no price of logging in {region} is known"):
        prices.price("logging", region)


def test_registry_is_priced_by_region():
    """A registry in `southamerica-west1` is priced there, and `southamerica` is no place."""
    assert prices.price("registry-storage", places.region_of("southamerica-west1-a")).usd == Decimal("0.1")
    with pytest.raises(prices.PriceUnknown):
        prices.price("registry-storage", "southamerica")
