"""Usual times: measured ones only."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.catalog import tables
from infra.catalog.usual_times import OPERATIONS, usual
from infra.cost.estimate import LINES
from infra.gitops.lost import LOST


def test_every_row_has_a_source_a_type_that_is_made_and_an_operation() -> None:
    rows = tables.rows("usual_times")
    known = {*LINES, *LOST, "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"}
    assert len({(row["type"], row["operation"]) for row in rows}) == len(rows)
    for row in rows:
        assert row["source"].startswith("https://"), row
        assert row["type"] in known, row
        assert row["operation"] in OPERATIONS.values(), row
        assert Decimal(0) < Decimal(row["low_minutes"]) <= Decimal(row["high_minutes"]), row


@pytest.mark.parametrize(
    ("type_", "op", "said", "long"),
    [
        ("gcp:container/cluster:Cluster", "create", "usually 3 to 9 min", True),
        ("gcp:container/cluster:Cluster", "create-replacement", "usually 3 to 9 min", True),
        ("gcp:container/cluster:Cluster", "delete-replaced", "once measured: 3 min", True),
        ("accelform:vertex:DeployedModels", "create", "usually 10 to 30 min", True),
        ("gcp:compute/network:Network", "create", "once measured: 22 s", False),
    ],
)
def test_says_what_was_measured(type_: str, op: str, said: str, long: bool) -> None:
    found = usual(type_, op)
    assert found is not None
    assert (found.words, found.long) == (said, long)


@pytest.mark.parametrize(
    ("type_", "op"),
    [("gcp:tpu/v2Vm:V2Vm", "create"), ("gcp:container/cluster:Cluster", "update"), ("gcp:container/cluster:Cluster", ""), ("", "create")],
)
def test_what_nobody_measured_is_not_guessed(type_: str, op: str) -> None:
    assert usual(type_, op) is None
