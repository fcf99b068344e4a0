"""Prices of machines and attached GPUs: every digit of the source, and an error where none is known."""

from decimal import Decimal

import pytest

from infra.catalog import gpu_machines, gpu_zones, machine_prices, places
from infra.catalog.prices import PriceUnknown
from infra.catalog.tables import rows

WAYS = {"on-demand", "spot", "flex-start"}


def test_every_price_is_above_zero():
    """No row has a zero, nor a region or a way of selling that cannot be set."""
    for row in rows("machine_prices"):
        assert Decimal(row["usd"]) > 0, row
        assert row["provisioning"] in WAYS, row
        places.check_region(row["region"])


def test_every_row_can_be_asked_for():
    """Each item is a machine, a GPU that is attached, or a part of N1, by the hour."""
    attached = {one.accelerator_type for one in gpu_machines.attachments()}

    units = {"n1-vcpu": "vcpu_hour", "n1-memory": "gib_hour", **dict.fromkeys(attached, "gpu_hour")}
    for row in rows("machine_prices"):
        assert row["unit"] == units.get(row["item"], "instance_hour"), row
        assert row["item"] in units or row["item"] in gpu_machines.machines(), row
    assert {row["item"] for row in rows("machine_prices")} >= {*units}


def test_spot_is_never_trusted_as_high():
    """Spot prices change monthly, so a figure of the past is a hint."""
    assert {row["trust"] for row in rows("machine_prices") if row["provisioning"] == "spot"} == {"medium"}


def test_spot_is_below_on_demand():
    """No item costs more as spot than on demand."""
    usd = {(row["item"], row["region"], row["provisioning"]): Decimal(row["usd"]) for row in rows("machine_prices")}
    pairs = [
        (usd[item, region, "on-demand"], price)
        for (item, region, way), price in usd.items()
        if way == "spot" and (item, region, "on-demand") in usd
    ]
    pairs += [(Decimal(row["on_demand"]), Decimal(row["spot"])) for row in rows("cpu_prices") if row["on_demand"]]

    assert len(pairs) > 3000
    assert all(spot < on_demand for on_demand, spot in pairs)


def test_machines_without_gpus():
    """Every row has a spot price above zero, a region and a known source; N1 in two regions alone has no on-demand price."""
    sources = {row["name"] for row in rows("sources")}
    for row in rows("cpu_prices"):
        assert Decimal(row["spot"]) > 0, row
        places.check_region(row["region"])
        assert row["source"] in sources, row

    table = rows("cpu_prices")
    assert {row["machine_type"].partition("-")[0] for row in table} == machine_prices.FAMILIES
    assert len({row["machine_type"] for row in table}) == 68
    silent = [row for row in table if not row["on_demand"]]
    assert {row["region"] for row in silent} == {"europe-north2", "northamerica-south1"}
    assert {row["machine_type"].partition("-")[0] for row in silent} == {"n1"}


@pytest.mark.parametrize(
    ("machine_type", "region", "provisioning", "usd"),
    [
        ("g2-standard-4", "us-central1", "on-demand", "0.7068323"),
        ("a3-highgpu-8g", "us-central1", "on-demand", "88.4899999"),
        ("a3-highgpu-8g", "us-central1", "flex-start", "38.3200383"),
        ("a2-highgpu-1g", "us-central1", "on-demand", "3.673385"),
        ("n2-standard-8", "us-central1", "on-demand", "0.388472"),
        ("e2-standard-4", "asia-southeast1", "on-demand", "0.1653323"),
        ("e2-micro", "asia-east1", "on-demand", "0.009699"),
        ("e2-small", "asia-east1", "on-demand", "0.019398"),
        ("e2-medium", "asia-east1", "on-demand", "0.0387959"),
        ("e2-standard-2", "us-central1", "on-demand", "0.0670114"),
        ("n1-standard-4", "us-central1", "on-demand", "0.189999"),
        ("n1-standard-4", "asia-southeast1", "on-demand", "0.234386"),
        ("n2d-highmem-16", "europe-west4", "spot", "0.35136"),
        ("c3-standard-88", "us-central1", "on-demand", "4.435376"),
        ("n1-standard-4", "europe-north2", "spot", "0.0398843"),
    ],
)
def test_hand_checked_machines(machine_type, region, provisioning, usd):
    """Machine-hours keep every digit that the source prints."""
    found = machine_prices.machine_hour(machine_type, region, provisioning)

    assert str(found.usd) == usd
    assert (found.item, found.unit, found.region, found.bounded) == (machine_type, "instance_hour", region, False)


