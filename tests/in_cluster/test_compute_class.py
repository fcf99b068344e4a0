"""Ladders of capacity: what they become, what is refused of them, and the seat that they are for pods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from infra import stack_kinds
from infra.catalog.confirmed import Confirmation
from infra.catalog.pods import PodNeed, judge
from infra.check import StackFile, check
from infra.components.node_pool import NodePoolSpec
from infra.errors import ProblemsError, SpecError
from infra.in_cluster.compute_class import ComputeClassSpec, Rung, nodes, quota, seat, spec_of, warnings

Write = Callable[..., Path]
US_EAST5 = "us-east5"
CENTRAL = "us-central1"
L4 = {"machine_type": "g2-standard-8", "provisioning": ["on-demand", "spot"]}
LADDER = {
    "accelerator_type": "v6e-1",
    "provisioning": ["reservation", "flex-start", "spot"],
    "reservation": "projects/host/reservations/nightly",
    "reservation_zone": "us-east5-a",
    "max_run_minutes": 60,
    "zones": ["us-east5-b", "us-east5-a"],
}
CLASS = "cloud.google.com/compute-class"


def read(fields: dict[str, Any], region: str = US_EAST5, *sure: Confirmation) -> ComputeClassSpec:
    return ComputeClassSpec.model_validate(fields, context={"region": region, "confirmed": sure})


def refused(fields: dict[str, Any], region: str = US_EAST5) -> dict[str, str]:
    """Key -> what is said of it."""
    with pytest.raises(ValidationError) as caught:
        read(fields, region)
    found: dict[str, str] = {}
    for one in caught.value.errors(include_url=False):
        raised = one.get("ctx", {}).get("error")
        if isinstance(raised, ProblemsError):
            found |= {problem.path: f"{problem.message} | {problem.allowed} | {problem.fix}" for problem in raised.problems}
        else:
            found[".".join(map(str, one["loc"]))] = one["msg"]
    return found


def priorities(fields: dict[str, Any], region: str = US_EAST5) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = spec_of(read(fields, region), region=region, region_stack="there", sure=())["priorities"]
    return made


def test_each_way_is_tried_in_each_zone_in_the_order_that_is_said() -> None:
    """The reservation in its own zone, never beside `location`; then flex-start, which ends by itself; then Spot."""
    made = priorities(LADDER)
    assert [one.get("location", {}).get("zones") for one in made] == [None, ["us-east5-b"], ["us-east5-a"], ["us-east5-b"], ["us-east5-a"]]
    reserved, flex, _, spot, _ = made
    assert reserved["reservations"] == {
        "affinity": "Specific",
        "specific": [{"name": "nightly", "zones": ["us-east5-a"], "project": "host"}],
    }
    assert (flex["flexStart"], flex["maxRunDurationSeconds"], flex["spot"]) == ({"enabled": True}, 3600, False)
    assert spot["spot"] is True
    assert "flexStart" not in spot
    assert {one["tpu"]["type"] for one in made} == {"tpu-v6e-slice"}


def test_without_zones_all_that_have_it_are_one_rung_of_a_way() -> None:
    """GKE picks among the zones of the region that are known to have the machine; the GPU and its driver are said."""
    on_demand, spot = priorities(L4 | {"driver": "latest"}, CENTRAL)
    assert on_demand["location"] == spot["location"] == {"zones": ["us-central1-a", "us-central1-b", "us-central1-c"]}
    assert on_demand["gpu"] == {"type": "nvidia-l4", "count": 1, "driverVersion": "latest"}


def test_local_ssds_that_come_with_a_machine_are_said() -> None:
    """GKE finds no reservation of an A3 otherwise."""
    [one] = priorities({"machine_type": "a3-highgpu-8g", "provisioning": ["spot"]}, CENTRAL)
    assert one["storage"] == {"bootDiskType": "pd-balanced", "bootDiskSize": 100, "localSSDCount": 16}


def test_a_slice_of_several_hosts_says_the_chips_of_one() -> None:
    [one] = priorities({"accelerator_type": "v5litepod-16", "provisioning": ["spot"]}, CENTRAL)
    assert one["tpu"] == {"type": "tpu-v5-lite-podslice", "count": 4, "topology": "4x4"}


def test_a_limit_is_an_object_beside_the_class() -> None:
    """A class has no such field: the autoscaler counts the nodes that carry it."""
    assert quota("answers", 4, {})["spec"] == {"selector": {"matchLabels": {CLASS: "answers"}}, "limits": {"resources": {"nodes": 4}}}


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        ({"reservation": None}, "reservation", "is missing"),
        ({"provisioning": ["spot"], "max_run_minutes": None}, "reservation_zone", "no rung consumes a reservation"),
        ({"provisioning": ["spot"], "reservation": None, "reservation_zone": None}, "max_run_minutes", "flex-start, which is no rung"),
        ({"provisioning": ["spot", "spot"]}, "provisioning", "twice"),
        ({"provisioning": ["queued-provisioning"]}, "provisioning.0", "'reservation'"),
        ({"provisioning": []}, "provisioning", "at least 1"),
        ({"provisioning": "spot"}, "provisioning", "list"),
        ({"zones": ["us-central1-a"]}, "zones", "not in the cluster's region | zones of us-east5"),
        ({"zones": ["us-east5-z"], "provisioning": ["spot"], "reservation": None}, "zones", "us-east5-z"),
        ({"reservation_zone": "us-central1-a"}, "reservation_zone", "is not in the cluster's region"),
        ({"reservation_zone": None}, "reservation_zone", "is missing: a reservation is of one zone | us-east5-b, us-east5-a"),
        ({"topology": "2x2"}, "topology", "is not the topology of v6e-1 | 1x1"),
        ({"count": 1}, "count", "is not said of a TPU"),
        ({"driver": "latest"}, "driver", "is for GPUs"),
        ({"driver": "none"}, "driver", "'latest'"),
        ({"accelerator_type": "v6e-16"}, "provisioning", "slices of one host only"),
        ({"accelerator_type": "v6e-16", "provisioning": ["spot"], "max_nodes": 3}, "max_nodes", "cuts a slice: it is 4 nodes"),
        ({"accelerator_type": "v6e-1 "}, "accelerator_type", "v6e-1"),
        ({"accelerator_type": ""}, "accelerator_type", ""),
        ({"accelerator_type": "é" * 500}, "accelerator_type", ""),
        ({"max_nodes": 0}, "max_nodes", "greater than"),
        ({"max_nodes": 10**30}, "max_nodes", "less than"),
        ({"max_nodes": True}, "max_nodes", "integer"),
        ({"disk_gib": float("nan")}, "disk_gib", "integer"),
        ({"spot": True}, "spot", "Extra inputs"),
    ],
)
def test_fails_what_no_class_can_be(change: dict[str, Any], key: str, said: str) -> None:
    """Each wrong thing is refused at its key, with what it may be."""
    found = refused({key: value for key, value in (LADDER | change).items() if value is not None})
    assert said in found[key], found


def test_a_zone_that_sells_none_of_the_ways_is_refused_and_one_that_lacks_a_way_has_no_rung_of_it() -> None:
    """G2 stands in three zones of us-central1: a fourth is refused, with those that have it."""
    assert "us-central1-f" in refused(L4 | {"zones": ["us-central1-a", "us-central1-f"]}, CENTRAL)["zones"]
    slices = {"accelerator_type": "tpu7x-2", "provisioning": ["flex-start", "spot"], "zones": ["us-central1-ai1a", "us-central1-c"]}
    both = read(slices, CENTRAL)
    assert both.rungs(CENTRAL) == (
        Rung("flex-start", ("us-central1-c",)),
        Rung("spot", ("us-central1-ai1a",)),
        Rung("spot", ("us-central1-c",)),
    )
    [first, _] = warnings({"answers": both}, CENTRAL)
    assert first.message == "flex-start has no rung in us-central1-ai1a: it is not known to be sold so there"


def test_a_region_without_the_machine_is_told_those_that_have_it() -> None:
    found = refused({"accelerator_type": "v5p-8", "provisioning": ["spot"]}, "asia-east1")
    assert "no zone of asia-east1 is known to offer v5p-8" in found["zones"]
    assert "us-east5" in found["zones"]


def test_fails_a_ladder_that_is_too_long() -> None:
    """Of more than ten rungs the last are never reached."""
    zones = ["us-central1-a", "us-central1-b", "us-central1-c"]
    pools = [f"pool-{number}" for number in range(5)]
    assert "makes 11 rungs" in refused(L4 | {"zones": zones, "node_pools": pools}, CENTRAL)["zones"]


def test_what_no_good_source_has_may_be_confirmed() -> None:
    """A confirmed zone is a rung; without the confirmation it is none."""
    fields = {"accelerator_type": "v6e-1", "provisioning": ["spot"], "zones": ["us-east5-c"]}
    sure = Confirmation("v6e-1", "us-east5-c")
    assert "confirmed" in refused(fields)["zones"]
    assert read(fields, US_EAST5, sure).rungs(US_EAST5, (sure,)) == (Rung("spot", ("us-east5-c",)),)


def test_a_pod_names_the_class_and_tolerates_what_its_nodes_carry() -> None:
    """The machine's own labels are not asked for: GKE refuses them beside a class. A Spot rung shortens the grace of all."""
    one = seat("answers", read(LADDER), {})
    assert one.selector == {CLASS: "answers"}
    assert {row["key"] for row in one.tolerations} == {CLASS, "google.com/tpu", "cloud.google.com/gke-spot"}
    assert (one.resource, one.accelerators, one.hosts, one.spot, one.accelerator_type) == ("google.com/tpu", 1, 1, True, "v6e-1")
    sure = seat("answers", read(L4 | {"provisioning": ["on-demand"], "node_pools": ["l4"]}, CENTRAL), {})
    assert (sure.spot, sure.resource) == (False, "nvidia.com/gpu")
    pool = NodePoolSpec.model_validate(L4 | {"cluster": "main", "provisioning": "spot", "autoscale": {"max": 1}})
    assert seat("answers", read(L4 | {"provisioning": ["on-demand"], "node_pools": ["l4"]}, CENTRAL), {"l4": pool}).spot


