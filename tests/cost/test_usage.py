"""Assumptions: a number or a range that rises."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from infra.cost.usage import Range, Usage


@pytest.mark.parametrize("value", [0, 3, 2.5])
def test_a_number_is_a_range_of_itself(value: Any) -> None:
    """One number holds in all three columns."""
    usage = Usage.model_validate({"data_gib": value})
    assert usage.data_gib == Range.parse({"low": value, "expected": value, "high": value})


@pytest.mark.parametrize(
    "value",
    [
        -1,
        "much",
        "7",
        "1e3",
        True,
        None,
        {"low": 1},
        {"low": 1, "expected": 2, "high": 3, "most": 4},
        {"low": 3, "expected": 2, "high": 1},
        float("nan"),
        float("inf"),
        1e30,
        [],
    ],
)
def test_fails_on_what_is_no_quantity(value: Any) -> None:
    """Negative, falling, partial, endless and absurd quantities are refused."""
    with pytest.raises(ValidationError):
        Usage.model_validate({"data_gib": value})


def test_a_range_is_written_as_the_file_writes_it() -> None:
    """A range survives being written and read."""
    usage = Usage.model_validate({"data_gib": {"low": 1, "expected": 2.5, "high": 4}, "logs_gib": 3})
    written = usage.model_dump(mode="json")
    assert (written["data_gib"], written["logs_gib"]) == ({"low": 1, "expected": 2.5, "high": 4}, 3)
    assert Usage.model_validate(written) == usage


def test_every_assumption_has_a_default_and_a_description() -> None:
    """Nothing is assumed that is not said."""
    for name, field in Usage.model_fields.items():
        assert Usage.descriptions()[name], name
        assert not field.is_required(), name
