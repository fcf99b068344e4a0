"""What can be had together, what cannot and why, and that what is offered instead can be had."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalog import fits_tpu, gpu_zones, places, vertex, zones
from infra.catalog.fits import NEAREST, Verdict, judge
from infra.catalog.gpu_machines import attachments, machines
from infra.catalog.tpu import shapes
from infra.catalog.wish import APIS, WAYS, Reason, Wish


def part(verdict: Verdict, name: str) -> Reason:
    """The one reason about a part."""
    (found,) = (one for one in verdict.reasons if one.part == name)
    return found


def tpu(accelerator_type: str, zone: str, api: Any = "compute-engine", **more: Any) -> Verdict:
    return judge(Wish(api, accelerator_type, zone=zone, **more))


def places_of(verdict: Verdict) -> list[str]:
    return list(dict.fromkeys(near.wish.place for near in verdict.nearest))


def test_a_zone_of_a_weak_source_is_refused_with_those_that_have_it() -> None:
    """v6e-8 in us-central1-a: unconfirmed, and the zones of good sources follow, nearest first."""
    verdict = tpu("v6e-8", "us-central1-a")
    assert verdict.kind == "unconfirmed"
    assert [one.part for one in verdict.reasons] == ["zone"]
    assert "official page does NOT list" in part(verdict, "zone").source
    assert places_of(verdict)[:8] == [
        "us-central1-ai1a",
        "us-central1-b",
        "us-east1-d",
        "us-east5-a",
        "us-east5-b",
        "us-south1-ai1b",
        "southamerica-west1-a",
        "asia-southeast1-b",
    ]
    assert "europe-west4-a" in places_of(verdict)
    assert verdict.nearest[1].usd == Decimal("21.6")  # 8 chips at 2.70


def test_an_ai_zone_is_a_zone() -> None:
    """tpu7x stands in us-central1-ai1a, which is in us-central1."""
    assert tpu("tpu7x-8", "us-central1-ai1a", provisioning="reservation", region="us-central1").kind == "works"


def test_a_missing_zone_is_a_reason_and_all_zones_follow() -> None:
    """v4-8 in a region: the zone must be said, and the only one is us-central2-b."""
    verdict = tpu("v4-8", "", "tpu-api", region="us-central1")
    assert part(verdict, "zone").message.startswith("is missing")
    assert [(near.wish.zone, near.usd) for near in verdict.nearest] == [("us-central2-b", 4 * Decimal("3.22"))]


def test_a_zone_outside_its_region_is_refused() -> None:
    """One place, said twice and differently."""
    verdict = tpu("v4-8", "us-central2-b", "gke", region="us-central1")
    assert part(verdict, "zone").message == "is outside the region us-central1"


@pytest.mark.parametrize(
    ("zone", "kind"),
    [
        ("us-west2-a", "impossible"),  # the United States were read in full
        ("us-central1-z", "impossible"),
        ("europe-west1-b", "unknown"),
        ("asia-east1-a", "unknown"),
        ("northamerica-northeast1-b", "unknown"),
        ("moon-north1-a", "impossible"),
        ("asia-east1", "impossible"),  # a region
        ("asia-east1-", "impossible"),
        ("ASIA-EAST1-C", "impossible"),
        (" asia-east1-c", "impossible"),
        ("台灣", "impossible"),
        ("x" * 10_000, "impossible"),
    ],
)
def test_a_gap_is_impossible_only_where_a_list_is_complete(zone: str, kind: str) -> None:
    """v6e has no row in any of them."""
    assert tpu("v6e-8", zone).kind == kind


@pytest.mark.parametrize("zone", ["us-west3-a", "asia-east1-d", "us-central2-a", "africa-south1-a"])
def test_no_list_of_gpu_zones_is_complete(zone: str) -> None:
    """A zone without a row may have the GPU for all we know; a region that does not exist has none."""
    assert judge(Wish("gke", machine_type="g2-standard-4", zone=zone)).kind == "unknown"
    assert judge(Wish("gke", machine_type="g2-standard-4", zone="moon-1-a")).kind == "impossible"


@pytest.mark.parametrize(
    ("accelerator_type", "zone", "apis"),
    [
        ("v2-8", "us-central1-b", {"tpu-api"}),
        ("v3-8", "us-central1-a", {"tpu-api", "gke"}),
        ("v4-8", "us-central2-b", {"tpu-api", "gke"}),
        ("v5litepod-4", "us-west4-a", {"compute-engine", "tpu-api", "gke"}),
        ("v6e-8", "us-east5-a", {"compute-engine", "tpu-api", "gke"}),
        ("tpu7x-8", "us-central1-c", {"compute-engine", "gke"}),
    ],
)
def test_each_generation_goes_by_its_apis(accelerator_type: str, zone: str, apis: set[str]) -> None:
    """The others are refused, with those that do."""
    outside = [api for api in APIS if api != "vertex"]
    assert {api for api in outside if tpu(accelerator_type, zone, api).kind == "works"} == apis
    for api in set(outside) - apis:
        verdict = tpu(accelerator_type, zone, api)
        assert set(part(verdict, "api").allowed) == apis
        assert {near.wish.api for near in verdict.nearest} == apis


@pytest.mark.parametrize(
    ("accelerator_type", "zone", "topology", "hosts"),
    [
        ("v5litepod-8", "us-west4-a", "2x4", 1),
        ("v5litepod-16", "us-west4-a", "4x4", 4),
        ("v6e-256", "us-east5-a", "16x16", 64),
        ("v5p-16", "us-east5-a", "2x2x2", 2),
        ("v4-32", "us-central2-b", "2x2x4", 4),
        ("tpu7x-128", "us-central1-c", "4x4x4", 16),
    ],
)
def test_topology_and_hosts_follow_from_the_type(accelerator_type: str, zone: str, topology: str, hosts: int) -> None:
    """A type has one topology, and GKE as many nodes as it has hosts: tpu7x-128 is 64 chips, 16 machines."""
    verdict = tpu(accelerator_type, zone, "gke", topology=topology, nodes=hosts)
    assert verdict.kind == "works"
    assert verdict.shape is not None
    assert (verdict.shape.topology, verdict.shape.hosts) == (topology, hosts)
    wrong = tpu(accelerator_type, zone, "gke", topology="3x3", nodes=hosts + 1)
    assert part(wrong, "topology").allowed == (topology,)
    assert part(wrong, "nodes").allowed == (str(hosts),)


@pytest.mark.parametrize("topology", ["2X4", "4x2", "2x4x1", "8", "x", "2x", "², x", "99999x99999"])
def test_other_spellings_are_no_topology(topology: str) -> None:
    """Axes are small numbers apart by a small x, in Google's order."""
    verdict = tpu("v6e-8", "us-east5-a", "gke", topology=topology)
    assert verdict.kind == "impossible"
    assert part(verdict, "topology").allowed == ("2x4",)


