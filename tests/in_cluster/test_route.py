"""Ways in: what is refused before a load balancer is made, and what would do instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.apps import AppsSpec
from infra.catalog.manifests import faults
from infra.errors import SpecError
from infra.in_cluster import route

Write = Callable[..., Path]
Load = Callable[..., AppsSpec]

IMAGE = f"us-central1-docker.pkg.dev/tw-shop-ml/i/web@sha256:{64 * '0'}"
WEB = {"namespace": "serving", "image": IMAGE, "port": 8000, "health_route": "/health", "cpu": 1, "memory_gib": 1}
SHOP = {
    "namespace": "serving",
    "exposure": "external",
    "certificate": "shop",
    "hosts": ["shop.example"],
    "paths": {"/": {"a": 90, "b": 10}},
}
INSIDE = {"namespace": "serving", "exposure": "internal", "paths": {"/v1": {"a": 100}}}
NETWORK = {"proxy_cidr": "10.0.16.0/23"}
OTHERS = "projects/tw-shop-ml/locations/us-central1/clusters/shop"


@pytest.fixture
def load(base: dict[str, Any], stack_file: Write) -> Load:
    """Loads a route `it` to the services `a` and `b`."""

    def loaded(route: dict[str, Any], network: dict[str, Any] = NETWORK, cluster: dict[str, Any] | None = None, **more: Any) -> AppsSpec:
        region = base | {"accelform:region": "us-central1", "accelform:network": network}
        stack_file(region | {"accelform:clusters": {"main": cluster or {"mode": "standard"}}}, "there")
        config = {key: value for key, value in region.items() if key not in ("accelform:budgets", "accelform:network")}
        said = {
            "kind": "apps",
            "region_stack": "there",
            "namespaces": {"serving": {}},
            "services": {"a": WEB, "b": WEB},
            "routes": {"it": route},
        }
        return AppsSpec.load(stack_file(config | {f"accelform:{key}": value for key, value in (said | more).items()}))

    return loaded


def problems(load: Load, *arguments: Any, **more: Any) -> dict[str, str]:
    """All that is said of each path."""
    with pytest.raises(SpecError) as caught:
        load(*arguments, **more)
    return {one.path.removeprefix("routes.it."): f"{one.message} {one.allowed} {one.fix}" for one in caught.value.problems}


OWN: list[tuple[dict[str, Any], str, str]] = [
    ({key: value for key, value in SHOP.items() if key != "certificate"}, "certificate", "is encrypted"),
    (SHOP | {"paths": {"/": {"a": 90, "b": 20}}}, "paths./", "makes 110 percent"),
    (SHOP | {"paths": {"/": {"a": 90.5, "b": 10}}}, "paths./.a", "whole number"),
    (SHOP | {"paths": {"/": {"a": -1, "b": 100}}}, "paths./.a", "0"),
    (SHOP | {"paths": {"/": {}}}, "paths./", "makes 0 percent"),
    (SHOP | {"paths": {}}, "paths", "1"),
    (SHOP | {"paths": {"/": {f"a{number}": 5 for number in range(20)}}}, "paths./", "at most 16"),
    (SHOP | {"paths": {"v1": {"a": 100}}}, "paths.v1", "is no beginning of a path"),
    (SHOP | {"paths": {"/v1/": {"a": 100}}}, "paths./v1/", "is no beginning of a path"),
    (SHOP | {"hosts": ["Shop.example"]}, "hosts.0", "in small letters"),
    (SHOP | {"hosts": ["10.0.0.1"]}, "hosts.0", "is no name of a host"),
    (SHOP | {"hosts": ["a.example", "a.example"]}, "hosts", "names somebody twice"),
    (SHOP | {"exposure": "global"}, "exposure", "external"),
]
OF_THE_CLUSTER: list[tuple[dict[str, Any], str, str]] = [
    (SHOP | {"paths": {"/": {"aa": 100}}}, "paths./.aa", "is no key of the services a"),
    (SHOP | {"namespace": "srving"}, "namespace", "serving"),
]


@pytest.mark.parametrize("several", [OWN, OF_THE_CLUSTER], ids=["by itself", "by its cluster"])
def test_what_cannot_be_is_refused(load: Load, several: list[tuple[dict[str, Any], str, str]]) -> None:
    """Each where it says, and nothing else: all of a file at once."""
    found = problems(load, SHOP, routes={f"r{number}": said for number, (said, _, _) in enumerate(several)})
    wanted = {f"routes.r{number}.{path}": word for number, (_, path, word) in enumerate(several)}
    assert found.keys() == wanted.keys()
    assert [path for path, word in wanted.items() if word not in found[path]] == []


def test_a_network_without_a_range_for_load_balancers_is_refused_with_what_to_write(load: Load) -> None:
    """In which file, and what: it is the region's."""
    assert "proxy_cidr: 10.0.16.0/23 }` in the file of stack there" in problems(load, INSIDE, {})["exposure"]


def test_a_cluster_of_others_is_told_the_range_of_its_network(load: Load) -> None:
    """Nothing is made of it: what routes into the cluster lets it in."""
    assert load(SHOP, cluster={"existing": OTHERS}).of_region.network.proxy_cidr == "10.0.16.0/23"


def test_a_policy_of_a_service_that_no_route_leads_to_is_refused(load: Load) -> None:
    """It would be taken for protection."""
    services = {"a": WEB, "b": WEB | {"security_policy": "only-the-shop"}}
    assert "no route leads here" in problems(load, INSIDE, services=services)["services.b.security_policy"]
    load(SHOP, services=services)


def test_an_adapter_of_metrics_comes_where_something_scales_on_one(load: Load) -> None:
    """And where nobody said that the cluster has one."""
    scaled = WEB | {"metrics_route": "/metrics", "max_replicas": 2, "scale_on": {"metric": "queue", "average": 0.5}}
    images = {"metrics-adapter": IMAGE}
    assert [load(INSIDE, services={"a": scaled}, images=images).needs_adapter, load(INSIDE).needs_adapter] == [True, False]
    assert "gcrane cp gcr.io/gke-release/" in problems(load, INSIDE, services={"a": scaled})["images.metrics-adapter"]
    assert not load(INSIDE, services={"a": scaled}, metrics_adapter=False).needs_adapter


@pytest.mark.parametrize(("given", "word"), [("10.0.8.0/23", "shares addresses"), ("10.0.16.0/27", "/26"), ("8.8.8.0/24", "private range")])
def test_a_range_for_load_balancers_is_refused(load: Load, given: str, word: str) -> None:
    """One that machines have, too small a one, or one of the internet."""
    assert word in " ".join(problems(load, INSIDE, {"proxy_cidr": given}).values())


def test_manifests_across_namespaces_are_whole(load: Load) -> None:
    """The namespace of the services lets the route in, which is held by a schema of ours."""
    spec = load(SHOP | {"namespace": "web"}, namespaces={"serving": {}, "web": {}})
    every = list(route.manifests("it", spec.routes["it"], spec.services, set(), spec.placement("apps")))
    assert [one["kind"] for one in every] == ["Gateway", "HTTPRoute", "ReferenceGrant"]
    assert [str(fault) for one in every for fault in faults(one, "1.35")] == []
