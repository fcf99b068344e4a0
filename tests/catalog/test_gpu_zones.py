"""Which zone offers which GPU, and how a zone that does not is refused."""

from decimal import Decimal

import pytest

from infra.catalog import gpu_machines, gpu_zones, places
from infra.catalog.tables import rows

WAYS = {"on-demand", "spot", "flex-start", "reservation"}

T4 = gpu_machines.check_attachable("nvidia-tesla-t4", 1, vcpus=4, memory_gib=Decimal(15), zone="us-central1-a")
L4 = gpu_machines.machine("g2-standard-4")


def test_every_zone_is_in_a_region_that_exists():
    """The region is the zone less its last part, also for an AI zone, and is known."""
    for row in rows("gpu_zones"):
        assert row["region"] == places.region_of(row["zone"])
        places.check_region(row["region"])
    assert {offer.region for offer in gpu_zones.in_zone("europe-west4-ai1a")} == {"europe-west4"}


def test_every_offer_is_of_machines_that_exist():
    """Each GPU and series of the table is that of a machine or an attachment; ways of selling are known words."""
    hosts = {(one.accelerator_type, one.series) for one in (*gpu_machines.machines().values(), *gpu_machines.attachments())}

    assert {(one.accelerator_type, one.series) for one in gpu_zones.every()} <= hosts
    assert {way for one in gpu_zones.every() for way in one.capacity_types} <= WAYS


def test_only_gb200_is_nowhere():
    """Every other machine has a zone, be it of a weak source; that of GB200 is not known."""
    homeless = {one.series for one in gpu_machines.machines().values() if not gpu_zones.offers(one)}

    assert homeless == {"a4x-highgpu"}
    assert all(gpu_zones.offers(one) for one in gpu_machines.attachments())


@pytest.mark.parametrize(
    ("machine_type", "zone"),
    [
        ("g2-standard-4", "us-central1-a"),
        ("a2-highgpu-1g", "us-central1-f"),
        ("a2-ultragpu-8g", "us-east4-c"),
        ("a3-highgpu-8g", "europe-west4-b"),
        ("g4-standard-48", "us-central1-b"),
    ],
)
def test_offer_of_a_good_zone(machine_type, zone):
    """Zones of good sources are accepted, on demand and as spot."""
    for way in ("on-demand", "spot"):
        offer = gpu_zones.check_offered(gpu_machines.machine(machine_type), zone, way)
        assert (offer.zone, offer.trust) == (zone, "high")
        assert offer.sells(gpu_machines.machine(machine_type), way) is True


def test_attached_gpus_have_zones_too():
    """T4 goes with N1 where the table has it. A way that no source lists is unknown, not refused."""
    offer = gpu_zones.check_offered(T4, "us-west1-a", "reservation")

    assert offer.series == "n1"
    assert offer.sells(T4, "reservation") is None
    assert offer.sells(T4, "spot") is True


@pytest.mark.parametrize(("zone", "reason"), [("us-west3-a", "unknown"), ("moon-north1-a", "impossible"), ("", "impossible")])
def test_fails_where_no_source_knows_it(zone, reason):
    """A zone without the GPU is refused with zones that have it; as no list of GPU zones is complete, it is unknown, unless there is none."""
    with pytest.raises(gpu_zones.GpuNotOffered, match=f"nvidia-l4 on g2-standard: {reason}") as caught:
        gpu_zones.check_offered(L4, zone, "spot")

    assert caught.value.reason == reason
    assert len(caught.value.nearest) == len(gpu_zones.offers(L4))


def test_fails_where_only_a_weak_source_knows_it():
    """G4 in `europe-west8-c` is refused, and the one firm zone is named."""
    with pytest.raises(gpu_zones.GpuNotOffered) as caught:
        gpu_zones.check_offered(gpu_machines.machine("g4-standard-48"), "europe-west8-c", "on-demand")

    assert caught.value.reason == "unconfirmed"
    assert [offer.zone for offer in caught.value.nearest] == ["us-central1-b"]


@pytest.mark.parametrize(
    ("machine_type", "zone", "provisioning"),
    [
        ("a3-highgpu-1g", "europe-west4-b", "on-demand"),
        ("a3-ultragpu-8g", "us-east4-b", "on-demand"),
        ("a4-highgpu-8g", "us-central1-b", "on-demand"),
        ("g4-standard-48", "us-central1-b", "flex-start"),
    ],
)
def test_fails_where_it_is_not_sold_so(machine_type, zone, provisioning):
    """What a machine is never sold as is refused in every zone, and no zone is suggested for it."""
    host = gpu_machines.machine(machine_type)
    assert gpu_zones.check_offered(host, zone, "spot").zone == zone
    with pytest.raises(gpu_zones.GpuNotOffered) as caught:
        gpu_zones.check_offered(host, zone, provisioning)

    assert (caught.value.reason, caught.value.nearest) == ("not-sold", ())


@pytest.mark.parametrize("host", [T4, L4, gpu_machines.machine("a3-megagpu-8g"), gpu_machines.machine("a2-highgpu-1g")], ids=str)
@pytest.mark.parametrize("region", ["us-central1", "southamerica-west1", "europe-west4", "asia-east1"])
def test_suggestions_would_be_accepted_and_come_nearest_first(host, region):
    """Whoever follows a suggestion is not refused again; the same region comes first, then the same continent."""
    with pytest.raises(gpu_zones.GpuNotOffered) as caught:
        gpu_zones.check_offered(host, f"{region}-nowhere", "spot")

    for offer in caught.value.nearest:
        assert gpu_zones.check_offered(host, offer.zone, "spot") == offer
    ranks = [
        (one.region != region, places.continent_of(one.region) != places.continent_of(region), one.trust != "high")
        for one in caught.value.nearest
    ]
    assert ranks == sorted(ranks)


def test_the_cheaper_of_two_as_near_comes_first():
    """From a region without T4 the American ones come by price: `us-central1` before `us-west2`."""
    with pytest.raises(gpu_zones.GpuNotOffered) as caught:
        gpu_zones.check_offered(T4, "us-nowhere1-a", "on-demand")

    zones = [offer.zone for offer in caught.value.nearest]
    assert zones.index("us-central1-a") < zones.index("us-east4-a") < zones.index("us-west2-b")
