"""Volumes and secrets: what is refused of them, and what a pod that mounts them becomes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from infra import stack_kinds
from infra.catalog.gpu_machines import by_machine_type
from infra.catalog.tpu import shape
from infra.errors import ProblemsError, SpecError
from infra.in_cluster import mounts
from infra.in_cluster.mounts import Mountable
from infra.in_cluster.secret import SecretSpec
from infra.in_cluster.volume import VolumeSpec, against_host

Write = Callable[..., Path]
FILLED = "projects/tw-shop-ml/zones/us-east5-a/disks/models"
CACHE = {"namespace": "serving", "size_gib": 100}
TOKENS = {"namespace": "serving", "files": {"hf-token": {"secret": "hf-token"}}}


def a_volume(**change: Any) -> VolumeSpec:
    return VolumeSpec.model_validate(CACHE | change, context={"region": "us-east5"})


OF = Mountable(
    {"cache": a_volume(), "models": a_volume(storage="hyperdisk-ml", disk=FILLED)}, {"tokens": SecretSpec.model_validate(TOKENS)}
)


def refused(model: Any, fields: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(fields, context={"region": "us-east5"})
    found: dict[str, str] = {}
    for one in caught.value.errors(include_url=False):
        raised = one.get("ctx", {}).get("error")
        said = raised.problems if isinstance(raised, ProblemsError) else []
        found |= {problem.path: problem.message for problem in said} or {".".join(map(str, one["loc"])): one["msg"]}
    return found


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        ({"size_gib": 9}, "size_gib", "less than the smallest pd-balanced"),
        ({"storage": "filestore", "size_gib": 1000}, "size_gib", "less than the smallest filestore"),
        ({"size_gib": 10**20}, "size_gib", "less than or equal"),
        ({"size_gib": "100"}, "size_gib", "integer"),
        ({"access": "read-write-many"}, "access", "a disk has one writer"),
        ({"access": "read-only-many"}, "access", "it is empty"),
        ({"disk": "models"}, "disk", "is not the full name of a disk"),
        ({"disk": FILLED.replace("east5-a", "east1-b")}, "disk", "outside the cluster's region"),
        ({"disk": FILLED, "storage": "filestore", "size_gib": 2000}, "disk", "filestore is a share"),
        ({"storage": "PD-SSD"}, "storage", "'pd-ssd'"),
        ({"namespace": "Über"}, "namespace", "is not a name"),
        ({"storage_class": "standard-rwo"}, "storage_class", "Extra inputs"),
    ],
)
def test_fails_what_no_volume_can_be(change: dict[str, Any], key: str, said: str) -> None:
    found = refused(VolumeSpec, CACHE | change)
    assert said in found[key], found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"files": {}}, "at least 1"),
        ({"files": {"../x": {"secret": "a"}}}, "is no name of a file"),
        ({"files": {"a": {"secret": "projects/p/secrets/"}}}, "is no name of a secret"),
        ({"files": {"a": {"secret": "a", "version": 0}}}, "greater than"),
        ({"files": {"a": {"secret": "a", "version": "newest"}}}, "'latest'"),
        ({"files": {"a": {"secret": "a", "value": "s3cret"}}}, "Extra inputs"),
        ({"files": {"a": {"secret": "a"}, "A": {"secret": "b"}}}, "there twice"),
        ({"readers": ["a", "a"]}, "twice"),
    ],
)
def test_fails_what_no_secret_can_be(change: dict[str, Any], said: str) -> None:
    """A value has no key to stand at."""
    assert any(said in words for words in refused(SecretSpec, TOKENS | change).values())


def test_a_pod_sees_what_it_mounts_in_all_its_containers() -> None:
    """What it mounts already stays; what many read is mounted so."""
    pod = {"containers": [{"name": "a", "volumeMounts": [{"name": "x", "mountPath": "/x"}]}, {"name": "b"}], "volumes": [{"name": "x"}]}
    made = mounts.add(pod, {"cache": "/cache", "models": "/models"}, {"tokens": "/etc/tokens"}, OF)
    assert [one["name"] for one in made["volumes"]] == ["x", "volume-cache", "volume-models", "secret-tokens"]
    assert made["volumes"][2]["persistentVolumeClaim"] == {"claimName": "models", "readOnly": True}
    assert made["volumes"][3]["csi"]["volumeAttributes"] == {"secretProviderClass": "tokens"}
    assert [[one["mountPath"] for one in container["volumeMounts"]] for container in made["containers"]] == [
        ["/x", "/cache", "/models", "/etc/tokens"],
        ["/cache", "/models", "/etc/tokens"],
    ]
    assert mounts.add(pod, {}, {}, OF) == pod


def test_fails_what_pods_cannot_mount() -> None:
    """Each at its key: what is not there, what is of another namespace, a disk for more than one writer, two things in one place."""
    found = {
        one.path: one.message
        for one in mounts.problems({"cache": "/a", "modls": "/a"}, {"tokens": "/a"}, OF, namespace="training", copies=2)
    }
    assert found["volumes.modls"] == "modls is no key of volumes"
    assert found["volumes.cache"] == "cache is mounted by one node at a time, and there may be 2 pods"
    assert "is in the namespace serving" in found["secrets.tokens"]
    assert found["volumes"] == "mounts two things at /a"
    assert not list(mounts.problems({"models": "/a"}, {"tokens": "/b"}, OF, namespace="serving", copies=9))


@pytest.mark.parametrize("path", ["/proc", "/proc/1/fd", "/sys", "/dev/shm", "/", "/a//b", "/../etc"])
def test_folders_of_the_kernel_are_no_place_to_mount_at(path: str) -> None:
    """A container with one of them in the way does not begin, or sees no chips. What is only called alike is allowed."""
    folders = TypeAdapter(mounts.Folders)
    with pytest.raises(ValidationError):
        folders.validate_python({"cache": path})
    assert folders.validate_python({"cache": "/processed"}) == {"cache": "/processed"}


@pytest.mark.parametrize(
    ("machine", "storage", "takes"),
    [
        ("v6e-1", "pd-balanced", False),
        ("v6e-1", "hyperdisk-balanced", True),
        ("v6e-1", "hyperdisk-ml", True),
        ("v5litepod-4", "hyperdisk-balanced", False),
        ("v5litepod-4", "pd-ssd", True),
        ("g2-standard-8", "pd-balanced", True),
        ("g2-standard-8", "hyperdisk-balanced", False),
        ("a4-highgpu-8g", "pd-ssd", False),
        ("a4-highgpu-8g", "hyperdisk-balanced", True),
    ],
)
def test_newer_machines_take_hyperdisks_and_older_ones_persistent_disks(machine: str, storage: str, takes: bool) -> None:
    host = by_machine_type(machine) or shape(machine)
    assert (against_host("cache", a_volume(storage=storage), host, []) == "") is takes


def test_a_disk_is_mounted_where_it_is() -> None:
    words = against_host("models", OF.volumes["models"], shape("v6e-1"), ["us-east5-b"])
    assert words == "models is in us-east5-a, and the nodes stand in us-east5-b"


@pytest.mark.parametrize(
    ("cluster", "network", "said"),
    [
        ({"mode": "standard"}, {}, {"volumes.work.storage": "needs an add-on", "secrets.tokens": "secret-manager"}),
        (
            {"mode": "autopilot", "secondary_ranges": {"pods": "pods", "services": "services"}},
            {"existing": "projects/host/regions/us-east5/subnetworks/ml"},
            {"volumes.work.storage": "which one an existing subnet", "secrets.tokens": "secret-manager"},
        ),
    ],
)
def test_fails_what_the_cluster_has_not(
    cluster: dict[str, Any], network: dict[str, Any], said: dict[str, str], base: dict[str, Any], stack_file: Write
) -> None:
    """What to write in the region's file is told; and a namespace that nobody made."""
    stack_file(base | {"accelform:clusters": {"main": cluster}, "accelform:network": network}, "there")
    own = {key: value for key, value in base.items() if key != "accelform:budgets"}
    config = own | {
        "accelform:kind": "apps",
        "accelform:region_stack": "there",
        "accelform:volumes": {"work": {"namespace": "serving", "storage": "filestore", "size_gib": 1024}},
        "accelform:secrets": {"tokens": TOKENS},
    }
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(stack_file(config))
    found = {one.path: f"{one.message} {one.fix}" for one in caught.value.problems}
    assert found.keys() == {*said, "volumes.work.namespace", "secrets.tokens.namespace"}
    assert all(words in found[key] for key, words in said.items()), found
