"""A stored state in the neutral form."""

from __future__ import annotations

from typing import Any

import pytest

from infra.declared import UNKNOWN, Declared, Secret
from infra.local.stored import stored
from infra.wire import HIDDEN, SIGNATURE

STACK = {"urn": "urn:pulumi:try::accelform::pulumi:pulumi:Stack::accelform-try", "type": "pulumi:pulumi:Stack"}
GROUP = {"urn": "urn:pulumi:try::accelform::accelform:x:X::x", "type": "accelform:x:X", "parent": STACK["urn"]}
BUCKET = "gcp:storage/bucket:Bucket"
URN = f"urn:pulumi:try::accelform::accelform:x:X${BUCKET}::data"


def state(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": [STACK, GROUP, *resources]}}


def test_reads_what_rules_and_prices_read() -> None:
    """Numbers are numbers, notes of the engine are none of the inputs, a secret is there and unknown, and the stack is nobody's parent."""
    inputs = {
        "location": "us-east5",
        "labels": {"__defaults": [], "owner": "ml"},
        "rules": [{"__defaults": ["x"], "age": 30.0}],
        "key": {SIGNATURE: HIDDEN, "ciphertext": "v1:abc"},
    }
    bucket = {
        "urn": URN,
        "type": BUCKET,
        "custom": True,
        "parent": GROUP["urn"],
        "inputs": inputs,
        "protect": True,
        "dependencies": ["b", "a"],
    }
    found, group = stored(state(bucket))
    assert group == Declared("accelform:x:X", "x", {}, GROUP["urn"])
    assert group.is_component
    key = found.inputs["key"]
    assert isinstance(key, Secret)
    assert key.value is UNKNOWN
    assert {name: value for name, value in found.inputs.items() if name != "key"} == {
        "location": "us-east5",
        "labels": {"owner": "ml"},
        "rules": [{"age": 30}],
    }
    assert (found.type, found.name, found.parent, found.protect, found.existing) == (BUCKET, "data", GROUP["urn"], True, False)
    assert found.dependencies == ("a", "b")


def test_what_others_own_is_read_and_what_waits_to_be_deleted_is_left_out() -> None:
    theirs = {"urn": URN, "type": BUCKET, "external": True}
    old = {"urn": f"{URN}2", "type": BUCKET, "delete": True}
    provider = {"urn": "urn:pulumi:try::accelform::pulumi:providers:gcp::default", "type": "pulumi:providers:gcp"}
    assert [(one.name, one.existing) for one in stored(state(theirs, old, provider)) if one.type == BUCKET] == [("data", True)]


@pytest.mark.parametrize("nothing", [None, {}, {"deployment": None}, {"deployment": {}}, {"deployment": {"resources": None}}])
def test_a_stack_that_is_not_up_has_nothing(nothing: dict[str, Any] | None) -> None:
    assert stored(nothing) == []
