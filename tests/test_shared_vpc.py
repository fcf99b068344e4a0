"""A stack file in a subnet of another project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import stack_kinds
from infra.check import StackFile, check
from infra.errors import SpecError

Write = Callable[..., Path]
RANGES = {"pods": "pods", "services": "services"}


@pytest.fixture
def shared(base: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """A region with a cluster in a subnet of that project."""

    def of(host: str, cluster: dict[str, Any] | None = None, **network: Any) -> dict[str, Any]:
        subnet = f"projects/{host}/regions/us-central1/subnetworks/ml"
        clusters = {"main": {"mode": "autopilot"} | (cluster or {})}
        said = {"accelform:network": {"existing": subnet} | network, "accelform:clusters": clusters}
        return base | {"accelform:region": "us-central1"} | said

    return of


def refused(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(path)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_ranges_of_another_projects_subnet_are_named(shared: Callable[..., dict[str, Any]], stack_file: Write) -> None:
    """In a subnet of the project GKE makes some itself."""
    words = "is missing: GKE makes no ranges in a subnet of another project, shop-net"
    assert refused(stack_file(shared("shop-net"))) == [("clusters.main.secondary_ranges", words)]
    assert stack_kinds.load(stack_file(shared("tw-shop-ml")))
    assert stack_kinds.load(stack_file(shared("shop-net", {"secondary_ranges": RANGES})))


def test_grants_are_of_another_projects_subnet(base: dict[str, Any], shared: Callable[..., dict[str, Any]], stack_file: Write) -> None:
    assert refused(stack_file(shared("tw-shop-ml", grants=True))) == [
        ("network.grants", "does nothing: the subnet is of tw-shop-ml, whose roles reach it")
    ]
    assert refused(stack_file(base | {"accelform:network": {"grants": True}}))[0] == (
        "network.grants",
        "does nothing: the network is the stack's own",
    )
    assert refused(stack_file(shared("shop-net", {"secondary_ranges": RANGES}, grants="yes")))[0][0] == "network.grants"


def test_a_cluster_comes_after_its_grants(shared: Callable[..., dict[str, Any]], stack_file: Write) -> None:
    """GKE's agent must be let in before it makes nodes; nothing breaks a rule, and nobody pays for it."""
    path = stack_file(shared("shop-net", {"secondary_ranges": RANGES}, grants=True))
    found = check(StackFile("try", path))
    grants = {one.urn for one in found.resources if one.type.endswith(":SubnetworkIAMMember")}
    [cluster] = [one for one in found.resources if one.type == "gcp:container/cluster:Cluster"]
    assert (len(grants), grants <= set(cluster.dependencies)) == (2, True)
    assert found.findings == []
