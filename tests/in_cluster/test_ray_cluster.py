"""Ray clusters: what is refused of them, and what their pods ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.apps import AppsSpec
from infra.catalog.manifests import faults
from infra.in_cluster.ray_cluster import manifest

Apps = Callable[..., AppsSpec]
Refused = Callable[..., dict[str, str]]

IMAGE = f"us-central1-docker.pkg.dev/tw-shop-ml/i/ray@sha256:{64 * '0'}"
REGION: dict[str, Any] = {
    "region": "us-central1",
    "clusters": {"main": {"mode": "standard"}},
    "node_pools": {
        "slice": {
            "cluster": "main",
            "accelerator_type": "v5litepod-16",
            "zones": ["us-central1-a"],
            "provisioning": "spot",
            "autoscale": {},
        },
        "l4": {"cluster": "main", "machine_type": "g2-standard-24", "provisioning": "spot", "autoscale": {"max": 4}},
        "h100": {
            "cluster": "main",
            "machine_type": "a3-highgpu-8g",
            "zones": ["us-central1-a"],
            "provisioning": "queued-provisioning",
            "autoscale": {"max": 2},
        },
    },
}
WORKERS = {"node_pool": "l4", "cpu": 8, "memory_gib": 32, "max_replicas": 2}
RAY = {"namespace": "training", "image": IMAGE, "ray_version": "2.52.0"}
HERE: dict[str, Any] = {"namespaces": {"training": {}}}


def tuned(workers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return HERE | {"ray_clusters": {"tune": RAY | {"workers": {"w": WORKERS | workers}} | more}}


@pytest.mark.parametrize(
    ("workers", "path", "words"),
    [
        ({"max_replicas": 5}, ".max_replicas", "5 are more than l4 holds (4 nodes) | 4 at most"),
        ({"accelerators": 1, "max_replicas": 9}, ".max_replicas", "9 are more than l4 holds (4 nodes) | 8 at most"),
        ({"accelerators": 3}, "", "asks for 3 nvidia.com/gpu"),
        ({"cpu": 100}, "", "asks for 100 cpu"),
        ({"min_replicas": 3}, ".max_replicas", "2 is below min_replicas"),
        ({"node_pool": "l5"}, ".node_pool", "l5 is no pool of the cluster | h100, l4, slice"),
        ({"node_pool": "l4", "compute_class": "l4"}, ".compute_class", "is said besides node_pool"),
        ({"node_pool": None, "compute_class": "l4"}, ".compute_class", "l4 is no class of this file"),
        ({"node_pool": None, "accelerators": 1}, ".accelerators", "stand on no node"),
        ({"node_pool": "slice"}, ".node_pool", "say `existing_controllers: [kuberay-operator]`"),
        ({"node_pool": "h100", "max_replicas": 1}, ".node_pool", "come by a request for all of them"),
    ],
)
def test_fails_with_workers_that_could_not_be(workers: dict[str, Any], path: str, words: str, refused: Refused) -> None:
    """Each at its key, with what would do."""
    found = refused(REGION, **tuned(workers))
    assert words in found[f"ray_clusters.tune.workers.w{path}"]


def test_fails_with_a_head_that_no_node_holds_an_old_ray_and_a_foreign_namespace(refused: Refused) -> None:
    """Beside the head stands what scales the workers: both must find room."""
    assert "asks for 4.5 cpu" in refused(REGION, **tuned({}, head={"cpu": 4}))["ray_clusters.tune.head"]
    assert "2.52.0 or newer" in refused(REGION, **tuned({}, ray_version="2.9.3"))["ray_clusters.tune.ray_version"]
    assert "no version of Ray" in refused(REGION, **tuned({}, ray_version="nightly"))["ray_clusters.tune.ray_version"]
    assert "training" in refused(REGION, **tuned({}, namespace="ml"))["ray_clusters.tune.namespace"]
    assert "holds no place in a queue" in refused(REGION, **tuned({}, queue="q"))["ray_clusters.tune.queue"]
    assert list(refused(REGION, **HERE, ray_clusters={"tune": RAY | {"workers": {}}})) == ["ray_clusters.tune.workers"]


def test_fails_where_a_job_has_the_same_name(refused: Refused) -> None:
    """Both would be one account, with one name; the same with a service."""
    job = {"namespace": "training", "image": IMAGE, "command": ["a"], "cpu": 1, "memory_gib": 1, "max_run_minutes": 1}
    assert list(refused(REGION, **tuned({}), jobs={"tune": job})) == ["ray_clusters.tune"]


def test_a_slice_is_one_worker_of_all_its_hosts(apps: Apps) -> None:
    """With the add-on's operator: KubeRay makes as many pods as the slice has hosts, for one replica."""
    spec = apps(REGION, **tuned({"node_pool": "slice", "max_replicas": 1}), existing_controllers=["kuberay-operator"])
    made = manifest("tune", spec.ray_clusters["tune"], spec.made({}, spec.ray_clusters["tune"]))
    [group] = made["spec"]["workerGroupSpecs"]
    assert (group["numOfHosts"], group["maxReplicas"]) == (4, 1)
    assert spec.controllers == ()


@pytest.mark.parametrize("security", ["baseline", "restricted"])
def test_it_is_as_a_cluster_takes_it(security: str, apps: Apps) -> None:
    """Against the schemas of Kubernetes and of KubeRay, strictly."""
    spec = apps(REGION, **tuned({}) | {"namespaces": {"training": {"pod_security": security}}})
    assert faults(manifest("tune", spec.ray_clusters["tune"], spec.made({}, spec.ray_clusters["tune"]))) == []
