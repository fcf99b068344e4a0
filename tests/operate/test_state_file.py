"""What a version of a state says, and what of it is damaged."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from infra.operate.state_file import DamagedError, State

STACK = "organization/accelform/try"
ROOT = "urn:pulumi:try::accelform::pulumi:pulumi:Stack::accelform-try"
PROVIDER = "urn:pulumi:try::accelform::pulumi:providers:gcp::default"
BUCKET = "urn:pulumi:try::accelform::accelform:storage:Storage$gcp:storage/bucket:Bucket::"


def provider(number: str = "p1") -> dict[str, Any]:
    return {"urn": PROVIDER, "type": "pulumi:providers:gcp", "custom": True, "id": number, "parent": ROOT}


def bucket(name: str, number: str = "", needs: tuple[str, ...] = (), by: str = "p1", **outputs: Any) -> dict[str, Any]:
    return {
        "urn": f"{BUCKET}{name}",
        "type": "gcp:storage/bucket:Bucket",
        "custom": True,
        "id": number or f"shop-{name}",
        "parent": ROOT,
        "provider": f"{PROVIDER}::{by}",
        "dependencies": [f"{BUCKET}{one}" for one in needs],
        "outputs": outputs,
    }


def content(*resources: dict[str, Any], stack: str = STACK, **latest: Any) -> bytes:
    root = {"urn": ROOT, "type": "pulumi:pulumi:Stack", "custom": False}
    return json.dumps({"version": 3, "checkpoint": {"stack": stack, "latest": {"resources": [root, *resources], **latest}}}).encode()


def state(*resources: dict[str, Any], **latest: Any) -> State:
    return State.read(content(*resources, **latest), STACK)


def names(found: State) -> list[str]:
    return [one["urn"].rpartition("::")[2] for one in found.resources]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b'{"version": 3, "check', "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "is JSON, and no state"),
        (b'{"version": 3, "checkpoint": {"latest": 7}}', "is JSON, and no state"),
        (content(stack="organization/accelform/other"), "is the state of another stack: organization/accelform/other"),
        (content(bucket("data")), "names what is not in it: default, which data needs"),
        (content(provider(), bucket("data", needs=("models",))), "names what is not in it: models, which data needs"),
        (content({"urn": "nonsense"}), "holds something that is no resource"),
    ],
)
def test_fails_on_what_is_no_whole_state(data: bytes, why: str) -> None:
    with pytest.raises(DamagedError, match=why):
        State.read(data, STACK)


def test_a_packed_state_is_read_and_written(tmp_path: object) -> None:
    """As the engine packs it, where it was told to; what is cut off is damaged."""
    packed = gzip.compress(content(provider(), bucket("data")))
    found = State.read(packed, STACK, name="try.json.gz")
    assert names(found) == ["accelform-try", "default", "data"]
    assert State.read(found.packed("try.json.gz"), STACK, name="try.json.gz").data == found.data
    assert json.loads(found.packed("try.json")) == found.data
    with pytest.raises(DamagedError, match="cannot be unpacked"):
        State.read(packed[:-20], STACK, name="try.json.gz")


def test_a_stack_without_resources_is_whole() -> None:
    """One that was made and never brought up."""
    found = State.read(json.dumps({"version": 3, "checkpoint": {"stack": "try", "latest": None}}).encode(), STACK)
    assert (found.resources, found.pending, found.things()) == ([], [], {})


def test_the_difference_is_of_what_stands_in_a_cloud() -> None:
    """Neither of the engine's own resources, nor of what others own and the stack only reads."""
    read = bucket("theirs") | {"external": True}
    old = state(provider(), bucket("data"), bucket("gone"), bucket("models", labels={}))
    new = state(provider("p2"), bucket("data", by="p2"), bucket("models", by="p2", labels={"a": "b"}), bucket("new", by="p2"), read)
    found = old.against(new)
    assert [[one.name for one in some] for some in (found.made, found.gone, found.changed)] == [["new"], ["gone"], ["models"]]
    assert (found.made[0].type, found.made[0].id) == ("gcp:storage/bucket:Bucket", "shop-new")
    assert not old.against(old)


def test_what_is_later_is_joined_in_an_order_that_the_engine_takes() -> None:
    """Each after what it needs; all by the provider that is in it; what was replaced since is there twice, the older one to be deleted."""
    old = state(provider(), bucket("data", "first"))
    new = state(provider("p2"), bucket("models", by="p2"), bucket("data", "second", ("models",), by="p2"))
    both = old.with_later(new)
    assert names(both) == ["accelform-try", "default", "models", "data", "data"]
    assert [(one["id"], one.get("delete", False)) for one in both.resources[3:]] == [("second", False), ("first", True)]
    assert {one["provider"] for one in both.resources if "provider" in one} == {f"{PROVIDER}::p1"}
    assert State.read(both.packed("try.json"), STACK).resources == both.resources
    assert names(old) == ["accelform-try", "default", "data"]  # it is a copy that was changed


def test_what_was_begun_is_told() -> None:
    found = state(provider(), pending_operations=[{"type": "creating", "resource": bucket("data")}])
    assert found.pending == [f"{BUCKET}data"]