def test_what_a_pod_of_the_class_says_fits_the_nodes_that_are_made_for_it_and_no_other_pod_does() -> None:
    """One node for each way in each zone, kept by the taint of the class; what a pod asks for must be on one of them."""
    ladder = read(LADDER)
    made = nodes("answers", ladder, US_EAST5)
    assert len(made) == 5
    assert {node.labels[CLASS] for node in made} == {"answers"}
    one = seat("answers", ladder, {})
    container = {"name": "serve", "resources": {"limits": one.amounts()}}
    assert len(judge(PodNeed.of(one.pod({"containers": [container]})), made).holds) == 5
    assert not judge(PodNeed.of({"containers": [container]}), made).holds
    large = {"name": "serve", "resources": {"limits": one.amounts(4)}}
    [(_, why), *_] = judge(PodNeed.of(one.pod({"containers": [large]})), made).near
    assert why == ("asks for 4 google.com/tpu; a node of compute class answers has 1",)


# Beside the region's file.


@pytest.fixture
def written(base: dict[str, Any], stack_file: Write) -> Callable[..., Path]:
    """The files of a region with a pool that may be a rung, and of a class beside it."""

    def write(compute_class: dict[str, Any], pool: dict[str, Any] | None = None, name: str = "answers", mode: str = "standard") -> Path:
        l4 = {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 2}} | (pool or {})
        region = base | {"accelform:region": CENTRAL, "accelform:clusters": {"main": {"mode": mode}}}
        stack_file(region | ({"accelform:node_pools": {"l4": l4}} if mode == "standard" else {}), "there")
        own = {key: value for key, value in base.items() if key != "accelform:budgets"} | {"accelform:region": CENTRAL}
        return stack_file(
            own | {"accelform:kind": "apps", "accelform:region_stack": "there", "accelform:compute_classes": {name: compute_class}}
        )

    return write


