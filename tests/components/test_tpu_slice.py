"""A TPU machine boots only once its way out and its grants stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.collect import collect
from infra.program import declare
from infra.stack import StackSpec


@pytest.mark.parametrize("way", ["compute-engine", "tpu-api"])
def test_a_machine_waits_for_nat_and_for_its_own_grants(
    way: str, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Callable[..., Path]
) -> None:
    """Without NAT its startup script has no way out; without its grants its first pull is refused. Others' grants do not matter."""
    slices = {name: a_slice | {"way": way} for name in ("eval", "other")}
    spec = StackSpec.load(stack_file(base | {"accelform:tpu_slices": slices}))
    declared = {(one.type.rpartition(":")[2], one.name): one for one in collect(lambda: declare(spec, "try"), "try")}
    machine = declared["Instance" if way == "compute-engine" else "V2Vm", "eval"]
    needed = {
        declared["RouterNat", "network"].urn,
        *(one.urn for (kind, name), one in declared.items() if kind.lower().endswith("iammember") and name.startswith("tpu-eval-")),
    }
    assert len(needed) == 6
    assert needed <= set(machine.dependencies)
    assert not any("tpu-other" in urn for urn in machine.dependencies)