def test_a_machine_and_a_topology_mean_a_slice() -> None:
    """On GKE 2x4 of machines with 4 chips is two of them; nothing else makes it so."""
    two = Wish("gke", machine_type="ct5lp-hightpu-4t", topology="2x4", zone="us-west4-a", nodes=2)
    assert judge(two).kind == "works"
    assert judge(replace(two, nodes=1)).kind == "impossible"
    assert judge(replace(two, api="compute-engine")).kind == "impossible"
    assert judge(Wish("gke", machine_type="ct5lp-hightpu-4t", zone="us-west4-a")).shape == shapes()["v5litepod-4"]
    wrong = judge(Wish("gke", machine_type="ct5lp-hightpu-4t", topology="3x3", zone="us-west4-a"))
    assert part(wrong, "topology").allowed[0] == "2x4"  # 8 chips are nearest to 9


def test_a_pool_of_one_host_is_one_host() -> None:
    """2x2x1 with two nodes; without a topology, two single hosts are two machines, and cost twice."""
    wrong = tpu("v4-8", "us-central2-b", "gke", topology="2x2x1", nodes=2)
    assert "it is 1 host" in part(wrong, "nodes").message
    two = tpu("v4-8", "us-central2-b", "gke", nodes=2)
    assert two.kind == "works"
    assert two.hour is not None
    assert two.hour.usd == 2 * 4 * Decimal("3.22")


