"""Which zone offers what, and how a zone that does not is refused."""

from itertools import pairwise

import pytest

from infra.catalog import places, zones
from infra.catalog.tables import rows
from infra.catalog.tpu import shape, shapes

WAYS = {"on-demand", "spot", "flex-start", "reservation", "calendar"}


def test_rows_say_what_they_rest_on():
    """Ways of selling are known words, and have a source."""
    for row in rows("zones"):
        assert bool(row["capacity_source"]) == bool(row["capacity_types"]), row
    assert {way for offer in zones.every() for way in offer.capacity_types} <= WAYS


def test_every_shape_is_offered_by_a_good_source():
    """No shape is known that no zone may have, and no offer that no shape is sold as."""
    for one in shapes().values():
        assert [offer for offer in zones.offers(one) if offer.trust != "low"], one.accelerator_type
    assert {one.sold_as for one in shapes().values()} == {row["accelerator"] for row in rows("zones")}


def test_offer_of_a_good_zone():
    """The offer says how the generation is sold in its zone; a way that is not listed is unknown, not refused."""
    offer = zones.check_offered(shape("v6e-8"), "us-east5-a", "spot")

    assert (offer.zone, offer.region, offer.trust) == ("us-east5-a", "us-east5", "high")
    assert offer.capacity_types == {"on-demand", "flex-start", "reservation", "calendar"}
    assert offer.sells("flex-start") is True
    assert offer.sells("spot") is None


def test_ai_zone_is_accepted():
    """tpu7x in `us-central1-ai1a` is offered, and in `us-central1`."""
    assert zones.check_offered(shape("tpu7x-8"), "us-central1-ai1a", "reservation").region == "us-central1"
    assert {offer.sold_as for offer in zones.in_zone("us-central1-ai1a")} == {"tpu7x", "tpu-v6e"}


def test_devices_and_pods_are_in_other_zones():
    """v2-8 and v2-32 are looked up apart."""
    assert "us-central1-c" in {offer.zone for offer in zones.offers(shape("v2-8"))}
    assert {offer.zone for offer in zones.offers(shape("v2-32"))} == {"europe-west4-a", "us-central1-a"}


def test_fails_where_only_a_weak_source_knows_it():
    """v6e in `us-central1-a` is refused, with the zones that do have it, nearest first."""
    with pytest.raises(zones.NotOffered) as caught:
        zones.check_offered(shape("v6e-8"), "us-central1-a", "on-demand")

    assert caught.value.reason == "unconfirmed"
    assert [offer.zone for offer in caught.value.nearest] == [
        "us-central1-b",
        "us-central1-ai1a",
        "us-east1-d",
        "us-east5-a",
        "us-east5-b",
        "us-south1-ai1b",
        "southamerica-west1-a",
        "europe-west4-a",
        "asia-northeast1-b",
        "asia-southeast1-b",
        "asia-south1-b",
        "asia-south1-c",
        "asia-east1-c",
        "southamerica-east1-c",
    ]


@pytest.mark.parametrize("zone", ["us-central1-f", "us-central1-z", "moon-north1-a", ""])
def test_fails_where_no_source_knows_it(zone):
    """v4 is offered in one zone, and that is what every other zone is told."""
    with pytest.raises(zones.NotOffered, match="v4-8: impossible") as caught:
        zones.check_offered(shape("v4-8"), zone, "on-demand")

    assert caught.value.reason == "impossible"
    assert [offer.zone for offer in caught.value.nearest] == ["us-central2-b"]


def test_a_gap_in_a_list_that_was_read_in_part_is_unknown():
    """Google's page was read in full for the United States only: elsewhere no row means that nobody knows."""
    for zone, reason in (("europe-west1-b", "unknown"), ("asia-east1-a", "unknown"), ("us-west2-a", "impossible")):
        with pytest.raises(zones.NotOffered) as caught:
            zones.check_offered(shape("v6e-8"), zone, "on-demand")
        assert caught.value.reason == reason


def test_fails_where_flex_start_is_not_sold():
    """A zone whose list lacks flex-start refuses it, and only zones that may sell it are suggested."""
    assert zones.check_offered(shape("v6e-8"), "us-central1-b", "spot").sells("flex-start") is False
    with pytest.raises(zones.NotOffered) as caught:
        zones.check_offered(shape("v6e-8"), "us-central1-b", "flex-start")

    assert caught.value.reason == "not-sold"
    assert [offer.zone for offer in caught.value.nearest][:2] == ["us-central1-ai1a", "us-east1-d"]


@pytest.mark.parametrize("accelerator_type", ["v2-8", "v3-8", "v4-8", "v5litepod-4", "v5p-8", "v6e-8", "tpu7x-8"])
@pytest.mark.parametrize(
    "region", ["us-central1", "northamerica-northeast1", "southamerica-west1", "europe-west4", "asia-east1", "me-west1"]
)
def test_suggestions_would_be_accepted_and_come_nearest_first(accelerator_type, region):
    """Whoever follows a suggestion is not refused again, and none is nearer, or as near and better sourced, than one before it."""
    with pytest.raises(zones.NotOffered) as caught:
        zones.check_offered(shape(accelerator_type), f"{region}-nowhere", "spot")

    for offer in caught.value.nearest:
        assert zones.check_offered(shape(accelerator_type), offer.zone, "spot") == offer
    for one, next_one in pairwise(caught.value.nearest):
        assert rank(one, region) <= rank(next_one, region)


def rank(offer: zones.Offer, region: str) -> tuple[bool, bool, bool]:
    far = places.continent_of(offer.region) != places.continent_of(region)
    return offer.region != region, far, offer.trust != "high"


def test_zones_are_those_of_the_table():
    """Every zone has an offer; a zone without TPUs has none."""
    assert all(zones.in_zone(row["zone"]) for row in rows("zones"))
    assert zones.in_zone("us-west2-a") == ()
