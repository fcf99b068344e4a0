"""A cluster: what is refused of it, and what it asks of one that others own."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from infra.components.cluster import check_identity
from infra.errors import SpecError
from infra.stack import StackSpec

OTHERS = "projects/tw-shop-ml/locations/{}/clusters/shop"
WINDOW = {"days": ["saturday", "sunday"], "start": "18:00", "hours": 6}


def read(base: dict[str, Any], **cluster: Any) -> StackSpec:
    config = base | {"accelform:clusters": {"main": cluster}}
    return StackSpec.from_engine({key: one if isinstance(one, str) else json.dumps(one) for key, one in config.items()}, "the engine")


REFUSALS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "mode", "standard, autopilot"),
    ({"mode": "Standard"}, "mode", '"Standard"'),
    ({"existing": OTHERS.format("us-central1")}, "existing", "a cluster of us-east5"),
    ({"existing": "shop"}, "existing", "is not the full name of a cluster"),
    ({"existing": OTHERS.format("us-east5"), "mode": "standard"}, "mode", "is for its owner to say"),
    ({"existing": OTHERS.format("us-east5"), "addons": ["gcs-fuse"]}, "addons", "is for its owner to say"),
    ({"mode": "autopilot", "addons": ["gcs-fuse", "secret-manager"]}, "addons", "gcs-fuse: Autopilot has it already"),
    ({"mode": "autopilot", "system_pool": {}}, "system_pool", "makes its nodes itself"),
    ({"mode": "standard", "addons": ["istio"]}, "addons.0", "gcs-fuse"),
    ({"mode": "standard", "addons": ["filestore", "filestore"]}, "addons", "twice"),
    ({"mode": "standard", "authorized_networks": {"all": "0.0.0.0/0"}}, "authorized_networks.all", "is everybody"),
    ({"mode": "standard", "authorized_networks": {"office": "203.0.113.5/24"}}, "authorized_networks.office", "is not an IPv4 range"),
    ({"mode": "standard", "authorized_networks": {"office": "203.0.113.5"}}, "authorized_networks.office", "203.0.113.5/32"),
    ({"mode": "standard", "authorized_networks": {"office": "here"}}, "authorized_networks.office", "is not an IPv4 range"),
    ({"mode": "standard", "maintenance_window": WINDOW | {"hours": 2}}, "maintenance_window.hours", "4"),
    ({"mode": "standard", "maintenance_window": WINDOW | {"days": ["monday"]}}, "maintenance_window.hours", "24 hours in 32 days"),
    ({"mode": "standard", "maintenance_window": WINDOW | {"start": "25:00"}}, "maintenance_window.start", "no time of day"),
    ({"mode": "standard", "maintenance_exclusions": {"a": {"from": "2026-12-20", "until": "2026-12-22"}}}, "maintenance_exclusions", "without a window"),
    (
        {"mode": "standard", "maintenance_window": WINDOW, "maintenance_exclusions": {"a": {"from": "2026-12-20", "until": "2026-12-02"}}},
        "maintenance_exclusions.a.until",
        "is before",
    ),
    ({"mode": "standard", "system_pool": {"machine_type": "g2-standard-8"}}, "system_pool.machine_type", "e2, n2, n2d, n1"),
    ({"mode": "standard", "system_pool": {"machine_type": "e2-small"}}, "system_pool.machine_type", "too small"),
    ({"mode": "standard", "system_pool": {"machine_type": "e2-standard-5"}}, "system_pool.machine_type", "no price"),
    ({"mode": "standard", "system_pool": {"min_nodes": 4}}, "system_pool.max_nodes", "4 or more"),
    ({"mode": "standard", "system_pool": {"min_nodes": 0}}, "system_pool.min_nodes", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("cluster", "key", "words"), REFUSALS, ids=[f"{one[1]}-{number}" for number, one in enumerate(REFUSALS)])
def test_fails_where_it_cannot_be(cluster: dict[str, Any], key: str, words: str, base: dict[str, Any]) -> None:
    """Each wrong cluster is refused at its key, with what would do."""
    with pytest.raises(SpecError) as caught:
        read(base, **cluster)
    found = {one.path.removeprefix("clusters.main."): f"{one.message} | {one.allowed} | {one.fix}" for one in caught.value.problems}
    assert words in found.get(key, ""), found


def test_the_engine_hands_dates_over_as_moments(base: dict[str, Any]) -> None:
    """A bare date of the file comes as the first moment of its day."""
    moment = {"from": "2026-12-20 00:00:00 +0000 UTC", "until": "2026-12-21"}
    spec = read(base, mode="standard", maintenance_window=WINDOW, maintenance_exclusions={"sale": moment})
    declared = spec.clusters["main"].maintenance_exclusions["sale"].declared("sale")
    assert (declared["start_time"], declared["end_time"]) == ("2026-12-20T00:00:00Z", "2026-12-22T00:00:00Z")


def test_a_zonal_cluster_of_others_is_of_its_region(base: dict[str, Any]) -> None:
    """Pools go where the cluster's control plane is, which may be one zone."""
    assert read(base, existing=OTHERS.format("us-east5-a")).clusters["main"].existing


def test_a_cluster_of_others_needs_workload_identity() -> None:
    """Without it, what a pod may do is what its node may."""
    existing = OTHERS.format("us-east5")
    check_identity("main", existing, SimpleNamespace(workload_pool="tw-shop-ml.svc.id.goog"))
    for config in (None, SimpleNamespace(workload_pool="")):
        with pytest.raises(
            pulumi.RunError, match=r"clusters\.main\.existing: .* has no workload identity(.|\n)*--workload-pool=tw-shop-ml"
        ):
            check_identity("main", existing, config)


def test_what_a_cluster_needs_is_enabled(base: dict[str, Any]) -> None:
    """Its API, that of machines and that of accounts, as soon as there is one."""
    needed = {"container.googleapis.com", "compute.googleapis.com", "iam.googleapis.com"}
    assert needed <= set(read(base, mode="autopilot").services())