@pytest.mark.parametrize(("region", "usd"), [("us-central1", "0.56004"), ("us-west4", "0.63077"), ("me-central2", "0.89606")])
def test_l4_costs_what_a_second_catalogue_says(region, usd):
    """Two machines of 4 vCPUs less one of 8 leave one L4; the figures are those of SkyPilot's catalogue, a second source."""
    small, large = (machine_prices.machine_hour(name, region, "on-demand").usd for name in ("g2-standard-4", "g2-standard-8"))

    assert abs(2 * small - large - Decimal(usd)) < Decimal("0.0002")


def test_a_machine_of_n1_without_a_row_is_its_parts():
    """The billing list lacks `n1-highcpu-64`: 64 vCPUs and 57.6 GiB, half of it as much again as `n1-highcpu-32`."""
    found, half = (machine_prices.machine_hour(f"n1-highcpu-{vcpus}", "us-central1", "on-demand") for vcpus in (64, 32))

    assert abs(found.usd / (2 * half.usd) - 1) < Decimal("0.0002")
    assert (found.item, found.unit) == ("n1-highcpu-64", "instance_hour")
    assert "DERIVED" in found.notes
    assert "DERIVED" not in half.notes


def test_spot_of_a_machine_without_gpus_is_a_hint():
    """Spot is of medium trust, whatever its source."""
    assert machine_prices.machine_hour("c3-standard-4", "us-central1", "spot").trust == "medium"
    assert machine_prices.machine_hour("c3-standard-4", "us-central1", "on-demand").trust == "high"


@pytest.mark.parametrize(
    ("accelerator_type", "region", "provisioning", "usd"),
    [
        ("nvidia-tesla-t4", "us-central1", "on-demand", "0.35"),
        ("nvidia-tesla-t4", "us-central1", "spot", "0.1915"),
        ("nvidia-tesla-t4", "asia-south1", "on-demand", "0.41"),
    ],
)
def test_hand_checked_gpus(accelerator_type, region, provisioning, usd):
    """A GPU on N1 has a price of its own; the machine is billed on top."""
    found = machine_prices.gpu_hour(accelerator_type, region, provisioning)

    assert (str(found.usd), found.unit) == (usd, "gpu_hour")


def test_reservations_are_billed_at_the_on_demand_rate():
    """A reservation is billed, used or not, and says so."""
    found = machine_prices.machine_hour("g2-standard-4", "us-central1", "reservation")

    assert found.usd == machine_prices.machine_hour("g2-standard-4", "us-central1", "on-demand").usd
    assert found.trust == "medium"
    assert "billed at the on-demand rate" in found.notes


@pytest.mark.parametrize(
    ("machine_type", "region", "provisioning"),
    [
        ("a4-highgpu-8g", "us-central1", "spot"),
        ("g2-standard-4", "us-west3", "on-demand"),
        ("g2-standard-4", "us-central1", "flex-start"),
        ("n1-standard-4", "europe-north2", "on-demand"),
        ("n1-standard-3", "us-central1", "on-demand"),
        ("e2-standard-4", "us-central1", "flex-start"),
        ("e2-standard-4", "nowhere1", "spot"),
        ("c3", "us-central1", "spot"),
        ("", "us-central1", "spot"),
        ("E2-STANDARD-4", "us-central1", "spot"),
        ("nvidia-tesla-t4", "us-central1", "on-demand"),
        ("m9-mega-1", "us-central1", "on-demand"),
    ],
)
def test_fails_where_no_price_is_known(machine_type, region, provisioning):
    """Nothing is guessed: not a machine from its parts, nor a region from its neighbour."""
    with pytest.raises(PriceUnknown) as caught:
        machine_prices.machine_hour(machine_type, region, provisioning)

    assert caught.value.region == region


@pytest.mark.parametrize("accelerator_type", ["nvidia-l4", "g2-standard-4"])
def test_fails_for_a_gpu_that_is_built_in(accelerator_type):
    """A GPU with machines of its own has no price apart."""
    with pytest.raises(PriceUnknown):
        machine_prices.gpu_hour(accelerator_type, "us-central1", "on-demand")


def test_every_attached_gpu_that_is_offered_has_a_price():
    """Where N1 may have a GPU it is known what it costs."""
    for rule in gpu_machines.attachments():
        for offer in gpu_zones.offers(rule):
            assert machine_prices.gpu_hour(rule.accelerator_type, offer.region, "on-demand").usd > 0
