"""Services: what is refused before a cluster is asked, and what would do instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.apps import AppsSpec
from infra.catalog.manifests import faults
from infra.errors import SpecError
from infra.in_cluster import service_objects, service_parts
from workloads.serving import app
from workloads.serving.metrics import Metrics

Write = Callable[..., Path]
Load = Callable[..., AppsSpec]
Refused = Callable[..., dict[str, tuple[str, str, str]]]

IMAGE = f"us-central1-docker.pkg.dev/tw-shop-ml/i/serve@sha256:{64 * '0'}"
POOLS: dict[str, Any] = {
    "l4": {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 4}},
    "parts": {"cluster": "main", "machine_type": "a2-highgpu-1g", "provisioning": "spot", "partition": "1g.5gb", "autoscale": {"max": 1}},
    "mps": {
        "cluster": "main",
        "machine_type": "g2-standard-8",
        "provisioning": "on-demand",
        "sharing": {"strategy": "mps", "clients": 4},
        "autoscale": {"max": 2},
    },
    "slice": {"cluster": "main", "accelerator_type": "v5litepod-16", "zones": ["us-central1-a"], "provisioning": "spot", "autoscale": {}},
}
OURS = {"namespace": "serving", "workload": "serve_recommender", "model": "recommender/7/", "cpu": 1, "memory_gib": 2}
THEIRS = {"namespace": "serving", "image": IMAGE, "port": 8000, "health_route": "/health", "cpu": 1, "memory_gib": 2}


def without(said: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in said.items() if key not in keys}


@pytest.fixture
def load(base: dict[str, Any], stack_file: Write) -> Load:
    """Loads services, by name, in a cluster with GPUs and a slice."""
    region = base | {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "standard"}}}

    def loaded(
        services: dict[str, Any], cluster: dict[str, Any] | None = None, network: dict[str, Any] | None = None, **more: Any
    ) -> AppsSpec:
        clusters = {"accelform:clusters": {"main": cluster}} if cluster else {}
        clusters |= {"accelform:network": network} if network else {}
        stack_file(region | {"accelform:node_pools": POOLS, "accelform:images": {"serve": IMAGE}} | clusters, "there")
        config = {key: value for key, value in region.items() if key not in ("accelform:budgets", "accelform:clusters")}
        said = {"kind": "apps", "region_stack": "there", "namespaces": {"serving": {}}, "services": services} | more
        return AppsSpec.load(stack_file(config | {f"accelform:{key}": value for key, value in said.items()}))

    return loaded


@pytest.fixture
def refused(load: Load) -> Refused:
    """Message, what is allowed and what to do, by the path of each problem of one service `it`."""

    def problems(service: dict[str, Any], **more: Any) -> dict[str, tuple[str, str, str]]:
        with pytest.raises(SpecError) as caught:
            load({"it": service} | more.pop("beside", {}), **more)
        return {one.path.removeprefix("services.it."): (one.message, one.allowed, one.fix) for one in caught.value.problems}

    return problems


def test_our_servers_have_the_routes_and_the_gauge() -> None:
    """What is written here without an import of the server is what the server has."""
    assert (service_parts.LIVE_ROUTE, service_parts.METRICS_ROUTE) == (app.LIVE_ROUTE, app.METRICS_ROUTE)
    assert "# TYPE wl_in_flight gauge" in Metrics("", "").text().decode()


OWN: list[tuple[dict[str, Any], str, str]] = [
    (OURS | {"workload": "train_recommender"}, "workload", "is no workload that serves"),
    (OURS | {"model": "gs://tw-shop-ml-there-models/recommender/7/"}, "model", "without gs://"),
    (OURS | {"model": "a/../b"}, "model", "is no folder"),
    (without(OURS, "model"), "model", "is missing"),
    (OURS | {"port": 8080}, "port", "serve_recommender's own to say"),
    (OURS | {"env": {"WL_THREADS": "4", "WL_PORT": "1"}}, "env.WL_PORT", "is none that serve_recommender takes"),
    (OURS | {"accelerators": 1}, "accelerators", "nodes without any are taken"),
    (OURS | {"hosts": 2, "node_pool": "l4"}, "hosts", "answers from one host"),
    (OURS | {"max_replicas": 2}, "scale_on", "is missing"),
    (OURS | {"scale_on": {"cpu_percent": 60}}, "scale_on", "there are always 1"),
    (OURS | {"max_replicas": 2, "scale_on": {"metric": "wl_requests", "average": 3}}, "scale_on.metric", "wl_requests is no gauge"),
    (OURS | {"max_replicas": 2, "scale_on": {"metric": "wl_in_flight"}}, "scale_on.average", "is missing"),
    (OURS | {"max_replicas": 2, "scale_on": {}}, "scale_on", "says none, or both"),
    (OURS | {"min_replicas": 3, "max_replicas": 2}, "max_replicas", "2 is below min_replicas"),
    (OURS | {"min_replicas": 0, "max_replicas": 2, "scale_on": {"cpu_percent": 60}}, "min_replicas", "the autoscaler keeps one"),
    (OURS | {"cpu": float("nan")}, "cpu", "NaN"),
    (OURS | {"memory_gib": "2"}, "memory_gib", "number"),
    (OURS | {"replicas": 2}, "replicas", "min_replicas"),
    (without(OURS, "workload", "model"), "", "says not what answers"),
    (without(THEIRS, "port"), "port", "is missing"),
    (without(THEIRS, "health_route"), "health_route", "is missing"),
    (THEIRS | {"model": "recommender/7/"}, "model", "does nothing"),
    (THEIRS | {"image": "docker.io/vllm/vllm-openai:latest"}, "image", "by its digest"),
    (THEIRS | {"max_replicas": 2, "scale_on": {"metric": "vllm:num_requests_waiting", "average": 3}}, "metrics_route", "is missing"),
    (THEIRS | {"folders": {"/models": "a/", "/models/b": "b/"}}, "folders./models/b", "inside of another"),
]
OF_THE_CLUSTER: list[tuple[dict[str, Any], str, str]] = [
    (OURS | {"namespace": "servng"}, "namespace", "servng is no key of the namespaces"),
    (OURS | {"node_pool": "l5"}, "node_pool", "l5 is no key of the node_pools"),
    (OURS | {"compute_class": "l4"}, "compute_class", "l4 is no key of the compute_classes"),
    (OURS | {"node_pool": "slice"}, "node_pool", "one slice of 4 hosts"),
    (OURS | {"node_pool": "l4", "accelerators": 2}, "accelerators", "l4 has 1 on a node"),
    (OURS | {"node_pool": "parts", "accelerators": 2}, "accelerators", "a container gets one part"),
    (OURS | {"node_pool": "mps"}, "node_pool", "share their node's memory"),
    (OURS | {"node_pool": "l4", "drain_seconds": 12}, "drain_seconds", "makes 16 s"),
    (OURS | {"node_pool": "l4", "lameduck_seconds": 7}, "lameduck_seconds", "makes 16 s"),
    (OURS | {"folders": {"/models": "recommender/"}}, "folders", "need the add-on gcs-fuse"),
    (OURS | {"priority": "first"}, "priority", "first is no key of priorities"),
    (THEIRS | {"node_pool": "slice", "hosts": 2}, "hosts", "is not what the slice of slice has"),
    (THEIRS | {"volumes": {"weights": "/weights"}}, "volumes.weights", "is no key of volumes"),
    (THEIRS | {"secrets": {"token": "/etc/token"}}, "secrets.token", "is no key of secrets"),
]


@pytest.mark.parametrize("several", [OWN, OF_THE_CLUSTER], ids=["by itself", "by its cluster"])
def test_what_cannot_be_is_refused(load: Load, several: list[tuple[dict[str, Any], str, str]]) -> None:
    """Each where it says, with what is wrong with it, and nothing else: all of a file at once."""
    with pytest.raises(SpecError) as caught:
        load({f"s{number}": said for number, (said, _, _) in enumerate(several)})
    found: dict[str, dict[str, str]] = {}
    for one in caught.value.problems:
        _, name, path = f"{one.path}.".split(".", 2)
        found.setdefault(name, {})[path.rstrip(".")] = f"{one.message} {one.allowed} {one.fix}"
    for number, (_, path, word) in enumerate(several):
        told = found.pop(f"s{number}")
        assert list(told) == [path]
        assert word in told[path]
    assert found == {}


def test_more_copies_than_a_pool_holds_are_refused_with_what_would_do(refused: Refused) -> None:
    """Four nodes of one L4 hold four copies, whatever they ask for beside; one A100 in seven parts holds seven, and of CPUs fewer."""
    scaled = {"scale_on": {"cpu_percent": 60}}
    found = refused(OURS | {"node_pool": "l4", "max_replicas": 6} | scaled)
    assert found == {
        "max_replicas": ("6 copies are more than l4 holds on its 4 nodes", "at most 4", "make l4 larger in the region's file: 6 nodes")
    }
    assert refused(OURS | {"node_pool": "parts", "max_replicas": 8} | scaled)["max_replicas"][1] == "at most 7"
    assert refused(OURS | {"node_pool": "parts", "cpu": 3, "min_replicas": 4})["min_replicas"][1] == "at most 3"
    assert "another pool of such a slice" in refused(THEIRS | {"node_pool": "slice", "min_replicas": 2})["min_replicas"][2]


def test_a_copy_that_no_node_holds_is_refused_with_the_pools_that_come_nearest(refused: Refused) -> None:
    found = refused(OURS | {"node_pool": "l4", "cpu": 16})
    ((path, (_, allowed, _)),) = found.items()
    assert path == "services.it"
    assert allowed.startswith("nearest: pool l4: asks for 16 cpu")


def test_a_service_and_a_job_of_one_name_are_refused(refused: Refused) -> None:
    """Both would be one account, and their pods would have one name."""
    job = {"namespace": "serving", "image": IMAGE, "command": ["true"], "node_pool": "l4", "max_run_minutes": 10}
    assert "is a key of services in serving too" in refused(OURS, jobs={"it": job})["jobs.it"][0]


def test_services_of_one_pool_fit_it_together_at_least(refused: Refused, load: Load) -> None:
    """Three copies each are six of four; with one each there is room, though both could not have their most at once."""
    found = refused(OURS | {"node_pool": "l4", "min_replicas": 3}, beside={"other": OURS | {"node_pool": "l4", "min_replicas": 3}})
    ((message, _, _),) = found.values()
    assert message.endswith("it 3 of 4, other 3 of 4")
    scaled = OURS | {"node_pool": "l4", "max_replicas": 4, "scale_on": {"cpu_percent": 60}}
    load({"it": scaled, "other": scaled})


def test_an_update_takes_one_more_only_where_it_can_be_had(load: Load) -> None:
    """Of four nodes three are used at most: a fourth is there. Of four copies one goes first."""
    scaled = OURS | {"node_pool": "l4", "scale_on": {"cpu_percent": 60}}
    spec = load({"three": scaled | {"max_replicas": 3}, "four": scaled | {"max_replicas": 4}})
    assert {name: spec.around.place(name, one).spare for name, one in spec.services.items()} == {"three": True, "four": False}


def test_what_is_needed_to_share_a_gpu_by_mps_is_said(load: Load) -> None:
    """Its pods share their node's memory: a privileged namespace lets them."""
    spec = load({"it": THEIRS | {"node_pool": "mps", "min_replicas": 5}}, namespaces={"serving": {"pod_security": "privileged"}})
    pod = service_objects.pod("it", spec.services["it"], spec.around.place("it", spec.services["it"]))
    assert pod["hostIPC"] is True
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