def test_nodes_are_those_of_the_slice() -> None:
    """12 nodes for a slice of 8 hosts are neither one slice nor two."""
    wrong = tpu("v6e-32", "us-east5-a", "gke", nodes=12)
    assert part(wrong, "nodes").allowed == ("8",)
    assert tpu("v6e-32", "us-east5-a", "gke", nodes=0).kind == "impossible"
    assert tpu("v6e-32", "us-east5-a", "gke", nodes=-8).kind == "impossible"


@pytest.mark.parametrize(
    ("accelerator_type", "zone"), [("v6e-1", "us-east5-a"), ("v5litepod-8", "us-west4-a"), ("tpu7x-16", "us-central1-c")]
)
def test_single_hosts_and_tpu7x_take_no_compact_placement(accelerator_type: str, zone: str) -> None:
    """The nearest is the same without it."""
    verdict = tpu(accelerator_type, zone, "gke", placement="compact")
    assert verdict.kind == "impossible"
    assert [(one.wish.zone, one.wish.placement) for one in verdict.nearest] == [(zone, "")]
    assert tpu("v6e-16", "us-east5-a", "gke", placement="compact").kind == "works"


@pytest.mark.parametrize("shape", [one for one in shapes().values() if one.single_host], ids=lambda one: one.accelerator_type)
def test_no_single_host_is_placed(shape: Any) -> None:
    """Whatever the table has."""
    assert any(one.part == "placement" for one in tpu(shape.accelerator_type, "us-east5-a", "gke", placement="compact").reasons)


def test_compact_and_flex_start_go_together_on_few_machines() -> None:
    """g2 is refused with the families; A3 Ultra and A4 work."""
    wish = Wish("gke", machine_type="g2-standard-4", zone="asia-east1-a", provisioning="flex-start", placement="compact")
    verdict = judge(wish)
    assert "a3-ultragpu and a4-highgpu" in part(verdict, "placement").message
    assert [(near.wish.provisioning, near.wish.placement) for near in verdict.nearest] == [
        ("spot", "compact"),
        ("on-demand", "compact"),
        ("flex-start", ""),
    ]
    assert judge(replace(wish, machine_type="a4-highgpu-8g", zone="us-central1-b")).kind == "works"
    assert judge(replace(wish, machine_type="n1-standard-4", accelerator_type="nvidia-tesla-t4", count=1)).kind == "impossible"


@pytest.mark.parametrize("provisioning", ["spot", "flex-start", "on-demand"])
def test_a_reservation_goes_with_nothing_else(provisioning: Any) -> None:
    """Spot cannot consume a reservation."""
    verdict = tpu("v6e-8", "us-east5-a", "gke", provisioning=provisioning, reservation="r1")
    assert part(verdict, "reservation").kind == "impossible"
    assert {(near.wish.provisioning, near.wish.reservation) for near in verdict.nearest} >= {(provisioning, ""), ("reservation", "r1")}


def test_flex_start_is_sold_in_listed_zones() -> None:
    """A list without it is a no, no list at all is unknown; where the region has a price it is let through."""
    assert tpu("v6e-8", "us-east5-a", provisioning="flex-start").kind == "works"
    assert tpu("v6e-8", "us-east1-d", provisioning="flex-start").kind == "works"  # a price, no list
    assert tpu("v6e-8", "us-central1-b", provisioning="flex-start").kind == "impossible"
    assert tpu("v5litepod-4", "asia-east1-c", provisioning="flex-start").kind == "unknown"
    assert tpu("v3-8", "europe-west4-a", "tpu-api", provisioning="flex-start").kind == "impossible"
    assert tpu("v5p-8", "us-east5-a", "tpu-api", provisioning="flex-start").kind == "impossible"
    assert tpu("v6e-16", "us-east5-a", "gke", provisioning="flex-start").kind == "unknown"
    stays = tpu("v6e-8", "us-central1-b", provisioning="flex-start").nearest
    assert {near.wish.provisioning for near in stays if near.wish.zone == "us-central1-b"} == {"on-demand", "spot", "reservation"}
    assert {near.wish.provisioning for near in stays if near.wish.zone != "us-central1-b"} == {"flex-start"}


