"""`accelform explain`: keys, stacks with their defaults, rules and exit codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.errors import ExitCode

Accelform = Callable[..., Any]


@pytest.mark.parametrize("topic", ["tpu_slices.zone", "tpu_slices.<name>.zone", "accelform:tpu_slices.zone", "tpu_slices.eval.zone"])
def test_explains_a_key_however_it_is_written(topic: str, accelform: Accelform) -> None:
    """With the user's name, without it, and with the prefix."""
    (key,) = accelform("explain", topic, "--json").data
    assert (key["key"], key["required"]) == ("tpu_slices.<name>.zone", True)


def test_every_key_is_explained(accelform: Accelform) -> None:
    """No key is without a description, or without what it will do."""
    for key in accelform("explain", "--json").data:
        assert key["description"] or key["later"], key["key"]


def test_what_has_no_default_says_so(accelform: Accelform) -> None:
    """What must never be defaulted is required in the table too."""
    required = {key["key"] for key in accelform("explain", "--json").data if key["required"]}
    machine = {f"tpu_slices.<name>.{key}" for key in ("accelerator_type", "zone", "provisioning", "max_run_minutes")}
    assert required >= machine | {"region", "budgets.<name>.amount", "endpoints.<name>.callers"}


def test_a_stack_is_shown_with_every_default(accelform: Accelform) -> None:
    """What nobody wrote is marked, and what was written is not."""
    values = {row["key"]: row for row in accelform("explain", "stack", "us-east5", "--json").data}
    assert values["network.cidr"] == {"stack": "us-east5", "key": "network.cidr", "value": "10.0.0.0/20", "default": True}
    assert values["budgets.monthly.amount"]["default"] is False
    assert values["budgets.monthly.spend"]["value"] == "after-credits"
    assert values["tpu_slices.try.way"]["value"] == "auto"


def test_rules_and_exit_codes_are_listed_whole(accelform: Accelform) -> None:
    """Nothing is left out."""
    assert next(row["name"] for row in accelform("explain", "rules", "--json").data) == "same-region"
    assert [row["code"] for row in accelform("explain", "exit-codes", "--json").data] == list(map(int, ExitCode))


def test_fails_on_a_key_that_is_not_there(accelform: Accelform) -> None:
    """The nearest keys are named."""
    ran = accelform("explain", "budget")
    assert ran.code == 2
    assert "budgets" in ran.err


@pytest.mark.parametrize("key", ["confirmed", "confirmed.what", "confirmed[].what", "confirmed.0.what"])
def test_keys_of_a_list_are_explained(accelform: Accelform, key: str) -> None:
    """However they are written: with the number of an entry, with brackets, or with neither."""
    assert "confirmed[].what" in accelform("explain", key).out
