"""Priorities: what is refused of them, and that Kubernetes takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.catalog.manifests import faults
from infra.components.placement import Placement
from infra.in_cluster.priority import PrioritySpec, manifest, waiting

Refused = Callable[..., dict[str, str]]

REGION: dict[str, Any] = {"clusters": {"main": {"mode": "standard"}}}


@pytest.mark.parametrize(
    ("name", "said", "path"),
    [
        ("high", {"value": 1_000_000_001}, "high.value"),
        ("high", {"value": -2_147_483_649}, "high.value"),
        ("high", {"value": 1e9}, "high.value"),
        ("high", {"value": True}, "high.value"),
        ("high", {"value": "1"}, "high.value"),
        ("high", {}, "high.value"),
        ("high", {"value": 1, "preemption": "Never"}, "high.preemption"),
        ("high", {"value": 1, "description": "a\nb"}, "high.description"),
        ("system-high", {"value": 1}, "system-high"),
        ("High", {"value": 1}, "High"),
    ],
)
def test_fails_with_what_no_class_may_be(name: str, said: dict[str, Any], path: str, refused: Refused) -> None:
    """Above 1,000,000,000, and in names that begin with `system-`, are the cluster's own."""
    assert list(refused(REGION, priorities={name: said})) == [f"priorities.{path}"]


def test_what_waits_is_weighed_by_the_same_name_and_value() -> None:
    """A pod's class and a queue's are two kinds with one meaning here."""
    spec = PrioritySpec(value=1_000_000_000, preemption="never", description="first of all")
    placement = Placement("tw-shop-ml", "try", "us-east5", "dev", "ml-team")
    pods, queue = manifest("first", spec, placement), waiting("first", spec, placement)
    assert [*faults(pods), *faults(queue)] == []
    assert {key: pods[key] for key in ("metadata", "value", "description")} == {
        key: queue[key] for key in ("metadata", "value", "description")
    }
    assert pods["globalDefault"] is False