@pytest.mark.parametrize(
    ("wish", "where", "allowed"),
    [
        (Wish("gke", "nvidia-tesla-t4", "n1-standard-4", 3, zone="asia-east1-a"), "count", ("2", "4", "1")),
        (Wish("gke", "nvidia-tesla-t4", "n1-standard-4", zone="asia-east1-a"), "count", ("1", "2", "4")),
        (Wish("gke", "nvidia-tesla-t4", "n1-standard-64", 1, zone="asia-east1-a"), "machine_type", ("at most 48 vCPUs and 312 GiB",)),
        (Wish("gke", "nvidia-l4", "n1-standard-4", 1, zone="asia-east1-a"), "machine_type", None),
        (Wish("gke", "nvidia-l4", "e2-standard-4", 1, zone="asia-east1-a"), "machine_type", None),
        (Wish("gke", "nvidia-l4", zone="asia-east1-a"), "machine_type", None),
        (Wish("gke", "nvidia-tesla-t4", "g2-standard-4", zone="asia-east1-a"), "accelerator_type", ("nvidia-l4",)),
        (Wish("gke", "nvidia-l4", "g2-standard-4", 2, zone="asia-east1-a"), "count", ("1",)),
        (Wish("gke", "NVIDIA_L4", "g2-standard-4", 1, zone="asia-east1-a"), "accelerator_type", ("nvidia-l4",)),
        (Wish("gke", "nvidia.com/gpu", "g2-standard-4", 1, zone="asia-east1-a"), "accelerator_type", None),
        (Wish("tpu-api", machine_type="g2-standard-4", zone="asia-east1-a"), "api", ("compute-engine", "gke")),
        (Wish("gke", machine_type="g2-standard-4", zone="asia-east1-a", topology="2x2"), "topology", ()),
        (Wish("gke", machine_type="g2-standard-4", zone="asia-east1-a", nodes=0), "nodes", ("1 or more",)),
        (Wish("gke", machine_type="g2-standard-4", zone="asia-east1-a", placement="spread"), "placement", ("compact",)),
        (Wish("gke", machine_type="g2-standard-4", zone="asia-east1-a", partition="1g.5gb"), "partition", ()),
        (Wish("gke", machine_type="a3-highgpu-1g", zone="us-central1-a"), "provisioning", ("spot", "flex-start")),
    ],
)
def test_gpus_have_their_machines_counts_and_ways(wish: Wish, where: str, allowed: tuple[str, ...] | None) -> None:
    """One part is wrong; what is allowed is said, and something works instead."""
    verdict = judge(wish)
    reason = part(verdict, where)
    assert {one.part for one in verdict.reasons} == {where}
    assert verdict.kind == reason.kind == "impossible"
    assert allowed is None or reason.allowed == allowed
    assert verdict.nearest or where in ("accelerator_type",)


def test_a_gpu_is_cut_into_its_own_sizes() -> None:
    """A100 40 GB has 1g.5gb, H100 does not."""
    a100 = Wish("gke", machine_type="a2-highgpu-1g", zone="us-central1-a", partition="1g.5gb")
    assert judge(a100).kind == "works"
    wrong = judge(Wish("gke", machine_type="a3-highgpu-8g", zone="us-central1-a", partition="1g.5gb"))
    assert "1g.10gb" in part(wrong, "partition").allowed
    assert judge(replace(a100, api="compute-engine")).kind == "impossible"


