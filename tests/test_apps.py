"""The stack file of what lives in a cluster: what it reads of the region's file, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import stack_kinds
from infra.apps import AppsSpec
from infra.errors import SpecError
from infra.stack import StackSpec

Write = Callable[..., Path]
IMAGE = f"us-central1-docker.pkg.dev/tw-shop-ml/i/vllm@sha256:{64 * '0'}"

REGION = {
    "accelform:clusters": {"main": {"mode": "standard"}},
    "accelform:node_pools": {
        "l4": {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 2}},
    },
}


@pytest.fixture
def region(base: dict[str, Any]) -> dict[str, Any]:
    """A region with a cluster."""
    return base | {"accelform:region": "us-central1"} | REGION


@pytest.fixture
def apps(region: dict[str, Any]) -> dict[str, Any]:
    """The least that lives in its cluster."""
    own = {key: region[key] for key in ("gcp:project", "accelform:schema", "accelform:region", "accelform:environment", "accelform:owner")}
    return own | {"accelform:kind": "apps", "accelform:region_stack": "there"}


def refused(path: Path) -> dict[str, tuple[str, str]]:
    """Path -> message and what is allowed, of every problem of a file."""
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(path)
    return {problem.path: (problem.message, problem.allowed) for problem in caught.value.problems}


def test_reads_what_the_cluster_has_from_the_regions_file(region: dict[str, Any], apps: dict[str, Any], stack_file: Write) -> None:
    """Pools and cluster come from the file beside it; where there is one cluster nobody names it."""
    stack_file(region, "there")
    spec = stack_kinds.load(stack_file(apps))
    assert isinstance(spec, AppsSpec)
    assert (spec.cluster_key, list(spec.node_pools), spec.cluster_spec.mode) == ("main", ["l4"], "standard")
    assert spec.buckets == {"data": "tw-shop-ml-there-data", "models": "tw-shop-ml-there-models"}


def test_the_engine_hands_over_the_same(region: dict[str, Any], apps: dict[str, Any], stack_file: Write) -> None:
    stack_file(region, "there")
    path = stack_file(apps | {"accelform:namespaces": {"serving": {}}})
    config = {key: str(value) for key, value in apps.items()} | {"accelform:namespaces": '{"serving": {}}'}
    assert stack_kinds.from_engine(config, "the engine", path.parent) == stack_kinds.load(path)


def test_what_differs_from_the_region_is_refused_at_once(region: dict[str, Any], apps: dict[str, Any], stack_file: Write) -> None:
    """Project and region are those of the cluster; names of the cluster's own namespaces are not for us."""
    stack_file(region, "there")
    wrong: dict[str, Any] = {
        "gcp:project": "tw-shop-web",
        "accelform:cluster": "mian",
        "accelform:namespaces": {"kube-system": {}, "kueue-system": {}, "kuberay-system": {}, "custom-metrics": {}},
    }
    found = refused(stack_file(apps | wrong))
    taken = {f"namespaces.{name}" for name in wrong["accelform:namespaces"]}
    assert set(found) == {"gcp:project", "cluster"} | taken
    assert found["cluster"] == ("mian is no key of the clusters of stack there", "main")


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ({}, "stack there has no cluster"),
        ({"main": {"mode": "standard"}, "other": {"mode": "autopilot"}}, "is missing"),
    ],
)
def test_a_cluster_must_be_meant(
    clusters: dict[str, Any], message: str, base: dict[str, Any], apps: dict[str, Any], stack_file: Write
) -> None:
    """A region without a cluster has no place for it; of two one is named."""
    stack_file(base | {"accelform:region": "us-central1", "accelform:clusters": clusters}, "there")
    assert refused(stack_file(apps))["cluster"] == (message, ", ".join(clusters))


def test_pods_without_a_pool_may_sit_on_nodes_of_others(base: dict[str, Any], apps: dict[str, Any], stack_file: Write) -> None:
    """Of a cluster that others own nobody knows the nodes; those of our own pools in it are known. One of another project is refused."""
    name = "projects/{}/locations/us-central1/clusters/shop"
    small = {"namespace": "serving", "image": IMAGE, "port": 80, "health_route": "/", "cpu": 1, "memory_gib": 1}
    large = small | {"cpu": 64, "node_pool": "l4"}
    file = stack_file(apps | {"accelform:namespaces": {"serving": {}}, "accelform:services": {"small": small, "large": large}})
    theirs = base | {"accelform:region": "us-central1"} | REGION
    stack_file(theirs | {"accelform:clusters": {"main": {"existing": name.format("tw-shop-ml")}}}, "there")
    assert refused(file).keys() == {"services.large"}
    stack_file(theirs | {"accelform:clusters": {"main": {"existing": name.format("tw-shop-web")}}}, "there")
    assert refused(file)["cluster"][1] == "a cluster of tw-shop-ml"


def test_a_region_whose_file_is_not_there_or_wrong_is_told_by_its_name(
    apps: dict[str, Any], base: dict[str, Any], stack_file: Write
) -> None:
    path = stack_file(apps)
    assert "cannot be read" in refused(path)["region_stack"][0]
    stack_file(base | {"accelform:owner": ""}, "there")
    assert "owner:" in refused(path)["region_stack"][0]
    stack_file(apps, "there")  # of the same kind: no region
    assert "is of kind apps" in refused(path)["region_stack"][0]
    assert "is not the name of a stack" in refused(stack_file(apps | {"accelform:region_stack": "../there"}))["region_stack"][0]


def test_a_kind_that_nobody_knows_is_refused(base: dict[str, Any], stack_file: Write) -> None:
    for kind, allowed in (("app", "apps"), (3, "foundation, region, apps"), (None, "foundation, region, apps")):
        assert refused(stack_file(base | {"accelform:kind": kind}))["kind"][1] == allowed


def test_a_command_for_regions_refuses_another_kind(region: dict[str, Any], apps: dict[str, Any], stack_file: Write) -> None:
    """It says which kind the stack is of, and nothing of keys that the kind does not have."""
    stack_file(region, "there")
    with pytest.raises(SpecError, match="is of kind apps, and this wants one of kind region"):
        StackSpec.load(stack_file(apps))


def test_regions_are_made_first(region: dict[str, Any], apps: dict[str, Any], stack_file: Write) -> None:
    from infra.check import StackFile

    files = [StackFile("a-apps", stack_file(apps, "a-apps")), StackFile("there", stack_file(region, "there"))]
    assert [one.stack for one in stack_kinds.in_order(files)] == ["there", "a-apps"]
