"""A slice by the queue: what it waits for, and what does not go together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.collect import collect
from infra.cost.estimate import estimate
from infra.errors import SpecError
from infra.policy.rule import check
from infra.policy.said import Said
from infra.program import declare
from infra.stack import StackSpec

StackFile = Callable[..., Path]


@pytest.fixture
def a_queued(a_slice: dict[str, Any]) -> dict[str, Any]:
    """A slice by the queue that passes."""
    return a_slice | {"way": "tpu-api", "queued": {"nodes": 2}}


def test_it_waits_for_nat_and_grants_keeps_every_rule_and_has_a_price(
    base: dict[str, Any], a_queued: dict[str, Any], stack_file: StackFile
) -> None:
    spec = StackSpec.load(stack_file(base | {"accelform:tpu_slices": {"eval": a_queued}}))
    declared = collect(lambda: declare(spec, "try"), "try")
    by_name = {(one.type.rpartition(":")[2], one.name): one for one in declared}
    needed = {
        by_name["RouterNat", "network"].urn,
        *(one.urn for one in declared if one.type.lower().endswith("iammember") and one.name.startswith("tpu-eval-")),
    }
    assert len(needed) == 6
    assert needed <= set(by_name["QueuedResource", "eval"].dependencies)
    assert check(declared, spec.region, Said(reasons={"tpu_slices.eval": "it is tried on"})) == []
    (line,) = [line for line in estimate(declared, spec.usage, region=spec.region).lines if line.what == "v6e-1 spot"]
    assert line.quantity is not None
    assert line.quantity[1] == 2 * 730
    assert "waiting costs nothing" in line.note
    assert "tpu.googleapis.com" in spec.services()


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        ({"way": "compute-engine"}, "queued", "is for the Cloud TPU API"),
        ({"way": "auto"}, "queued", "is for the Cloud TPU API"),
        ({"provisioning": "flex-start"}, "provisioning", "cannot be flex-start"),
        ({"provisioning": "reservation"}, "reservation", "is missing"),
        ({"queued": {"nodes": 0}}, "queued.nodes", "is too small"),
        ({"queued": {"nodes": "2"}}, "queued.nodes", "whole number"),
        ({"queued": {"retries": -1}}, "queued.retries", "is too small"),
        ({"queued": {"valid_until_minutes": 5, "valid_after_minutes": 5}}, "queued.valid_until_minutes", "is not after"),
        ({"queued": {"valid_until": 5}}, "queued.valid_until", "key"),
        ({"queued": "yes"}, "queued", "mapping"),
    ],
)
def test_what_is_refused(
    base: dict[str, Any], a_queued: dict[str, Any], stack_file: StackFile, change: dict[str, Any], where: str, said: str
) -> None:
    with pytest.raises(SpecError) as error:
        StackSpec.load(stack_file(base | {"accelform:tpu_slices": {"eval": a_queued | change}}))
    found = [problem for problem in error.value.problems if problem.path == f"tpu_slices.eval.{where}"]
    assert found, error.value.problems
    assert said in found[0].message