def wrong(path: Path) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(path)
    return {one.path: f"{one.message} | {one.allowed} | {one.fix}" for one in caught.value.problems}


CARRIES = {"labels": {CLASS: "answers"}, "taints": [{"key": CLASS, "value": "answers"}]}


@pytest.mark.parametrize(
    ("pool", "mode", "said"),
    [
        ({}, "standard", "does not carry the class"),
        (CARRIES | {"machine_type": "g2-standard-4"}, "standard", "a class is of one machine"),
        (CARRIES | {"nodes": 3, "autoscale": None}, "standard", "fixed number of nodes"),
        (CARRIES, "autopilot", "Autopilot"),
    ],
)
def test_fails_a_pool_that_is_no_rung(pool: dict[str, Any], mode: str, said: str, written: Callable[..., Path]) -> None:
    """GKE fills a pool for a class only where the pool carries it, and can grow; what to write in the region's file is told."""
    change = {key: value for key, value in pool.items() if value is not None}
    path = written(L4 | {"node_pools": ["l4"]}, {**change, **({"autoscale": None} if "nodes" in change else {})}, mode=mode)
    found = wrong(path)
    assert any(said in words for words in found.values()), found


def test_a_pool_that_carries_the_class_is_its_first_rung(written: Callable[..., Path]) -> None:
    checked = check(StackFile("try", written(L4 | {"node_pools": ["l4"], "max_nodes": 4}, CARRIES)))
    found = {one.type.rpartition(":")[2]: one for one in checked.resources if not one.is_component}
    assert found["ComputeClass"].get("spec.priorities")[0] == {"nodepools": ["there-l4"]}
    assert found["CapacityQuota"].get("metadata.name") == "answers"
    assert [one.check for one in checked.warnings] == []


def test_what_is_allowed_and_may_be_meant_otherwise_is_said(written: Callable[..., Path]) -> None:
    """No limit of nodes means no highest cost."""
    checked = check(StackFile("try", written(L4)))
    assert [one.check for one in checked.warnings] == ["compute_classes.answers.max_nodes"]


@pytest.mark.parametrize("name", ["gke-l4", "autopilot-spot", "default", "Upper", "a b", ""])
def test_fails_names_that_gke_keeps(name: str, written: Callable[..., Path]) -> None:
    assert any("name" in words for words in wrong(written(L4, name=name)).values())


def test_fails_a_pool_that_the_cluster_has_not(written: Callable[..., Path]) -> None:
    assert (
        "nope is no node pool of the cluster | l4" in wrong(written(L4 | {"node_pools": ["nope"]}))["compute_classes.answers.node_pools.0"]
    )
