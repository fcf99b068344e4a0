"""Diff says what changed, by path, and whether it replaces."""

from __future__ import annotations

from typing import Any

import echo
import pytest
from pulumi.runtime.proto import provider_pb2

from infra.provider.values import UNKNOWN, encode

INSTANCE = "gcp:compute/instance:Instance"
NODE = "gcp:tpu/v2Vm:V2Vm"
BUCKET = "gcp:storage/bucket:Bucket"
FIREWALL = "gcp:compute/firewall:Firewall"


def diff(token: str, old: dict[str, Any], new: dict[str, Any], state: dict[str, Any] | None = None) -> Any:
    driver = echo.Driver(echo.Echo())
    request = provider_pb2.DiffRequest(
        urn=driver.urn(token), old_inputs=encode(old), olds=encode(old if state is None else state), news=encode(new)
    )
    return driver.provider.Diff(request, echo.Context())


def kinds(answer: Any) -> dict[str, str]:
    return {path: provider_pb2.PropertyDiff.Kind.Name(one.kind) for path, one in answer.detailedDiff.items()}


def image(name: str) -> dict[str, Any]:
    return {"bootDisk": {"initializeParams": {"image": f"projects/p/global/{name}"}}}


@pytest.mark.parametrize(
    ("token", "old", "new", "wanted"),
    [
        (NODE, {"labels": {"a": "1"}}, {"labels": {"a": "2", "b": "3"}}, {"labels.a": "UPDATE", "labels.b": "ADD"}),
        (NODE, {"acceleratorType": "v2-8"}, {"acceleratorType": "v3-8"}, {"acceleratorType": "UPDATE_REPLACE"}),
        (NODE, {"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {}),
        (NODE, {"tags": ["a"]}, {"tags": ["b"]}, {"tags[0]": "UPDATE"}),
        (NODE, {"name": "a"}, {"name": "b"}, {"name": "UPDATE_REPLACE"}),
        (NODE, {"description": "x"}, {}, {"description": "DELETE"}),
        (NODE, {"description": ""}, {}, {}),
        (NODE, {"zone": "us-east5-a"}, {}, {}),
        (NODE, {"zone": "us-east5-a"}, {"zone": UNKNOWN}, {"zone": "UPDATE_REPLACE"}),
        (INSTANCE, {"bootDisk": {"mode": "A"}}, {"bootDisk": {"mode": "B"}}, {"bootDisk.mode": "UPDATE_REPLACE"}),
        (INSTANCE, {"bootDisk": {"autoDelete": True}}, {"bootDisk": {"autoDelete": False}}, {"bootDisk.autoDelete": "UPDATE"}),
        (INSTANCE, {"labels": {"a.b": "1"}}, {"labels": {"a.b": "2"}}, {'labels["a.b"]': "UPDATE"}),
        (
            "gcp:compute/resourcePolicy:ResourcePolicy",
            {"name": "a", "description": "x"},
            {"name": "b", "description": "y"},
            {"name": "UPDATE_REPLACE", "description": "UPDATE"},
        ),
        (
            "gcp:compute/subnetwork:Subnetwork",
            {"network": "http://127.0.0.1:9/compute/v1/projects/p/global/networks/n"},
            {"network": "projects/p/global/networks/n"},
            {},
        ),
        (INSTANCE, image("images/tpu-v20261101"), image("images/family/tpu"), {}),
        (INSTANCE, image("images/family/tpu"), image("images/family/tpu"), {}),
        (INSTANCE, image("images/family/tpu-v5"), image("images/family/tpu"), {"bootDisk.initializeParams.image": "UPDATE_REPLACE"}),
        (INSTANCE, image("images/gpu-v1"), image("images/family/tpu"), {"bootDisk.initializeParams.image": "UPDATE_REPLACE"}),
        (FIREWALL, {"allows": [{"protocol": "tcp"}]}, {"allows": [{"protocol": "tcp"}, {"protocol": "udp"}]}, {"allows[1]": "ADD"}),
        (BUCKET, {"location": "US-EAST5"}, {"location": "us-east5"}, {}),
        (BUCKET, {"location": "us-east5"}, {"location": "us-east1"}, {"location": "UPDATE_REPLACE"}),
        (BUCKET, {"storageClass": "STANDARD"}, {"storageClass": "standard"}, {"storageClass": "UPDATE"}),
        (BUCKET, {"versioning": {"enabled": True}}, {}, {"versioning": "DELETE"}),
        (BUCKET, {"cors": [{"origins": ["https://shop.example/*"]}]}, {"cors": [{"origins": ["*"]}]}, {"cors[0].origins[0]": "UPDATE"}),
        (NODE, {"description": "x"}, {"description": "see/x"}, {"description": "UPDATE"}),
        (NODE, {"description": "{x"}, {"description": "{y"}, {"description": "UPDATE"}),
        (NODE, {"schedulingConfig": {"spot": True}}, {}, {}),
        (INSTANCE, {}, {"scratchDisks": [{"interface": "NVME"}]}, {"scratchDisks": "ADD_REPLACE"}),
        (
            "gcp:compute/resourcePolicy:ResourcePolicy",
            {},
            {"diskConsistencyGroupPolicy": {"enabled": True}},
            {"diskConsistencyGroupPolicy": "ADD_REPLACE"},
        ),
        (BUCKET, {"forceDestroy": False}, {"forceDestroy": True}, {"forceDestroy": "UPDATE"}),
    ],
)
def test_says_what_changed(token: str, old: dict[str, Any], new: dict[str, Any], wanted: dict[str, str]) -> None:
    """Kinds and paths are those of the schema; what only looks different is none."""
    answer = diff(token, old, new)
    assert kinds(answer) == wanted
    assert answer.changes == (provider_pb2.DiffResponse.DIFF_SOME if wanted else provider_pb2.DiffResponse.DIFF_NONE)
    assert answer.hasDetailedDiff
    assert bool(answer.replaces) == any("REPLACE" in kind for kind in wanted.values())


def test_what_is_so_already_is_no_change() -> None:
    """To write what Google has filled in changes nothing; to write something else does."""
    old = {"name": "b"}
    state = {"softDeletePolicy": {"effectiveTime": "t", "retentionDurationSeconds": 604800}}
    assert kinds(diff(BUCKET, old, old | {"softDeletePolicy": {"retentionDurationSeconds": 604800}}, state)) == {}
    assert kinds(diff(BUCKET, old, old | {"softDeletePolicy": {"retentionDurationSeconds": 0}}, state)) == {"softDeletePolicy": "ADD"}


@pytest.mark.parametrize(("new", "first"), [({"name": "n", "zone": "b"}, True), ({"name": "m", "zone": "b"}, False)])
def test_what_keeps_its_name_is_deleted_first(new: dict[str, Any], first: bool) -> None:
    """Two things of one name cannot stand side by side."""
    assert diff(NODE, {"name": "n", "zone": "a"}, new).deleteBeforeReplace is first
