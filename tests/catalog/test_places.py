"""Regions, zones' regions, and how far apart they are."""

import pytest

from infra.catalog import places, prices
from infra.catalog.tables import rows


def test_region_of_an_ai_zone():
    """A zone's region is its name less the last part, also where that part is more than a letter."""
    assert places.region_of("us-central1-ai1a") == "us-central1"
    assert places.region_of("us-south1-ai1b") == "us-south1"
    assert places.region_of("northamerica-northeast1-b") == "northamerica-northeast1"


def test_every_zone_is_in_a_region_that_exists():
    """The region column of a zone is its name less the last part, and the region is known."""
    for row in rows("zones"):
        assert row["region"] == places.region_of(row["zone"])
        places.check_region(row["region"])


def test_every_price_is_of_a_region_that_exists():
    """No price stands under a region that nobody can set."""
    assert {row["region"] for row in rows("prices")} <= {*places.regions(), *prices.MULTI_REGIONS, "all"}


def test_regions_are_sorted_and_whole():
    """Regions come by name; the newest and the one with v4 alone are among them."""
    assert list(places.regions()) == sorted(places.regions())
    assert {"asia-southeast3", "northamerica-south1", "us-central2", "southamerica-west1"} <= {*places.regions()}


def test_continents():
    """`northamerica` is one continent with `us`; South America, the Middle East and the others are their own."""
    alone = {"africa", "asia", "australia", "europe", "me", "southamerica"}
    assert {places.continent_of(region) for region in places.regions()} == {*alone, "us"}
    assert places.continent_of("northamerica-south1-a") == places.continent_of("us-central1-ai1a") == "us"


@pytest.mark.parametrize(
    ("got", "nearest"),
    [
        ("us-central1-a", "us-central1"),
        ("us-south1-ai1b", "us-south1"),
        ("US-Central1", "us-central1"),
        ("europe-wets4", "europe-west4"),
        ("southamerica", "southamerica-west1"),
    ],
)
def test_fails_where_no_such_region(got, nearest):
    """A region that does not exist is refused with the one that looks most like it."""
    with pytest.raises(places.UnknownPlace, match=f"{got} is not a Google Cloud region; nearest names: ") as caught:
        places.check_region(got)

    assert caught.value.got == got
    assert nearest in caught.value.nearest


def test_fails_without_a_suggestion():
    """Where nothing looks like it, nothing is suggested."""
    with pytest.raises(places.UnknownPlace) as caught:
        places.check_region("")

    assert caught.value.nearest == ()
    assert str(caught.value).endswith("nearest names: none")


def test_zones_are_not_regions():
    """No zone passes for a region."""
    assert {row["zone"] for row in rows("zones")}.isdisjoint(places.regions())
