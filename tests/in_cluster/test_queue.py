"""Queues: what is refused of their quotas, and that each manifest is as Kueue takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.apps import AppsSpec
from infra.catalog.manifests import faults
from infra.components.placement import Placement
from infra.in_cluster.queue import asking, cluster_queue, flavor, local_queue

Refused = Callable[..., dict[str, str]]
Apps = Callable[..., AppsSpec]

REGION: dict[str, Any] = {
    "region": "us-central1",
    "clusters": {"main": {"mode": "standard"}, "other": {"mode": "standard"}},
    "node_pools": {
        "slice": {
            "cluster": "main",
            "accelerator_type": "v5litepod-16",
            "zones": ["us-central1-a"],
            "provisioning": "spot",
            "autoscale": {},
        },
        "l4": {"cluster": "main", "machine_type": "g2-standard-24", "provisioning": "spot", "autoscale": {"max": 4}},
        "elsewhere": {"cluster": "other", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 4}},
    },
}
HERE: dict[str, Any] = {"cluster": "main", "namespaces": {"training": {}}}


def queues(*quotas: dict[str, Any], **more: Any) -> dict[str, Any]:
    return HERE | {"queues": {"q": {"namespace": "training", "quotas": list(quotas)} | more}}


@pytest.mark.parametrize(
    ("quota", "path", "words"),
    [
        ({"node_pool": "slice", "accelerators": 8}, ".accelerators", "8 is no whole slice: slice is a slice of 4 hosts with 4 chips each"),
        ({"node_pool": "slice", "accelerators": 32}, ".accelerators", "32 are more than slice holds (4 nodes of 4) | 16 at most"),
        ({"node_pool": "l4", "accelerators": 9}, ".accelerators", "9 are more than l4 holds (4 nodes of 2) | 8 at most"),
        ({"node_pool": "l5", "accelerators": 1}, ".node_pool", "l5 is no pool with accelerators in this cluster | l4"),
        ({"node_pool": "elsewhere", "accelerators": 1}, ".node_pool", "is no pool with accelerators in this cluster | l4, slice"),
        ({"compute_class": "l4", "accelerators": 1}, ".compute_class", "l4 is no compute class of this file | there is none"),
        ({"accelerators": 1}, "", "says no pool, and no class"),
        ({"node_pool": "l4", "compute_class": "l4", "accelerators": 1}, ".compute_class", "is said besides node_pool"),
        ({"node_pool": "l4", "accelerators": 0}, ".accelerators", "1"),
        ({"node_pool": "l4", "accelerators": "2"}, ".accelerators", "number"),
        ({"node_pool": "l4", "accelerators": 10**30}, ".accelerators", "1000000"),
        ({"node_pool": "l4 ", "accelerators": 1}, ".node_pool", "is not a name"),
    ],
)
def test_fails_with_a_quota_that_no_pool_can_give(quota: dict[str, Any], path: str, words: str, refused: Refused) -> None:
    """A quota is of a pool of this cluster, of whole slices, and not more than all its nodes."""
    found = refused(REGION, **queues(quota))
    assert list(found) == [f"queues.q.quotas.0{path}"]
    assert words in found[f"queues.q.quotas.0{path}"]


def test_fails_where_queues_share_more_than_there_is(refused: Refused) -> None:
    """Two queues that admit jobs for the same GPUs would leave pods without nodes."""
    one = {"namespace": "training", "quotas": [{"node_pool": "l4", "accelerators": 5}]}
    found = refused(REGION, **HERE, queues={"a": one, "b": one})
    assert found == {
        "queues.b.quotas.0.accelerators": "10 with the queues above are more than l4 holds (4 nodes of 2) | 8 at most"
        " | or let the pool have more nodes"
    }


def test_fails_with_a_pool_twice_a_foreign_namespace_and_words_of_others(refused: Refused) -> None:
    """Each thing at its key, with what it may be."""
    quota = {"node_pool": "l4", "accelerators": 1}
    assert list(refused(REGION, **queues(quota, quota))) == ["queues.q.quotas.1"]
    assert "training" in refused(REGION, **queues(quota, namespace="trainig"))["queues.q.namespace"]
    assert "none, hold" in refused(REGION, **queues(quota, stop="Hold"))["queues.q.stop"].replace("'", "")
    assert "say `stop: hold`" in refused(REGION, **queues(quota, paused=True))["queues.q.paused"]
    assert list(refused(REGION, **queues())) == ["queues.q.quotas"]


def test_a_class_gives_as_many_as_its_nodes_or_any_number(apps: Apps, refused: Refused) -> None:
    """Of a class without `max_nodes` nobody knows how many there may be: Kueue's quota is then the limit."""
    ladder = {"machine_type": "g2-standard-24", "provisioning": ["on-demand", "spot"]}
    said = queues({"compute_class": "ladder", "accelerators": 100})
    assert apps(REGION, **said, compute_classes={"ladder": ladder}).rooms["", "ladder"].most is None
    found = refused(REGION, **said, compute_classes={"ladder": ladder | {"max_nodes": 3}})
    assert "6 at most" in found["queues.q.quotas.0.accelerators"]


def test_every_object_is_as_kueue_takes_it(apps: Apps) -> None:
    """Against Kueue's schemas, strictly, what asks for nodes too."""
    placement = Placement("tw-shop-ml", "try", "us-central1", "dev", "ml-team")
    spec = apps(REGION, **queues({"node_pool": "slice", "accelerators": 16}, {"node_pool": "l4", "accelerators": 1}, stop="hold"))
    rooms = {place: replace(room, asks=place == ("l4", "")) for place, room in spec.rooms.items()}
    made = [flavor(place, room, placement) for place, room in rooms.items()]
    made += [cluster_queue("q", spec.queues["q"], rooms, placement), local_queue("q", spec.queues["q"], placement), *asking(placement)]
    assert [fault for one in made for fault in faults(one)] == []