def test_a_gpu_alone_is_answered_with_machines_of_that_many() -> None:
    """4 x L4 is g2-standard-48 and nothing else; P100 in us-east1 is in two zones."""
    four = judge(Wish("gke", "nvidia-l4", count=4, zone="asia-east1-a"))
    assert [near.wish.machine_type for near in four.nearest] == ["g2-standard-48"]
    p100 = judge(Wish("gke", "nvidia-tesla-p100", "n1-standard-4", 1, region="us-east1"))
    assert [near.wish.zone for near in p100.nearest if near.wish.zone.startswith("us-east1-")] == ["us-east1-b", "us-east1-c"]


def test_p4_is_not_known_in_us_west4() -> None:
    """The regions that have it follow."""
    verdict = judge(Wish("gke", "nvidia-tesla-p4", "n1-standard-4", 1, zone="us-west4-a"))
    assert verdict.kind == "unknown"
    assert places_of(verdict)[0].startswith("us-")


def test_no_tpu_for_prediction_in_taiwan() -> None:
    """Vertex AI in asia-east1 has none at all, and that is said, with the regions that have this one; v2 can be trained on there."""
    verdict = judge(Wish("vertex", machine_type="ct5lp-hightpu-4t", region="asia-east1"))
    assert part(verdict, "region").message == "has no TPU for prediction on Vertex AI at all"
    assert places_of(verdict) == ["europe-west4", "us-south1", "us-west1", "us-west4"]
    v6e = judge(Wish("vertex", machine_type="ct6e-standard-1t", region="asia-east1"))
    assert places_of(v6e) == ["asia-northeast1", "europe-west4", "us-central1", "us-east5", "us-east1"]
    assert judge(Wish("vertex", "v2-8", region="asia-east1", use="training")).kind == "unknown"  # a region has it, no table its machine


def test_an_allowlist_is_said_and_comes_last() -> None:
    """v6e for prediction in us-east1 is open to some projects only."""
    verdict = judge(Wish("vertex", machine_type="ct6e-standard-1t", region="us-east1"))
    assert verdict.kind == "works"
    assert "that Google let in" in verdict.notes[0]
    near = places_of(judge(Wish("vertex", machine_type="ct6e-standard-1t", region="us-west1")))
    assert near.index("us-east5") < near.index("us-east1")


@pytest.mark.parametrize(
    ("wish", "parts"),
    [
        (Wish("vertex", machine_type="ct6e-standard-1t", count=1, region="us-east5"), {"count"}),
        (Wish("vertex", "TPU_V6E", "ct6e-standard-1t", region="us-east5"), {"accelerator_type"}),
        (Wish("vertex", "v5p-8", region="us-east5"), {"accelerator_type", "region"}),
        (Wish("vertex", "v6e-16", region="us-east5", provisioning="spot"), {"provisioning"}),
        (Wish("vertex", machine_type="g2-standard-4", region="us-west4", use="training"), {"region"}),
        (Wish("vertex", "NVIDIA_TESLA_T4", "n1-standard-32", 1, region="us-east1"), {"count"}),
        (Wish("vertex", "NVIDIA_L4", "n1-standard-4", 1, region="us-east1"), {"accelerator_type"}),
        (Wish("vertex", "NVIDIA_L4", "e2-standard-4", 1, region="us-east1"), {"machine_type"}),
        (Wish("vertex", machine_type="g2-standard-4", zone="us-east1-b"), {"zone"}),
        (
            Wish("vertex", machine_type="g2-standard-4", region="us-east1", placement="compact", partition="1g.5gb"),
            {"placement", "partition"},
        ),
        (Wish("vertex", machine_type="g2-standard-4"), {"region"}),
        (Wish("vertex", machine_type="g2-standard-4", region="moon-north1"), {"region"}),
    ],
)
def test_vertex_ai_has_its_own_table(wish: Wish, parts: set[str]) -> None:
    """Each part that is wrong is said, and something works instead."""
    verdict = judge(wish)
    assert verdict.kind == "impossible"
    assert {one.part for one in verdict.reasons} == parts
    assert verdict.nearest