@pytest.mark.parametrize(
    "said",
    [
        OURS | {"max_replicas": 3, "scale_on": {"metric": "wl_in_flight", "average": 0.5}, "priority": "first"},
        THEIRS | {"node_pool": "parts", "cpu": 0.25, "folders": {"/models": "a"}, "secrets": {"token": "/etc/token"}, "args": ["--x", ""]},
        THEIRS | {"node_pool": "slice", "metrics_route": "/metrics"},
        THEIRS | {"node_pool": "l4", "hosts": 2, "max_replicas": 2, "scale_on": {"cpu_percent": 60}, "security_policy": "shop"},
    ],
    ids=["workload", "parts", "slice", "group"],
)
def test_manifests_of_every_form_are_whole(load: Load, said: dict[str, Any]) -> None:
    """By the schemas of Kubernetes and ours, of a version that clusters have."""
    spec = load(
        {"it": said},
        cluster={"mode": "standard", "addons": ["gcs-fuse", "secret-manager"]},
        network={"proxy_cidr": "10.0.16.0/23"},
        images={"metrics-adapter": IMAGE},
        priorities={"first": {"value": 10}},
        secrets={"token": {"namespace": "serving", "files": {"token": {"secret": "hf"}}}},
        routes={"in": {"namespace": "serving", "exposure": "internal", "paths": {"/": {"it": 100}}}},
    )
    one = spec.services["it"]
    place = spec.around.place("it", one)
    every = [service_objects.controller("it", one, place), *service_objects.around("it", one, place, routed=True)]
    assert [(manifest["kind"], str(fault)) for manifest in every for fault in faults(manifest, "1.35")] == []
    assert spec.controllers == (("lws",) if every[0]["kind"] == "LeaderWorkerSet" else ())
