"""What a stack file wants of a project's quota."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.cli import doctor
from infra.cli.needs import needs, needs_of_foundation
from infra.foundation import FoundationSpec
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed
from infra.stack import StackSpec

CLUSTER = {"shop": {"mode": "standard"}}
CENTRAL = {"accelform:region": "us-central1"}
Wants = Callable[..., CloudNeeds]


@pytest.fixture
def wants(base: dict[str, Any], stack_file: Callable[..., Path]) -> Wants:
    """What a stack in us-central1 wants whose pools are as said, all of one cluster."""

    def of(**pools: dict[str, Any]) -> CloudNeeds:
        pools = {name: {"cluster": "shop", **one} for name, one in pools.items()}
        return needs(StackSpec.load(stack_file(base | CENTRAL | {"accelform:clusters": CLUSTER, "accelform:node_pools": pools})), "try")

    return of


def test_a_pool_of_gpus_wants_its_maximum_in_every_zone(wants: Wants) -> None:
    """From none, too; and what an upgrade makes beside its nodes."""
    pool = {"machine_type": "g2-standard-24", "provisioning": "spot", "autoscale": {"max": 4}}
    found = wants(pool=pool).gpus
    assert [(one.zone, one.machines, one.count) for one in found] == [(f"us-central1-{zone}", 4, 2) for zone in "abc"]
    assert {(one.way, one.provisioning, one.accelerator_type, one.attached) for one in found} == {("gke", "spot", "nvidia-l4", False)}
    assert {one.machines for one in wants(pool=pool | {"upgrade": {"max_surge": 2}}).gpus} == {6}


def test_a_pool_of_attached_gpus_is_asked_for_by_them(wants: Wants) -> None:
    t4 = {"machine_type": "n1-standard-4", "accelerator_type": "nvidia-tesla-t4", "count": 2, "zones": ["us-central1-a"], "nodes": 1}
    [found] = wants(pool=t4 | {"provisioning": "on-demand", "disk_gib": 60}).gpus
    assert (found.attached, found.count, found.machines, found.boot_disk_gib) == (True, 2, 1, 60)


@pytest.mark.parametrize(
    ("pool", "chips", "nodes"),
    [
        ({"accelerator_type": "v5litepod-16", "autoscale": {}, "upgrade": {"max_surge": 2}}, 16, 4),
        ({"accelerator_type": "v5litepod-4", "autoscale": {"max": 3}}, 12, 3),
        ({"accelerator_type": "v5litepod-4", "autoscale": {"max": 3}, "upgrade": {"max_surge": 1}}, 16, 4),
    ],
)
def test_a_pool_of_tpus_wants_its_chips(pool: dict[str, Any], chips: int, nodes: int, wants: Wants) -> None:
    """A slice of several hosts is one, and is upgraded in its place; of single hosts each node is one."""
    [found] = wants(pool=pool | {"provisioning": "spot"}).tpus
    assert (found.chips, found.hosts, found.way, found.zone) == (chips, nodes, "gke", "us-central1-a")


def test_a_cluster_alone_has_machines(wants: Wants) -> None:
    """Those of its system pool, in a network of the stack's."""
    assert wants().machines


def test_what_waits_in_a_queue_is_flex_start(wants: Wants) -> None:
    """Whatever asks for it."""
    pool = {"machine_type": "g2-standard-8", "autoscale": {"max": 2}}
    found = wants(one=pool | {"provisioning": "flex-start"}, two=pool | {"provisioning": "queued-provisioning"}).gpus
    assert Counter(one.provisioning for one in found) == {"flex-start": 6}


def test_a_job_wants_each_of_its_tries_and_stands_in_none() -> None:
    """Every zone in every way, once at a time."""
    found = needs(StackSpec.load(Path(__file__).parents[2] / "docs" / "examples" / "Pulumi.jobs.yaml"), "jobs")
    tries = {(one.name, one.zone, one.provisioning, one.chips, one.hosts) for one in found.tpus}
    assert tries == {
        ("nightly", "us-east5-a", "spot", 4, 1),
        ("weekly", "us-east5-a", "reservation", 16, 4),
        ("weekly", "us-east5-a", "on-demand", 16, 4),
        *(("pictures", zone, way, 1, 1) for zone in ("us-east5-a", "us-east5-b") for way in ("flex-start", "spot")),
    }
    assert not any(one.stands for one in found.tpus)


def test_a_job_on_gpus_wants_its_machine(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """A job of Vertex AI's is named, and wants no machine of Compute Engine."""
    digest = "@sha256:" + "0" * 64
    image = f"us-central1-docker.pkg.dev/tw-shop-ml/try-images/one{digest}"
    job = {
        "workload": "train_recommender",
        "image": image,
        "machine_type": "g2-standard-8",
        "provisioning": ["spot"],
        "max_run_minutes": 60,
    }
    job |= {"data": {"clicks": "clicks/", "pictures": "pictures/"}}
    jobs = {"here": job | {"zones": ["us-central1-a"]}, "there": job | {"way": "vertex"}}
    found = needs(StackSpec.load(stack_file(base | CENTRAL | {"accelform:images": {"runner": image}, "accelform:jobs": jobs})), "try")
    assert found.gpus == (
        GpuNeed("here", "g2-standard-8", "nvidia-l4", 1, False, "us-central1-a", "spot", "pd-balanced", key="jobs.zones", stands=False),
    )
    assert found.vertex_jobs == ("there",)


def test_a_foundation_wants_apis_and_what_it_asks_for() -> None:
    """No machine; of each request, the id that it has at Google. `doctor --cloud` looks at it by the same words."""
    path = Path(__file__).parents[2] / "docs" / "examples" / "Pulumi.foundation.yaml"
    found = needs_of_foundation(FoundationSpec.load(path), "once")
    assert doctor._needs([str(path)], path.parent) == [
        ("project tw-shop-prod, for stack foundation", needs_of_foundation(FoundationSpec.load(path), "foundation"))
    ]
    assert (found.machines, found.is_foundation, found.currencies) == (False, True, ("USD",))
    assert found.quota_requests == {"h100": "once-h100", "v6e": "once-v6e"}
    assert {"sts.googleapis.com", "cloudquotas.googleapis.com"} <= set(found.services)