@pytest.mark.parametrize(
    ("wish", "note"),
    [
        (Wish("vertex", machine_type="a3-highgpu-8g", count=2, region="us-central1"), "share a machine"),
        (Wish("vertex", machine_type="g2-standard-24", count=1, region="us-central1"), "share a machine"),
        (Wish("vertex", machine_type="a2-highgpu-1g", region="us-central1", partition="1g.5gb"), ""),
        (Wish("vertex", machine_type="a3-highgpu-8g", region="us-central1", partition="1g.10gb"), "the count should be 1"),
    ],
)
def test_vertex_ai_shares_machines_and_cuts_gpus(wish: Wish, note: str) -> None:
    """What the reference of its API has: fewer GPUs than the machine for prediction, and parts of those that can be cut."""
    verdict = judge(wish)
    assert verdict.kind == "works"
    assert note in " ".join(verdict.notes)
    assert bool(note) == bool(verdict.notes)
    if wish.count is not None:
        assert {one.part for one in judge(replace(wish, use="training")).reasons} == {"count"}
    else:
        assert {one.part for one in judge(replace(wish, partition="9g.9gb")).reasons} == {"partition"}
        assert wish in [near.wish for near in judge(replace(wish, partition="9g.9gb")).nearest]


def test_all_reasons_come_at_once() -> None:
    """Six parts are wrong, and each is said."""
    wish = Wish("gke", "v5e-4", None, 3, "4x1", "us-west4-a", "", "flex-start", "r", "compact", nodes=3)  # type: ignore[arg-type]
    verdict = judge(replace(wish, machine_type=""))
    assert {one.part for one in verdict.reasons} == {"accelerator_type", "reservation", "count", "topology", "nodes", "placement"}
    assert part(verdict, "accelerator_type").message == "is v5litepod-4"


@pytest.mark.parametrize("name", ["", " ", "v6e", "tpu", "gpu", "a100", "🦖", "x" * 5000, "v6e-8 ", "V6E-8", "v6e-9"])
def test_a_name_that_is_none_is_a_reason(name: str) -> None:
    """Odd input is answered, not raised."""
    for api in APIS:
        verdict = judge(Wish(api, name, zone="us-east5-a"))
        assert verdict.kind == "impossible"
        assert any(one.part in ("accelerator_type", "machine_type") for one in verdict.reasons)


def test_order_is_zone_region_continent_price_name() -> None:
    """T4 from a zone of Oregon without it: Oregon first, then America by price, then the rest by price."""
    wish = Wish("compute-engine", "nvidia-tesla-t4", "n1-standard-4", 1, zone="us-west1-z")
    verdict = judge(wish)
    assert len(verdict.nearest) == NEAREST
    keys = [
        (near.wish.zone.rpartition("-")[0] != "us-west1", places.continent_of(near.wish.zone) != "us", near.usd or Decimal("Infinity"))
        for near in verdict.nearest
    ]
    assert all(one <= other for one, other in pairwise(keys))


def test_weak_sources_are_offered_on_request_only() -> None:
    """G4 in Milan: firm is one zone; with the weak ones Dutch zones are nearer, marked."""
    wish = Wish("compute-engine", machine_type="g4-standard-48", zone="europe-west8-c")
    assert places_of(judge(wish)) == ["us-central1-b"]
    weak = judge(wish, unconfirmed=True).nearest
    assert [(near.wish.zone, near.kind) for near in weak] == [
        ("europe-west4-a", "unconfirmed"),
        ("europe-west4-ai1a", "unconfirmed"),
        ("us-central1-b", "works"),
    ]


