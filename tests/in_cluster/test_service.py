"""Services: what is refused before a cluster is asked, and what would do instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.apps import AppsSpec
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


@pytest.fixture
def load(base: dict[str, Any], stack_file: Write) -> Load:
    """Loads services, by name, in a cluster with GPUs and a slice."""
    region = base | {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "standard"}}}

    def loaded(services: dict[str, Any], cluster: dict[str, Any] | None = None, **more: Any) -> AppsSpec:
        clusters = {"accelform:clusters": {"main": cluster}} if cluster else {}
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


@pytest.mark.parametrize(
    ("said", "path", "word"),
    [
        ({"workload": "train_recommender"}, "workload", "is no workload that serves"),
        ({"model": "gs://tw-shop-ml-there-models/recommender/7/"}, "model", "without gs://"),
        ({"model": "a/../b"}, "model", "is no folder"),
        ({"model": None}, "model", "is missing"),
        ({"port": 8080}, "port", "serve_recommender's own to say"),
        ({"env": {"WL_THREADS": "4", "WL_PORT": "1"}}, "env.WL_PORT", "is none that serve_recommender takes"),
        ({"namespace": "servng"}, "namespace", "servng is no key of the namespaces"),
        ({"node_pool": "l5"}, "node_pool", "l5 is no key of the node_pools"),
        ({"accelerators": 1}, "accelerators", "nodes without any are taken"),
        ({"hosts": 2, "node_pool": "l4"}, "hosts", "answers from one host"),
        ({"node_pool": "slice"}, "node_pool", "one slice of 4 hosts"),
        ({"node_pool": "l4", "accelerators": 2}, "accelerators", "l4 has 1 on a node"),
        ({"node_pool": "parts", "accelerators": 2}, "accelerators", "a container gets one part"),
        ({"node_pool": "mps"}, "node_pool", "share their node's memory"),
        ({"node_pool": "l4", "drain_seconds": 12}, "drain_seconds", "makes 16 s"),
        ({"folders": {"/models": "recommender/"}}, "folders", "need the add-on gcs-fuse"),
        ({"max_replicas": 2}, "scale_on", "is missing"),
        ({"scale_on": {"cpu_percent": 60}}, "scale_on", "there are always 1"),
        ({"max_replicas": 2, "scale_on": {"metric": "wl_requests", "average": 3}}, "scale_on.metric", "wl_requests is no gauge"),
        ({"max_replicas": 2, "scale_on": {"metric": "wl_in_flight"}}, "scale_on.average", "is missing"),
        ({"max_replicas": 2, "scale_on": {}}, "scale_on", "says none, or both"),
        ({"min_replicas": 3, "max_replicas": 2}, "max_replicas", "2 is below min_replicas"),
        ({"min_replicas": 0, "max_replicas": 2, "scale_on": {"cpu_percent": 60}}, "min_replicas", "the autoscaler keeps one"),
        ({"cpu": float("nan")}, "cpu", ""),
        ({"memory_gib": "2"}, "memory_gib", ""),
        ({"replicas": 2}, "replicas", "min_replicas"),
    ],
)
def test_a_workload_is_refused(refused: Refused, said: dict[str, Any], path: str, word: str) -> None:
    """Where it says, with what is wrong with it, and nothing else."""
    found = refused({key: value for key, value in (OURS | said).items() if value is not None})
    assert list(found) == [path]
    assert word in " ".join(found[path])


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"port": None}, "port"),
        ({"health_route": None}, "health_route"),
        ({"model": "recommender/7/"}, "model"),
        ({"image": "docker.io/vllm/vllm-openai:latest"}, "image"),
        ({"max_replicas": 2, "scale_on": {"metric": "vllm:num_requests_waiting", "average": 3}}, "metrics_route"),
        ({"node_pool": "slice", "hosts": 2}, "hosts"),
        ({"folders": {"/models": "a/", "/models/b": "b/"}}, "folders./models/b"),
        ({"volumes": {"weights": "/weights"}}, "volumes.weights"),
        ({"secrets": {"token": "/etc/token"}}, "secrets.token"),
    ],
)
def test_an_image_is_refused(refused: Refused, said: dict[str, Any], path: str) -> None:
    assert list(refused({key: value for key, value in (THEIRS | said).items() if value is not None})) == [path]


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
