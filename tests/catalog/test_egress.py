"""Data on its way out: tiers of the internet, and bounds between regions."""

from decimal import Decimal

import pytest

from infra.catalog import egress, places, prices
from infra.catalog.prices import PriceUnknown
from infra.catalog.tables import rows

DESTINATIONS = ("world", "australia", "china")


def test_rates_are_above_zero_and_fall():
    """Every region has all three destinations, and no tier is dearer than the one below it, or the one below is bounded by it."""
    assert len(rows("egress")) == 3 * len({row["region"] for row in rows("egress")})
    for row in rows("egress"):
        places.check_region(row["region"])
        assert row["destination"] in DESTINATIONS
        assert 0 < Decimal(row["above"]) <= Decimal(row["to_10_tib"]) <= Decimal(row["first_tib_high"] or row["first_tib"]), row
        assert Decimal(row["first_tib"]) <= Decimal(row["first_tib_high"] or row["first_tib"]), row


def test_transfer_has_ordered_bounds():
    """Only what never leaves its place is free; everything else has a figure between its bounds, and low trust."""
    for row in rows("transfer"):
        if Decimal(row["usd"]) == 0:
            assert row["path"] in ("same-zone", "same-region"), row
        else:
            assert row["trust"] == "low", row
        assert Decimal(row["usd_low"] or row["usd"]) <= Decimal(row["usd"]) <= Decimal(row["usd_high"] or row["usd"]), row


@pytest.mark.parametrize(
    ("gib", "region", "destination", "usd"),
    [
        ("0", "us-central1", "world", "0"),
        ("1", "us-central1", "world", "0.12"),
        ("1024", "us-central1", "world", "122.88"),  # 1024 x 0.12
        ("1025", "us-central1", "world", "122.99"),  # and 1 x 0.11
        ("10240", "us-central1", "world", "1136.64"),  # 1024 x 0.12 + 9216 x 0.11
        ("12000", "us-central1", "world", "1277.44"),  # and 1760 x 0.08
        ("2048", "asia-east1", "world", "235.52"),  # 1024 x (0.12 + 0.11)
        ("100", "africa-south1", "world", "15"),
        ("100", "africa-south1", "australia", "19"),
        ("2048", "asia-east1", "china", "460.8"),  # 1024 x (0.23 + 0.22)
    ],
)
def test_hand_checked_costs(gib, region, destination, usd):
    """Each tier is billed at its own rate, also a part of a GiB."""
    assert egress.cost(Decimal(gib), region, destination) == (Decimal(usd),) * 3


def test_a_first_tib_that_is_doubted_has_bounds():
    """In Tokyo the source prints less for the first TiB than for the next nine, another table prints 0.12: both are bounds."""
    low, expected, high = egress.cost(Decimal(2048), "asia-northeast1")

    assert low == expected == 1024 * (Decimal("0.085") + Decimal("0.12"))
    assert high == 2048 * Decimal("0.12")


@pytest.mark.parametrize("gib", ["-1", "NaN", "Infinity", "-Infinity", "sNaN"])
def test_fails_on_what_is_no_amount(gib):
    """An amount below nothing, or no number, costs nothing that could be said."""
    with pytest.raises(ValueError, match="is no amount of data"):
        egress.cost(Decimal(gib), "us-central1")


def test_a_huge_amount_is_all_but_ten_tib_at_the_last_rate():
    """No amount overflows."""
    assert egress.cost(Decimal("1e15"), "us-central1")[1] == Decimal("1136.64") + (Decimal("1e15") - 10240) * Decimal("0.08")


@pytest.mark.parametrize("region", ["us-central2", "nowhere1", "", "US-CENTRAL1"])
def test_fails_where_no_rate_is_known(region):
    """Another region's rate is never taken."""
    with pytest.raises(PriceUnknown, match=r"no price of internet egress to world in .* is known"):
        egress.cost(Decimal(1), region)


def test_the_first_tier_is_what_an_estimate_takes():
    """The everyday item and the first tier to the world are one figure, in every region."""
    for region in {row["region"] for row in rows("egress")}:
        start, first = egress.tiers(region)[0]
        item = prices.price("internet-egress", region)
        assert (start, first.usd_low, first.usd, first.usd_high) == (0, item.usd_low, item.usd, item.usd_high)


@pytest.mark.parametrize(
    ("source", "destination", "service", "bounds"),
    [
        ("us-central1", "us-central1", "compute", ("0.01", "0.01", "0.01")),
        ("us-central1", "us-central1", "storage", ("0", "0", "0")),
        ("us-central1", "northamerica-northeast1", "compute", ("0.01", "0.01", "0.02")),
        ("us-central1", "us-east1", "storage", ("0.01", "0.01", "0.02")),
        ("europe-west1", "europe-west4", "compute", ("0.02", "0.02", "0.02")),
        ("asia-east1", "asia-northeast1", "compute", ("0.05", "0.05", "0.05")),
        ("asia-east1", "asia-northeast1", "storage", ("0.01", "0.01", "0.05")),
        ("us-central1", "europe-west4", "compute", ("0.02", "0.08", "0.08")),
        ("asia-southeast2", "us-east1", "compute", ("0.02", "0.15", "0.15")),
        ("us-east1", "australia-southeast1", "compute", ("0.02", "0.15", "0.15")),
        ("us-central1", "europe-west4", "storage", ("0.02", "0.12", "0.12")),
        ("asia-east1", "australia-southeast1", "storage", ("0.02", "0.19", "0.19")),
    ],
)
def test_hand_checked_transfer(source, destination, service, bounds):
    """Between regions, sources are old or print ranges: the figure has bounds, and its trust is low but where data stays."""
    found = egress.between(source, destination, service)

    assert (found.usd_low, found.usd, found.usd_high) == tuple(map(Decimal, bounds))
    assert (found.unit, found.region) == ("gib", source)
    assert found.trust == ("medium" if found.usd == 0 else "low")


def test_a_zone_is_free_and_a_bucket_has_none():
    """Within one zone machines pay nothing."""
    assert egress.between("us-east1", "us-east1", same_zone=True).usd == 0
    assert egress.between("us-east1", "us-east1", "storage", same_zone=True).usd == 0


@pytest.mark.parametrize(("source", "destination"), [("me-west1", "me-central1"), ("us-east9", "us-east1"), ("us-east1", "")])
def test_fails_where_no_transfer_is_known(source, destination):
    """A continent that no list names, and a place that is none."""
    with pytest.raises(PriceUnknown, match="no price of transfer"):
        egress.between(source, destination)


def test_every_pair_of_regions_has_bounds_in_order_or_is_unknown():
    """No pair is wrong in silence."""
    unknown = set()
    for source in places.regions():
        for destination in places.regions():
            for service in ("compute", "storage"):
                try:
                    found = egress.between(source, destination, service)
                except PriceUnknown:
                    unknown.add((source, destination, service))
                else:
                    assert 0 <= found.usd_low <= found.usd <= found.usd_high

    assert {source for source, _, service in unknown if service == "compute"} == {"me-central1", "me-central2", "me-west1"}
    assert {source for source, _, service in unknown if service == "storage"} == {"us-central2"}