def test_every_firm_row_works_in_some_way() -> None:
    """Rows of TPUs, GPUs and Vertex AI with high trust: by some API, machine and way of buying."""
    for offer in (one for one in zones.every() if one.trust == "high"):
        shape = next(one for one in shapes().values() if one.sold_as == offer.sold_as)
        assert any(
            tpu(shape.accelerator_type, offer.zone, api, provisioning=way).kind == "works" for api in fits_tpu.able(shape) for way in WAYS
        )
    for row in (one for one in gpu_zones.every() if one.trust == "high"):
        own = [name for name, one in machines().items() if (one.accelerator_type, one.series) == (row.accelerator_type, row.series)]
        wishes = [Wish("gke", machine_type=name, zone=row.zone) for name in own]
        wishes += [
            Wish("gke", one.accelerator_type, "n1-standard-2", one.gpus, zone=row.zone)
            for one in attachments()
            if row.series == "n1" and one.accelerator_type == row.accelerator_type
        ]
        assert any(judge(replace(wish, provisioning=way)).kind == "works" for wish in wishes for way in WAYS), row
    for place in (one for one in vertex.regions() if one.trust == "high"):
        own = [name for name, several in vertex.machines().items() for one in several if one.accelerator == place.accelerator]
        uses = [use for use, is_run in (("prediction", place.prediction), ("training", place.training)) if is_run]
        for use in uses if own else ():
            gpu = "" if place.accelerator.startswith("tpu") else place.accelerator
            choices = next(one for one in vertex.machines()[own[0]] if one.accelerator == place.accelerator)
            count = None if not gpu else choices.counts[0]
            assert judge(Wish("vertex", gpu, own[0], count, region=place.region, use=use)).kind == "works", place  # type: ignore[arg-type]


ZONES = sorted({one.zone for one in (*zones.every(), *gpu_zones.every())})
WISHES = st.builds(
    Wish,
    api=st.sampled_from(APIS),
    accelerator_type=st.sampled_from(
        ["", "v6e-8", "v5litepod-16", "v4-32", "v2-8", "tpu7x-16", "v5p-8", "nvidia-l4", "nvidia-tesla-p100", "l4"]
    ),
    machine_type=st.sampled_from(
        ["", "", "n1-standard-4", "n1-highmem-96", "g2-standard-24", "a3-highgpu-1g", "ct6e-standard-4t", "e2-medium"]
    ),
    count=st.sampled_from([None, 0, 1, 2, 3, 8]),
    topology=st.sampled_from(["", "", "2x4", "4x4", "2x2x2", "4x2"]),
    zone=st.sampled_from([*ZONES, "", "us-west2-a", "asia-east1-z", "moon-1-a"]),
    region=st.sampled_from(["", *places.regions()]),
    provisioning=st.sampled_from(WAYS),
    reservation=st.sampled_from(["", "r"]),
    placement=st.sampled_from(["", "compact", "spread"]),
    use=st.sampled_from(["prediction", "training"]),
    nodes=st.sampled_from([None, -1, 0, 1, 2, 10**30]),
    partition=st.sampled_from(["", "1g.5gb"]),
)


@settings(max_examples=150)
@given(WISHES, st.booleans())
def test_what_is_offered_instead_works(wish: Wish, unconfirmed: bool) -> None:
    """Whoever takes the advice is not refused again; a wish that works needs none; no reason is empty."""
    verdict = judge(wish, unconfirmed=unconfirmed)
    assert (verdict.kind == "works") == (not verdict.reasons)
    assert all(one.message and one.kind != "works" for one in verdict.reasons)
    allowed = {"works", "unconfirmed"} if unconfirmed else {"works"}
    for near in verdict.nearest:
        again = judge(near.wish)
        assert again.kind == near.kind
        assert again.kind in allowed
        assert near.usd == (None if again.hour is None else again.hour.usd)
    assert verdict.nearest == () or verdict.kind != "works"


def test_ten_thousand_judgements_take_less_than_five_seconds_of_cpu() -> None:
    """All slices and machines in all zones, each judged once: no call is ever held up by it."""
    things = [*([("", name) for name in machines()]), *((name, "") for name in list(shapes())[:60])]
    wishes = [
        Wish(api, accelerator, machine, zone=zone, provisioning=way)
        for zone in ZONES
        for way in WAYS
        for api in ("compute-engine", "gke")
        for accelerator, machine in things
    ]
    wishes = wishes[:: len(wishes) // 10_000][:10_000]
    assert len(set(wishes)) == 10_000
    started = time.process_time()
    kinds = {judge(wish).kind for wish in wishes}
    assert time.process_time() - started < 5
    assert kinds == {"works", "unconfirmed", "unknown", "impossible"}
