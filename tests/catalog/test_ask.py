"""Answers of the catalogue, held against figures that were looked up in the tables by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.catalog import ask
from infra.catalog.cards import show
from infra.catalog.gpu import gpus
from infra.catalog.gpu_machines import machines
from infra.catalog.named import UnknownName, resolve
from infra.catalog.places import UnknownPlace
from infra.catalog.tpu import shapes


def prices(offer: ask.Offered) -> dict[str, str]:
    return {way.name: str(way.hour.usd) for way in offer.ways if way.hour}


def offer(name: str, zone: str) -> ask.Offered:
    return next(one for one in ask.where(name, unconfirmed=True).offers if one.zone == zone)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("v6e-8", "v6e-8"),
        ("V6E-8", "v6e-8"),
        ("v5e-16", "v5litepod-16"),
        ("ct6e-standard-8t", "v6e-8"),
        ("l4", "nvidia-l4"),
        ("NVIDIA_L4", "nvidia-l4"),
        ("a100-80gb", "nvidia-a100-80gb"),
        (" G2-standard-4 ", "g2-standard-4"),
    ],
)
def test_a_wrong_name_that_means_one_thing_is_that_thing(name: str, right: str) -> None:
    """Spellings of other APIs, machine types and common mistakes are understood."""
    assert show(name).name == right


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("h100", ("nvidia-h100-80gb", "nvidia-h100-mega-80gb")),
        ("v6e-2", ("v6e-1", "v6e-4")),
        ("v6e", ("v6e-1", "v6e-4", "v6e-8")),
        ("v5p", ("v5p-8",)),
        ("tpu-v6e-slice", ("v6e-1", "v6e-4", "v6e-8")),
        ("n1-standard-4", ("nvidia-tesla-t4", "nvidia-tesla-p4", "nvidia-tesla-v100", "nvidia-tesla-p100")),
        ("zzz", ()),
        ("", ()),
    ],
)
def test_fails_on_a_name_that_means_several_things_or_none(name: str, close: tuple[str, ...]) -> None:
    """Nothing is chosen for the user; what may be meant is named."""
    with pytest.raises(UnknownName) as refused:
        resolve(name)
    assert refused.value.nearest == close


def test_a_slice_costs_its_chips() -> None:
    """8 chips at 3.24, 1.457074 and 1.35 USD in asia-northeast1; a reservation is billed as on-demand, calendar mode has no price."""
    one = offer("v6e-8", "asia-northeast1-b")
    assert prices(one) == {"on-demand": "25.92", "spot": "11.656592", "flex-start": "10.80", "reservation": "25.92"}
    assert {way.name: way.sold for way in one.ways} == {
        "on-demand": True,
        "spot": None,
        "flex-start": True,
        "reservation": True,
        "calendar": True,
    }


def test_an_attached_gpu_costs_its_smallest_machine_too() -> None:
    """In asia-east1: T4 0.35 and 0.1664, a vCPU 0.036602 and 0.00716, and 3.75 GiB at 0.004906 and 0.00096."""
    one = offer("t4", "asia-east1-a")
    assert one.priced_as == "n1-standard-1 + 1 x nvidia-tesla-t4"
    assert {name: Decimal(usd) for name, usd in prices(one).items()} == {
        "on-demand": Decimal("0.4049995"),
        "spot": Decimal("0.17716"),
        "reservation": Decimal("0.4049995"),
    }


def test_a_machine_costs_its_listed_price() -> None:
    """g2-standard-4 in asia-east1; no flex-start price is known, and none is made up."""
    one = offer("g2-standard-4", "asia-east1-a")
    assert prices(one) == {"on-demand": "0.8184411", "spot": "0.386852", "reservation": "0.8184411"}


def test_what_is_not_sold_has_no_price() -> None:
    """a3-highgpu-1g has an on-demand price in the tables, and is sold as spot and flex-start only."""
    one = offer("a3-highgpu-1g", "europe-north1-c")
    assert {way.name: way.sold for way in one.ways}["on-demand"] is False
    assert set(prices(one)) == {"spot"}


def test_weak_rows_are_shown_on_request_only() -> None:
    """v6e: 14 zones that more than a weak source has, 9 that only a weak one has."""
    shown, every = ask.where("v6e-8"), ask.where("v6e-8", unconfirmed=True)
    assert (len(shown.offers), shown.unconfirmed) == (14, 9)
    assert all(one.confirmed for one in shown.offers)
    assert [one.confirmed for one in every.offers] == [True] * 14 + [False] * 9


def test_zones_are_cheapest_or_nearest_first() -> None:
    """The lowest price of any way; what has no price is last. Near a place: its region, its continent, the rest."""
    cheapest = ask.where("v6e-8").offers
    assert cheapest[0].zone == "asia-southeast1-b"
    assert {one.zone for one in cheapest[-2:]} == {"asia-east1-c", "southamerica-east1-c"}
    for place in ("us-east5", "us-east5-c"):
        near = ask.where("v6e-8", near=place).offers
        assert [one.zone for one in near[:2]] == ["us-east5-a", "us-east5-b"]
        continents = [one.region.partition("-")[0] == "us" for one in near]
        assert continents == sorted(continents, reverse=True)
    with pytest.raises(UnknownPlace, match="us-eats5"):
        ask.where("v6e-8", near="us-eats5")


def test_a_zone_has_tpus_and_gpus() -> None:
    """Every row of both tables for asia-east1-c, weak ones marked."""
    assert [one.accelerator for one in ask.zone("asia-east1-c").offers] == [
        "nvidia-h100-80gb",
        "nvidia-h100-mega-80gb",
        "nvidia-l4",
        "nvidia-tesla-p100",
        "nvidia-tesla-t4",
        "nvidia-tesla-v100",
        "tpu-v2-8",
        "tpu-v5e",
        "tpu-v6e",
    ]
    weak = {one.accelerator: one.confirmed for one in ask.zone("us-east5-c").offers}
    assert weak["tpu-v6e"] is False


def test_a_zone_of_which_nothing_is_known_is_no_zone_without_accelerators() -> None:
    """A name that can be a zone is not called wrong; those with rows in its region are named."""
    found = ask.zone("asia-east1-d")
    assert (found.offers, found.near) == ((), ("asia-east1-a", "asia-east1-b", "asia-east1-c"))


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("asia-east1", ("asia-east1-a", "asia-east1-b", "asia-east1-c")),
        ("mars-1", ()),
        ("", ()),
        ("ASIA-EAST1-C", ("asia-east1-c",)),
        ("asia-east1-cc", ("asia-east1-c",)),
    ],
)
def test_fails_on_a_place_that_is_no_zone(name: str, close: tuple[str, ...]) -> None:
    """A region is told from a zone, and a slip has its nearest names."""
    with pytest.raises(ask.NoZone) as refused:
        ask.zone(name)
    assert refused.value.nearest[: len(close)] == close
    assert bool(refused.value.nearest) == bool(close)


def test_a_slice_is_made_of_what_the_table_says() -> None:
    """v5litepod-16 and v5p-8: 16 chips of 16 GiB on 4 hosts, 4 chips of 95 GiB on one."""
    card = show("v5litepod-16")
    assert {key: card.facts[key] for key in ("chips", "cores", "hosts", "topology", "machine_type", "memory_gib")} == {
        "chips": 16,
        "cores": 16,
        "hosts": 4,
        "topology": "4x4",
        "machine_type": "ct5lp-hightpu-4t",
        "memory_gib": 256,
    }
    assert card.facts["runtime_version"] == "v2-alpha-tpuv5-lite"
    assert card.facts["image_family"] == "ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e"
    assert card.spellings == {
        "cloud_tpu_api": "v5litepod-16",
        "compute_engine": "ct5lp-hightpu-4t",
        "gke_label": "tpu-v5-lite-podslice",
        "vertex_ai": "TPU_V5_LITEPOD",
    }
    assert (show("v5p-8").facts["cores"], show("v5p-8").facts["memory_gib"]) == (8, 380)


def test_a_gpu_and_a_machine_are_made_of_what_the_tables_say() -> None:
    """A figure that no source gives is None."""
    card = show("a100-80gb")
    assert (card.kind, card.facts["memory_gib"], card.facts["bf16_tflops"]) == ("GPU", 80, Decimal(312))
    assert card.facts["machine_types"] == "a2-ultragpu-1g, a2-ultragpu-2g, a2-ultragpu-4g, a2-ultragpu-8g"
    assert (show("l4").facts["bf16_tflops"], show("t4").facts["attached_to_n1"]) == (None, "1, 2, 4")
    machine = show("g2-standard-4")
    assert (machine.facts["vcpus"], machine.facts["memory_gib"], machine.facts["gpu_memory_gib"]) == (4, 16, 24)
    assert machine.spellings["vertex_ai"] == "g2-standard-4 with NVIDIA_L4"


@pytest.mark.parametrize("name", [*shapes(), *gpus(), *machines()])
def test_everything_can_be_shown_with_its_sources(name: str) -> None:
    """Each name of the tables has a card; every part of it says who says so and when."""
    card = show(name)
    assert card.name == name
    assert all(origin.source and origin.as_of and origin.trust for origin in card.origins)


def test_a_search_is_cheapest_first_and_keeps_to_its_bounds() -> None:
    """At least 80 GiB as spot for at most 4 USD: v6e-4 in asia-southeast1 leads, 4 chips at 0.2673."""
    found, _ = ask.search(memory_gib=Decimal(80), max_usd_hour=Decimal(4), way="spot")
    assert (found[0].name, found[0].region, found[0].zones, found[0].hour.usd) == (
        "v6e-4",
        "asia-southeast1",
        ("asia-southeast1-b",),
        Decimal("1.0692"),
    )
    assert (found[0].memory_gib, found[0].sold) == (128, None)
    paid = [one.hour.usd for one in found]
    assert paid == sorted(paid)
    assert all(one.memory_gib >= 80 and 0 < one.hour.usd <= 4 for one in found)
    assert all(one.hour.usd <= usd <= 4 for one in found for _, usd in one.elsewhere)
    assert {"v5litepod-8", "a2-ultragpu-1g", "g2-standard-48"} <= {one.name for one in found}


def test_what_has_no_known_price_is_listed_apart() -> None:
    """No spot price of v6e in asia-east1 is known: it is not found there at any price, nor left out."""
    found, unknown = ask.search(memory_gib=Decimal(80), way="spot", region="asia-east1")
    assert {one.region for one in found} == {"asia-east1"}
    assert not [one for one in found if one.accelerator == "tpu-v6e"]
    (v6e,) = (one for one in unknown if one.accelerator == "tpu-v6e")
    assert (v6e.names[0], v6e.names[-1], v6e.regions) == ("v6e-4", "v6e-256", ("asia-east1",))


def test_a_search_leaves_out_what_is_not_sold_so_or_not_confirmed() -> None:
    """a3-highgpu-1g has an on-demand price and is not sold so; v6e in us-east4 is in a weak source only."""
    found, unknown = ask.search(way="on-demand")
    assert "a3-highgpu-1g" not in {one.name for one in found} | {name for one in unknown for name in one.names}
    (v6e,) = (one for one in ask.search(way="spot")[0] if one.name == "v6e-1")
    assert "us-east4" not in {v6e.region, *(region for region, _ in v6e.elsewhere)}


def test_fails_on_a_search_in_no_region() -> None:
    """A zone is no region; its region is named."""
    with pytest.raises(UnknownPlace) as refused:
        ask.search(region="asia-east1-c")
    assert refused.value.nearest == ("asia-east1",)


def test_no_price_is_zero() -> None:
    """What is unknown is None or listed apart, in every zone of everything."""
    for name in [*gpus(), *(one for one, shape in shapes().items() if shape.single_host)]:
        for one in ask.where(name, unconfirmed=True).offers:
            assert all(way.hour is None or way.hour.usd_low > 0 for way in one.ways)
